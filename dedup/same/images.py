"""Images that look alike: perceptual hashes of 64 bits that differ in few of them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64, U64, read_only
from tokenmill.dedup.kernels import equal as kernels

HASH_BITS = 64
MOST_DISTANCE = 15  # more bands have less than 4 bits, and nearly all pairs meet in one


class Band(NamedTuple):
    """Some bits of a hash: `width` of them, above the lowest `shift`."""

    shift: int
    width: int

    def of(self, hashes: U64) -> U64:
        """(n,) the values of the bits."""
        mask = np.uint64((1 << self.width) - 1)
        values: U64 = (hashes >> np.uint64(self.shift)) & mask
        return values


def bands(distance: int) -> list[Band]:
    """One band more than bits may differ: two hashes that near have the same bits in one of them.

    >>> [band.width for band in bands(4)]
    [13, 13, 13, 13, 12]
    """
    n = distance + 1
    ends = [HASH_BITS * k // n for k in range(n + 1)]
    made = [Band(lo, hi - lo) for lo, hi in pairwise(ends)]
    return sorted(made, key=lambda band: (-band.width, band.shift))


def first_near(hashes: U64, distance: int) -> I64:
    """Find the first hash that differs in no more than `distance` bits.

    Args:
        hashes: (n,), fewer than 2**31 different ones.
        distance: 0 to MOST_DISTANCE.

    Returns:
        (n,) int64, the lowest such row of each row, itself where none before is as near: of those,
        `first_near(...) == np.arange(n)`, no two are near each other. The row named may have
        another before it in turn.

    Raises:
        ValueError: `distance` is out of range.
    """
    if not 0 <= distance <= MOST_DISTANCE:
        raise ValueError(f"distance must be 0 to {MOST_DISTANCE} bits, got {distance}")
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = first[order]  # ascending, as are the numbers of the different hashes from here on
    different = hashes[rows]
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    nearest = np.arange(len(rows), dtype=np.int32)
    for band in bands(distance) if distance else ():
        values = band.of(different)
        members = np.argsort(
            values.astype(np.uint16) if band.width <= 16 else values, kind="stable"
        )
        ends = np.flatnonzero(np.diff(values[members])) + 1
        ends = np.append(ends, len(members)) if len(members) else ends
        kernels.first_near(
            read_only(different[members]),
            read_only(members),
            read_only(ends),
            np.uint64(distance),
            nearest,
        )
    found: I64 = rows[nearest[rank[which]]]
    return found
