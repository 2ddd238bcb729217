"""Hashes that differ in few bits, bucket after bucket."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U64, inlined, kernel

ONES = np.uint64(0x5555_5555_5555_5555)
TWOS = np.uint64(0x3333_3333_3333_3333)
FOURS = np.uint64(0x0F0F_0F0F_0F0F_0F0F)
BYTES = np.uint64(0x0101_0101_0101_0101)
S1 = np.uint64(1)
S2 = np.uint64(2)
S4 = np.uint64(4)
S56 = np.uint64(56)


@inlined
def popcount(x: np.uint64) -> np.uint64:
    x = x - ((x >> S1) & ONES)
    x = (x & TWOS) + ((x >> S2) & TWOS)
    x = (x + (x >> S4)) & FOURS
    return np.uint64(x * BYTES) >> S56


@kernel
def first_near(hashes: U64, members: I64, ends: I64, distance: np.uint64, first: I32) -> None:
    """Lower `first[m]` to the lowest member of its bucket at most `distance` bits away.

    hashes: (n_members,), those of the members.  members: ascending within a bucket.
    ends: (n_buckets,), where in `members` each bucket ends.
    first: no member's is above itself.
    """
    start = 0
    for end in ends:
        for i in range(start + 1, end):
            least = first[members[i]]
            for j in range(start, i):
                if members[j] >= least:
                    break
                if popcount(hashes[i] ^ hashes[j]) <= distance:
                    first[members[i]] = members[j]
                    break
        start = end
