"""Which rows of the corpus are whose: its shards in order, those of earlier runs first.

    counts of all shards ── the rows work ── a file ── Corpus, of every other work

A row number names a document in all corpus-wide steps of a pass. Shards are gathered in groups
of about GROUP_ROWS documents: what is done shard by shard is done a group a work. And all keys are
parted in ranges of about RANGE_ROWS. How many there are follows from the documents alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.partition import MAX_ROWS
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.keys import key_parameters
from tokenmill.pipelines.corpus.passes import duplicate_finders
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import open_arrow, open_sidecar

GROUP_ROWS = 1 << 21
RANGE_ROWS = 1 << 22
MOST_BITS = 12  # of MAX_ROWS there are fewer ranges

# A row for each shard; those of earlier runs have no key, and come in the order of `job.earlier`.
SHARDS = pa.schema([pa.field("key", pa.string()), pa.field("docs", pa.int64(), nullable=False)])


class Shards(NamedTuple):
    """The shards of a corpus in order.

    keys: (n_shards,) strings, null for those of earlier runs, which come first.
    starts: (n_shards + 1,) int64, corpus row where each begins.
    groups: (n_groups + 1,) int64, shard where each group begins.
    """

    keys: pa.Array
    starts: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        return len(self.groups) - 1

    @property
    def n_earlier(self) -> int:
        """Shards of earlier runs."""
        return int(self.keys.null_count)

    @property
    def earlier_rows(self) -> int:
        """Rows of earlier runs: those below this number."""
        return int(self.starts[self.n_earlier])


class Size(NamedTuple):
    """How many works there are for a corpus.

    groups, ranges: of its shards, of its keys.  first: group with a shard of this run, as all
    behind it have.
    """

    groups: int
    first: int
    ranges: int

    @property
    def all(self) -> range:
        return range(self.groups)

    @property
    def new(self) -> range:
        """Groups with shards of this run."""
        return range(self.first, self.groups)


def write_rows(
    job: PrepareJob,
    pass_index: int,
    steps: tuple[Step, ...],
    keys: tuple[str, ...],
    docs: tuple[int, ...],
) -> Done:
    """Set down the shards of a pass, and how many documents each has.

    Facts: those of `Size`.

    Raises:
        ConfigError: there are too many documents to number.
    """
    finders = duplicate_finders(steps)
    paths = job.earlier(pass_index) if finders else ()
    earlier = [open_sidecar(path, key_parameters(finders)).n for path in paths]
    n, path = sum(docs) + sum(earlier), job.rows(pass_index)
    if n >= MAX_ROWS:
        raise ConfigError(
            f"{n:,} documents are more than one corpus can have, {MAX_ROWS - 1:,}; split the corpus"
        )
    with arrow_file(path, SHARDS) as writer:
        columns = [pa.array([None] * len(earlier) + list(keys), pa.string()), [*earlier, *docs]]
        writer.write_batch(pa.record_batch([columns[0], pa.array(columns[1], pa.int64())], SHARDS))
    shards = read_shards(path)
    first = int(np.searchsorted(shards.groups, shards.n_earlier, side="right")) - 1
    size = Size(shards.n_groups, first, 1 << range_bits(n))
    return Done(files=[path], facts=size._asdict())


def read_shards(path: Path) -> Shards:
    """What `write_rows` wrote."""
    (batch,) = open_arrow(path)[0]
    starts = np.concatenate(([0], np.cumsum(np.asarray(batch["docs"])))).astype(np.int64)
    return Shards(batch["key"], starts, groups_of(starts, GROUP_ROWS))


def range_bits(n: int) -> int:
    """The bits of a key that tell its range, in a corpus of so many rows.

    >>> range_bits(1_000_000), range_bits(10_000_000), range_bits(4_000_000_000)
    (0, 2, 10)
    """
    return min((max(n - 1, 0) // RANGE_ROWS).bit_length(), MOST_BITS)


def groups_of(starts: Sequence[int] | npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """(n_groups + 1,) shard where each group of about `most` rows begins.

    starts: (n_shards + 1,).

    >>> groups_of([0, 4, 4, 9, 25, 26], 10).tolist()
    [0, 4, 5]
    """
    of_group = np.asarray(starts)[:-1] // most
    return np.append(np.flatnonzero(np.diff(of_group, prepend=-1)), len(of_group))
