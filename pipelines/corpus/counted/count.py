"""The corpus-wide work of counting: units that stand too often in a bucket, exactly, in parts.

    sidecars of all shards ── the units work ── whose they are: a file, for every other work
    units ── keys, a group a work ── counts, a range a work ── found, a group of shards a work

A unit row, of 64 bits, is the place of a unit among those of all shards. A bucket is a range of
them that is counted by itself; so the whole corpus is one, unless a step says otherwise. Units are
gathered in groups of about GROUP_ROWS, of whole shards within a bucket: what is done shard by shard
is done a group a work. All follows from the documents alone.

With its name beside each key, who counts a range knows whom a copy repeats, and no later work looks
it up among all sidecars. Nothing of the units is held but a part of a range of keys, so that memory
is bounded whatever their number, and so are those of a work.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.same.digest import first_occurrence
from tokenmill.dedup.same.partition import prefix_bits
from tokenmill.pipelines.corpus import shuffle
from tokenmill.pipelines.corpus.rows import GROUP_ROWS, MOST_BITS, Corpus, groups_of
from tokenmill.pipelines.corpus.step import KEY, Chain, Pass, Size, Told, facts_of, group_works
from tokenmill.pipelines.corpus.units import (
    FOUND_BYTES,
    REPEATED,
    RUN,
    UNITS,
    Leaving,
    UnitStep,
    joined,
    leaving_between,
    units_left,
    write_found,
)
from tokenmill.pipelines.filters.images.keys import has_key
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import (
    Rows,
    arrow_file,
    corpus_rows,
    open_arrow,
    open_sidecar,
    values,
)

UNIT_TABLE = Folder("8-unit-table", "shards.arrow")
TABLE = pa.schema([pa.field("key", pa.string()), pa.field("units", pa.int64())])
FIRST_UNIT = 0  # the number of the first unit; tests begin elsewhere
RANGE_UNITS = 1 << 20  # of keys, about; fewer than of documents: more of them leave
BUCKETS = b"tokenmill.buckets"


class Span(NamedTuple):
    """Unit rows of one bucket, from `start` to before `stop`."""

    bucket: int
    start: int
    stop: int

    @property
    def n(self) -> int:
        return self.stop - self.start


class Units(NamedTuple):
    """The units of a pass.

    keys: (n_shards,) of the shards.  starts: (n_shards + 1,) unit row where each begins.
    buckets: (n_buckets + 1,) unit row where each begins.
    """

    keys: tuple[str, ...]
    starts: I64
    buckets: I64

    @property
    def n_buckets(self) -> int:
        return len(self.buckets) - 1

    @property
    def n_ranges(self) -> int:
        """Of all buckets."""
        return sum(self.ranges(number) for number in range(self.n_buckets))

    def bucket(self, number: int) -> Span:
        start, stop = self.buckets[number : number + 2].tolist()
        return Span(number, start, stop)

    def ranges(self, number: int) -> int:
        """Into how many ranges the keys of a bucket are parted."""
        return 1 << self.range_bits(number)

    def range_bits(self, number: int) -> int:
        """The bits of a key that tell its range, in a bucket."""
        more = max(self.bucket(number).n - 1, 0) // RANGE_UNITS
        return min(more.bit_length(), MOST_BITS)

    def groups(self) -> list[Span]:
        """Spans of whole shards, but where buckets cut them."""
        shards = groups_of(self.starts - self.starts[0], GROUP_ROWS)
        cuts = np.unique(np.concatenate((self.buckets, self.starts[shards]))).tolist()
        of = np.searchsorted(self.buckets, cuts, side="right") - 1
        return [Span(b, *span) for b, span in zip(of.tolist(), pairwise(cuts), strict=False)]

    def shard_groups(self) -> list[range]:
        """Shards in groups of about GROUP_ROWS units."""
        cuts = groups_of(self.starts - self.starts[0], GROUP_ROWS).tolist()
        return [range(*cut) for cut in pairwise(cuts)]

    def shards_of(self, span: Span) -> range:
        first = int(np.searchsorted(self.starts, span.start, side="right")) - 1
        return range(first, int(np.searchsorted(self.starts, span.stop, side="left")))

    def spans_of(self, start: int, stop: int) -> list[Span]:
        """What each bucket has of the unit rows from `start` to before `stop`."""
        if start == stop:
            return []
        first, last = (np.searchsorted(self.buckets, [start, stop - 1], "right") - 1).tolist()
        of = [self.bucket(number) for number in range(first, last + 1)]
        return [b._replace(start=max(b.start, start), stop=min(b.stop, stop)) for b in of]


class CountedStep(UnitStep):
    """A step that counts units, in buckets or over the whole corpus.

    more_than: times that are not too many yet.
    keep: whether the "first" of those that are too frequent stays.
    """

    if TYPE_CHECKING:  # settings of each step, which says more of them
        more_than: int
        keep: Literal["none", "first"]

    @property
    def has_copies(self) -> bool:
        """Whether later copies of a unit in one document leave it, and have no key."""
        return False

    @property
    def docs_in_bucket(self) -> int | None:
        """So many consecutive documents are counted by themselves."""
        return None

    @property
    def shards_in_bucket(self) -> int | None:
        """So many consecutive shards are counted by themselves."""
        return None

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        """Find units that stand too often, for the last step behind a pass."""
        name = self.name
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

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        facts = facts_of(receipts, self.name, f"keys-{self.name}")
        return {"repeated": {self.name: merged_facts(facts)}} if facts else {}


def write_units(run: RunFolder, part: Pass) -> Done:
    """Set down each shard's units, at the pass's last step; facts: groups, shard_groups, ranges."""
    corpus = Corpus(run, part)
    step = corpus.last_step(CountedStep)
    keys = corpus.shard_keys()
    paths = [corpus.path(UNITS, key=key) for key in keys]
    counts = [open_sidecar(path, step.unit_parameters()).n for path in paths]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    units = Units(keys, starts, _buckets(corpus, step, starts))
    path = corpus.path(UNIT_TABLE)
    told = TABLE.with_metadata({BUCKETS: json.dumps(units.buckets.tolist())})
    with arrow_file(path, told) as writer:
        writer.write_batch(pa.RecordBatch.from_pydict({"key": keys, "units": counts}, told))
    facts = {
        "groups": len(units.groups()),
        "shard_groups": len(units.shard_groups()),
        "ranges": [units.ranges(b) for b in range(units.n_buckets)],
    }
    return Done(files=[path], facts=facts)


def read_units(corpus: Corpus) -> Units:
    """What `write_units` wrote."""
    (batch,), schema = open_arrow(corpus.path(UNIT_TABLE))
    starts = np.concatenate(([0], np.cumsum(np.asarray(batch["units"])))).astype(np.int64)
    buckets = np.array(json.loads(schema.metadata[BUCKETS]), np.int64)
    return Units(tuple(batch["key"].to_pylist()), starts + FIRST_UNIT, buckets + FIRST_UNIT)


def rows_of(corpus: Corpus, units: Units) -> Rows:
    """The sidecars of all shards; none is opened before it is come to."""
    return corpus_rows(
        lambda number: corpus.path(UNITS, key=units.keys[number]),
        np.diff(units.starts),
        corpus.last_step(CountedStep).unit_parameters(),
        first=int(units.starts[0]),
    )


def _buckets(corpus: Corpus, step: CountedStep, starts: I64) -> I64:
    """(n_buckets + 1,) unit row where each begins; one bucket of nothing if there is no unit."""
    begins = [0]
    if step.shards_in_bucket is not None:
        begins = starts[: -1 : step.shards_in_bucket].tolist()
    elif step.docs_in_bucket is not None:
        begins = _first_units(corpus, starts, step.docs_in_bucket)
    total = int(starts[-1])
    return np.array([*np.unique([b for b in begins if b < total or b == 0]), total], np.int64)


def _first_units(corpus: Corpus, starts: I64, every: int) -> list[int]:
    """The unit row of each `every`-th document; every document has a unit, the first number 0."""
    docs = corpus.shards.starts[corpus.shards.n_earlier :] - corpus.shards.first_new_row
    keys, found = corpus.shard_keys(), [0]
    for doc in range(every, int(docs[-1]), every):
        shard = int(np.searchsorted(docs, doc, side="right")) - 1
        left = doc - int(docs[shard])
        row = int(starts[shard])
        sidecar = open_sidecar(corpus.path(UNITS, key=keys[shard]), {})
        for batch in sidecar.batches:
            first = np.flatnonzero(values(batch, "number") == 0)
            if left < len(first):
                row += int(first[left])
                break
            left, row = left - len(first), row + batch.num_rows
        found.append(row)
    return found


UNIT_KEYS = Folder("8-unit-keys", "group-{group:05d}.arrow")
UNIT_COUNTS = Folder("8-unit-counts", "bucket-{bucket:05d}-{number:05d}.arrow")
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


def spill_units(run: RunFolder, part: Pass, group: int) -> Done:
    """Write keys of a group's units, but of removed documents; facts: units with keys, without."""
    corpus = Corpus(run, part)
    step, units = corpus.last_step(CountedStep), read_units(corpus)
    groups, rows = units.groups(), rows_of(corpus, units)
    span = groups[group]
    corpus.memory_left(step.name, span.n, SPILL_BYTES, works=len(groups), of=step.units)
    alive = alive_units(corpus, units, rows, span)
    bits = units.range_bits(span.bucket)
    path, schema = corpus.path(UNIT_KEYS, group=group), shuffle.row_schema(KEY.list_size, *NAME)
    with arrow_file(path, schema) as writer:
        for column in step.columns:
            keyed = _keyed(units, rows, span, column, alive)
            writer.write_batch(shuffle.chunk_of(schema, bits, keyed))
    return Done(files=[path], facts={step.units: int(alive.sum())})


