"""The corpus-wide work of counting: units that stand too often in a bucket, exactly, in parts.

    units ── keys, a group a work ── counts, a range a work ── found, a group of shards a work

Nothing of the units is held but a part of a range of keys, so that memory is bounded whatever
their number, and so are those of a work.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.digest import first_occurrence
from tokenmill.dedup.partition import prefix_bits
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.finding import (
    FOUND_BYTES,
    RUN,
    Leaving,
    Runs,
    joined,
    write_shard,
)
from tokenmill.pipelines.corpus.counted.spilled import SpilledUnits, gone_units
from tokenmill.pipelines.corpus.counted.steps import Counted
from tokenmill.pipelines.corpus.counted.table import Span, Units, counted_step, read_units, rows_of
from tokenmill.pipelines.corpus.counted.units import has_copies, unit_name
from tokenmill.pipelines.corpus.parts import Part, Room, parts
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file

Ints = npt.NDArray[np.int64]

MOST_FREQUENT = 20
LEAVING_BYTES = 80  # of a unit that leaves: columns 21, joined 21, sorted 21, their order 16
# Of a part: row number 4, key 16, partition 4, first row 8, counts 8; those over one 1, their
# places 4, their counts 4, which are looked for the most frequent 4; whether they are too many 1
ROW_BYTES = 54
LARGEST_BYTES = 32  # key 16, of a hash table at most 16
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


class Counts(NamedTuple):
    """The units of a part.

    first: (n,) place in the part of the first with the same key.
    counts: (n,) of the first of each key how many have it, of others 0; (1,) if all are equal.
    """

    first: Ints
    counts: Ints


def count_units(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], bucket: int, number: int
) -> Done:
    """Write which units of a range of keys are too frequent in a bucket.

    Facts: of each column keys that are too frequent, units that have them, and the most frequent.
    """
    corpus, step = Corpus(job, pass_index, steps), counted_step(steps)
    units = read_units(corpus)
    ranges, facts, found = units.ranges(bucket), {}, []
    for by, column in enumerate(step.columns):
        spilled = SpilledUnits(corpus, units, bucket, by * ranges + number)
        left = corpus.memory_left(
            step.name,
            spilled.n,
            LEAVING_BYTES * len(step.columns),
            least=LEAST_BYTES,
            at_once=corpus.at_once(units.n_ranges),
            of=unit_name(step),
        )
        counting = _Counting(spilled, by, step)
        for part in parts(spilled, Room(left, ROW_BYTES, LARGEST_BYTES)):
            found.append(counting(part))
        facts[column] = counting.facts()
    path = job.unit_counts(pass_index, bucket, number)
    with arrow_file(path, RUN) as writer:
        writer.write_batch(joined(found).batch())
    return Done(files=[path], facts=facts)


def write_repeated(job: PrepareJob, pass_index: int, steps: tuple[Step, ...], group: int) -> Done:
    """Write what was found of every shard of a group."""
    corpus, step = Corpus(job, pass_index, steps), counted_step(steps)
    units = read_units(corpus)
    groups, rows, paths = units.shard_groups(), rows_of(corpus, units, step), []
    for shard in groups[group]:
        start, stop = units.starts[shard : shard + 2].tolist()
        runs = [(s, _runs(corpus, units, s.bucket)) for s in units.spans_of(start, stop)]
        corpus.memory_left(
            step.name,
            sum(run.n(s.start - s.base, s.stop - s.base) for s, run in runs),
            FOUND_BYTES,
            least=LEAST_BYTES,
            at_once=corpus.at_once(len(groups)),
            of=unit_name(step),
        )
        found = joined([_local(s, run, start) for s, run in runs])
        paths.append(job.repeated(pass_index, units.keys[shard]))
        gone = None
        if has_copies(step):
            gone = gone_units(corpus, units, rows, Span(0, start, start, stop))
        write_shard(paths[-1], rows.shard(shard), found, gone)
    return Done(files=paths)


def _runs(corpus: Corpus, units: Units, bucket: int) -> Runs:
    numbers = range(units.ranges(bucket))
    return Runs([corpus.job.unit_counts(corpus.pass_index, bucket, n) for n in numbers])


def _local(span: Span, runs: Runs, start: int) -> Leaving:
    """What of a span leaves, rows counted from the unit row `start`."""
    found = runs.between(span.start - span.base, span.stop - span.base)
    return found._replace(rows=(found.rows.astype(np.int64) + span.base - start).astype(np.uint32))


class _Counting:
    """Counts units by one key column, part by part."""

    def __init__(self, spilled: SpilledUnits, by: int, step: Counted) -> None:
        self._spilled, self._by, self._step = spilled, by, step
        self._keys = self._units = 0
        self._top = np.empty((0, 2), np.int64)  # count, row of the first

    def __call__(self, part: Part) -> Leaving:
        """The units to be taken out."""
        counted = _count(part)
        self._note(part, counted)
        out = (counted.counts > self._step.more_than)[counted.first]
        if self._step.keep == "first":
            out &= counted.first != np.arange(len(out))
        first = counted.first[out]
        names = self._spilled.names(part.rows[first])
        by = np.full(len(first), self._by, np.uint8)
        return Leaving(part.rows[out], by, counted.counts[first].astype(np.uint32), *names)

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
        names = self._spilled.names(self._top[:, 1].astype(np.uint32))
        columns = [names.doc_ids.tolist(), names.numbers.tolist(), self._top[:, 0].tolist()]
        most = [list(row) for row in zip(*columns, strict=True)]
        return {"repeated": self._keys, "units": self._units, "most": most}


def _count(part: Part) -> Counts:
    if part.all_equal:  # more rows than fit: no memory is taken for each of them
        n = len(part.rows)
        return Counts(np.broadcast_to(np.int64(0), n), np.array([n]))
    first = first_occurrence(part.keys, prefix_bits(len(part.keys)))
    return Counts(first, np.bincount(first, minlength=len(first)))


def merged_facts(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the works of a step tell, as one: numbers added up, of the most frequent the most.

    >>> merged_facts([{"lines": 5}, {"line": {"repeated": 1, "most": [[0, 2, 3]]}}, {"lines": 2}])
    {'lines': 7, 'line': {'repeated': 1, 'most': [[0, 2, 3]]}}
    """
    made: dict[str, Any] = {}
    for name in dict.fromkeys(name for facts in told for name in facts):
        found = [facts[name] for facts in told if name in facts]
        if isinstance(found[0], Mapping):
            made[name] = merged_facts(found)
        elif isinstance(found[0], Sequence):
            rows = sorted((row for rows in found for row in rows), key=lambda r: (-r[2], r[:2]))
            made[name] = rows[:MOST_FREQUENT]
        else:
            made[name] = sum(found)
    return made
