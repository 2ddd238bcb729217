"""The first row of each digest, by open addressing; and the newest."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64, kernel
from tokenmill.dedup.kernels.u64 import ONE


@kernel
def first_occurrence(
    digests: U64, starts: I64, rows: U32, table: I32, local: U64, out: I64
) -> None:
    """Set `out[i]` to the lowest row with the digest of row i.

    digests: (n, 2).  starts, rows: of dedup.partition, by the first column.
    table: (2**k,), scratch of twice the largest partition or more; row numbers inside it.
    local: (largest partition, 2), scratch: gathered first, so that probing stays in the cache.
    out: (n,).
    """
    for part in range(starts.shape[0] - 1):
        start = starts[part]
        n = starts[part + 1] - start
        slots = 16
        while slots < 2 * n:
            slots *= 2
        mask = np.uint64(slots - 1)
        table[:slots] = -1
        for j in range(n):
            row = rows[start + j]
            local[j, 0] = digests[row, 0]
            local[j, 1] = digests[row, 1]
        for j in range(n):
            slot = local[j, 1] & mask
            while True:
                other = table[slot]
                if other < 0:
                    table[slot] = j
                    out[rows[start + j]] = rows[start + j]
                    break
                if local[other, 0] == local[j, 0] and local[other, 1] == local[j, 1]:
                    out[rows[start + j]] = rows[start + other]
                    break
                slot = (slot + ONE) & mask


@kernel
def newest(first: I64, dates: U64, out: I64) -> None:
    """Set `out[first[i]]` to the row of the greatest date that has this first; of equals the last.

    first: (n,) as above.  dates: (n,).  out: (n,), filled with the rows' numbers by the caller.
    """
    for i in range(first.shape[0]):
        if dates[i] >= dates[out[first[i]]]:
            out[first[i]] = i
