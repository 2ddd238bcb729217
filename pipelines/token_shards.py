"""Token shards: the documents of one input shard as ids, before they are laid out for training."""

import contextlib
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from dedup.arrow_text import text_buffers
from pipelines.arrow_files import arrow_file
from pipelines.images.blobs import Blobs
from pipelines.ledger import StageStats
from pipelines.pieces import parent_ids
from pipelines.prepare_job import PrepareJob
from pipelines.shard import SourceShard
from pipelines.tokenize import load_engine

LENGTH_BINS = 48  # bin k counts documents of 2**(k - 1) to 2**k - 1 bytes; bin 0 the empty ones


def token_schema(dtype: npt.DTypeLike) -> pa.Schema:
    """TOKENS: a document's ids and where it came from. text_bytes: UTF-8 bytes it was made from."""
    return pa.schema(
        [
            pa.field("input_ids", pa.list_(pa.from_numpy_dtype(dtype))),
            pa.field("doc_id", pa.uint64()),
            pa.field("id", pa.string()),
            pa.field("source", pa.string()),
            pa.field("text_bytes", pa.int64()),
        ]
    )


def splits(job: PrepareJob) -> tuple[str, ...]:
    """The splits of the dataset; a validation split is made if the recipe asks for one."""
    return ("train", "validation") if job.recipe.output.validation_frac else ("train",)


class TokenShards:
    """Encodes batches of documents and writes each split's to its own file."""

    def __init__(self, job: PrepareJob, shard: SourceShard, files: contextlib.ExitStack) -> None:
        self._engine = load_engine(job.recipe.tokenizer, job.recipe.output.dtype)
        self._output = job.recipe.output
        self._source = shard.source
        self._schema = token_schema(self._engine.dtype)
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
        self._lengths = np.zeros(LENGTH_BINS, np.int64)
        self._by: Counter[str] = Counter()

    def write(self, batch: pa.RecordBatch, blobs: Blobs | None = None) -> StageStats:
        """Encode `batch`; every document comes out.

        blobs: the bytes of its images.
        """
        text = batch["text"]
        ids, offsets, by = self._engine.encode(text)
        self._by.update(by)
        lengths = text_buffers(text).lengths
        made = pa.record_batch(
            [
                pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(ids)),
                batch["doc_id"],
                batch["id"],
                pa.repeat(self._source, batch.num_rows),
                pa.array(lengths),
            ],
            schema=self._schema,
        )
        validation = in_validation(
            parent_ids(batch), self._output.validation_frac, seed=self._output.seed
        )
        for split, writer in self._writers.items():
            here = validation == (split == "validation")
            part = made if here.all() else made.filter(pa.array(here))
            if part.num_rows:
                writer.write_batch(part)
                self._docs[split] += part.num_rows
                self._tokens[split] += len(part["input_ids"].flatten())
                self._text_bytes[split] += pc.sum(part["text_bytes"]).as_py()
        self._chars += pc.sum(pc.utf8_length(text)).as_py() or 0
        self._lengths += np.bincount(_length_bins(lengths), minlength=LENGTH_BINS)
        n, n_bytes = batch.num_rows, int(lengths.sum())
        return StageStats(docs_in=n, docs_out=n, bytes_in=n_bytes, bytes_out=n_bytes)

    def measured(self) -> dict[str, Any]:
        """What was counted: documents, UTF-8 bytes and tokens by split; characters; lengths;
        documents by the engine that encoded them.
        """
        return {
            "docs": self._docs,
            "tokens": self._tokens,
            "chars": self._chars,
            "text_bytes": self._text_bytes,
            "length_bins": self._lengths.tolist(),
            "docs_by_engine": dict(self._by),
        }


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
