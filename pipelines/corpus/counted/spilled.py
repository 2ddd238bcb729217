"""Keys of units by range, as `corpus.spill` has those of documents; their names beside them.

    sidecars of a group ── spill_units ── a file: column by column, range by range
    the same range of one column of a bucket's files ── SpilledUnits ── parts ── equal keys together

With its name beside each key, who counts a range knows whom a copy repeats, and no later work looks
it up among all sidecars.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.keys import has_key
from tokenmill.pipelines.corpus.counted.table import Span, Units, counted_step, read_units, rows_of
from tokenmill.pipelines.corpus.counted.units import KEY, unit_name
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill import AT_ONCE, Keyed, by_range
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Rows, open_arrow, open_batch, values

# Of a unit of a group: row number 4, key 16, name 12, gone before 1; partition 4, a range of it 4
ROW_BYTES = 41
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying

# A batch for each range of each column; rows ascend, and count from the beginning of the bucket.
SPILLED = pa.schema(
    [
        pa.field("row", pa.uint32()),
        pa.field("key", KEY),
        pa.field("doc_id", pa.uint64()),
        pa.field("number", pa.int32()),
    ]
)


class Names(NamedTuple):
    """Of units: the document, and the number in it; (n,) uint64 and int32."""

    doc_ids: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int32]


def spill_units(job: PrepareJob, pass_index: int, steps: tuple[Step, ...], group: int) -> Done:
    """Write the keys of a group's units, but of documents that a step before removes.

    Facts: how many units there are, with keys and without.
    """
    corpus, step = Corpus(job, pass_index, steps), counted_step(steps)
    units = read_units(corpus)
    groups = units.groups()
    span, rows = groups[group], rows_of(corpus, units, step)
    corpus.memory_left(
        step.name,
        span.n,
        ROW_BYTES,
        least=LEAST_BYTES,
        at_once=corpus.at_once(len(groups)),
        of=unit_name(step),
    )
    there = ~gone_units(corpus, units, rows, span)
    names = _names(units, rows, span)
    bits = units.range_bits(span.bucket)
    path = job.unit_keys(pass_index, group)
    with arrow_file(path, SPILLED) as writer:
        for column in step.columns:
            for of_range in by_range(_keyed(units, rows, span, column, there), bits):
                at = of_range.rows.astype(np.int64) - (span.start - span.base)
                keys = pa.FixedSizeListArray.from_arrays(pa.array(of_range.keys.reshape(-1)), 2)
                columns = [of_range.rows, keys, names.doc_ids[at], names.numbers[at]]
                writer.write_batch(pa.record_batch([*map(pa.array, columns)], schema=SPILLED))
    return Done(files=[path], facts={unit_name(step): int(there.sum())})


class SpilledUnits:
    """A range of a column of keys, of all units of a bucket that are still there."""

    def __init__(self, corpus: Corpus, units: Units, bucket: int, place: int) -> None:
        """place: of the range among those of all columns."""
        self.shape: tuple[int, ...] = (2,)
        groups = units.groups_in(bucket)
        self._paths = [corpus.job.unit_keys(corpus.pass_index, group) for group in groups]
        self._place = place
        self.n = sum(batch.num_rows for batch in self._batches())

    def batches(self) -> Iterator[Keyed]:
        """Rows and keys in order, some at a time."""
        for batch in self._batches():
            rows, keys = values(batch, "row"), values(batch, "key")
            for at in range(0, len(rows), AT_ONCE):
                yield Keyed(rows[at : at + AT_ONCE], keys[at : at + AT_ONCE])

    def names(self, rows: npt.NDArray[np.uint32]) -> Names:
        """Of rows that are in it, in any order."""
        wanted, where = np.unique(rows, return_inverse=True)
        found = Names(np.empty(len(wanted), np.uint64), np.empty(len(wanted), np.int32))
        for batch in self._batches():
            here = values(batch, "row")
            if not len(here):
                continue
            start, stop = np.searchsorted(wanted, here[[0, -1]], side="left").tolist()
            stop += int(stop < len(wanted) and wanted[stop] == here[-1])
            at = np.searchsorted(here, wanted[start:stop])
            found.doc_ids[start:stop] = values(batch, "doc_id")[at]
            found.numbers[start:stop] = values(batch, "number")[at]
        return Names(found.doc_ids[where], found.numbers[where])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for path in self._paths:
            yield open_batch(path, self._place)


def _pieces(units: Units, rows: Rows, span: Span) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """What is of a span in each batch of the sidecars, and where it stands in the span."""
    shards = units.shards_of(span)
    for batch in rows.walk(shards.start, shards.stop):
        start = max(batch.start, span.start)
        n = min(batch.start + batch.rows.num_rows, span.stop) - start
        if n > 0:
            at = start - span.start
            yield slice(at, at + n), batch.rows.slice(start - batch.start, n)


def _names(units: Units, rows: Rows, span: Span) -> Names:
    found = Names(np.empty(span.n, np.uint64), np.empty(span.n, np.int32))
    for at, batch in _pieces(units, rows, span):
        found.doc_ids[at] = values(batch, "doc_id")
        found.numbers[at] = values(batch, "number")
    return found


def _keyed(
    units: Units, rows: Rows, span: Span, column: str, there: npt.NDArray[np.bool_]
) -> Keyed:
    """The units of a span that are there and have a key."""
    kept, keys = np.empty(span.n, np.uint32), np.empty((span.n, 2), np.uint64)
    n = 0
    for at, batch in _pieces(units, rows, span):
        found = values(batch, column)
        here = np.flatnonzero(there[at] & has_key(found))
        kept[n : n + len(here)] = here + (at.start + span.start - span.base)
        keys[n : n + len(here)] = found[here]
        n += len(here)
    return Keyed(kept[:n], keys[:n])


def gone_units(corpus: Corpus, units: Units, rows: Rows, span: Span) -> npt.NDArray[np.bool_]:
    """(span.n,) units of documents that a step standing before removes."""
    gone = np.zeros(span.n, np.bool_)
    names = [step.name for step in corpus.steps[:-1]]
    if not names:
        return gone
    lost = [np.empty(0, np.uint64)]
    for number in units.shards_of(span):
        shard = units.keys[number]
        documents = open_arrow(corpus.job.keys(corpus.pass_index, shard))[0]
        found = [read_duplicates(corpus.duplicates(name, shard)) for name in names]
        for batch, *of_steps in zip(documents, *found, strict=True):
            removed = np.any([d["duplicate_of"].is_valid() for d in of_steps], axis=0)
            lost.append(np.asarray(batch["doc_id"])[removed])
    ids = np.concatenate(lost)  # ascend, as documents do
    for at, batch in _pieces(units, rows, span):
        mine = values(batch, "doc_id")
        place = np.minimum(np.searchsorted(ids, mine), max(len(ids) - 1, 0))
        gone[at] = ids[place] == mine if len(ids) else False
    return gone
