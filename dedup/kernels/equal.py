"""Rows by their keys: grouped by prefix, the first of equal ones, buckets of them."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.u64 import ONE, U64_32


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


@inlined
def cleared(table: I32, n: int) -> np.uint64:
    """Empty as many slots, a power of two, as n rows fill by half at most; the bits of a slot."""
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table[:slots] = -1
    return np.uint64(slots - 1)


@kernel
def first_occurrence(
    digests: U64, starts: I64, rows: U32, table: I32, local: U64, out: I64
) -> None:
    """Set `out[i]` to the lowest row with the digest of row i.

    digests: (n, 2).  starts, rows: of dedup.same.partition, by the first column.
    table: (2**k,), scratch of twice the largest partition or more; row numbers inside it.
    local: (largest partition, 2), scratch: gathered first, so that probing stays in the cache.
    out: (n,).
    """
    for part in range(starts.shape[0] - 1):
        start = starts[part]
        n = starts[part + 1] - start
        mask = cleared(table, n)
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


BAND_SEED = np.uint64(0x9E3779B97F4A7C15)
BAND_FOLD = np.uint64(0xD6E8FEB86659FD93)
EMPTY = np.uint32(0xFFFF_FFFF)
NO_KEY = np.uint64(0)


@inlined
def has_no_shingles(row: U32) -> bool:
    for p in range(row.shape[0]):
        if row[p] != EMPTY:
            return False
    return True


@kernel
def band_keys(signatures: U32, rows: int, out: U64) -> None:
    """Hash each band of each signature, and the band's number, to `out[d, band]`.

    signatures: (n_docs, num_perm); band b has the slots from b * rows to (b + 1) * rows - 1.
    out: (n_docs, bands); NO_KEY where all of a signature is EMPTY, and only there.
    """
    n_docs, bands = out.shape
    for d in range(n_docs):
        if has_no_shingles(signatures[d]):
            for band in range(bands):
                out[d, band] = NO_KEY
            continue
        for band in range(bands):
            h = np.uint64(band) * BAND_SEED + ONE
            for r in range(band * rows, (band + 1) * rows):
                h = (h ^ np.uint64(signatures[d, r])) * BAND_FOLD
                h ^= h >> U64_32
            out[d, band] = h if h != NO_KEY else ONE


@kernel
def buckets(
    keys: U64,
    starts: I64,
    rows: U32,
    table: I32,
    local: U64,
    first: I32,
    size: I64,
    members: U32,
    ends: I64,
) -> tuple[int, int]:
    """Gather the rows that share their key with another row.

    keys: (n,).  starts, rows: of dedup.same.partition.
    table: (2**k,), scratch of twice the largest partition or more; row numbers inside it.
    local, first, size: (largest partition,), scratch.
    members: (n,), bucket after bucket, rows ascending in each.  ends: (n // 2 + 1,), where in
    `members` each bucket ends.

    Returns:
        How many buckets and how many members there are.
    """
    n_buckets = 0
    n_members = 0
    for part in range(starts.shape[0] - 1):
        start = starts[part]
        n = starts[part + 1] - start
        mask = cleared(table, n)
        for j in range(n):
            local[j] = keys[rows[start + j]]
        for j in range(n):
            key = local[j]
            slot = key & mask
            while table[slot] >= 0 and local[table[slot]] != key:
                slot = (slot + ONE) & mask
            if table[slot] < 0:
                table[slot] = j
                size[j] = 0
            first[j] = table[slot]
            size[first[j]] += 1
        for j in range(n):
            f = first[j]
            if f == j:
                count = size[j]
                if count < 2 or local[j] == NO_KEY:
                    size[j] = -1
                    continue
                size[j] = n_members  # from here on: where its next member goes
                n_members += count
                ends[n_buckets] = n_members
                n_buckets += 1
            if size[f] >= 0:
                members[size[f]] = rows[start + j]
                size[f] += 1
    return n_buckets, n_members
