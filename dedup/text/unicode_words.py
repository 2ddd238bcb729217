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

`python -m tests.dedup.text.frozen` makes the tables again from the running interpreter.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import U8, U16, read_only
from tokenmill.dedup.text.unicode import PAGE, packaged

FILE = Path(__file__).with_name("unicode_words.npz")

# Kinds. These begin a word:
BASE = 1  # with the marks behind it
SYLLABLE = 2  # with syllable characters and marks behind it
LATE = 3  # a letter that is a mark behind these: Thai and Lao am, halfwidth voiced sound marks
# These are as in any other text, but behind those
MARK = 4  # is part of their word
UNSEEN = 5  # and
BLANK = 6  # change nothing


class WordKinds(NamedTuple):
    """`kinds[pages[cp >> 8] * 256 + (cp & 255)]` is the kind of code point `cp`, 0 of any other.

    pages: (0x1100,).  kinds: (n_pages * 256,).
    """

    pages: U16
    kinds: U8


@cache
def tables() -> WordKinds:
    """Load the packaged tables, as `dedup.text.unicode.tables` does."""
    return WordKinds(**packaged(FILE))


@cache
def no_kinds() -> WordKinds:
    """Of words that are runs of characters in every script."""
    return WordKinds(read_only(np.zeros(0x1100, np.uint16)), read_only(np.zeros(PAGE, np.uint8)))
