"""Hashes that differ in few bits, bucket after bucket."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U64, kernel
from tokenmill.dedup.kernels.swar import n_bits


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
                if n_bits(hashes[i] ^ hashes[j]) <= distance:
                    first[members[i]] = members[j]
                    break
        start = end
