"""Code points of UTF-8, and where the tables of dedup.text.unicode hold them.

Places in text are int64 or uint64, as the caller has them. Sizes are uint32: Numba adds one to
either, where int64 and uint64 make a float.
"""

from typing import Any, TypeAlias

import numpy as np

from tokenmill.dedup.kernels._jit import U8, U16, inlined
from tokenmill.dedup.kernels.swar import HIGH_BITS, eight
from tokenmill.dedup.kernels.u64 import EIGHT, U64_64, ZERO
from tokenmill.dedup.text.unicode import CASED, IGNORABLE

Place: TypeAlias = Any  # in text

BLANK = np.uint32(0x20)
REPLACEMENT = np.uint32(0xFFFD)
COMBINING_DOT_ABOVE = np.uint32(0x307)  # what lower case puts behind the "i" of U+0130
FINAL_SIGMA = np.uint32(0x3C2)
PAGE = np.uint64(256)
ONE = np.uint32(1)
NO_ENTRY = np.uint16(0xFFFF)  # no character
LOW_6, U16_SIX, BITS_OF_TWO = np.uint8(0x3F), np.uint16(6), np.uint16(0x7C0)


@inlined
def decode(data: U8, i: Place, end: Place, other: np.uint32) -> tuple[np.uint32, Place]:
    """The code point at byte `i`, and how many bytes it has.

    Text is UTF-8, as Arrow requires; where it is not, `other` of one byte: never a read beyond
    `end`, never a code point beyond the tables.
    """
    lead = np.uint32(data[i])
    if lead < 0x80:
        return lead, ONE
    size = np.uint32(2 + int(lead >= 0xE0) + int(lead >= 0xF0))
    if lead < 0xC0 or i + size > end:
        return other, ONE
    cp = lead & (np.uint32(0x7F) >> size)
    for j in range(i + ONE, i + size):
        cp = np.uint32(cp << np.uint32(6)) | np.uint32(data[j] & 0x3F)
    if cp > 0x10FFFF:
        return other, ONE
    return cp, size


@inlined
def short_code_point(first: np.uint8, second: np.uint8, third: np.uint8) -> np.uint16:
    """The code point that three bytes begin with; NO_ENTRY if it takes four.

    In 16 bits and without branches: of many bytes in a row it is done on vectors.
    """
    lead, end = np.uint16(first), np.uint16(third & LOW_6)
    two = np.uint16(np.uint16(lead << U16_SIX) & BITS_OF_TWO) | np.uint16(second & LOW_6)
    three = np.uint16(np.uint16(two) << U16_SIX) | end
    more = np.uint16(two) if first < 0xE0 else np.uint16(three) if first < 0xF0 else NO_ENTRY
    return lead if first < 0x80 else more


@inlined
def code_points_in(data: U8, at: int, code_points: U16) -> None:
    """code_points: (64,), out: of the characters that begin in 64 bytes from `at` on, by byte.

    Anything where none begins. Reads two bytes more.
    """
    firsts, seconds, thirds = data[at:], data[at + 1 :], data[at + 2 :]
    for k in range(64):
        code_points[k] = short_code_point(firsts[k], seconds[k], thirds[k])


@inlined
def is_ascii(data: U8, at: np.uint64, stop: np.uint64) -> bool:
    """Whether bytes from `at` on, 64 at most, are ASCII all."""
    high = ZERO
    if at + U64_64 <= np.uint64(data.shape[0]):
        for word in range(EIGHT):
            high |= eight(data, at + word * EIGHT) & HIGH_BITS
        return bool(high == ZERO)
    for k in range(at, stop):
        high |= np.uint64(data[k] & 0x80)
    return bool(high == ZERO)


@inlined
def starts_in(data: U8, at: int) -> np.uint64:
    """The bytes that begin a character, of 64 from `at` on, as bits of one number."""
    these, bits = data[at:], ZERO
    for k in range(64):
        bits |= np.uint64(these[k] & 0xC0 != 0x80) << np.uint64(k)
    return bits


@inlined
def encode(cp: np.uint32, out: U8, k: Place) -> Place:
    """Write a code point's UTF-8 at `out[k]`; where the next one goes."""
    if cp < 0x80:
        out[k] = cp
        return k + ONE
    size = np.uint32(2 + int(cp >= 0x800) + int(cp >= 0x10000))
    last = k + size - ONE
    while last > k:
        out[last] = 0x80 | (cp & np.uint32(0x3F))
        cp >>= np.uint32(6)
        last -= ONE
    out[k] = np.uint32((0xF00 >> size) & 0xFF) | cp
    return k + size


@inlined
def before(data: U8, start: Place, i: Place) -> Place:
    """Where the character that ends at byte `i` begins."""
    i -= ONE
    while i > start and (data[i] & 0xC0) == 0x80:
        i -= ONE
    return i


@inlined
def place(pages: U16, cp: np.uint32) -> np.uint64:
    """Where the tables of dedup.text.unicode hold a code point."""
    return np.uint64(pages[cp >> np.uint32(8)]) * PAGE + np.uint64(cp & np.uint32(255))


@inlined
def sigma_is_final(data: U8, start: Place, i: Place, end: Place, pages: U16, flags: U8) -> bool:
    """Whether the capital sigma at `i` ends a word, as `str.lower()` has it.

    So it does if, case-ignorable characters apart, a cased one stands before and none after.
    """
    flag = np.uint8(IGNORABLE)
    j = i
    while j > start and flag & IGNORABLE:
        j = before(data, start, j)
        flag = flags[place(pages, decode(data, j, end, BLANK)[0])]
    if not flag & CASED:
        return False
    flag = np.uint8(IGNORABLE)
    after = i + np.uint32(2)
    while after < end and flag & IGNORABLE:
        cp, size = decode(data, after, end, BLANK)
        flag = flags[place(pages, cp)]
        after += size
    return not flag & CASED
