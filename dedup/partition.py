"""Rows grouped by the top bits of a 64-bit key, as the hash tables of this package need them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dedup.arrays import read_only
from dedup.kernels import partition as kernels

PARTITION_ROWS = 1 << 15  # a partition's hash table then fits the L2 cache
MAX_PARTITIONS = 1 << 11  # more write streams than this thrash the TLB
MAX_ROWS = 1 << 32


class Partitions(NamedTuple):
    """Partition `p` is `rows[starts[p]:starts[p + 1]]`, ascending.

    starts: (n_partitions + 1,) int64.
    rows: (n,) uint32.
    """

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]

    @property
    def table_size(self) -> int:
        """Slots of a table for any of the partitions: a power of two, at most half full."""
        largest = int(np.diff(self.starts).max())
        return 1 << (2 * max(largest, 8) - 1).bit_length()


def partition(keys: npt.NDArray[np.uint64]) -> Partitions:
    """Group rows by the top bits of their (n,) keys, which should be well-mixed hashes.

    Raises:
        ValueError: there are 2**32 keys or more; row numbers are 32 bits here.
    """
    if len(keys) >= MAX_ROWS:
        raise ValueError(f"{len(keys)} rows are too many for one table, at most 2**32 - 1")
    wanted = min(max(len(keys) // PARTITION_ROWS, 2), MAX_PARTITIONS)
    bits = (wanted - 1).bit_length()
    starts = np.zeros((1 << bits) + 1, np.int64)
    rows = np.empty(len(keys), np.uint32)
    kernels.partition(read_only(keys), np.uint64(64 - bits), starts, rows)
    return Partitions(starts, rows)
