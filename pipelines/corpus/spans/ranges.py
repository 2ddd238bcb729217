"""Hashes by range, and the rows of one range: what a shuffle is elsewhere, by files.

    hashes of a group ── RangeWriter ── a file: chunks, each in order of the ranges
    the same range of the files of all groups ── range_rows ── Rows

A range is all hashes of the same first bits. They are set down with those bits turned to their
end: else the hash tables, which go by the first bits, would be of few parts.
"""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.lsh import Buckets, buckets
from tokenmill.dedup.partition import partition, prefix_bits
from tokenmill.pipelines.corpus.parts import KeyColumn, Part, Room, parts
from tokenmill.pipelines.corpus.spans.size import Size
from tokenmill.pipelines.storage.sidecar import Opened, Rows, open_sidecar

HASH_BITS = 64
ROW_BYTES = 32  # of a part: row and hash 12, partition 4, members 8, their ends 4, on the way 4
LARGEST_BYTES = 36  # of a hash table at most 16, hashes 8, members' places 12

Hashes = npt.NDArray[np.uint64]


def turned(hashes: Hashes, bits: int) -> Hashes:
    """With the first `bits` at the end."""
    return (
        hashes if bits == 0 else hashes << np.uint64(bits) | hashes >> np.uint64(HASH_BITS - bits)
    )


class RangeWriter:
    """Writes columns of uint64, of which the first is the hash that tells the range."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter, schema: pa.Schema, size: Size) -> None:
        self._writer, self._schema, self._size = writer, schema, size
        self._held: list[tuple[Hashes, ...]] = []
        self._n = 0

    def write(self, *columns: Hashes) -> None:
        """(n,) each; rows stay in order within a range."""
        most, at = self._size.chunk_rows, 0
        while at < len(columns[0]):
            room = most - self._n
            self._held.append(tuple(column[at : at + room] for column in columns))
            self._n += len(self._held[-1][0])
            at += room
            if self._n == most:
                self.flush()

    def flush(self) -> None:
        """Set down what is held; at the end by the caller."""
        if not self._n:
            return
        keys, *others = (np.concatenate(parts) for parts in zip(*self._held, strict=True))
        if self._size.bits:
            order = partition(keys, self._size.bits).rows
            keys, others = turned(keys[order], self._size.bits), [o[order] for o in others]
        columns = [pa.array(column) for column in (keys, *others)]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self._held, self._n = [], 0


def range_rows(paths: list[Path], number: int, size: Size) -> Rows:
    """A range of all groups' files, a file's rows as a shard's."""

    def opening(group: int) -> Opened:
        whole = open_sidecar(paths[group], {})
        cut = [_of_range(batch, number, size.bits) for batch in whole.batches]
        starts = np.cumsum([0, *(batch.num_rows for batch in cut)], dtype=np.int64)
        return Opened(cut, starts, whole.mapped)

    counts = [opening(group).n for group in range(len(paths))]
    return Rows(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), opening)


def _of_range(batch: pa.RecordBatch, number: int, bits: int) -> pa.RecordBatch:
    hashes, last = np.asarray(batch["hash"]), (1 << bits) - 1

    def range_of(row: int) -> int:
        return int(hashes[row]) & last

    every = range(len(hashes))
    start, stop = (bisect_left(every, wanted, key=range_of) for wanted in (number, number + 1))
    return batch.slice(start, stop - start)


def equal_rows(rows: Rows, room: int) -> Iterator[Buckets]:
    """Rows of a range that share their hash with others; `room` bytes are taken for it at most."""

    def all_of(_: int, hashes: Hashes) -> npt.NDArray[np.bool_]:
        return np.ones(len(hashes), np.bool_)

    column = KeyColumn(rows, "hash", all_of, ())
    for part in parts(column, Room(room, ROW_BYTES, LARGEST_BYTES)):
        yield _equal(part, prefix_bits(rows.n))


def _equal(part: Part, bits: int) -> Buckets:
    if part.all_equal:  # more rows than fit
        return Buckets(part.rows, np.array([len(part.rows)]))
    same = buckets(part.keys, bits)
    return same._replace(members=part.rows[same.members])
