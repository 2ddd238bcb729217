"""Which units are whose: how many each shard has, and what is counted by itself.

    sidecars of all shards ── the units work ── a file ── Units, of every other work

A unit row is the place of a unit among those of all shards. A bucket is a range of them that is
counted by itself; so the whole corpus is one, unless a step says otherwise. Units are gathered in
groups of about GROUP_ROWS, of whole shards within a bucket: what is done shard by shard is done a
group a work. All follows from the documents alone.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.partition import MAX_ROWS
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.paragraphs import (
    BucketOfDocs,
    GroupOfShards,
    RepeatedParagraphs,
)
from tokenmill.pipelines.corpus.counted.steps import Counted
from tokenmill.pipelines.corpus.counted.units import unit_name, unit_parameters
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill_rows import GROUP_ROWS, MOST_BITS, groups_of
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Rows, corpus_rows, open_arrow, open_sidecar, values

UNITS = pa.schema([pa.field("key", pa.string()), pa.field("units", pa.int64())])
RANGE_UNITS = 1 << 20  # of keys, about; fewer than of documents: more of them leave
BUCKETS = b"tokenmill.buckets"

Ints = npt.NDArray[np.int64]


class Span(NamedTuple):
    """Unit rows of one bucket, from `start` to before `stop`; row numbers begin at `base`."""

    bucket: int
    base: int
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
        return Span(number, start, start, stop)

    def ranges(self, number: int) -> int:
        """Into how many ranges the keys of a bucket are parted."""
        return 1 << self.range_bits(number)

    def range_bits(self, number: int) -> int:
        """The bits of a key that tell its range, in a bucket."""
        more = max(self.bucket(number).n - 1, 0) // RANGE_UNITS
        return min(more.bit_length(), MOST_BITS)

    def groups(self) -> list[Span]:
        """Spans of whole shards, but where buckets cut them."""
        shards = groups_of(self.starts, GROUP_ROWS)
        cuts = np.unique(np.concatenate((self.buckets, self.starts[shards]))).tolist()
        of = np.searchsorted(self.buckets, cuts, side="right") - 1
        bases = self.buckets[of].tolist()
        spans = zip(of.tolist(), bases, pairwise(cuts), strict=False)
        return [Span(bucket, base, *span) for bucket, base, span in spans]

    def groups_in(self, bucket: int) -> list[int]:
        return [g for g, span in enumerate(self.groups()) if span.bucket == bucket]

    def shard_groups(self) -> list[range]:
        """Shards in groups of about GROUP_ROWS units."""
        return [range(*cut) for cut in pairwise(groups_of(self.starts, GROUP_ROWS).tolist())]

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


def write_units(job: PrepareJob, pass_index: int, steps: tuple[Step, ...]) -> Done:
    """Set down how many units each shard has; steps: those behind the pass, the last counts them.

    Facts: groups, shard_groups: how many; ranges: of the keys of each bucket.

    Raises:
        ConfigError: a bucket has too many units to number.
    """
    corpus, step = Corpus(job, pass_index, steps), counted_step(steps)
    keys = tuple(corpus.shard_keys())
    paths = [job.units(pass_index, key) for key in keys]
    counts = [open_sidecar(path, unit_parameters(step)).n for path in paths]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    units = Units(keys, starts, _buckets(corpus, step, starts))
    _check_sizes(step, units)
    path = job.unit_table(pass_index)
    told = UNITS.with_metadata({BUCKETS: json.dumps(units.buckets.tolist())})
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
    (batch,), schema = open_arrow(corpus.job.unit_table(corpus.pass_index))
    starts = np.concatenate(([0], np.cumsum(np.asarray(batch["units"])))).astype(np.int64)
    buckets = np.array(json.loads(schema.metadata[BUCKETS]), np.int64)
    return Units(tuple(batch["key"].to_pylist()), starts, buckets)


def counted_step(steps: tuple[Step, ...]) -> Counted:
    """The step that counts: the last."""
    step = steps[-1]
    assert isinstance(step, Counted)
    return step


def rows_of(corpus: Corpus, units: Units, step: Counted) -> Rows:
    """The sidecars of all shards; none is opened before it is come to."""

    def path_of(number: int) -> Path:
        return corpus.job.units(corpus.pass_index, units.keys[number])

    return corpus_rows(path_of, np.diff(units.starts), unit_parameters(step))


def _check_sizes(step: Counted, units: Units) -> None:
    most = int(np.diff(units.buckets).max())
    if most >= MAX_ROWS:
        by_buckets = ", or count by buckets, as within: {docs: 30_000_000}"
        raise ConfigError(
            f"{step.name}: {most:,} {unit_name(step)} are more than can be counted at once,"
            f" {MAX_ROWS - 1:,}; split the corpus"
            + (by_buckets if isinstance(step, RepeatedParagraphs) else "")
        )


def _buckets(corpus: Corpus, step: Counted, starts: Ints) -> Ints:
    """(n_buckets + 1,) unit row where each begins; one bucket of nothing if there is no unit."""
    within = getattr(step, "within", None)
    begins = [0]
    if isinstance(within, GroupOfShards):
        begins = starts[: -1 : within.shards].tolist()
    elif isinstance(within, BucketOfDocs):
        begins = _first_units(corpus, step, starts, within.docs)
    total = int(starts[-1])
    return np.array([*np.unique([b for b in begins if b < total or b == 0]), total], np.int64)


def _first_units(corpus: Corpus, step: Counted, starts: Ints, every: int) -> list[int]:
    """The unit row of each `every`-th document; every document has a unit, the first number 0."""
    docs = corpus.shards.starts[corpus.shards.n_earlier :] - corpus.shards.earlier_rows
    keys, found = list(corpus.shard_keys()), [0]
    for doc in range(every, int(docs[-1]), every):
        shard = int(np.searchsorted(docs, doc, side="right")) - 1
        left = doc - int(docs[shard])
        row = int(starts[shard])
        sidecar = open_sidecar(corpus.job.units(corpus.pass_index, keys[shard]), {})
        for batch in sidecar.batches:
            first = np.flatnonzero(values(batch, "number") == 0)
            if left < len(first):
                row += int(first[left])
                break
            left, row = left - len(first), row + batch.num_rows
        found.append(row)
    return found
