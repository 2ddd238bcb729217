"""Which rows of the corpus are whose: its shards in order, those of earlier runs first.

    counts of all shards ── the rows work ── a file ── Corpus, of every other work

A row number, of 64 bits, names a document in all corpus-wide steps of a pass. Shards are gathered
in groups of about GROUP_ROWS documents, or GROUP_SHARDS shards: what is done shard by shard is done
a group a work. And all keys are parted in ranges of about RANGE_ROWS. How many there are follows
from the documents of the shards alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import cores
from tokenmill.pipelines.core.shard import shard_number
from tokenmill.pipelines.corpus.step import Pass, Size, StepT, key_parameters
from tokenmill.pipelines.runs.folder import INDEX, KEYS, Folder, RunFolder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage import files
from tokenmill.pipelines.storage.mirror import present
from tokenmill.sizing.units import format_memory

GROUP_ROWS = 1 << 21
GROUP_SHARDS = 1000  # of a group at most, however few documents they have
RANGE_ROWS = 1 << 22
LEAST_BYTES = 1 << 18  # of memory for a work: with less, nothing is gained by trying
MOST_BITS = 14  # of a key, that tell its range: a file of each group is opened for each range
ROWS_AT_ONCE = 1 << 20
FIRST_ROW = 0  # the number of the corpus' first row; tests begin elsewhere

ROWS = Folder("1-rows", "shards.arrow")
# A row for each shard; those of earlier runs have no key, and come in the order of `earlier_keys`.
SHARDS = pa.schema([pa.field("key", pa.string()), pa.field("docs", pa.int64(), nullable=False)])
# The ids of a group's documents, by row: those that others leave for are looked up by the million,
# and lie in all groups. To open the key sidecars of all shards for each group would be in vain.
IDS = Folder("2-ids", "{group:05d}.arrow")
DOC_IDS = pa.schema([pa.field("doc_id", pa.uint64(), nullable=False)])


class Shards(NamedTuple):
    """The shards of a corpus in order.

    keys: (n_shards,) strings, null for those of earlier runs, which come first.
    starts: (n_shards + 1,) int64, corpus row where each begins.
    groups: (n_groups + 1,) int64, shard where each group begins.
    """

    keys: pa.Array
    starts: I64
    groups: I64

    @property
    def n_groups(self) -> int:
        return len(self.groups) - 1

    def place_of(self, key: str) -> tuple[int, int]:
        """The group of a shard of this run, and its place among those of this run in there."""
        number = self.keys.index(pa.scalar(key, pa.string())).as_py()
        group = int(np.searchsorted(self.groups, number, side="right")) - 1
        return group, number - max(int(self.groups[group]), self.n_earlier)

    @property
    def n_earlier(self) -> int:
        return int(self.keys.null_count)

    @property
    def first_new_group(self) -> int:
        """The first with a shard of this run, as all behind it have."""
        return int(np.searchsorted(self.groups, self.n_earlier, side="right")) - 1

    @property
    def first_new_row(self) -> int:
        """Rows of earlier runs are those below this number."""
        return int(self.starts[self.n_earlier])


def write_rows(run: RunFolder, part: Pass, keys: tuple[str, ...], docs: tuple[int, ...]) -> Done:
    """Set down the shards of a pass, and how many documents each has. Facts: those of `Size`."""
    paths = earlier_keys(run, part)
    earlier = [files.open_sidecar(path, key_parameters(part.finders)).n for path in paths]
    path = run.path(ROWS, part.index)
    with files.arrow_file(path, SHARDS) as writer:
        columns = {"key": [*([None] * len(earlier)), *keys], "docs": [*earlier, *docs]}
        writer.write_batch(pa.RecordBatch.from_pydict(columns, SHARDS))
    shards = read_shards(path)
    n = sum(docs) + sum(earlier)
    size = Size(shards.n_groups, shards.first_new_group, 1 << range_bits(n), n)
    return Done(files=[path], facts=size._asdict())


def read_shards(path: Path) -> Shards:
    """What `write_rows` wrote; read once a process, for each shard asks for its place in there."""
    found = present(path).stat()
    return _read_shards(path, (found.st_mtime_ns, found.st_size), FIRST_ROW)


@lru_cache(maxsize=4)
def _read_shards(path: Path, _stamp: tuple[int, int], first_row: int) -> Shards:
    (batch,) = files.open_arrow(path)[0]
    starts = np.concatenate(([0], np.cumsum(np.asarray(batch["docs"])))).astype(np.int64)
    return Shards(batch["key"], starts + first_row, groups_of(starts, GROUP_ROWS, GROUP_SHARDS))


def earlier_keys(run: RunFolder, part: Pass) -> tuple[Path, ...]:
    """Keys that documents of earlier runs had in the same pass, shard by shard, in order."""
    if part.keyed is None:
        return ()
    return tuple(
        earlier.out / INDEX.name / INDEX.file.format(key=key, number=part.keyed)
        for earlier in run.against
        for key in earlier.keys
    )


def range_bits(n: int) -> int:
    """The bits of a key that tell its range, in a corpus of so many rows.

    >>> range_bits(1_000_000), range_bits(10_000_000), range_bits(4_000_000_000)
    (0, 2, 10)
    """
    return min((max(n - 1, 0) // RANGE_ROWS).bit_length(), MOST_BITS)


def groups_of(starts: Sequence[int] | I64, most: int, most_shards: int | None = None) -> I64:
    """(n_groups + 1,) shard where each group of about `most` rows begins.

    starts: (n_shards + 1,).  most_shards: that a group may have; None is any number.

    >>> groups_of([0, 4, 4, 9, 25, 26], 10).tolist()
    [0, 4, 5]
    >>> groups_of([0, 4, 4, 9, 25, 26], 10, 2).tolist()
    [0, 2, 4, 5]
    """
    of_group = np.asarray(starts)[:-1] // most
    begins = np.flatnonzero(np.diff(of_group, prepend=-1))
    if most_shards is not None:
        in_group = np.arange(len(of_group)) - np.repeat(
            begins, np.diff(np.append(begins, len(of_group)))
        )
        begins = np.flatnonzero(in_group % most_shards == 0)
    return np.append(begins, len(of_group))


@dataclass(frozen=True)
class Corpus:
    """The documents of a pass as corpus-wide steps see them; `write_rows` sets down its shards."""

    run: RunFolder
    part: Pass

    def path(self, folder: Folder, **fields: object) -> Path:
        return self.run.path(folder, self.part.index, **fields)

    def last_step(self, kind: type[StepT]) -> StepT:
        """The last of the steps behind the pass, which is of a kind."""
        step = self.part.after[-1]
        assert isinstance(step, kind)
        return step

    @cached_property
    def shards(self) -> Shards:
        return read_shards(self.path(ROWS))

    @property
    def n(self) -> int:
        """Documents, those of earlier runs included."""
        return int(self.shards.starts[-1] - self.shards.starts[0])

    @property
    def n_ranges(self) -> int:
        """Ranges of the keys of documents."""
        return 1 << range_bits(self.n)

    @property
    def size(self) -> Size:
        shards = self.shards
        return Size(shards.n_groups, shards.first_new_group, self.n_ranges, self.n)

    @property
    def first_ordinal(self) -> int:
        """Of this run's shards, the upper half of their documents' ids."""
        return sum(run.shards for run in self.run.against)

    def ordinal(self, key: str) -> int:
        return self.first_ordinal + shard_number(key)

    def shard_keys(self) -> tuple[str, ...]:
        """Of this run's shards, in order."""
        return tuple(self.shards.keys[self.shards.n_earlier :].to_pylist())

    def rows(self) -> files.Rows:
        """Their key sidecars."""
        keys, earlier = self.shards.keys, earlier_keys(self.run, self.part)

        def path_of(number: int) -> Path:
            if number < len(earlier):
                return earlier[number]
            return self.path(KEYS, key=keys[number].as_py())

        starts, parameters = self.shards.starts, key_parameters(self.part.finders)
        return files.corpus_rows(path_of, np.diff(starts), parameters, first=int(starts[0]))

    def ids_of(self, wanted: I64) -> U64:
        """(n,) ids of the documents of rows in any order; of all groups the files are there."""
        starts = self.shards.starts[self.shards.groups]
        rows = files.corpus_rows(
            lambda group: self.path(IDS, group=group), np.diff(starts), {}, first=int(starts[0])
        )
        ids = np.empty(len(wanted), np.uint64)
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            ids[some] = rows.take_in_any_order(["doc_id"], wanted[some])["doc_id"]
        return ids

    def group(self, number: int) -> tuple[range, range]:
        """Shards of a group, and its rows."""
        first, last = self.shards.groups[number : number + 2].tolist()
        return range(first, last), range(*self.shards.starts[[first, last]].tolist())

    def memory_left(
        self,
        step: str,
        n: int,
        per_doc: int,
        *,
        works: int = 1,
        least: int | None = None,
        of: str = "documents",
    ) -> int:
        """Bytes of the budget that one work of a phase has besides `per_doc` for each document.

        works: of the phase.  least: None is LEAST_BYTES.
        of: what there are `n` of, if not documents.
        ConfigError: less than `least`.
        """
        # works of the phase that may be done at the same time
        options = self.run.options
        at_once = max(min(options.works_at_once or cores(), works), 1)
        least = LEAST_BYTES if least is None else least
        left = options.budget_bytes // at_once - n * per_doc
        if left < least:
            fewer = ", use fewer workers" if at_once > 1 else ""
            raise ConfigError(
                f"{step}: needs {format_memory(at_once * (n * per_doc + least))} of memory for"
                f" {n:,} {of}, {options.budget_told}; raise it{fewer} or split the corpus"
            )
        return left
