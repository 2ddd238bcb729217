"""What leaves: found in order of the keys, set down, and read back in order of the rows.

parts of keys ── RUN: batches of ascending rows ── Runs.between ── FOUND: a file for each shard
"""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Opened, Rows, open_arrow, values

# A row for each unit to be taken out; a batch for each of documents.
FOUND = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("number", pa.int32(), nullable=False),
        # by which of the step's columns it leaves: the first of them; or as a LATER_COPY
        pa.field("by", pa.uint8(), nullable=False),
        # times that the corpus, bucket or document has it, or bits in which it differs
        pa.field("value", pa.uint32(), nullable=False),
        # the corpus' first of them, or the first that is near
        pa.field("of_doc_id", pa.uint64(), nullable=False),
        pa.field("of_number", pa.int32(), nullable=False),
    ]
)
LATER_COPY = 255  # of one before it in the same document
FOUND_BYTES = 100  # of a unit of a shard: columns 25, twice joined; sorting, names, places 50
RUN = pa.schema([pa.field("row", pa.uint32(), nullable=False), *list(FOUND)[2:]])


class Leaving(NamedTuple):
    """Units that leave, by their rows; (n,) columns of schema RUN."""

    rows: npt.NDArray[np.uint32]
    by: npt.NDArray[np.uint8]
    values: npt.NDArray[np.uint32]
    of_doc_ids: npt.NDArray[np.uint64]
    of_numbers: npt.NDArray[np.int32]

    def at(self, places: npt.NDArray[Any] | slice) -> "Leaving":
        """Those at some places, or that a mask holds."""
        rows, by, values, of_doc_ids, of_numbers = self
        return Leaving(
            rows[places], by[places], values[places], of_doc_ids[places], of_numbers[places]
        )

    def batch(self) -> pa.RecordBatch:
        return pa.record_batch([*map(pa.array, self)], schema=RUN)


NOTHING = Leaving(
    np.empty(0, np.uint32),
    np.empty(0, np.uint8),
    np.empty(0, np.uint32),
    np.empty(0, np.uint64),
    np.empty(0, np.int32),
)


def joined(parts: Sequence[Leaving]) -> Leaving:
    """All of some, by row and then by what they leave by."""
    every = [NOTHING, *parts]
    whole = Leaving(
        np.concatenate([part.rows for part in every]),
        np.concatenate([part.by for part in every]),
        np.concatenate([part.values for part in every]),
        np.concatenate([part.of_doc_ids for part in every]),
        np.concatenate([part.of_numbers for part in every]),
    )
    return whole.at(np.lexsort((whole.by, whole.rows)))


class Runs:
    """Files of batches of schema RUN; rows ascend in each. One is open at a time."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def n(self, lo: int, hi: int) -> int:
        """Rows from `lo` to `hi`, those of each batch."""
        return sum(stop - start for _, start, stop in self._within(lo, hi))

    def between(self, lo: int, hi: int) -> Leaving:
        """The rows from `lo` to `hi` that any batch has, ascending, each once: by its first key."""
        found = joined(
            [
                Leaving(*(values(batch, f.name) for f in RUN)).at(np.arange(start, stop))  # a copy
                for batch, start, stop in self._within(lo, hi)
            ]
        )
        return found.at(np.diff(found.rows.astype(np.int64), prepend=-1) > 0)

    def _within(self, lo: int, hi: int) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        for path in self._paths:
            for batch in open_arrow(path)[0]:
                start, stop = np.searchsorted(values(batch, "row"), [lo, hi]).tolist()
                yield batch, start, stop


def run_of(
    rows: Rows,
    here: npt.NDArray[np.integer[Any]],
    first: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.integer[Any]],
) -> pa.RecordBatch:
    """A batch of schema RUN.

    here: (n,) rows to be taken out, ascending.  first: (n,) that they repeat.  values: (n,).
    """
    wanted, where = np.unique(first, return_inverse=True)
    return Leaving(
        here.astype(np.uint32),
        np.zeros(len(here), np.uint8),
        values.astype(np.uint32),
        rows.take("doc_id", wanted)[where].astype(np.uint64),
        rows.take("number", wanted)[where].astype(np.int32),
    ).batch()


def write_shard(
    path: Path, opened: Opened, found: Leaving, gone: npt.NDArray[np.bool_] | None = None
) -> None:
    """Write what was found of a shard.

    opened: its sidecar.  found: rows count from its beginning.
    gone: (n_units,) those of documents that leave before; None if later copies stay.
    """
    cuts = np.searchsorted(found.rows, opened.starts).tolist()
    with arrow_file(path, FOUND) as writer:
        for b, (batch, start) in enumerate(zip(opened.batches, opened.starts, strict=False)):
            here = found.at(slice(cuts[b], cuts[b + 1]))
            here = here._replace(rows=here.rows - np.uint32(start))
            if gone is not None:
                here = joined([here, _later_copies(batch, gone[start : start + batch.num_rows])])
            names = [values(batch, name)[here.rows] for name in ("doc_id", "number")]
            columns = [*map(pa.array, names), *here.batch().columns[1:]]
            writer.write_batch(pa.record_batch(columns, schema=FOUND))
    opened.mapped.madvise(mmap.MADV_DONTNEED)


def _later_copies(batch: pa.RecordBatch, gone: npt.NDArray[np.bool_]) -> Leaving:
    """Of a sidecar's batch the units that are not the first of their kind in their document."""
    doc_ids, numbers, firsts = (values(batch, name) for name in ("doc_id", "number", "first"))
    rows = np.flatnonzero((firsts != numbers) & ~gone)
    first_rows = rows - (numbers - firsts)[rows]  # a document's units are next to each other
    n_copies = np.bincount(first_rows, minlength=len(numbers)) + 1
    return Leaving(
        rows.astype(np.uint32),
        np.full(len(rows), LATER_COPY, np.uint8),
        n_copies[first_rows].astype(np.uint32),
        doc_ids[rows],
        firsts[rows],
    )


def read_found(path: Path) -> Iterator[pa.RecordBatch]:
    """What was found of a shard (schema FOUND), a batch for each batch of documents."""
    yield from open_arrow(path)[0]
