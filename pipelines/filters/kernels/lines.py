"""Lines as `str.splitlines()` has them: how they begin and end."""

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


@inlined
def is_bullet(data: U8, i: int, end: int) -> bool:
    """Whether "-" or U+2022 stands at byte i."""
    if data[i] == DASH:
        return True
    return i + 2 < end and data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0xA2


@inlined
def ends_ellipsis(data: U8, i: int, start: int) -> bool:
    """Whether byte i, a LAST_OF_ELLIPSIS, is that of a U+2026."""
    return i - 2 >= start and data[i - 1] == 0x80 and data[i - 2] == 0xE2


@kernel
def line_facts(data: U8, classes: U8, offsets: I64, out: I64) -> None:
    """Count lines, those that begin with a bullet or end with an ellipsis, "#" and ellipses.

    out: (n_docs, N_LINE_FACTS). Whitespace around a line does not count. An ellipsis is U+2026
    or three dots; six dots are two.
    """
    for d in range(out.shape[0]):
        start = offsets[d]
        n_lines = n_bullets = n_trailing = n_hashes = n_ellipses = 0
        in_line = blank = False
        ellipsis = False  # the last character other than whitespace ends an ellipsis
        dots = 0  # how many stand right before byte i
        for i in range(start, offsets[d + 1]):
            c = classes[i]
            b = data[i]
            if c & BREAK:
                closed = b == LF and i > start and data[i - 1] == CR  # by the CR before it
                if c & START and not closed:
                    n_lines += 1
                    n_trailing += ellipsis
                in_line = ellipsis = False
                dots = 0
                continue
            if not in_line:
                in_line = blank = True
            if c & SPACE:
                dots = 0
                continue
            if blank:
                blank = False
                n_bullets += is_bullet(data, i, offsets[d + 1])
            n_hashes += b == HASH
            if b == DOT:
                dots += 1
                ellipsis = dots >= 3
                n_ellipses += dots % 3 == 0
            else:
                dots = 0
                ellipsis = b == LAST_OF_ELLIPSIS and ends_ellipsis(data, i, start)
                n_ellipses += ellipsis
        out[d, N_LINES] = n_lines + in_line
        out[d, N_BULLET_LINES] = n_bullets
        out[d, N_ELLIPSIS_LINES] = n_trailing + (in_line and ellipsis)
        out[d, N_HASHES] = n_hashes
        out[d, N_ELLIPSES] = n_ellipses
