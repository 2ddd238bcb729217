"""CCNet's form of lines, in one pass over their bytes."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, inlined, kernel

# What `low` says of a byte below 0x80 is what becomes of it. Else:
DROPPED = 0xFF

# What `actions` says of a character in lower case.
ZERO_DIGIT = 1
DROP = 2

SPACE_FLAG = 2  # as in dedup.unicode; a kernel's constants live in its own file
CASED = 8
IGNORABLE = 16
CAPITAL_I_WITH_DOT = np.uint32(0x130)
CAPITAL_SIGMA = np.uint32(0x3A3)
FINAL_SIGMA = np.uint32(0x3C2)
SMALL_SIGMA = np.uint32(0x3C3)
COMBINING_DOT_ABOVE = np.uint32(0x307)
SPACE = np.uint32(0x20)
DIGIT_ZERO = 0x30
SMALL_I = 0x69


@inlined
def decode(data: U8, i: int, end: int) -> tuple[np.uint32, int]:
    """The code point at byte `i`, and how many bytes it has; a space where it is not UTF-8."""
    lead = np.uint32(data[i])
    if lead < 0x80:
        return lead, 1
    size = 2 + int(lead >= 0xE0) + int(lead >= 0xF0)
    if lead < 0xC0 or i + size > end:
        return SPACE, 1
    cp = lead & (np.uint32(0x7F) >> np.uint32(size))
    for j in range(i + 1, i + size):
        cp = np.uint32(cp << np.uint32(6)) | np.uint32(data[j] & 0x3F)
    if cp > 0x10FFFF:
        return SPACE, 1
    return cp, size


@inlined
def encode(cp: np.uint32, out: U8, k: int) -> int:
    """Write a code point's UTF-8 at `out[k]`; where the next one goes."""
    if cp < 0x80:
        out[k] = cp
        return k + 1
    size = 2 + int(cp >= 0x800) + int(cp >= 0x10000)
    for last in range(k + size - 1, k, -1):
        out[last] = 0x80 | (cp & np.uint32(0x3F))
        cp >>= np.uint32(6)
    out[k] = np.uint32((0xF00 >> size) & 0xFF) | cp
    return k + size


@inlined
def place(pages: U16, cp: np.uint32) -> int:
    """Where the tables of dedup.unicode hold a code point."""
    return int(pages[cp >> np.uint32(8)]) * 256 + int(cp & np.uint32(255))


@inlined
def before(data: U8, start: int, i: int) -> int:
    """Where the character that ends at byte `i` begins."""
    i -= 1
    while i > start and (data[i] & 0xC0) == 0x80:
        i -= 1
    return i


@inlined
def sigma_is_final(data: U8, start: int, i: int, end: int, pages: U16, flags: U8) -> bool:
    """Whether the capital sigma at `i` ends a word, as `str.lower()` has it.

    So it does if, case-ignorable characters apart, a cased one stands before and none after.
    """
    flag = IGNORABLE
    j = i
    while j > start and flag & IGNORABLE:
        j = before(data, start, j)
        flag = int(flags[place(pages, decode(data, j, end)[0])])
    if not flag & CASED:
        return False
    flag = IGNORABLE
    after = i + 2
    while after < end and flag & IGNORABLE:
        cp, size = decode(data, after, end)
        flag = int(flags[place(pages, cp)])
        after += size
    return not flag & CASED


@inlined
def stripped(data: U8, start: int, end: int, pages: U16, flags: U8) -> tuple[int, int]:
    """The span without the white space at both ends, as `str.strip()` has it."""
    while start < end:
        cp, size = decode(data, start, end)
        if not flags[place(pages, cp)] & SPACE_FLAG:
            break
        start += size
    while end > start:
        last = before(data, start, end)
        if not flags[place(pages, decode(data, last, end)[0])] & SPACE_FLAG:
            break
        end = last
    return start, end


@kernel
def ccnet_lines(
    data: U8,
    offsets: I64,
    low: U8,
    pages: U16,
    flags: U8,
    lower_delta: U32,
    actions: U8,
    out: U8,
    out_offsets: I64,
) -> None:
    """Write the form of each line.

    data, offsets: line `i` at `data[offsets[i]:offsets[i + 1]]`.
    low: (128,) what becomes of an ASCII byte, or DROPPED.
    pages, flags, lower_delta: the tables of dedup.unicode.
    actions: (0x110000,) ZERO_DIGIT, DROP, or 0.
    out: 3 bytes for 2 of the lines, and one more.  out_offsets: (n_lines + 1,).
    """
    k = 0
    out_offsets[0] = 0
    for line in range(offsets.shape[0] - 1):
        start, end = stripped(data, offsets[line], offsets[line + 1], pages, flags)
        i = start
        while i < end:
            byte = data[i]
            if byte < 0x80:
                becomes = low[byte]
                out[k] = becomes
                k += int(becomes != DROPPED)
                i += 1
                continue
            cp, size = decode(data, i, end)
            if cp == CAPITAL_SIGMA:
                final = sigma_is_final(data, start, i, end, pages, flags)
                cp = FINAL_SIGMA if final else SMALL_SIGMA
            elif cp == CAPITAL_I_WITH_DOT:
                out[k] = SMALL_I
                k += 1
                cp = COMBINING_DOT_ABOVE
            else:
                cp = np.uint32(cp + lower_delta[place(pages, cp)])
            action = actions[cp]
            if action == ZERO_DIGIT:
                out[k] = DIGIT_ZERO
                k += 1
            elif action != DROP:
                k = encode(cp, out, k)
            i += size
        out_offsets[line + 1] = k
