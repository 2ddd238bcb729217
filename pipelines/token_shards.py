"""Token shards: the documents of one input shard as ids, before they are laid out for training."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.arrow_files import arrow_file
from tokenmill.pipelines.images.account import read_images
from tokenmill.pipelines.images.image_measure import ImageMeasure
from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.images.stored import in_token_shard, kept_columns
from tokenmill.pipelines.images.tokens import batches_of, encode_illustrated
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.pieces import parent_ids
from tokenmill.pipelines.prepare_job import PrepareJob
from tokenmill.pipelines.recipe import Output
from tokenmill.pipelines.schema import OF_PAGES
from tokenmill.pipelines.shard import SourceShard

LENGTH_BINS = 48  # bin k counts documents of 2**(k - 1) to 2**k - 1 bytes; bin 0 the empty ones


def token_schema(
    dtype: npt.DTypeLike, images: Images | None = None, *, of_pages: bool = False
) -> pa.Schema:
    """TOKENS: a document's ids and where it came from. text_bytes: UTF-8 bytes it was made from.

    Where documents have images, these too (`pipelines.images.stored`), and size: bytes that the
    document takes in the dataset, ids and images.

    of_pages: the recipe reads web archives, and what they tell of each page stays with it.
    """
    fields = [
        pa.field("input_ids", pa.list_(pa.from_numpy_dtype(dtype))),
        pa.field("doc_id", pa.uint64()),
        pa.field("id", pa.string()),
        pa.field("source", pa.string()),
        pa.field("text_bytes", pa.int64()),
    ]
    if of_pages:
        fields += OF_PAGES
    if images is not None:
        fields += [pa.field("images", in_token_shard(images)), pa.field("size", pa.int64())]
    return pa.schema(fields)


def splits(job: PrepareJob) -> tuple[str, ...]:
    """The splits of the dataset; a validation split is made if the recipe asks for one."""
    return ("train", "validation") if job.recipe.output.validation_frac else ("train",)


class TokenShards:
    """Encodes batches of documents and writes each split's to its own file."""

    def __init__(self, job: PrepareJob, shard: SourceShard, files: contextlib.ExitStack) -> None:
        self._engine = job.recipe.engine()
        self._output = job.recipe.output
        self._images = job.recipe.images
        self._shard = shard
        self._of_pages = OF_PAGES if job.recipe.html is not None else ()
        self._schema = token_schema(self._engine.dtype, self._images, of_pages=bool(self._of_pages))
        paths = {split: job.tokens(split, shard.key) for split in splits(job)}
        self.paths = list(paths.values())
        self._writers = {
            split: files.enter_context(arrow_file(path, self._schema))
            for split, path in paths.items()
        }
        self._tokens = dict.fromkeys(paths, 0)
        self._docs = dict.fromkeys(paths, 0)
        self._chars = 0
        self._text_bytes = dict.fromkeys(paths, 0)
        self._sizes = dict.fromkeys(paths, 0)
        self._lengths = np.zeros(LENGTH_BINS, np.int64)
        self._by: Counter[str] = Counter()
        self._measure = ImageMeasure(tuple(paths))

    def write(self, batch: pa.RecordBatch) -> StageStats:
        """Encode `batch`; every document comes out.

        With images, `batch` has their offsets in the shard's spool, should the dataset hold them.
        """
        if self._images is None:
            return self._write(batch)
        stats = StageStats(images=read_images(batch, None))
        for part in batches_of(batch, self._images.tokens):
            stats += self._write(part)
        return stats

    def _write(self, batch: pa.RecordBatch) -> StageStats:
        made, text, per_image = self._encoded(batch)
        for split, here in sides(batch, self._output, tuple(self._writers)):
            part = made if here.all() else made.filter(pa.array(here))
            if part.num_rows:
                self._writers[split].write_batch(part)
                self._docs[split] += part.num_rows
                self._tokens[split] += len(part["input_ids"].flatten())
                self._text_bytes[split] += pc.sum(part["text_bytes"]).as_py()
                if self._images is not None:
                    self._sizes[split] += pc.sum(part["size"]).as_py()
                    self._measure.add(split, batch, here, per_image)
        self._chars += pc.sum(pc.utf8_length(text)).as_py() or 0
        lengths = np.asarray(made["text_bytes"])
        self._lengths += np.bincount(_length_bins(lengths), minlength=LENGTH_BINS)
        n, n_bytes = batch.num_rows, int(text_buffers(batch["text"]).lengths.sum())
        return StageStats(docs_in=n, docs_out=n, bytes_in=n_bytes, bytes_out=n_bytes)

    def _encoded(
        self, batch: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, pa.Array, npt.NDArray[np.int64]]:
        """Rows of the token shard, the text they are of, and (n_images,) how many ids are each
        image's.
        """
        text, per_image = batch["text"], np.empty(0, np.int64)
        further: list[pa.Array] = []
        if self._images is None:
            tokens = self._engine.encode(text)
        else:
            tokens, per_image, text = encode_illustrated(self._engine, batch, self._images)
            images, stored = kept_columns(batch, self._images, self._shard)
            sizes = np.diff(tokens.offsets) * self._engine.dtype.itemsize + stored
            further = [images, pa.array(sizes)]
        self._by.update(tokens.by)
        ends, ids = pa.array(tokens.offsets.astype(np.int32)), pa.array(tokens.ids)
        columns = [
            pa.ListArray.from_arrays(ends, ids),
            batch["doc_id"],
            batch["id"],
            pa.repeat(self._shard.source, batch.num_rows),
            pa.array(text_buffers(text).lengths),
            *(batch[field.name] for field in self._of_pages),
            *further,
        ]
        return pa.record_batch(columns, schema=self._schema), text, per_image

    def measured(self) -> dict[str, Any]:
        """What was counted: documents, UTF-8 bytes and tokens by split; characters; lengths;
        documents by the engine that encoded them.

        With images: the same for them, and sizes: bytes of ids and images by split.
        """
        counted = {
            "docs": self._docs,
            "tokens": self._tokens,
            "chars": self._chars,
            "text_bytes": self._text_bytes,
            "length_bins": self._lengths.tolist(),
            "docs_by_engine": dict(self._by),
        }
        if self._images is None:
            return counted
        return counted | {"sizes": self._sizes, "images": self._measure.to_json()}


def sides(
    documents: pa.RecordBatch, output: Output, names: Sequence[str]
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Of each of the splits named, (n_docs,) which documents are on its side."""
    validation = in_validation(parent_ids(documents), output.validation_frac, seed=output.seed)
    for split in names:
        yield split, validation == (split == "validation")


def in_validation(ids: pa.Array, frac: float, *, seed: int) -> npt.NDArray[np.bool_]:
    """(n,) whether each document belongs to the validation split.

    ids: of the documents that the input had: pieces go where the whole would have gone.

    A document's own id decides, so that it stays on its side whatever else changes.
    """
    if frac == 0.0:
        return np.zeros(len(ids), np.bool_)
    drawn = np.array(
        [xxhash.xxh3_64_intdigest(i.encode(), seed=seed) for i in ids.to_pylist()], np.uint64
    )
    return drawn < np.uint64(int(frac * 2.0**64))


def _length_bins(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bins = np.zeros(len(lengths), np.int64)
    some = lengths > 0
    bins[some] = np.floor(np.log2(lengths[some])).astype(np.int64) + 1
    return np.minimum(bins, LENGTH_BINS - 1)
