"""Rows grouped by the top bits of a 64-bit key, their prefix.

The hash tables of this package work on one group at a time, so that they fit a cache; what
is larger than memory is read one range of prefixes at a time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64, U32, U64, read_only
from tokenmill.dedup.kernels import equal as kernels

PARTITION_ROWS = 1 << 15  # a partition's hash table then fits the L2 cache
MIN_BITS = 8
MAX_BITS = 11  # more write streams than 2**11 thrash the TLB
MAX_ROWS = 1 << 32


class Partitions(NamedTuple):
    """Partition `p` is `rows[starts[p]:starts[p + 1]]`, ascending; starts: (n_partitions + 1,)."""

    starts: I64
    rows: U32

    @property
    def largest(self) -> int:
        return int(np.diff(self.starts).max())

    @property
    def table_size(self) -> int:
        """Slots of a table for any of the partitions: a power of two, at most half full."""
        return 1 << (2 * max(self.largest, 8) - 1).bit_length()


def prefix_bits(n: int) -> int:
    """Bits of the prefix by which `n` keys are partitioned.

    >>> prefix_bits(100), prefix_bits(10_000_000), prefix_bits(10**9)
    (8, 9, 11)
    """
    return min(max((n // PARTITION_ROWS).bit_length(), MIN_BITS), MAX_BITS)


def partition(keys: U64, bits: int | None = None) -> Partitions:
    """Group rows by the top bits of their (n,) keys, which should be well-mixed hashes.

    bits: of the prefix; None: as many as suit the number of keys.
    ValueError: there are 2**32 keys or more; rows of one table have 32 bits.
    """
    if len(keys) >= MAX_ROWS:
        raise ValueError(f"{len(keys)} rows are too many for one table, at most 2**32 - 1")
    bits = prefix_bits(len(keys)) if bits is None else bits
    starts = np.zeros((1 << bits) + 1, np.int64)
    rows = np.empty(len(keys), np.uint32)
    kernels.partition(read_only(keys), np.uint64(64 - bits), starts, rows)
    return Partitions(starts, rows)


def ranges_within(
    counts: I64, budget: int, *, per_row: int, per_largest: int
) -> Iterator[tuple[int, int]]:
    """Cut prefixes into the fewest ranges, in order, that fit `budget` bytes each.

    A range takes `per_row` bytes for each of its rows and `per_largest` for each row of its
    largest prefix. A prefix that does not fit is a range of its own; ranges without rows are
    left out.

    counts: (n_prefixes,) rows of each.

    >>> list(ranges_within(np.array([5, 0, 4, 90, 1]), 100, per_row=10, per_largest=1))
    [(0, 3), (3, 4), (4, 5)]
    """
    start = total = largest = 0
    for prefix, count in enumerate(counts.tolist()):
        need = (total + count) * per_row + max(largest, count) * per_largest
        if total and need > budget:
            yield start, prefix
            start, total, largest = prefix, 0, 0
        total += count
        largest = max(largest, count)
    if total:
        yield start, len(counts)
