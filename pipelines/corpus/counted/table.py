"""Which units are whose: how many each shard has, and what is counted by itself.

    sidecars of all shards ── the units work ── a file ── Units, of every other work

A unit row, of 64 bits, is the place of a unit among those of all shards. A bucket is a range of
them that is counted by itself; so the whole corpus is one, unless a step says otherwise. Units are
gathered in groups of about GROUP_ROWS, of whole shards within a bucket: what is done shard by shard
is done a group a work. All follows from the documents alone.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.corpus.rows import GROUP_ROWS, MOST_BITS, Corpus, groups_of
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.corpus.units import UNITS, UnitStep, step_of
from tokenmill.pipelines.runs.folder import Folder, RunFolder
from tokenmill.pipelines.runs.work import Done
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

Ints = npt.NDArray[np.int64]


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
    starts: Ints
    buckets: Ints

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

    def groups_in(self, bucket: int) -> list[int]:
        return [g for g, span in enumerate(self.groups()) if span.bucket == bucket]

    def _shard_cuts(self) -> Iterator[tuple[int, int]]:
        return pairwise(groups_of(self.starts - self.starts[0], GROUP_ROWS).tolist())

    def shard_groups(self) -> list[range]:
        """Shards in groups of about GROUP_ROWS units."""
        return [range(*cut) for cut in self._shard_cuts()]

    def shards_of(self, span: Span) -> range:
        """The shards that have units of a span."""
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
    """A step that counts units, in buckets or over the whole corpus."""

    @property
    def more_than_is_too_often(self) -> int:
        """Times that are not too many yet."""
        raise NotImplementedError

    @property
    def keeps_first(self) -> bool:
        """Whether the first of those that are too frequent stays."""
        raise NotImplementedError

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


def write_units(run: RunFolder, part: Pass) -> Done:
    """Set down how many units each shard has; the last step behind the pass counts them.

    Facts: groups, shard_groups: how many; ranges: of the keys of each bucket.
    """
    corpus = Corpus(run, part)
    step = counted_step(corpus)
    keys = tuple(corpus.shard_keys())
    paths = [corpus.path(UNITS, key=key) for key in keys]
    counts = [open_sidecar(path, step.unit_parameters()).n for path in paths]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    units = Units(keys, starts, _buckets(corpus, step, starts))
    path = corpus.path(UNIT_TABLE)
    told = TABLE.with_metadata({BUCKETS: json.dumps(units.buckets.tolist())})
    with arrow_file(path, told) as writer:
        columns = [pa.array(keys, pa.string()), pa.array(counts, pa.int64())]
        writer.write_batch(pa.record_batch(columns, schema=told))
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


def counted_step(corpus: Corpus) -> CountedStep:
    """The step that counts: the last."""
    step = step_of(corpus)
    assert isinstance(step, CountedStep)
    return step


def rows_of(corpus: Corpus, units: Units) -> Rows:
    """The sidecars of all shards; none is opened before it is come to."""

    def path_of(number: int) -> Path:
        return corpus.path(UNITS, key=units.keys[number])

    counts, first = np.diff(units.starts), int(units.starts[0])
    return corpus_rows(path_of, counts, counted_step(corpus).unit_parameters(), first=first)


def _buckets(corpus: Corpus, step: CountedStep, starts: Ints) -> Ints:
    """(n_buckets + 1,) unit row where each begins; one bucket of nothing if there is no unit."""
    begins = [0]
    if step.shards_in_bucket is not None:
        begins = starts[: -1 : step.shards_in_bucket].tolist()
    elif step.docs_in_bucket is not None:
        begins = _first_units(corpus, starts, step.docs_in_bucket)
    total = int(starts[-1])
    return np.array([*np.unique([b for b in begins if b < total or b == 0]), total], np.int64)


def _first_units(corpus: Corpus, starts: Ints, every: int) -> list[int]:
    """The unit row of each `every`-th document; every document has a unit, the first number 0."""
    docs = corpus.shards.starts[corpus.shards.n_earlier :] - corpus.shards.first_new_row
    keys, found = list(corpus.shard_keys()), [0]
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
