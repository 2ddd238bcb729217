"""From bytes of UTF-8 to the class of the character each is part of."""

import numpy as np

from tokenmill.dedup.kernels._jit import U8, kernel
from tokenmill.dedup.kernels.u64 import ONE, ZERO

NOT_START = 0xFE  # all bits but START of pipelines.filters.text.characters
LAST_CODE_POINT = 0x10FFFF
REPLACEMENT = 0xFFFD

BLOCK = np.uint64(64)  # bytes looked at together


@kernel
def class_of_bytes(data: U8, table: U8, out: U8) -> None:
    """Write the class of each byte's character; all bytes but its first go without START.

    table: (0x110000,).  data: (n_bytes,).  out: as many or more.
    Text is UTF-8, as Arrow requires; where it is not, nothing is read out of bounds.
    """
    n = np.uint64(data.shape[0])
    i = ZERO
    while i < n:
        lead = data[i]
        if lead < 0x80:
            stop = min(i + BLOCK, n)
            not_ascii = np.uint8(0)
            for j in range(i, stop):
                not_ascii |= data[j]
            if not_ascii < 0x80:
                for j in range(i, stop):
                    out[j] = table[data[j]]
                i = stop
            while i < stop and data[i] < 0x80:
                out[i] = table[data[i]]
                i += ONE
            continue
        size = 2 + int(lead >= 0xE0) + int(lead >= 0xF0)
        cp = np.int64(lead) & (0x7F >> size)
        last = min(i + np.uint64(size), n)
        for j in range(i + ONE, last):
            cp = (cp << 6) | (np.int64(data[j]) & 0x3F)
        c = table[cp if cp <= LAST_CODE_POINT else REPLACEMENT]
        out[i] = c
        for j in range(i + ONE, last):
            out[j] = c & NOT_START
        i = last
