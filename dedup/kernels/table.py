"""Hashes of bytes and words, open addressing by such hashes, and Bloom filters of them."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import eight, first_of
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, U64_32, U64_63, U64_64, ZERO

# 2**64 / golden ratio, SplitMix64's multipliers, and two more: odd, their bits well spread
FOLD = np.uint64(0x9E3779B97F4A7C15)
FIRST, FINAL = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
WORD_BASE = np.uint64(0xD1342543DE82EF95)
SPREAD = np.uint64(0xD6E8FEB86659FD93)  # from a hash to its bits in a Bloom filter

EMPTY = ZERO  # of a slot
NEVER_EMPTY = ONE  # so that no key is EMPTY

FIRST_BIT = np.uint64(24)  # in a spread hash, where the numbers of its bits begin
SECOND_BIT = np.uint64(30)


@inlined
def n_less(ascending: I64 | U32, x: int | np.integer) -> int:
    """How many are less than x; NumPy's own takes a third of a second to compile."""
    low, high = 0, ascending.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def mixed(h: np.uint64) -> np.uint64:
    """Spread a hash over all 64 bits; never EMPTY."""
    h = (h ^ (h >> U64_32)) * FINAL
    return (h ^ (h >> U64_32)) | NEVER_EMPTY


@inlined
def finalized(h: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014), but never EMPTY."""
    h = np.uint64((h ^ (h >> np.uint64(30))) * FIRST)
    h = np.uint64((h ^ (h >> np.uint64(27))) * FINAL)
    h ^= h >> np.uint64(31)
    return h if h != EMPTY else NEVER_EMPTY


@inlined
def folded(h: np.uint64, chunk: np.uint64) -> np.uint64:
    """A hash with eight more letters in it."""
    h = (h ^ chunk) * FOLD
    return h ^ (h >> U64_32)


@inlined
def slice_key(letters: U8, start: np.uint64, stop: np.uint64) -> np.uint64:
    """Hash of letters[start:stop], not empty; never EMPTY. Seven letters behind are read, too."""
    h = (stop - start) * FINAL
    while start + EIGHT < stop:
        h = folded(h, eight(letters, start))
        start += EIGHT
    return mixed(folded(h, first_of(eight(letters, start), stop - start)))


@inlined
def piece_key(data: U8, start: np.uint64, stop: np.uint64) -> np.uint64:
    """A 64-bit hash of data[start:stop], never EMPTY; its last eight bytes may be read twice."""
    size = stop - start
    h = size * FOLD
    chunk = ZERO
    if size >= EIGHT:
        while start + EIGHT < stop:
            h = folded(h, eight(data, start))
            start += EIGHT
        chunk = eight(data, stop - EIGHT)
    elif size > ZERO and start + EIGHT <= np.uint64(data.shape[0]):
        chunk = first_of(eight(data, start), size)
    else:
        for j in range(size):
            chunk |= np.uint64(data[start + np.uint64(j)]) << np.uint64(EIGHT * j)
    return mixed((h ^ chunk) * FOLD)


@inlined
def table_bits(n: np.uint64) -> np.uint64:
    """How many bits number the slots of a table at most half full of n keys."""
    bits = ONE + ONE
    while (ONE << bits) < n + n:
        bits += ONE
    return bits


@inlined
def probed(keys: U64, mask: np.uint64, at: np.uint64, key: np.uint64) -> np.uint64:
    """Where in keys[:mask + 1], never full, `key` stands or belongs, from slot `at` on."""
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + ONE) & mask
    return at


@inlined
def slot_of(keys: U64, bits: np.uint64, key: np.uint64) -> np.uint64:
    """Where in keys[:2**bits], never full, `key` stands or belongs by its first bits."""
    return probed(keys, (ONE << bits) - ONE, key >> (U64_64 - bits), key)


@inlined
def bits_of(spread: np.uint64) -> np.uint64:
    """The two bits of a spread hash in its element of a Bloom filter."""
    first = ONE << ((spread >> FIRST_BIT) & U64_63)
    return first | (ONE << ((spread >> SECOND_BIT) & U64_63))


@kernel
def mark(hashes: U64, bitmap: U64, shift: np.uint64) -> None:
    """Set the bits of hashes in the bitmap of a `Probe`."""
    for h in hashes:
        spread = h * SPREAD
        bitmap[spread >> shift] |= bits_of(spread)
