"""The first copy of each image within a document."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import StageResult
from tokenmill.pipelines.filters.images.edit import drop_images, edited_where, removed_images
from tokenmill.pipelines.filters.images.keys import ImageKeys
from tokenmill.pipelines.read.images.nodes import owners_of


class ImageOnce(Filter):
    """Keep the first copy of an image within its document, by URL and by MD5; documents are never
    removed. To annotate takes no image out, and counts those that it would have.

    by: what copies have in common, in this order: an image leaves as "same_url" if one before it
        in its document has its URL, and as "same_md5" if one before it that is left has its bytes.
        An image without a URL, or whose bytes were not read, is no copy by it.

    A removed row names the image that stands in its place; where that one left as a copy by the
    next key, the one in its place.

    Source: OBELICS, arXiv:2306.16527, by URL (13_final_processing.py). MM1, arXiv:2403.09611, is
    reported to retain "only the first copy of an image within each document" beside counts by
    URL and MD5; its own text was not read.
    """

    name: ClassVar[str] = "image_once"
    tells: ClassVar[Kinds] = {"": pa.int64()}
    needs_images: ClassVar[bool] = True

    by: ImageKeys = ("url", "md5")

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        owners = owners_of(batch)
        items = batch["images"].flatten()
        kept_for = np.arange(len(owners))  # the image that stands in the place of each
        verdicts = np.zeros(len(owners), np.uint8)
        for place, key in enumerate(self.by, start=1):
            left = np.flatnonzero(verdicts == 0)
            first = left[first_copies(owners[left], items.field(key).take(pa.array(left)))]
            verdicts[left[first != left]] = place
            kept_for[left] = first
            kept_for = kept_for[kept_for]
        places = np.flatnonzero(verdicts)
        if self.annotates:
            n_copies = np.bincount(owners[places], minlength=batch.num_rows)
            return self.annotated(batch, [pa.array(n_copies)])
        reasons = [f"same_{self.by[v - 1]}" for v in verdicts[places]]
        removed = removed_images(
            self.stage_name,
            batch,
            places,
            reasons,
            duplicate_of=batch["doc_id"].take(pa.array(owners[places])),
            duplicate_number=items.field("number").take(pa.array(kept_for[places])),
        )
        edited = drop_images(batch, verdicts == 0)
        return edited_where(self.stage_name, batch, edited, (), removed)


def first_copies(owners: I64, keys: pa.Array) -> I64:
    """(n,) the place of the first image of the same document with the same key.

    owners: (n,) ascending.  keys: (n,) string or binary; a null or empty key is like no other.
    """
    places = np.arange(len(owners))
    known = np.flatnonzero(np.asarray(pc.fill_null(pc.greater(pc.binary_length(keys), 0), False)))
    codes = keys.take(pa.array(known)).dictionary_encode()
    pairs = owners[known] * max(1, len(codes.dictionary)) + np.asarray(codes.indices)
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    places[known] = known[first[group]]
    return places
