"""Radix partition: row numbers grouped by the top bits of a key, so that tables fit a cache."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U32, U64, kernel


@kernel
def partition(keys: U64, shift: np.uint64, starts: I64, rows: U32) -> None:
    """Scatter row numbers by `keys >> shift`, in ascending order within each partition.

    keys: (n,).  rows: (n,).  starts: (n_partitions + 1,), all zero at first; afterwards
    partition p is `rows[starts[p]:starts[p + 1]]`.
    """
    for i in range(keys.shape[0]):
        starts[keys[i] >> shift] += 1
    total = 0
    for p in range(starts.shape[0]):
        count = starts[p]
        starts[p] = total
        total += count
    for i in range(keys.shape[0]):
        p = keys[i] >> shift
        rows[starts[p]] = i
        starts[p] += 1
    for p in range(starts.shape[0] - 1, 0, -1):
        starts[p] = starts[p - 1]
    starts[0] = 0