def spilled_units(corpus: Corpus, units: Units, bucket: int, by: int, number: int) -> shuffle.Range:
    """A range of a column of keys, of all units of a bucket that are still there."""
    groups = {g: span for g, span in enumerate(units.groups()) if span.bucket == bucket}
    return shuffle.Range(
        [corpus.path(UNIT_KEYS, group=group) for group in groups],
        units.range_bits(bucket),
        number,
        firsts=[span.start for span in groups.values()],
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
        numbers[to], keys[to] = shuffle.local_rows(here + at.start, 0), found[here]
        doc_ids[to] = values(batch, "doc_id")[here]
        in_docs[to] = values(batch, "number")[here]
        n = to.stop
    return keys[:n], numbers[:n], doc_ids[:n], in_docs[:n]


def alive_units(corpus: Corpus, units: Units, rows: Rows, span: Span) -> Bools:
    """(span.n,) units of documents that no step standing before removes."""
    shards, step = units.shards_of(span), corpus.last_step(CountedStep)
    alive = [units_left(corpus, step.name, rows, n, units.keys[n]) for n in shards]
    whole = np.concatenate([np.empty(0, np.bool_), *alive])
    first = int(units.starts[shards.start])
    return whole[span.start - first : span.stop - first]


def count_units(run: RunFolder, part: Pass, bucket: int, number: int) -> Done:
    """Write which units of a range of keys are too frequent in a bucket.

    Facts: of each column keys that are too frequent, units that have them, and the most frequent.
    """
    corpus = Corpus(run, part)
    step, units = corpus.last_step(CountedStep), read_units(corpus)
    facts, found = {}, []
    for by, column in enumerate(step.columns):
        spilled = spilled_units(corpus, units, bucket, by, number)
        per_unit, works = LEAVING_BYTES * len(step.columns), units.n_ranges
        left = corpus.memory_left(step.name, spilled.n, per_unit, works=works, of=step.units)
        counting = _Counting(spilled, by, step)
        for equal in shuffle.parts(spilled, shuffle.Room(left, ROW_BYTES, LARGEST_BYTES)):
            found.append(counting(equal))
        facts[column] = counting.facts()
    path = corpus.path(UNIT_COUNTS, bucket=bucket, number=number)
    with arrow_file(path, RUN) as writer:
        writer.write_batch(joined(found).batch())
    return Done(files=[path], facts=facts)


def write_repeated(run: RunFolder, part: Pass, group: int) -> Done:
    corpus = Corpus(run, part)
    step, units = corpus.last_step(CountedStep), read_units(corpus)
    groups, rows, paths = units.shard_groups(), rows_of(corpus, units), []
    for shard in groups[group]:
        start, stop = units.starts[shard : shard + 2].tolist()
        spans = units.spans_of(start, stop)
        runs = [(_runs(corpus, units, span.bucket), span.start, span.stop) for span in spans]
        some = (b for files, *ends in runs for b in shuffle.rows_between(files, "row", ends))
        n = sum(batch.num_rows for batch in some)
        corpus.memory_left(step.name, n, FOUND_BYTES, works=len(groups), of=step.units)
        found = joined([leaving_between(*run) for run in runs])
        paths.append(corpus.path(REPEATED, key=units.keys[shard]))
        alive = None
        if step.has_copies:
            alive = alive_units(corpus, units, rows, Span(0, start, stop))
        local = found._replace(rows=found.rows - start)
        write_found(paths[-1], rows.shard(shard), local, alive)
    return Done(files=paths)


def _runs(corpus: Corpus, units: Units, bucket: int) -> list[Path]:
    numbers = range(units.ranges(bucket))
    return [corpus.path(UNIT_COUNTS, bucket=bucket, number=n) for n in numbers]


class _Counting:
    """Counts units by one key column, part by part."""

    def __init__(self, spilled: shuffle.Range, by: int, step: CountedStep) -> None:
        self._spilled, self._by, self._step = spilled, by, step
        self._keys = self._units = 0
        self._top = np.empty((0, 2), np.int64)  # count, row of the first

    def __call__(self, part: shuffle.Part) -> Leaving:
        """The units to be taken out."""
        firsts, n_each = _counted(part)
        self._note(part, n_each)
        out = (n_each > self._step.more_than)[firsts]
        if self._step.keep == "first":
            out &= firsts != np.arange(len(out))
        first = firsts[out]
        names = self._spilled.take_all(("doc_id", "number"), part.rows[first])
        by = np.full(len(first), self._by, np.uint8)
        counts = np.minimum(n_each[first], MOST_TOLD).astype(np.uint32)
        doc_ids, numbers = names["doc_id"].astype(np.uint64), names["number"].astype(np.int32)
        return Leaving(part.rows[out], by, counts, doc_ids, numbers)

    def _note(self, part: shuffle.Part, n_each: I64) -> None:
        """Remember how many are too frequent, and the most frequent."""
        often = n_each[n_each > self._step.more_than]
        self._keys += len(often)
        self._units += int(often.sum())
        repeated = np.flatnonzero(n_each > 1)
        if len(repeated) > MOST_FREQUENT:
            n = len(repeated) - MOST_FREQUENT
            least = np.partition(n_each[repeated], n)[n]
            repeated = repeated[n_each[repeated] >= least]
        here = np.column_stack((n_each[repeated], part.rows[repeated]))
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


def _counted(part: shuffle.Part) -> tuple[I64, I64]:
    """(n,) place in a part of the first unit with the same key; and how many have the key of each.

    The latter is 0 of units that are not the first of their key, and (1,) if all are equal.
    """
    if part.all_equal:  # more rows than fit: no memory is taken for each of them
        n = len(part.rows)
        return np.broadcast_to(np.int64(0), n), np.array([n])
    first = first_occurrence(part.keys, prefix_bits(len(part.keys)))
    return first, np.bincount(first, minlength=len(first))


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
