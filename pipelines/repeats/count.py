"""The corpus-wide work of counting: units that stand in the corpus too often, exactly, in parts.

    units of every shard ── a range of keys at a time ── runs ── found, a file for each shard

Of the units themselves nothing is held but a range of keys, so that memory is bounded whatever
their number; only a step that removes documents before this one costs a byte for each unit.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.digest import first_occurrence
from dedup.partition import prefix_bits
from pipelines.arrow_files import arrow_file
from pipelines.config import Config
from pipelines.corpus import Corpus
from pipelines.job import Done
from pipelines.parts import KeyColumn, Part, Room, parts
from pipelines.prepare_job import PrepareJob
from pipelines.repeats.found import FOUND_BYTES, RUN, Runs, run_of, write_found
from pipelines.repeats.keys import has_key
from pipelines.repeats.steps import Counted
from pipelines.repeats.units import gone_before, unit_name, unit_rows
from pipelines.sidecar import Rows

Ints = npt.NDArray[np.int64]

MOST_FREQUENT = 20
# Of a part: row number 4, key 16, partition 4, first row 8, counts 8; those over one 1, their
# places 4, their counts 4, which are looked for the most frequent 4; whether they are too many 1
ROW_BYTES = 54
LARGEST_BYTES = 32  # key 16, of a hash table at most 16
MOST_FOUND = 1 << 20  # in a run: more do not read faster
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


class Counts(NamedTuple):
    """The units of a part.

    first: (n,) place in the part of the first with the same key.
    counts: (n,) of the first of each key how many have it, of others 0; (1,) if all are equal.
    """

    first: Ints
    counts: Ints


def find_repeats(job: PrepareJob, pass_index: int, steps: tuple[Config, ...]) -> Done:
    """Write which units of each shard are too frequent; steps: those behind the pass, this last."""
    corpus, step = Corpus(job, pass_index, steps), steps[-1]
    assert isinstance(step, Counted)
    rows = unit_rows(corpus, step)
    gone = gone_before(corpus, rows)
    left = corpus.memory_left(
        step.name, rows.n, int(gone is not None), least=LEAST_BYTES, of=unit_name(step)
    )
    at_once = min(left // 4 // FOUND_BYTES, MOST_FOUND)
    room = Room(left - at_once * FOUND_BYTES, ROW_BYTES, LARGEST_BYTES)
    path = job.runs(pass_index)
    facts: dict[str, Any] = {unit_name(step): rows.n - (0 if gone is None else int(gone.sum()))}
    with arrow_file(path, RUN) as writer:
        for by, column in enumerate(step.columns):
            counting = _Counting(rows, by, step, at_once)
            for part in parts(_column(rows, column, gone), room):
                for run in counting(part):
                    writer.write_batch(run)
            facts[column] = counting.facts()
    files = write_found(corpus, rows, Runs(path))
    path.unlink()  # its runs depend on the memory there was
    return Done(files=files, facts=facts)


def _column(rows: Rows, name: str, gone: npt.NDArray[np.bool_] | None) -> KeyColumn:
    def wanted(start: int, keys: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        here = has_key(keys)
        return here if gone is None else here & ~gone[start : start + len(keys)]

    return KeyColumn(rows, name, wanted, (2,))


class _Counting:
    """Counts units by one key column, part by part."""

    def __init__(self, rows: Rows, by: int, step: Counted, at_once: int) -> None:
        self._rows, self._by, self._step, self._at_once = rows, by, step, at_once
        self._keys = self._units = 0
        self._top = np.empty((0, 2), np.int64)  # count, row of the first

    def __call__(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The units to be taken out (schema RUN), some at a time."""
        counted = _count(part, prefix_bits(self._rows.n))
        self._note(part, counted)
        too_many = counted.counts > self._step.more_than
        for start in range(0, len(part.rows), self._at_once):
            first = counted.first[start : start + self._at_once]
            out = too_many[first]
            if self._step.keep == "first":
                out &= first != np.arange(start, start + len(first))
            if out.any():
                here, first = part.rows[start : start + len(first)][out], first[out]
                yield run_of(self._rows, here, part.rows[first], counted.counts[first], by=self._by)

    def _note(self, part: Part, counted: Counts) -> None:
        """Remember how many are too frequent, and the most frequent."""
        often = counted.counts[counted.counts > self._step.more_than]
        self._keys += len(often)
        self._units += int(often.sum())
        repeated = np.flatnonzero(counted.counts > 1)
        if len(repeated) > MOST_FREQUENT:
            n = len(repeated) - MOST_FREQUENT
            least = np.partition(counted.counts[repeated], n)[n]
            repeated = repeated[counted.counts[repeated] >= least]
        here = np.column_stack((counted.counts[repeated], part.rows[repeated].astype(np.int64)))
        top = np.concatenate((self._top, here))
        self._top = top[np.lexsort((top[:, 1], -top[:, 0]))][:MOST_FREQUENT]

    def facts(self) -> dict[str, Any]:
        """Keys that are too frequent, units that have them, and the most frequent ones.

        most: [doc_id, number, count] of the first unit of each, those of one unit left out.
        """
        order = np.argsort(self._top[:, 1])
        names = np.empty((len(order), 2), np.uint64)
        for column, name in enumerate(("doc_id", "number")):
            names[order, column] = self._rows.take(name, self._top[order, 1])
        most = [[*n, c] for n, c in zip(names.tolist(), self._top[:, 0].tolist(), strict=True)]
        return {"repeated": self._keys, "units": self._units, "most": most}


def _count(part: Part, bits: int) -> Counts:
    if part.all_equal:  # more rows than fit: no memory is taken for each of them
        n = len(part.rows)
        return Counts(np.broadcast_to(np.int64(0), n), np.array([n]))
    first = first_occurrence(part.keys, bits)
    return Counts(first, np.bincount(first, minlength=len(first)))
