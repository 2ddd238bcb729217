"""Control characters and line ends: which documents need work, and the work."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.u64 import ONE
from tokenmill.dedup.kernels.utf8 import REPLACEMENT, decode

MAY_COMPOSE, HAS_CONTROLS = 1, 2

TAB, LF, CR, US, SPACE, DEL, NEL = b"\t\n\r\x1f \x7f\x85"
BYTE_ORDER_MARK = 0xFEFF

LEAVE, REMOVE = -1, -2
BLOCK = np.uint64(128)  # bytes looked at together; unsigned, as a signed index may be negative


@inlined
def replacement(cp: np.int64) -> int:
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
def plain_ascii(data: U8, start: np.uint64, end: np.uint64) -> bool:
    """Whether there is nothing but ASCII without controls, tabs and newlines apart."""
    odd = False
    for i in range(start, end):
        b = data[i]
        odd |= (b >= DEL) | ((b < SPACE) & (b != TAB) & (b != LF))
    return not odd


@kernel
def find_work(data: U8, offsets: I64, composing: U8, out: U8) -> None:
    """Set `out` (n_docs,) to MAY_COMPOSE, HAS_CONTROLS; composing: (0x110000,), by code point."""
    for d in range(out.shape[0]):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        found = 0
        while i < end:
            stop = min(i + BLOCK, end)
            if plain_ascii(data, i, stop):
                i = stop
            while i < stop:
                cp, size = decode(data, i, end, REPLACEMENT)
                found |= composing[cp]
                if replacement(np.int64(cp)) != LEAVE:
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
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        while i < end:
            cp, size = decode(data, i, end, REPLACEMENT)
            new = replacement(np.int64(cp))
            if new == LEAVE:
                for j in range(i, i + size):
                    out[k] = data[j]
                    k += 1
            elif new != REMOVE and not (cp == CR and i + ONE < end and data[i + ONE] == LF):
                out[k] = new
                k += 1
            i += size
        out_offsets[d + 1] = k
