"""Which characters are letters, spaces and punctuation, and how they are lower-cased: frozen.

Interpreters carry different versions of Unicode; shingles, signatures and verdicts must not
differ with them. So the tables are data of this package, made once from Python 3.11:

    code point --> pages[cp >> 8] --> page * 256 + (cp & 255) --> flags, lower_delta

`python -m tokenmill.dedup.text.unicode` makes them again from the running interpreter. New tables
change signatures: that is a new version of the shingles, not an update.
"""

import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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

    pages: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint8]
    lower_delta: npt.NDArray[np.uint32]


@cache
def tables() -> UnicodeTables:
    """Load the packaged tables; the arrays are shared and read-only.

    Raises:
        RuntimeError: the packaged file is of another version of Unicode than this module.
    """
    with np.load(FILE, allow_pickle=False) as stored:
        version = str(stored["version"])
        found = UnicodeTables(stored["pages"], stored["flags"], stored["lower_delta"])
    if version != UNICODE_VERSION:
        raise RuntimeError(
            f"{FILE.name} holds Unicode {version!r}, this version needs {UNICODE_VERSION!r};"
            " reinstall the package"
        )
    for array in found:
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


def interpreter_flags(char: str) -> int:
    """What the running interpreter says of one character.

    Python does not publish the two properties that the final sigma depends on, but
    `str.lower()` shows them: a capital sigma is final if, looking back past case-ignorable
    characters, there is a cased one.
    """
    sees_past_or_cased = f"A{char}Σ".lower().endswith("ς")
    cased = f" {char}Σ".lower().endswith("ς")
    held = {
        WORD: char.isalnum() or char == "_",
        SPACE: char.isspace(),
        ALPHA: char.isalpha(),
        CASED: cased,
        IGNORABLE: sees_past_or_cased and not cased,
        PUNCT: unicodedata.category(char).startswith("P"),
        DIGIT: char.isdigit(),
        UNASSIGNED: unicodedata.category(char) == "Cn",
    }
    return sum(bit for bit, holds in held.items() if holds)


def interpreter_tables() -> UnicodeTables:
    """Make the tables from the running interpreter; takes about 3 s."""
    code_points = np.arange(N_CODE_POINTS, dtype=np.uint32)
    flags = np.array([interpreter_flags(chr(cp)) for cp in range(N_CODE_POINTS)], np.uint8)
    lower = np.array([ord(chr(cp).lower()[0]) for cp in range(N_CODE_POINTS)], np.uint32)
    both = np.stack([flags.astype(np.uint32), lower - code_points], axis=1)
    distinct, pages = np.unique(both.reshape(-1, PAGE * 2), axis=0, return_inverse=True)
    columns = distinct.reshape(-1, 2)
    return UnicodeTables(
        pages.astype(np.uint16),
        np.ascontiguousarray(columns[:, 0], np.uint8),
        np.ascontiguousarray(columns[:, 1], np.uint32),
    )


if __name__ == "__main__":
    if unicodedata.unidata_version != UNICODE_VERSION:
        raise SystemExit(
            f"this interpreter has Unicode {unicodedata.unidata_version}, the tables are"
            f" {UNICODE_VERSION}; run this with Python 3.11, or change UNICODE_VERSION"
        )
    np.savez_compressed(FILE, version=UNICODE_VERSION, **interpreter_tables()._asdict())
