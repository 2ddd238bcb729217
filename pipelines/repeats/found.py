"""What leaves: found in order of the keys, set down, and read back in order of the rows.

parts of keys ── RUN: batches of ascending rows ── Runs.between ── FOUND: a file for each shard
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.arrow_files import arrow_file
from pipelines.corpus import Corpus
from pipelines.sidecar import Rows, open_arrow, values

# A row for each unit to be taken out; a batch for each of documents.
FOUND = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("number", pa.int32(), nullable=False),
        # by which of the step's columns it leaves: the first of them
        pa.field("by", pa.uint8(), nullable=False),
        # times that the corpus has it, or bits in which it differs
        pa.field("value", pa.uint32(), nullable=False),
        # the corpus' first of them, or the first that is near
        pa.field("of_doc_id", pa.uint64(), nullable=False),
        pa.field("of_number", pa.int32(), nullable=False),
    ]
)
FOUND_BYTES = 100  # of a row in a run in the making: columns 33; sorting, names, places 60
RUN = pa.schema([pa.field("row", pa.uint32(), nullable=False), *list(FOUND)[2:]])


class Runs:
    """Batches of schema RUN in a file, mapped; rows ascend in each of them."""

    def __init__(self, path: Path) -> None:
        self._batches = open_arrow(path)[0]

    def between(self, lo: int, hi: int) -> pa.RecordBatch:
        """The rows from `lo` to `hi` that any batch has, ascending, each once: by its first key."""
        found = [pa.RecordBatch.from_pylist([], schema=RUN)]
        for batch in self._batches:
            start, stop = np.searchsorted(np.asarray(batch["row"]), [lo, hi]).tolist()
            if start < stop:
                found.append(batch.slice(start, stop - start))
        merged = pa.concat_batches(found)
        rows = np.asarray(merged["row"])
        order = np.lexsort((np.asarray(merged["by"]), rows))
        is_first = np.diff(rows[order].astype(np.int64), prepend=-1) > 0
        return merged.take(pa.array(order[is_first]))


def run_of(
    rows: Rows,
    here: npt.NDArray[np.integer[Any]],
    first: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.integer[Any]],
    *,
    by: int = 0,
) -> pa.RecordBatch:
    """A batch of schema RUN.

    here: (n,) rows to be taken out, ascending.  first: (n,) that they repeat.  values: (n,).
    """
    wanted, where = np.unique(first, return_inverse=True)
    columns = [
        here.astype(np.uint32),
        np.full(len(here), by, np.uint8),
        values.astype(np.uint32),
        rows.take("doc_id", wanted)[where],
        rows.take("number", wanted)[where],
    ]
    return pa.record_batch([pa.array(c) for c in columns], schema=RUN)


def write_found(corpus: Corpus, rows: Rows, runs: Runs) -> list[Path]:
    """Write what was found of every shard."""
    paths = []
    for shard, key in enumerate(corpus.shard_keys()):
        path = corpus.job.repeated(corpus.pass_index, key)
        opened, first = rows.shard(shard), int(rows.starts[shard])
        found = runs.between(first, first + opened.n)
        cuts = np.searchsorted(np.asarray(found["row"]), first + opened.starts).tolist()
        with arrow_file(path, FOUND) as writer:
            for b, (batch, start) in enumerate(zip(opened.batches, opened.starts, strict=False)):
                here = found.slice(cuts[b], cuts[b + 1] - cuts[b])
                local = np.asarray(here["row"]).astype(np.int64) - first - start
                names = [values(batch, name)[local] for name in ("doc_id", "number")]
                columns = [*map(pa.array, names), *here.columns[1:]]
                writer.write_batch(pa.record_batch(columns, schema=FOUND))
        opened.mapped.madvise(mmap.MADV_DONTNEED)
        paths.append(path)
    return paths


def read_found(path: Path) -> Iterator[pa.RecordBatch]:
    """What was found of a shard (schema FOUND), a batch for each batch of documents."""
    yield from open_arrow(path)[0]
