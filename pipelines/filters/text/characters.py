"""What the filters need to know of each byte of a text: the class of the character it is part of.

    text column --> data    h  é     .  \n
                    classes A  A  a  T  B      one byte a byte, so kernels need no Unicode

Words are runs of bytes without SPACE, as `str.split()` has them; lines end at BREAK, as
`str.splitlines()` has it, or at "\n" alone, as each rule says.
"""

import json
from functools import cache
from pathlib import Path
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

LISTED = json.loads(Path(__file__).with_name("marks.json").read_bytes())  # code points, by whom
TERMINAL_MARKS = " ".join(LISTED["datatrove"]["terminal"])  # a test compares them
SYMBOLS = " ".join([TERMINAL_MARKS, *LISTED["datatrove"]["other symbols"]])


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
    """Look up the classes of a text column's bytes; TypeError, ValueError: as `text_buffers`."""
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
        table[unicode.code_points(ranges)] |= bit
    table[np.add.outer(unicode.DECIMAL_ZEROS, np.arange(10))] |= bits.DECIMAL
    return table
