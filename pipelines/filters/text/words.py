r"""What a word is to the filters, the letters of words, and how many sentences they make.

don't stop!   whitespace  don't stop!      as `str.split()`
              unicode     don t stop       longest runs of `\w`, with the marks behind: की is one,
                                           of which shingles take the letter alone
              scripts     don t stop       as unicode; 中文 are two, ไทย three: one character
                                           or cluster a word where a script sets no spaces,
                                           with what stands before a mark of it, as a blank
              spacy       do n't stop !    as spaCy splits English, whom datatrove asks; spacy:de
                                           as it splits German, and so on
              jieba                        Chinese, sudachi Japanese, pythainlp Thai, pyvi
                                           Vietnamese, indicnlp languages of India, by
                                           libraries of these names

Letters are all bytes of words, without what stands between:

"to be"  -->  letters  t o b e
              starts   0   2   4     the last is where the letters end
"""

import unicodedata
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, Field

from tokenmill.dedup.arrays import I64, U8, U64, TextBuffers, read_only
from tokenmill.dedup.text import unicode, unicode_words
from tokenmill.dedup.text.words import word_places
from tokenmill.pipelines.filters.kernels import characters as char_kernels
from tokenmill.pipelines.filters.kernels import words as word_kernels
from tokenmill.pipelines.filters.kernels.lines import count_by_marks, count_by_words
from tokenmill.pipelines.filters.text import libraries
from tokenmill.pipelines.filters.text.characters import (
    PADDING,
    Characters,
    characters,
    class_table,
    point_flags,
)
from tokenmill.pipelines.filters.text.spacy import check_installed, spacy_classes, stops

NO_SPLITS = 0
FIRST_MARK = 0xCC  # with which U+0300 begins in UTF-8
JOINERS = (0x200C, 0x200D)  # zero width non-joiner and joiner
DOTTED = chr(unicode.CAPITAL_I_WITH_DOT).encode()


def spacy_language(kind: str) -> str | None:
    """The language by whose rules spaCy is to split; None for another kind of words.

    >>> spacy_language("spacy:de"), spacy_language("spacy"), spacy_language("unicode")
    ('de', 'en', None)
    """
    library, _, language = kind.partition(":")
    return (language or "en") if library == "spacy" else None


def spacy_if_wanted(kind: str) -> str:
    """Refuse a kind that needs a library that is missing."""
    if kind in libraries.PACKAGES:
        libraries.check_library(kind)
    elif (language := spacy_language(kind)) is not None:
        check_installed(language)
    return kind


def word_versions(kind: str) -> dict[str, str]:
    """Of the libraries that split words of a kind, whose rules and dictionaries decide verdicts."""
    library = "spacy" if spacy_language(kind) else libraries.PACKAGES.get(kind, "")
    return {name: version(name) for name in library.split()}


WordKind = Annotated[
    Literal["whitespace", "unicode", "scripts", "spacy"]
    | Literal["jieba", "sudachi", "pythainlp", "pyvi", "indicnlp"]
    | Annotated[str, Field(pattern=r"^spacy:[a-z]{2,3}$")],
    AfterValidator(spacy_if_wanted),
]


class Words(NamedTuple):
    """Words of a text column: runs of bytes without SPACE, and apart where a byte has `splits`.

    data, offsets: as `Characters`.  classes: as there, but SPACE is whatever is in no word.
    splits: the bit of the first byte of a word that follows another at once; 0 if none does.
    """

    data: U8
    classes: U8
    offsets: I64
    splits: int


def words_of(text: Characters, kind: WordKind) -> Words:
    if kind == "whitespace":
        return Words(*text, NO_SPLITS)
    if kind == "unicode":
        classes = np.empty(len(text.data) + PADDING, np.uint8)
        char_kernels.class_of_bytes(text.data, _unicode_table(), classes)
        _take_marks(text, classes, _marks_table())
        return Words(text.data, classes, text.offsets, NO_SPLITS)
    if kind == "scripts":
        return Words(text.data, _script_classes(text), text.offsets, char_kernels.SPLIT)
    if kind in libraries.PACKAGES:
        offsets, data = text.offsets.tolist(), text.data.tobytes()
        texts = (data[a:b].decode() for a, b in pairwise(offsets))
        places = libraries.places_of(texts, libraries.splitter(kind))
        return Words(text.data, classes_at(text, places), text.offsets, char_kernels.SPLIT)
    language = spacy_language(kind) or "en"
    return Words(text.data, spacy_classes(text, language), text.offsets, char_kernels.SPLIT)


def _script_classes(text: Characters) -> U8:
    data, offsets = text.data, text.offsets
    places = word_places(TextBuffers(data, read_only(offsets)), "scripts")
    begins = np.repeat(offsets[:-1], np.diff(places.doc_words))
    starts, ends = places.starts + begins, places.ends + begins
    begin = starts[1:][(starts[1:] == ends[:-1]) & (places.starts[1:] > 0)]
    # the lower case of one capital ends in a mark, where shingles begin another word
    begin = begin[(data[begin - 2] != DOTTED[0]) | (data[begin - 1] != DOTTED[1])]
    classes = classes_at(text, libraries.Places(starts, ends, begin))
    _take_marks(text, classes, _marks_of_scripts_table())
    return classes


