"""Control characters and line ends: which documents need work, and the work."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel

MAY_COMPOSE = 1  # as in pipelines.filters.normalize; a kernel's constants live in its own file
HAS_CONTROLS = 2

TAB = 0x09
LF = 0x0A
CR = 0x0D
US = 0x1F
SPACE = 0x20
DEL = 0x7F
NEL = 0x85
BYTE_ORDER_MARK = 0xFEFF
LAST_CODE_POINT = 0x10FFFF
REPLACEMENT = 0xFFFD

LEAVE, REMOVE = -1, -2
BLOCK = 128  # bytes looked at together


@inlined
def decode(data: U8, i: int, end: int) -> tuple[int, int]:
    """The code point at byte i, and how many bytes it has; never a read beyond `end`."""
    lead = int(data[i])
    if lead < 0x80:
        return lead, 1
    size = 2 + int(lead >= 0xE0) + int(lead >= 0xF0)
    if lead < 0xC0 or i + size > end:
        return REPLACEMENT, 1
    cp = lead & (0x7F >> size)
    for j in range(i + 1, i + size):
        cp = (cp << 6) | (int(data[j]) & 0x3F)
    return (cp if cp <= LAST_CODE_POINT else REPLACEMENT), size


@inlined
def replacement(cp: int) -> int:
    """The ASCII character that stands for a code point; or LEAVE, or REMOVE.

    Controls that `str.splitlines()` ends a line at become "\\n", the one other that `str.split()`
    splits at a space: no two words grow together.
    """
    if cp >= SPACE and cp < DEL:
        return LEAVE
    if cp == TAB or cp == LF:
        return LEAVE
    if (cp >= 0x0B and cp <= CR) or (cp >= 0x1C and cp < US) or cp == NEL:
        return LF
    if cp == US:
        return SPACE
    if cp < SPACE or (cp >= DEL and cp <= 0x9F) or cp == BYTE_ORDER_MARK:
        return REMOVE
    return LEAVE


@inlined
def plain_ascii(data: U8, start: int, end: int) -> bool:
    """Whether there is nothing but ASCII without controls, tabs and newlines apart."""
    odd = False
    for i in range(np.uint64(start), np.uint64(end)):  # or it would test for negative indices
        b = data[i]
        odd |= (b >= DEL) | ((b < SPACE) & (b != TAB) & (b != LF))
    return not odd


@kernel
def find_work(data: U8, offsets: I64, composing: U8, out: U8) -> None:
    """out: (n_docs,), bits MAY_COMPOSE and HAS_CONTROLS.

    composing: (0x110000,), MAY_COMPOSE for characters that NFC may change.
    """
    for d in range(out.shape[0]):
        i = offsets[d]
        end = offsets[d + 1]
        found = 0
        while i < end:
            stop = min(i + BLOCK, end)
            if plain_ascii(data, i, stop):
                i = stop
            while i < stop:
                cp, size = decode(data, i, end)
                found |= composing[cp]
                if replacement(cp) != LEAVE:
                    found |= HAS_CONTROLS
                i += size
        out[d] = found


@kernel
def replace_controls(data: U8, offsets: I64, out: U8, out_offsets: I64) -> None:
    """Write each document without its control characters, "\\r\\n" and "\\r" as "\\n".

    out: (n_bytes,).  out_offsets: (n_docs + 1,).
    """
    k = 0
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        i = offsets[d]
        end = offsets[d + 1]
        while i < end:
            cp, size = decode(data, i, end)
            new = replacement(cp)
            if new == LEAVE:
                for j in range(i, i + size):
                    out[k] = data[j]
                    k += 1
            elif new != REMOVE and not (cp == CR and i + 1 < end and data[i + 1] == LF):
                out[k] = new
                k += 1
            i += size
        out_offsets[d + 1] = k
