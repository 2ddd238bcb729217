"""What a word is to the filters.

don't stop!   whitespace  don't stop!      as `str.split()`
              unicode     don t stop       longest runs of `\\w`, as shingles have them
              spacy       do n't stop !    as spaCy splits English, whom datatrove asks
"""

from functools import cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import AfterValidator

from tokenmill.dedup.text import unicode
from tokenmill.pipelines.filters.kernels.characters import class_of_bytes
from tokenmill.pipelines.filters.kernels.classes import SPACE, SPLIT
from tokenmill.pipelines.filters.kernels.words import count_bits, count_words, find_words
from tokenmill.pipelines.filters.text.characters import (
    PADDING,
    Characters,
    characters,
    class_table,
)
from tokenmill.pipelines.filters.text.spacy import check_installed, spacy_classes

NO_SPLITS = 0


def spacy_if_wanted(kind: str) -> str:
    """Refuse a kind that needs a library that is missing."""
    if kind == "spacy":
        check_installed()
    return kind


WordKind = Annotated[Literal["whitespace", "unicode", "spacy"], AfterValidator(spacy_if_wanted)]


class Words(NamedTuple):
    """Words of a text column: runs of bytes without SPACE, and apart where a byte has `splits`.

    data, offsets: as `Characters`.  classes: as there, but SPACE is whatever is in no word.
    splits: the bit of the first byte of a word that follows another at once; 0 if none does.
    """

    data: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    splits: int


def words_of(text: Characters, kind: WordKind) -> Words:
    """Find the words of a text column."""
    if kind == "whitespace":
        return Words(*text, NO_SPLITS)
    if kind == "unicode":
        classes = np.empty(len(text.data) + PADDING, np.uint8)
        class_of_bytes(text.data, _unicode_table(), classes)
        return Words(text.data, classes, text.offsets, NO_SPLITS)
    return Words(text.data, spacy_classes(text), text.offsets, SPLIT)


def word_counts(words: Words) -> npt.NDArray[np.int64]:
    """(n_docs,) int64."""
    counts = np.empty(len(words.offsets) - 1, np.int64)
    count_words(words.classes, words.offsets, counts)
    if words.splits:
        more = np.empty_like(counts)
        count_bits(words.classes, words.offsets, words.splits, words.splits, more)
        counts += more
    return counts


def split(text: str, kind: WordKind) -> list[str]:
    """The words of one text.

    >>> split("don't stop!", "unicode")
    ['don', 't', 'stop']
    """
    words = words_of(characters(pa.array([text], pa.large_string())), kind)
    borders = np.empty(2 * int(word_counts(words)[0]) + 2, np.uint64)
    find_words(words.classes, words.splits, borders, len(words.data))
    ends = borders[:-2].astype(np.int64).reshape(-1, 2).tolist()
    return [words.data[start:stop].tobytes().decode() for start, stop in ends]


@cache
def _unicode_table() -> npt.NDArray[np.uint8]:
    r"""`class_table`, but SPACE is all that is not `\w`."""
    t = unicode.tables()
    points = np.arange(unicode.N_CODE_POINTS, dtype=np.uint32)
    flags = t.flags[t.pages[points >> 8].astype(np.uint32) * unicode.PAGE + (points & 255)]
    table = class_table()
    return np.where(flags & unicode.WORD, table & ~np.uint8(SPACE), table | np.uint8(SPACE))