def classes_at(text: Characters, places: libraries.Places) -> U8:
    """Classes of bytes, SPACE what is in no word, SPLIT where one follows another at once."""
    within = np.zeros(len(text.data) + PADDING, np.int8)
    within[places.starts] = 1
    within[places.ends] -= 1  # 0 where the next begins at once
    np.cumsum(within, out=within)
    classes = text.classes & ~np.uint8(char_kernels.SPACE | char_kernels.SPLIT)
    classes |= np.where(within > 0, 0, char_kernels.SPACE).astype(np.uint8)
    classes[places.begins] |= np.uint8(char_kernels.SPLIT)
    return classes


def _take_marks(text: Characters, classes: U8, table: U8) -> None:
    """Make marks behind the letters of a word part of it, as vowel signs of Indic scripts.

    A joiner between two of its characters is too. Source: UAX 29, rule WB4.
    """
    if not len(text.data) or text.data.max() < FIRST_MARK:
        return
    marks = np.empty(len(text.data) + PADDING, np.uint8)
    char_kernels.class_of_bytes(text.data, table, marks)
    if np.any(marks[: len(text.data)] & (word_kernels.TAKEN | word_kernels.JOINS)):
        word_kernels.take_marks(classes, marks, text.offsets)


def word_counts(words: Words) -> I64:
    """(n_docs,) int64."""
    counts = np.empty(len(words.offsets) - 1, np.int64)
    word_kernels.count_words(words.classes, words.offsets, counts)
    if words.splits:
        more = np.empty_like(counts)
        word_kernels.count_bits(words.classes, words.offsets, words.splits, words.splits, more)
        counts += more
    return counts


def split(text: str, kind: WordKind) -> list[str]:
    """The words of one text.

    >>> split("don't stop!", "unicode")
    ['don', 't', 'stop']
    """
    found = letters(words_of(characters(pa.array([text], pa.large_string())), kind))
    return [found.data[a:b].tobytes().decode() for a, b in pairwise(found.starts.tolist())]


@cache
def _marks_table() -> U8:
    """(0x110000,) START and what `take_marks` asks of each character."""
    table = np.full(unicode.N_CODE_POINTS, char_kernels.START, np.uint8)
    table[_script_kinds() == unicode_words.MARK] |= word_kernels.TAKEN
    table[list(JOINERS)] |= word_kernels.JOINS
    return table


@cache
def _marks_of_scripts_table() -> U8:
    """As `_marks_table`, where a character that is a word by itself has its marks already."""
    table = _marks_table().copy()
    by_itself = (unicode_words.BASE, unicode_words.SYLLABLE, unicode_words.LATE)
    table[np.isin(_script_kinds(), by_itself)] |= word_kernels.ALONE
    return table


def _script_kinds() -> U8:
    pages, kinds = unicode_words.tables()
    every = np.arange(unicode.N_CODE_POINTS)
    found: U8 = kinds[pages[every >> 8].astype(np.int64) * unicode.PAGE + (every & 255)]
    return found


@cache
def _unicode_table() -> U8:
    r"""`class_table`, but SPACE is all that is not `\w`."""
    table = class_table()
    return np.where(
        point_flags() & unicode.WORD,
        table & ~np.uint8(char_kernels.SPACE),
        table | np.uint8(char_kernels.SPACE),
    )


LETTERS_PADDING = 32  # bytes, of any value, that kernels may read behind the last letter


class Letters(NamedTuple):
    """Word `w` of document `i` is `data[starts[k]:starts[k + 1]]` with k = `first_words[i] + w`.

    data: (n_bytes + LETTERS_PADDING,) uint8.  starts: (n_words + n_docs,) uint64.
    chars: (n_words + n_docs,) int64, characters of the words before in the same document.
    first_words: (n_docs + 1,) int64; each document has an entry more than words.
    """

    data: U8
    starts: U64
    chars: I64
    first_words: I64

    @property
    def most_words(self) -> int:
        return int(np.diff(self.first_words).max(initial=1)) - 1


def letters(words: Words) -> Letters:
    """Leave out all that is in no word."""
    first_words = np.zeros(len(words.offsets), np.int64)
    np.cumsum(word_counts(words) + 1, out=first_words[1:])
    data = np.empty(len(words.data) + LETTERS_PADDING, np.uint8)
    starts = np.empty(first_words[-1], np.uint64)
    chars = np.empty(first_words[-1], np.int64)
    char_kernels.split_words(*words, first_words, data, starts, chars)
    return Letters(data, starts, chars, first_words)


SentenceKind = Annotated[Literal["marks", "spacy"], AfterValidator(spacy_if_wanted)]


def sentence_counts(lines: Characters, kind: SentenceKind) -> I64:
    r"""(n_docs,) int64, of documents of lines with "\n" behind each and no other line breaks."""
    counts = np.empty(len(lines.offsets) - 1, np.int64)
    if kind == "marks":
        count_by_marks(lines.classes, lines.offsets, counts)
        return counts
    lines = lines._replace(data=read_only(lines.data))
    kinds = np.empty(len(lines.data) + PADDING, np.uint8)
    char_kernels.class_of_bytes(lines.data, _kind_table(), kinds)
    words = words_of(lines, "spacy")
    count_by_words(lines.data, words.classes, kinds, lines.offsets, counts)
    return counts


@cache
def _kind_table() -> U8:
    """(0x110000,) uint8, START, STOP and PUNCT of every code point."""
    table = np.full(0x110000, char_kernels.START, np.uint8)
    is_punctuation = [unicodedata.category(chr(c)).startswith("P") for c in range(0x110000)]
    table[is_punctuation] |= char_kernels.PUNCT
    table[[ord(mark) for mark in stops()]] |= char_kernels.STOP
    return table
