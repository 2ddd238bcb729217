"""CCNet's form of lines, in one pass over their bytes."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, inlined, kernel
from tokenmill.dedup.kernels.utf8 import (
    BLANK,
    COMBINING_DOT_ABOVE,
    FINAL_SIGMA,
    before,
    decode,
    encode,
    place,
    sigma_is_final,
)
from tokenmill.dedup.text.unicode import CAPITAL_I_WITH_DOT, CAPITAL_SIGMA, SPACE

# What `low` says of a byte below 0x80 is what becomes of it. Else:
DROPPED = 0xFF

# What `actions` says of a character in lower case.
ZERO_DIGIT = 1
DROP = 2

SMALL_SIGMA = np.uint32(0x3C3)
DIGIT_ZERO = 0x30
SMALL_I = 0x69


@inlined
def stripped(data: U8, start: int, end: int, pages: U16, flags: U8) -> tuple[int, int]:
    """The span without the white space at both ends, as `str.strip()` has it."""
    while start < end:
        cp, size = decode(data, start, end, BLANK)
        if not flags[place(pages, cp)] & SPACE:
            break
        start += size
    while end > start:
        last = before(data, start, end)
        if not flags[place(pages, decode(data, last, end, BLANK)[0])] & SPACE:
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
    pages, flags, lower_delta: the tables of dedup.text.unicode.
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
            cp, size = decode(data, i, end, BLANK)
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
