"""The one shuffle: rows with keys, set down by range in one work, and read by range in another.

    rows of a group ── RangeWriter ── a file: chunks, each in order of the ranges
    the same range of the files of all groups ── Range ── parts ── equal keys together

A range is all keys of the same first bits, so that equal keys are in one range. Keys are set down
with those bits turned to their end: else the hash tables, which go by the first bits, would be of
few parts. What does not fit into memory of a range is read a part of its keys at a time; the files
are mapped, and read once for each part: with the budget of a usual machine a few times over, where
keys written anew by part would be written once and read twice.

Rows are numbered with 64 bits. A file names those of its group by 32, which count from the group's
first row, so that a key takes no more room for it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U32, U64, Bools
from tokenmill.dedup.same.lsh import Buckets, buckets
from tokenmill.dedup.same.partition import MAX_BITS, MAX_ROWS, partition, prefix_bits, ranges_within
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.step import fixed_size_list
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, open_batch, values

WORD_BITS = 64
AT_ONCE = 1 << 15  # rows at a time: what is made of them on the way then stays in the cache
KEPT_OPEN = 64  # files of a range whose batches are held: others are opened again for each walk


# writing


def key_type(n_words: int) -> pa.DataType:
    """Of a key of so many words of 64 bits."""
    return pa.uint64() if n_words == 1 else pa.list_(pa.uint64(), n_words)


def row_schema(n_words: int, *others: pa.Field) -> pa.Schema:
    """Of a file of rows with keys: rows count from the first of their group."""
    return pa.schema([pa.field("key", key_type(n_words)), pa.field("row", pa.uint32()), *others])


def turned(hashes: U64, bits: int) -> U64:
    """With the first `bits` at the end."""
    if bits == 0:
        return hashes
    return hashes << np.uint64(bits) | hashes >> np.uint64(WORD_BITS - bits)


def chunk_of(schema: pa.Schema, bits: int, columns: Sequence[npt.NDArray[Any]]) -> pa.RecordBatch:
    """A batch in order of the ranges, and of the rows as they come within each.

    columns: (n,) or (n, n_words) each; the first are keys, whose first word tells the range.
    """
    keys, *others = columns
    if bits:
        first = np.ascontiguousarray(keys if keys.ndim == 1 else keys[:, 0])
        order = partition(first, bits).rows
        keys, others = keys[order], [column[order] for column in others]
        if keys.ndim == 1:
            keys = turned(keys, bits)
        else:
            keys[:, 0] = turned(keys[:, 0], bits)
    column = pa.array(keys) if keys.ndim == 1 else fixed_size_list(keys)
    return pa.record_batch([column, *map(pa.array, others)], schema=schema)


class RangeWriter:
    """Writes rows as they come, in chunks of a fixed size."""

    def __init__(
        self, writer: pa.ipc.RecordBatchFileWriter, schema: pa.Schema, bits: int, chunk_rows: int
    ) -> None:
        """schema: of the file, the key first.  bits: of a key, that tell its range, or 0."""
        self._writer, self._schema = writer, schema
        self._bits, self._chunk_rows = bits, chunk_rows
        self._held: list[tuple[npt.NDArray[Any], ...]] = []
        self._n = 0

    def write(self, *columns: npt.NDArray[Any]) -> None:
        """(n,) each; rows stay in order within a range."""
        at = 0
        while at < len(columns[0]):
            room = self._chunk_rows - self._n
            # copies, so that of what they were cut from nothing is held
            self._held.append(tuple(column[at : at + room].copy() for column in columns))
            self._n += len(self._held[-1][0])
            at += room
            if self._n == self._chunk_rows:
                self.flush()

    def flush(self) -> None:
        """Set down what is held; at the end by the caller."""
        if self._n:
            columns = [np.concatenate(parts) for parts in zip(*self._held, strict=True)]
            self._writer.write_batch(chunk_of(self._schema, self._bits, columns))
            self._held, self._n = [], 0


@contextmanager
def range_file(path: Path, schema: pa.Schema, bits: int, chunk_rows: int) -> Iterator[RangeWriter]:
    """Write a file of rows that come bit by bit, atomically; the rest is set down at the end."""
    with arrow_file(path, schema) as writer:
        rows = RangeWriter(writer, schema, bits, chunk_rows)
        yield rows
        rows.flush()


def local_rows(rows: I64, first: int) -> U32:
    """Rows as files of the group from `first` name them; ConfigError: one shard has too many."""
    if len(rows) and int(rows[-1]) - first >= MAX_ROWS:
        raise ConfigError(
            f"a shard has {int(rows[-1]) - first + 1:,} rows to compare, and at most {MAX_ROWS:,}"
            " can be told apart in one; lower shard_bytes"
        )
    return (rows - first).astype(np.uint32)


# reading


class Range:
    """A range of the keys of all groups."""

    def __init__(
        self,
        paths: Sequence[Path],
        bits: int,
        number: int,
        *,
        firsts: Sequence[int] | I64 | None = None,
        chunk: int | None = None,
        n_words: int = 1,
    ) -> None:
        """paths: a file for each group, in order.  bits, number: which range of how many.

        firsts: (n_groups,) the first row of each group; if None, rows have no names and are
            numbered in the order of the range.
        chunk: which of the files' chunks; None takes all of them.
        n_words: of a key, how many are looked at.
        """
        self._paths, self._bits, self._number = paths, bits, number
        self._chunk, self._n_words = chunk, n_words
        self.shape: tuple[int, ...] = () if n_words == 1 else (n_words,)
        self._kept: dict[int, list[pa.RecordBatch]] = {}
        self._counts = [sum(batch.num_rows for batch in self._of(g)) for g in range(len(paths))]
        self.n = sum(self._counts)
        self._named = firsts is not None
        self._firsts = np.cumsum([0, *self._counts]) if firsts is None else firsts

    def batches(self) -> Iterator[tuple[I64, U64]]:
        """(n,) rows, ascending over all of a range, and their (n, n_words) keys, some at a time."""
        for first, batch in self._all():
            keys = words(values(batch, "key"))[:, : self._n_words]
            rows = values(batch, "row") if self._named else None
            for at in range(0, batch.num_rows, AT_ONCE):
                here = keys[at : at + AT_ONCE]
                if rows is None:
                    numbers = np.arange(first + at, first + at + len(here))
                else:
                    numbers = rows[at : at + AT_ONCE].astype(np.int64) + first
                yield numbers, here

    def take(self, name: str, rows: I64) -> npt.NDArray[Any]:
        """(n,) values of a column at rows of the range, in any order."""
        return self.take_all((name,), rows)[name]

    def take_all(self, names: Sequence[str], rows: I64) -> dict[str, npt.NDArray[Any]]:
        """As `take`, of some columns; "key" is that of all of its words."""
        wanted, where = np.unique(rows, return_inverse=True)
        found: dict[str, npt.NDArray[Any]] = {}
        for first, batch in self._all():
            here = np.arange(first, first + batch.num_rows)
            if self._named:
                here = values(batch, "row").astype(np.int64) + first
            lo, hi = np.searchsorted(wanted, here[0]), np.searchsorted(wanted, here[-1], "right")
            if lo == hi:
                continue
            at = np.searchsorted(here, wanted[lo:hi])
            # rows of another chunk of the group may lie between those of this one
            mine = here[np.minimum(at, len(here) - 1)] == wanted[lo:hi]
            for name in names:
                column = values(batch, name)
                if name not in found:
                    found[name] = np.empty((len(wanted), *column.shape[1:]), column.dtype)
                found[name][lo:hi][mine] = column[at[mine]]
        return {name: found[name][where] if found else np.empty(0) for name in names}

    def groups(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of each group in order, some at a time, and its number."""
        for group in range(len(self._paths)):
            for batch in self._of(group):
                yield group, batch

    def _all(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches that have rows, and what their rows count from."""
        for group, n in enumerate(self._counts):
            at = int(self._firsts[group])
            for batch in self._of(group) if n else ():
                yield at, batch
                at += 0 if self._named else batch.num_rows

    def _of(self, group: int) -> list[pa.RecordBatch]:
        if group not in self._kept:
            path = self._paths[group]
            whole = open_arrow(path)[0] if self._chunk is None else [open_batch(path, self._chunk)]
            cut = [of_range(batch, self._bits, self._number) for batch in whole]
            cut = [batch for batch in cut if batch.num_rows]
            if len(self._kept) >= KEPT_OPEN:
                return cut
            self._kept[group] = cut
        return self._kept[group]


def rows_between(
    paths: Iterable[Path], name: str, bounds: npt.ArrayLike
) -> Iterator[pa.RecordBatch]:
    """Of each batch of files, where a column ascends, the rows between two bounds, if any.

    bounds: (2,), the first row's least and what all rows are below; of the column's type.
    """
    for path in paths:
        for batch in open_arrow(path)[0]:
            start, stop = np.searchsorted(values(batch, name), bounds).tolist()
            if start < stop:
                yield batch.slice(start, stop - start)


def of_range(batch: pa.RecordBatch, bits: int, number: int) -> pa.RecordBatch:
    """What a chunk has of a range: found by bisection, a few pages of the file are read for it."""
    if not bits:
        return batch
    keys, last = words(values(batch, "key"))[:, 0], (1 << bits) - 1

    def range_at(row: int) -> int:
        return int(keys[row]) & last

    every = range(len(keys))
    start = bisect_left(every, number, key=range_at)
    stop = bisect_left(every, number + 1, lo=start, key=range_at)
    return batch.slice(start, stop - start)


def words(keys: U64) -> U64:
    """(n, n_words) of (n,) keys, or of those already."""
    return keys[:, None] if keys.ndim == 1 else keys


# a range in parts that fit into memory


class Part(NamedTuple):
    """The rows whose keys are within a range of them; equal keys are never in two parts.

    rows: (n,) int64, ascending.
    keys: (n,) uint64 keys, or (n, 2) digests; only the first of them if all are equal, and
        more of them than fit into memory.
    """

    rows: I64
    keys: U64

    @property
    def all_equal(self) -> bool:
        return len(self.keys) < len(self.rows)

    def buckets(self, bits: int) -> tuple[I64, I64]:
        """Rows that share their key, bucket after bucket, and (n_buckets,) where each ends."""
        if self.all_equal:  # more rows than fit
            return self.rows, np.array([len(self.rows)])
        same: Buckets = buckets(self.keys, bits)
        return self.rows[same.members], same.ends


class Room(NamedTuple):
    """Bytes that a part may take, and how many it does: see `ranges_within`."""

    budget: int
    per_row: int
    per_largest: int


class Within(NamedTuple):
    """Keys whose first `n_bits` bits are those of `key`; 64 bits of each word of a key."""

    n_bits: int
    key: U64

    def holds(self, keys: U64) -> Bools:
        """(n,) of (n, n_words) keys."""
        whole, rest = divmod(self.n_bits, WORD_BITS)
        found: Bools = np.all(keys[:, :whole] == self.key[:whole], axis=1)
        if rest:
            shift = np.uint64(WORD_BITS - rest)
            found &= (keys[:, whole] >> shift) == (self.key[whole] >> shift)
        return found

    def next_bits(self, keys: U64, n: int) -> I64:
        """(n_keys,) the `n` bits behind those, which do not end beyond their word."""
        word, at = divmod(self.n_bits, WORD_BITS)
        shifted = (keys[:, word] << np.uint64(at)) >> np.uint64(WORD_BITS - n)
        return shifted.astype(np.int64)

    def deeper(self, bits: int, prefix: int) -> "Within":
        word, at = divmod(self.n_bits, WORD_BITS)
        key = self.key.copy()
        key[word] |= np.uint64(prefix) << np.uint64(WORD_BITS - at - bits)
        return Within(self.n_bits + bits, key)


def parts(column: Range, room: Room) -> Iterator[Part]:
    """The rows of keys a range of prefixes at a time, in order of the keys' prefixes.

    A prefix that many rows share is told apart further, until it is a single key.
    """
    n_words = column.shape[0] if column.shape else 1
    whole = Within(0, np.zeros(n_words, np.uint64))
    # tables name the rows of a part by 32 bits
    room = room._replace(budget=min(room.budget, (MAX_ROWS - 1) * room.per_row))
    yield from _parts(column, room, whole, prefix_bits(column.n))


def _parts(column: Range, room: Room, within: Within, bits: int) -> Iterator[Part]:
    counts = _counts(column, within, bits)
    cut = ranges_within(counts, room.budget, per_row=room.per_row, per_largest=room.per_largest)
    for lo, hi in cut:
        n = int(counts[lo:hi].sum())
        if n * (room.per_row + room.per_largest) <= room.budget or counts[lo:hi].max() < n:
            yield _read(column, within, bits, lo, hi, n)
            continue
        only = int(counts[lo:hi].argmax()) + lo
        deeper = within.deeper(bits, only)
        if deeper.n_bits == WORD_BITS * len(within.key):
            yield _read(column, within, bits, only, only + 1, n, all_equal=True)
            continue
        left_in_word = WORD_BITS - deeper.n_bits % WORD_BITS
        yield from _parts(column, room, deeper, min(MAX_BITS, left_in_word))


def _counts(column: Range, within: Within, bits: int) -> I64:
    """(2**bits,) rows of each prefix."""
    counts = np.zeros(1 << bits, np.int64)
    for _, keys in column.batches():
        prefix = within.next_bits(keys, bits)[within.holds(keys)]
        counts += np.bincount(prefix, minlength=len(counts))
    return counts


def _read(
    column: Range, within: Within, bits: int, lo: int, hi: int, n: int, *, all_equal: bool = False
) -> Part:
    """The `n` rows whose prefixes are from `lo` to `hi`."""
    rows = np.empty(n, np.int64)
    found = np.empty((1 if all_equal else n, len(within.key)), np.uint64)
    at = 0
    for numbers, keys in column.batches():
        prefix = within.next_bits(keys, bits)
        here = np.flatnonzero(within.holds(keys) & (prefix >= lo) & (prefix < hi))
        rows[at : at + len(here)] = numbers[here]
        if all_equal:
            found[: len(here)] = keys[here[:1]]
        else:
            found[at : at + len(here)] = keys[here]
        at += len(here)
    return Part(rows, found.reshape(len(found), *column.shape))
