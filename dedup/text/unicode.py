"""Which characters are letters, spaces and punctuation, and how they are lower-cased: frozen.

Interpreters carry different versions of Unicode; shingles, signatures and verdicts must not
differ with them. So the tables are data of this package, made once from Python 3.11:

    code point --> pages[cp >> 8] --> page * 256 + (cp & 255) --> flags, lower_delta

`python -m tests.dedup.text.frozen` makes them again from the running interpreter. New tables
change signatures: that is a new version of the shingles, not an update.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tokenmill.dedup.arrays import U8, U16, U32

UNICODE_VERSION = "14.0.0"  # of the packaged tables; also stored in them
FILE = Path(__file__).with_name("unicode_tables.npz")

WORD = 1  # `\w` of `re` on str: str.isalnum() or "_"
SPACE = 2  # str.isspace(): what str.split() splits at
ALPHA = 4  # str.isalpha()
CASED = 8  # cased and not case-ignorable, as the rule of the final sigma reads it
IGNORABLE = 16  # case-ignorable: the rule of the final sigma looks past it
PUNCT = 32  # general category P*
DIGIT = 64  # str.isdigit()
UNASSIGNED = 128  # general category Cn: not a character yet in this version

CAPITAL_SIGMA = 0x3A3  # lower-cased to U+03C2 at the end of a word, else to U+03C3
CAPITAL_I_WITH_DOT = 0x130  # lower-cased to two code points, "i" and U+0307

N_CODE_POINTS = 0x110000
PAGE = 256


def code_points(*ranges: str) -> list[int]:
    """The code points of lists of hexadecimal ranges, ends included.

    >>> code_points("9-B", "20")
    [9, 10, 11, 32]
    """
    parts = (part.partition("-") for part in " ".join(ranges).split())
    bounds = ((int(first, 16), int(last or first, 16)) for first, _, last in parts)
    return [cp for first, last in bounds for cp in range(first, last + 1)]


# Where the ten digits of each script begin (Unicode 14, general category Nd).
DECIMAL_ZEROS = code_points(
    "30 660 6F0 7C0 966 9E6 A66 AE6 B66 BE6 C66 CE6 D66 DE6 E50 ED0 F20 1040 1090 17E0 1810 1946"
    " 19D0 1A80 1A90 1B50 1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 11066"
    " 110F0 11136 111D0 112F0 11450 114D0 11650 116C0 11730 118E0 11950 11C50 11D50 11DA0 16A60"
    " 16AC0 16B50 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 1E950 1FBF0"
)


class UnicodeTables(NamedTuple):
    """Two-level tables; the entry of code point `cp` is at `pages[cp >> 8] * 256 + (cp & 255)`.

    pages: (0x1100,) uint16.
    flags: (n_pages * 256,) uint8, bits WORD, SPACE, ALPHA, CASED, IGNORABLE, PUNCT, DIGIT,
        UNASSIGNED.
    lower_delta: (n_pages * 256,) uint32; the lower case of a code point by itself is
        `(cp + lower_delta[...]) mod 2**32`, so that pages without capitals are one page.
        Two need their context or more room, and so their callers' care: CAPITAL_SIGMA, and
        CAPITAL_I_WITH_DOT, of which the table holds the first code point alone.
    """

    pages: U16
    flags: U8
    lower_delta: U32


@cache
def tables() -> UnicodeTables:
    """The packaged tables, shared and read-only; RuntimeError where they are of another Unicode."""
    return UnicodeTables(**packaged(FILE))


def packaged(path: Path) -> dict[str, Any]:
    """The arrays of a packaged file of tables, read-only; RuntimeError as `tables`."""
    with np.load(path, allow_pickle=False) as stored:
        found = dict(stored)
    if (version := str(found.pop("version"))) != UNICODE_VERSION:
        raise RuntimeError(
            f"{path.name} holds Unicode {version!r}, this version needs {UNICODE_VERSION!r};"
            " reinstall the package"
        )
    for array in found.values():
        array.flags.writeable = False
    return found


def flags_of(code_point: int) -> int:
    """The flag bits of one code point; for tests and slow paths.

    >>> flags_of(ord("7")) == WORD | DIGIT
    True
    """
    t = tables()
    return int(t.flags[int(t.pages[code_point >> 8]) * PAGE + (code_point & 255)])


def lower_of(code_point: int) -> int:
    """The lower case of one code point, without its context.

    >>> chr(lower_of(ord("É")))
    'é'
    """
    t = tables()
    delta = t.lower_delta[int(t.pages[code_point >> 8]) * PAGE + (code_point & 255)]
    return (code_point + int(delta)) & 0xFFFF_FFFF
