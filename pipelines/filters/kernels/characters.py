"""From bytes of UTF-8 to the class of the character each is part of."""

import numpy as np

from dedup.kernels._jit import U8, kernel

NOT_START = 0xFE  # all bits but START of pipelines.filters.characters
LAST_CODE_POINT = 0x10FFFF
REPLACEMENT = 0xFFFD


@kernel
def class_of_bytes(data: U8, table: U8, out: U8) -> None:
    """Write the class of each byte's character; all bytes but its first go without START.

    table: (0x110000,).  data, out: (n_bytes,).
    Text is UTF-8, as Arrow requires; where it is not, nothing is read out of bounds.
    """
    n = data.shape[0]
    i = 0
    while i < n:
        lead = data[i]
        if lead < 0x80:
            out[i] = table[lead]
            i += 1
            continue
        size = 2 + int(lead >= 0xE0) + int(lead >= 0xF0)
        cp = np.int64(lead) & (0x7F >> size)
        last = min(i + size, n)
        for j in range(i + 1, last):
            cp = (cp << 6) | (np.int64(data[j]) & 0x3F)
        c = table[cp if cp <= LAST_CODE_POINT else REPLACEMENT]
        out[i] = c
        for j in range(i + 1, last):
            out[j] = c & NOT_START
        i = last
