"""Lines as `str.splitlines()` has them: how they begin and end."""

import numpy as np

from dedup.kernels._jit import I64, U8, inlined, kernel

START = 1  # as in pipelines.filters.characters; a kernel's constants live in its own file
SPACE = 2
BREAK = 4

LF = 0x0A
CR = 0x0D
HASH = 0x23
DASH = 0x2D
DOT = 0x2E
LAST_OF_ELLIPSIS = 0xA6  # of U+2026 in UTF-8, E2 80 A6

# columns of `line_facts`
N_LINES, N_BULLET_LINES, N_ELLIPSIS_LINES, N_HASHES, N_ELLIPSES = range(5)
N_LINE_FACTS = 5

# Unsigned indices: a signed one is tested for being negative at each use.
ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)


@inlined
def is_bullet(data: U8, i: np.uint64, end: np.uint64) -> bool:
    """Whether "-" or U+2022 stands at byte i."""
    if data[i] == DASH:
        return True
    if end < i + THREE:
        return False
    return bool(data[i] == 0xE2 and data[i + ONE] == 0x80 and data[i + TWO] == 0xA2)


@inlined
def ends_ellipsis(data: U8, start: np.uint64, end: np.uint64) -> bool:
    """Whether data[start:end] ends with U+2026."""
    if end < start + THREE:
        return False
    last = data[end - ONE] == LAST_OF_ELLIPSIS
    return bool(last and data[end - TWO] == 0x80 and data[end - THREE] == 0xE2)


@inlined
def ends_dots(data: U8, start: np.uint64, end: np.uint64) -> bool:
    """Whether data[start:end] ends with three dots."""
    if end < start + THREE:
        return False
    return bool(data[end - ONE] == DOT and data[end - TWO] == DOT and data[end - THREE] == DOT)


@kernel
def line_facts(data: U8, classes: U8, offsets: I64, out: I64) -> None:
    """Count lines, those that begin with a bullet or end with an ellipsis, "#" and ellipses.

    out: (n_docs, N_LINE_FACTS). Whitespace around a line does not count. An ellipsis is U+2026
    or three dots; six dots are two.
    """
    for d in range(out.shape[0]):
        n_lines = n_bullets = n_trailing = n_hashes = n_ellipses = ZERO
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        while i < end:
            line = i
            while i < end and not classes[i] & BREAK:
                b = data[i]
                i += ONE
                n_hashes += np.uint64(b == HASH)
                if b == DOT:
                    dots = ONE
                    while i < end and data[i] == DOT:
                        dots += ONE
                        i += ONE
                    n_ellipses += dots // THREE
                elif b == LAST_OF_ELLIPSIS:
                    n_ellipses += np.uint64(ends_ellipsis(data, line, i))
            last = i
            while last > line and classes[last - ONE] & SPACE:
                last -= ONE
            while line < last and classes[line] & SPACE:
                line += ONE
            n_lines += ONE
            n_bullets += np.uint64(line < last and is_bullet(data, line, last))
            n_trailing += np.uint64(ends_dots(data, line, last) or ends_ellipsis(data, line, last))
            i += ONE
            if i < end and data[i - ONE] == CR and data[i] == LF:
                i += ONE
            while i < end and not classes[i] & START:
                i += ONE
        out[d, N_LINES] = n_lines
        out[d, N_BULLET_LINES] = n_bullets
        out[d, N_ELLIPSIS_LINES] = n_trailing
        out[d, N_HASHES] = n_hashes
        out[d, N_ELLIPSES] = n_ellipses
