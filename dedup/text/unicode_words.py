"""Which characters are words by themselves, since their scripts set no spaces: frozen, Unicode 14.

    code point --> pages[cp >> 8] --> page * 256 + (cp & 255) --> kinds

- Each character of a script that breaks lines between any two of them (class ID of UAX 14): Han,
  Hiragana, Katakana, Bopomofo, Yi, Tangut, Nushu, Khitan; with their iteration marks and the
  prolonged sound mark. Radicals too, which stand for ideographs in text from PDF. All of planes 2
  and 3, of which Unicode says that they will be ideographs.
- Each grapheme cluster (UAX 29) of Thai, Lao, Khmer, Myanmar, Tai Le, New Tai Lue, Tai Tham,
  Tai Viet, Ahom (class SA of UAX 14), Javanese and Balinese. Their words cannot be told without a
  dictionary.
- Each Tibetan syllable. The tsheg between syllables is punctuation, which separates: it is written,
  and a syllable is as much of a word as an ideograph is; a letter of it is not.

Hangul, and letters and digits of all other scripts, digits of these too, make words as ever.

`python -m tokenmill.dedup.text.unicode_words` makes the tables again from the running interpreter.
"""

import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import U8, U16, read_only
from tokenmill.dedup.text.fold_tables import invisible
from tokenmill.dedup.text.unicode import N_CODE_POINTS, PAGE, package, packaged

FILE = Path(__file__).with_name("unicode_words.npz")

# Kinds. These begin a word:
BASE = 1  # with the marks behind it
SYLLABLE = 2  # with syllable characters and marks behind it
LATE = 3  # a letter that is a mark behind these: Thai and Lao am, halfwidth voiced sound marks
# These are as in any other text, but behind those
MARK = 4  # is part of their word
UNSEEN = 5  # and
BLANK = 6  # change nothing

# beginnings of characters' names
_ALONE = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HENTAIGANA",
    "HALFWIDTH KATAKANA", "BOPOMOFO", "YI SYLLABLE", "TANGUT", "NUSHU", "KHITAN SMALL SCRIPT",
    "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC CLOSING", "IDEOGRAPHIC NUMBER ZERO", "HANGZHOU NUMERAL",
    "VERTICAL KANA REPEAT", "VERTICAL IDEOGRAPHIC ITERATION", "MASU MARK", "OLD CHINESE ITERATION",
)  # fmt: skip
_RADICALS = ("CJK RADICAL", "KANGXI RADICAL")
_TANGUT = range(0x17000, 0x18D80)  # interpreters have no names for the ideographs
_CLUSTERS = (
    "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ",
    "AHOM ", "JAVANESE ", "BALINESE ",
)  # fmt: skip
_UNSEEN = frozenset(invisible())
_LATE = (0xE33, 0xEB3, 0xFF9E, 0xFF9F)
# category Mc, but clusters by themselves: the exceptions of UAX 29, table 2, SpacingMark
_NO_MARKS = (
    (0x102B, 0x102C), (0x1038, 0x1038), (0x1062, 0x1064), (0x1067, 0x106D), (0x1083, 0x1083),
    (0x1087, 0x108C), (0x108F, 0x108F), (0x109A, 0x109C), (0x1A61, 0x1A61), (0x1A63, 0x1A64),
    (0xAA7B, 0xAA7B), (0xAA7D, 0xAA7D), (0x11720, 0x11721),
)  # fmt: skip


class WordKinds(NamedTuple):
    """The kind of code point `cp` is at `pages[cp >> 8] * 256 + (cp & 255)`; 0 is any other.

    pages: (0x1100,) uint16.  kinds: (n_pages * 256,) uint8.
    """

    pages: U16
    kinds: U8


@cache
def tables() -> WordKinds:
    """Load the packaged tables; the arrays are shared and read-only.

    Raises:
        RuntimeError: the packaged file is of another version of Unicode than this module.
    """
    return WordKinds(**packaged(FILE))


@cache
def no_kinds() -> WordKinds:
    """Of words that are runs of characters in every script."""
    return WordKinds(read_only(np.zeros(0x1100, np.uint16)), read_only(np.zeros(PAGE, np.uint8)))


def interpreter_kind(char: str) -> int:  # noqa: C901 one question after the other
    """The kind of a character by what the running interpreter says of it."""
    name, category, cp = unicodedata.name(char, ""), unicodedata.category(char), ord(char)
    is_word = char.isalnum()
    if char.isspace():
        return BLANK
    if cp in _LATE:
        return LATE
    if not is_word and char in _UNSEEN:
        return UNSEEN
    if any(first <= cp <= last for first, last in _NO_MARKS):
        return BASE
    if category.startswith("M"):
        return MARK
    if cp >> 16 in (2, 3) and category == "Cn":
        return BASE if cp & 0xFFFF < 0xFFFE else 0
    if name.startswith(_RADICALS) or (is_word and (name.startswith(_ALONE) or cp in _TANGUT)):
        return BASE
    if category.startswith("L"):
        if name.startswith(_CLUSTERS):
            return BASE
        if name.startswith("TIBETAN "):
            return SYLLABLE
    return 0


def interpreter_tables() -> WordKinds:
    """Make the tables from the running interpreter; takes about 4 s."""
    kinds = np.array([interpreter_kind(chr(cp)) for cp in range(N_CODE_POINTS)], np.uint8)
    distinct, pages = np.unique(kinds.reshape(-1, PAGE), axis=0, return_inverse=True)
    return WordKinds(pages.reshape(-1).astype(np.uint16), distinct.reshape(-1))


if __name__ == "__main__":
    package(FILE, interpreter_tables()._asdict())
