"""Eight bytes as one number, the first in the lowest place, and what its bits tell of each."""

import numpy as np

from tokenmill.dedup.kernels._jit import U8, inlined
from tokenmill.dedup.kernels.u64 import EIGHT, FOUR, ONE, THREE, TWO, U64_56, ZERO

LOW_BITS = np.uint64(0x0101010101010101)  # of each byte
HIGH_BITS = np.uint64(0x8080808080808080)
EVEN_BITS = np.uint64(0x5555555555555555)
BIT_PAIRS = np.uint64(0x3333333333333333)
LOW_HALVES = np.uint64(0x0F0F0F0F0F0F0F0F)


@inlined
def eight(data: U8, at: np.uint64) -> np.uint64:
    """data[at:at + 8] as one number; the compiler makes one load of it."""
    chunk = ZERO
    for j in range(8):
        chunk |= np.uint64(data[at + np.uint64(j)]) << np.uint64(8 * j)
    return chunk


@inlined
def first_of(chunk: np.uint64, n: np.uint64) -> np.uint64:
    """The first n bytes of a chunk, 1 to 8 of them, zeros behind."""
    drop = (EIGHT - n) * EIGHT
    return (chunk << drop) >> drop


@inlined
def n_bits(x: np.uint64) -> np.uint64:
    """How many bits are set (Hacker's Delight, 5-1); the compiler makes one instruction of it."""
    x -= (x >> ONE) & EVEN_BITS
    x = (x & BIT_PAIRS) + ((x >> TWO) & BIT_PAIRS)
    x = (x + (x >> FOUR)) & LOW_HALVES
    return (x * LOW_BITS) >> U64_56


@inlined
def bytes_below(flags: np.uint64) -> np.uint64:
    """How many bytes of a chunk stand before the first that has a flag; flags are not all 0."""
    return n_bits((flags - ONE) & ~flags) >> THREE


@inlined
def skip(data: U8, i: int, end: int, bits: np.uint64) -> int:
    """i, moved over whole eights of bytes that have none of these bits."""
    at = np.uint64(i)
    while at + EIGHT <= np.uint64(end) and not eight(data, at) & bits:
        at += EIGHT
    return int(np.int64(at))
