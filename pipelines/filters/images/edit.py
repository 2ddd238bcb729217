"""Take images out of documents, with a row for each, and account for them.

What a stage does to images lies here in three parts:

    documents, which images stay --drop_images--> documents, less images in the list and the text
    documents before and after, removed --image_stats--> the account of images
    edited documents, rules --edited_where--> the result of a stage

and what is known of images is told of their documents by `extreme`.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, Bools
from tokenmill.pipelines.core.ledger import ImageStats
from tokenmill.pipelines.core.schema import PLACEHOLDER, REMOVED_IMAGE, rows_of, with_column
from tokenmill.pipelines.core.step import (
    KEEP,
    Rule,
    StageResult,
    first_failing,
    keep_where,
    with_text,
    with_texts,
)
from tokenmill.pipelines.read.images import nodes


def drop_images(documents: pa.RecordBatch, keep: Bools) -> pa.RecordBatch:
    """Drop images from list and text of documents, but those of which (n_images,) `keep` is set."""
    if keep.all():
        return documents
    owners = nodes.owners_of(documents)
    counts = np.bincount(owners[keep], minlength=documents.num_rows)
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    items = documents["images"].flatten().filter(pa.array(keep))
    lists = pa.LargeListArray.from_arrays(pa.array(ends), items)
    return _without_places(with_column(documents, "images", lists), keep, owners)


def _without_places(documents: pa.RecordBatch, keep: Bools, owners: I64) -> pa.RecordBatch:
    placed = np.asarray(pc.match_substring(documents["text"], PLACEHOLDER))
    touched = np.unique(owners[~keep])
    touched = touched[placed[touched]]
    if not len(touched):
        return documents
    texts = documents["text"].take(pa.array(touched)).to_pylist()
    bounds = np.searchsorted(owners, [touched, touched + 1]).T.tolist()
    made = [
        nodes.without_places(text, keep[first:last].tolist())
        for text, (first, last) in zip(texts, bounds, strict=True)
    ]
    return with_texts(documents, touched, pa.array(made, documents["text"].type))


def removed_images(
    stage: str,
    documents: pa.RecordBatch,
    places: I64,
    reasons: Sequence[str],
    *,
    outcome: str = "removed",
    values: F64 | None = None,
    details: pa.Array | None = None,
    duplicate_of: pa.Array | None = None,
    duplicate_number: pa.Array | None = None,
) -> pa.RecordBatch:
    """A row (schema REMOVED_IMAGE) for each image of `documents` at `places`.

    places: (n,) ascending, of the images of all documents in order.  reasons: (n,).
    values: (n,), NaN becomes null.
    """
    n, at = len(places), pa.array(places)
    owners = pa.array(nodes.owners_of(documents)[places])
    items = documents["images"].flatten().take(at)
    columns = {
        **{name: items.field(name) for name in ("number", "url", "path", "md5", "bytes")},
        **{name: documents[name].take(owners) for name in ("doc_id", "id")},
        "outcome": pa.repeat(outcome, n),
        "stage": pa.repeat(stage, n),
        "reason": pa.array(reasons, pa.string()),
        "value": None if values is None else pa.array(values, pa.float64(), from_pandas=True),
        "detail": details,
        "duplicate_of": duplicate_of,
        "duplicate_number": duplicate_number,
    }
    return rows_of(REMOVED_IMAGE, columns, n)


def image_stats(
    before: pa.RecordBatch, after: pa.RecordBatch, removed: Sequence[pa.RecordBatch] = ()
) -> ImageStats:
    """The account of images of a stage.

    before, after: documents (schema ILLUSTRATED).  removed: schema REMOVED_IMAGE.

    Images of documents that left count as gone with them, but for those with a row of their
    own; so an image that vanished without one leaves the account open, and `check` tells.
    """
    gone = np.asarray(pc.invert(pc.is_in(before["doc_id"], after["doc_id"])))
    lost = set(np.asarray(before["doc_id"])[gone].tolist())
    reasons: dict[str, Counter[str]] = {"removed": Counter(), "failed": Counter()}
    of_lost = 0
    for rows in removed:
        for outcome, reason in zip(
            rows["outcome"].to_pylist(), rows["reason"].to_pylist(), strict=True
        ):
            reasons[outcome][reason] += 1
        of_lost += sum(i in lost for i in rows["doc_id"].to_pylist())
    return ImageStats(
        images_in=nodes.n_images(before),
        images_out=nodes.n_images(after),
        removed=dict(sorted(reasons["removed"].items())),
        failed=dict(sorted(reasons["failed"].items())),
        with_document=int(nodes.counts_of(before)[gone].sum()) - of_lost,
        bytes_in=nodes.image_bytes(before),
        bytes_out=nodes.image_bytes(after),
    )


def extreme(documents: pa.RecordBatch, values: F64, pick: np.ufunc) -> F64:
    """(n_docs,) the least value of each document's images by `np.fmin`, the greatest by `np.fmax`.

    values: (n_images,); NaN where none is known, and of a document of whose images none is.
    """
    found = np.full(documents.num_rows, np.nan)
    pick.at(found, nodes.owners_of(documents), values)
    return found


def edited_where(
    stage: str,
    batch: pa.RecordBatch,
    edited: pa.RecordBatch,
    rules: Sequence[Rule],
    removed: pa.RecordBatch | None,
    *,
    details: pa.Array | None = None,
) -> StageResult:
    """Pass on the edited documents that meet every rule; account for text and images taken out.

    edited: the documents of `batch`, in order, less what was taken out.  rules: for documents.
    removed: of the images taken out (schema REMOVED_IMAGE).  details: (n_docs,) string,
    for those that leave.
    """
    verdicts, values = first_failing(rules, batch.num_rows)
    result = keep_where(
        stage, batch, verdicts, [r.reason for r in rules], values=values, details=details
    )
    kept = edited if result.kept is batch else edited.filter(pa.array(verdicts == KEEP))
    if edited is not batch:
        result = with_text(result, kept["text"])._replace(kept=kept)
    return result._replace(images=removed)
