"""The corpus-wide work of counting: units that stand too often in a bucket, exactly, in parts.

    units ── keys, a group a work ── counts, a range a work ── found, a group of shards a work

With its name beside each key, who counts a range knows whom a copy repeats, and no later work looks
it up among all sidecars.

Nothing of the units is held but a part of a range of keys, so that memory is bounded whatever
their number, and so are those of a work.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.corpus.counted.table import (
    UNIT_TABLE,
    CountedStep,
    Span,
    Units,
    counted_step,
    read_units,
    rows_of,
    write_units,
)
from tokenmill.pipelines.corpus.keys import KEY
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import (
    Part,
    Range,
    Room,
    chunk_of,
    local_rows,
    parts,
    row_schema,
)
from tokenmill.pipelines.corpus.step import Chain, Pass, Told, group_works
from tokenmill.pipelines.corpus.units import (
    FOUND_BYTES,
    REPEATED,
    RUN,
    UNITS,
    Leaving,
    Runs,
    is_among,
    joined,
    write_found,
)
from tokenmill.pipelines.corpus.verdicts import removed_ids
from tokenmill.pipelines.filters.images.keys import has_key
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import Rows, arrow_file, values

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNIT_KEYS = Folder("8-unit-keys", "group-{group:05d}.arrow")
UNIT_COUNTS = Folder("8-unit-counts", "bucket-{bucket:05d}-{number:05d}.arrow")
FOLDERS = (UNITS, UNIT_TABLE, UNIT_KEYS, UNIT_COUNTS, REPEATED)
NAME = [pa.field("doc_id", pa.uint64()), pa.field("number", pa.int32())]

MOST_FREQUENT = 20
MOST_TOLD = (1 << 32) - 1  # times, in a receipt: more are told as so many
LEAVING_BYTES = 96  # of a unit that leaves: columns 25, joined 25, sorted 25, their order 16
# Of a group: row number 4, key 16, name 12, alive 1; partition 4, and all of it in order 32
SPILL_BYTES = 69
# Of a part: row number 8, key 16, partition 4, first row 8, counts 8; those over one 1, their
# places 4, their counts 4, which are looked for the most frequent 4; whether they are too many 1
ROW_BYTES = 58
LARGEST_BYTES = 32  # key 16, of a hash table at most 16
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


class Counts(NamedTuple):
    """The units of a part.

    first: (n,) place in the part of the first with the same key.
    counts: (n,) of the first of each key how many have it, of others 0; (1,) if all are equal.
    """

    first: Ints
    counts: Ints


def counting_phases(chain: Chain, name: str) -> Phases[None]:
    """Find units that stand too often, for the last step behind a pass."""
    told = yield from chain.phase(f"{name} units", f"units-{name}", write_units, {"all": ()})
    facts = told["all"].facts
    groups = group_works(range(facts["groups"]))
    yield from chain.phase(f"{name} keys", f"keys-{name}", spill_units, groups)
    counts = {
        f"bucket-{bucket:05d}-{n:05d}": (bucket, n)
        for bucket, ranges in enumerate(facts["ranges"])
        for n in range(ranges)
    }
    yield from chain.phase(name, name, count_units, counts)
    groups = group_works(range(facts["shard_groups"]))
    yield from chain.phase(f"{name} found", f"found-{name}", write_repeated, groups)


def spill_units(run: RunFolder, part: Pass, group: int) -> Done:
    """Write the keys of a group's units, but of documents that a step before removes.

    Facts: how many units there are, with keys and without.
    """
    corpus = Corpus(run, part)
    step, units = counted_step(corpus), read_units(corpus)
    groups, rows = units.groups(), rows_of(corpus, units)
    span = groups[group]
    at_once = corpus.at_once(len(groups))
    corpus.memory_left(
        step.name, span.n, SPILL_BYTES, least=LEAST_BYTES, at_once=at_once, of=step.units
    )
    alive = alive_units(corpus, units, rows, span)
    bits = units.range_bits(span.bucket)
    path, schema = corpus.path(UNIT_KEYS, group=group), row_schema(KEY.list_size, *NAME)
    with arrow_file(path, schema) as writer:
        for column in step.columns:
            writer.write_batch(chunk_of(schema, bits, _keyed(units, rows, span, column, alive)))
    return Done(files=[path], facts={step.units: int(alive.sum())})


def spilled_units(corpus: Corpus, units: Units, bucket: int, by: int, number: int) -> Range:
    """A range of a column of keys, of all units of a bucket that are still there."""
    groups = units.groups()
    of_bucket = units.groups_in(bucket)
    return Range(
        [corpus.path(UNIT_KEYS, group=group) for group in of_bucket],
        units.range_bits(bucket),
        number,
        firsts=[groups[group].start for group in of_bucket],
        chunk=by,
        n_words=KEY.list_size,
    )


def _pieces(units: Units, rows: Rows, span: Span) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """What is of a span in each batch of the sidecars, and where it stands in the span."""
    shards = units.shards_of(span)
    for batch in rows.walk(shards.start, shards.stop):
        start = max(batch.start, span.start)
        n = min(batch.start + batch.rows.num_rows, span.stop) - start
        if n > 0:
            at = start - span.start
            yield slice(at, at + n), batch.rows.slice(start - batch.start, n)


def _keyed(
    units: Units, rows: Rows, span: Span, column: str, alive: Bools
) -> tuple[npt.NDArray[Any], ...]:
    """Keys, rows in the group, documents and numbers of the units that are there and have a key."""
    numbers, keys = np.empty(span.n, np.uint32), np.empty((span.n, 2), np.uint64)
    doc_ids, in_docs = np.empty(span.n, np.uint64), np.empty(span.n, np.int32)
    n = 0
    for at, batch in _pieces(units, rows, span):
        found = values(batch, column)
        here = np.flatnonzero(alive[at] & has_key(found))
        to = slice(n, n + len(here))
        numbers[to], keys[to] = local_rows(here + at.start, 0), found[here]
        doc_ids[to] = values(batch, "doc_id")[here]
        in_docs[to] = values(batch, "number")[here]
        n = to.stop
    return keys[:n], numbers[:n], doc_ids[:n], in_docs[:n]


def alive_units(corpus: Corpus, units: Units, rows: Rows, span: Span) -> Bools:
    """(span.n,) units of documents that no step standing before removes."""
    alive = np.ones(span.n, np.bool_)
    lost = [np.empty(0, np.uint64)]
    for number in units.shards_of(span):
        removed = removed_ids(corpus, counted_step(corpus).name, units.keys[number])
        if removed is None:
            return alive
        lost += removed
    ids = np.concatenate(lost)  # ascend, as documents do
    for at, batch in _pieces(units, rows, span):
        alive[at] = ~is_among(values(batch, "doc_id"), ids)
    return alive


def count_units(run: RunFolder, part: Pass, bucket: int, number: int) -> Done:
    """Write which units of a range of keys are too frequent in a bucket.

    Facts: of each column keys that are too frequent, units that have them, and the most frequent.
    """
    corpus = Corpus(run, part)
    step, units = counted_step(corpus), read_units(corpus)
    facts, found = {}, []
    for by, column in enumerate(step.columns):
        spilled = spilled_units(corpus, units, bucket, by, number)
        left = corpus.memory_left(
            step.name,
            spilled.n,
            LEAVING_BYTES * len(step.columns),
            least=LEAST_BYTES,
            at_once=corpus.at_once(units.n_ranges),
            of=step.units,
        )
        counting = _Counting(spilled, by, step)
        for equal in parts(spilled, Room(left, ROW_BYTES, LARGEST_BYTES)):
            found.append(counting(equal))
        facts[column] = counting.facts()
    path = corpus.path(UNIT_COUNTS, bucket=bucket, number=number)
    with arrow_file(path, RUN) as writer:
        writer.write_batch(joined(found).batch())
    return Done(files=[path], facts=facts)


def write_repeated(run: RunFolder, part: Pass, group: int) -> Done:
    """Write what was found of every shard of a group."""
    corpus = Corpus(run, part)
    step, units = counted_step(corpus), read_units(corpus)
    groups, rows, paths = units.shard_groups(), rows_of(corpus, units), []
    for shard in groups[group]:
        start, stop = units.starts[shard : shard + 2].tolist()
        runs = [(span, _runs(corpus, units, span.bucket)) for span in units.spans_of(start, stop)]
        corpus.memory_left(
            step.name,
            sum(run.n(span.start, span.stop) for span, run in runs),
            FOUND_BYTES,
            least=LEAST_BYTES,
            at_once=corpus.at_once(len(groups)),
            of=step.units,
        )
        found = joined([run.between(span.start, span.stop) for span, run in runs])
        paths.append(corpus.path(REPEATED, key=units.keys[shard]))
        alive = None
        if step.has_copies:
            alive = alive_units(corpus, units, rows, Span(0, start, stop))
        local = found._replace(rows=found.rows - start)
        write_found(paths[-1], rows.shard(shard), local, alive)
    return Done(files=paths)


def _runs(corpus: Corpus, units: Units, bucket: int) -> Runs:
    numbers = range(units.ranges(bucket))
    return Runs([corpus.path(UNIT_COUNTS, bucket=bucket, number=n) for n in numbers])


class _Counting:
    """Counts units by one key column, part by part."""

    def __init__(self, spilled: Range, by: int, step: CountedStep) -> None:
        self._spilled, self._by, self._step = spilled, by, step
        self._keys = self._units = 0
        self._top = np.empty((0, 2), np.int64)  # count, row of the first

    def __call__(self, part: Part) -> Leaving:
        """The units to be taken out."""
        counted = _count(part)
        self._note(part, counted)
        out = (counted.counts > self._step.more_than_is_too_often)[counted.first]
        if self._step.keeps_first:
            out &= counted.first != np.arange(len(out))
        first = counted.first[out]
        names = self._spilled.take_all(("doc_id", "number"), part.rows[first])
        by = np.full(len(first), self._by, np.uint8)
        counts = np.minimum(counted.counts[first], MOST_TOLD).astype(np.uint32)
        doc_ids, numbers = names["doc_id"].astype(np.uint64), names["number"].astype(np.int32)
        return Leaving(part.rows[out], by, counts, doc_ids, numbers)

    def _note(self, part: Part, counted: Counts) -> None:
        """Remember how many are too frequent, and the most frequent."""
        often = counted.counts[counted.counts > self._step.more_than_is_too_often]
        self._keys += len(often)
        self._units += int(often.sum())
        repeated = np.flatnonzero(counted.counts > 1)
        if len(repeated) > MOST_FREQUENT:
            n = len(repeated) - MOST_FREQUENT
            least = np.partition(counted.counts[repeated], n)[n]
            repeated = repeated[counted.counts[repeated] >= least]
        here = np.column_stack((counted.counts[repeated], part.rows[repeated]))
        top = np.concatenate((self._top, here))
        self._top = top[np.lexsort((top[:, 1], -top[:, 0]))][:MOST_FREQUENT]

    def facts(self) -> dict[str, Any]:
        """Keys that are too frequent, units that have them, and the most frequent ones.

        most: [doc_id, number, count] of the first unit of each, those of one unit left out.
        """
        names = self._spilled.take_all(("doc_id", "number"), self._top[:, 1])
        columns = [*(column.tolist() for column in names.values()), self._top[:, 0].tolist()]
        most = [list(row) for row in zip(*columns, strict=True)]
        return {"repeated": self._keys, "units": self._units, "most": most}


def _count(part: Part) -> Counts:
    if part.all_equal:  # more rows than fit: no memory is taken for each of them
        n = len(part.rows)
        return Counts(np.broadcast_to(np.int64(0), n), np.array([n]))
    from tokenmill.dedup.digest import first_occurrence  # compiles; settings must not
    from tokenmill.dedup.partition import prefix_bits

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


def told_of_counting(name: str, receipts: Sequence[Receipt]) -> Told:
    """The section "repeated" of the report, from the receipts of a step's works."""
    steps = (name, f"keys-{name}")
    facts = [r.facts for r in receipts if r.step.rpartition("-")[0] in steps]
    return {"repeated": {name: merged_facts(facts)}} if facts else {}
