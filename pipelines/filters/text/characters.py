"""What the filters need to know of each byte of a text: the class of the character it is part of.

    text column --> data    h  é     .  \n
                    classes A  A  a  T  B      one byte a byte, so kernels need no Unicode

Words are runs of bytes without SPACE, as `str.split()` has them; lines end at BREAK, as
`str.splitlines()` has it, or at "\n" alone, as each rule says.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, text_buffers
from tokenmill.dedup.text import unicode
from tokenmill.pipelines.filters.kernels import characters as bits
from tokenmill.pipelines.filters.kernels.characters import class_of_bytes
from tokenmill.pipelines.filters.kernels.words import count_bits

PADDING = 8  # bytes

LINE_BREAKS = "A-D 1C-1E 85 2028-2029"
CLOSING_MARKS = "22 27 29 5D 7D BB 2019 201D"

# Code points of datatrove 0.10, src/datatrove/utils/text.py. A test compares them.
TERMINAL_MARKS = (
    "21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 166E"
    " 1735-1736 17D4-17D6 17D9-17DA 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E"
    " 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 2E2E 2E3C 2E53-2E54 3002 A4FF A60E-A60F A6F3 A6F7"
    " A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE52 FE56-FE57 FF01 FF0E FF1F"
    " FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6"
    " 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3 115C9-115D7"
    " 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8"
    " 11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F 1DA88"
)
SYMBOLS = TERMINAL_MARKS + (
    " 0-8 B-1F 22-2D 2F 3A-3E 40 5B-60 7B-9F AB B4 BB 2013-2014 2019 201C-201E 2026 2236 2501 25BA"
    " 3001 3008-300D 3010-3011 FF05 FF08-FF09 FF0C FF11 FF1A-FF1B FF5E"
)


class Characters(NamedTuple):
    """A text column and the classes of its bytes; document `i` at `[offsets[i]:offsets[i + 1]]`.

    data: (n_bytes,) uint8.  offsets: (n_docs + 1,) int64, the first of them 0.
    classes: (n_bytes + PADDING,) uint8, of any value behind the last document: kernels read
    eight bytes at a time.
    """

    data: U8
    classes: U8
    offsets: I64


def characters(column: pa.Array) -> Characters:
    """Look up the classes of a text column's bytes.

    Raises:
        TypeError, ValueError: as `text_buffers`.
    """
    text = text_buffers(column)
    first, last = int(text.offsets[0]), int(text.offsets[-1])
    data = text.data[first:last]
    classes = np.empty(len(data) + PADDING, np.uint8)
    class_of_bytes(data, class_table(), classes)
    return Characters(data, classes, text.offsets - first)


def char_counts(text: Characters) -> I64:
    """(n_docs,) int64, code points."""
    counts = np.empty(len(text.offsets) - 1, np.int64)
    count_bits(text.classes, text.offsets, bits.START, bits.START, counts)
    return counts


def point_flags() -> U8:
    """(0x110000,) uint8, what the frozen tables of Unicode say of every code point."""
    t = unicode.tables()
    points = np.arange(unicode.N_CODE_POINTS, dtype=np.uint32)
    places = t.pages[points >> 8].astype(np.uint32) * unicode.PAGE + (points & 255)
    return np.asarray(t.flags[places])


@cache
def class_table() -> U8:
    """(0x110000,) uint8, the class bits of every code point, START included."""
    flags = point_flags()
    table = np.full(unicode.N_CODE_POINTS, bits.START, np.uint8)
    table[flags & unicode.SPACE != 0] |= bits.SPACE
    table[flags & unicode.ALPHA != 0] |= bits.ALPHA
    for bit, ranges in (
        (bits.BREAK, LINE_BREAKS),
        (bits.SYMBOL, SYMBOLS),
        (bits.TERMINAL, TERMINAL_MARKS),
        (bits.CLOSING, CLOSING_MARKS),
    ):
        table[code_points(ranges)] |= bit
    table[np.add.outer(unicode.DECIMAL_ZEROS, np.arange(10))] |= bits.DECIMAL
    return table


def code_points(ranges: str) -> I64:
    """The code points of a list of hexadecimal ranges, ends included.

    >>> code_points("9-B 20").tolist()
    [9, 10, 11, 32]
    """
    points: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        points.extend(range(int(first, 16), int(last or first, 16) + 1))
    return np.array(points, np.int64)
