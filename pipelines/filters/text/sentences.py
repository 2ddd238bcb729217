"""How many sentences lines have: as marks tell, or as spaCy does."""

import unicodedata
from functools import cache
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from tokenmill.pipelines.filters.kernels.characters import class_of_bytes
from tokenmill.pipelines.filters.kernels.classes import PUNCT, START, STOP
from tokenmill.pipelines.filters.kernels.sentences import count_by_marks, count_by_words
from tokenmill.pipelines.filters.text import spacy as english
from tokenmill.pipelines.filters.text.characters import PADDING, Characters
from tokenmill.pipelines.filters.text.words import spacy_if_wanted, words_of

SentenceKind = Annotated[Literal["marks", "spacy"], AfterValidator(spacy_if_wanted)]


def sentence_counts(lines: Characters, kind: SentenceKind) -> npt.NDArray[np.int64]:
    r"""(n_docs,) int64, of documents of lines with "\n" behind each and no other line breaks."""
    counts = np.empty(len(lines.offsets) - 1, np.int64)
    if kind == "marks":
        count_by_marks(lines.classes, lines.offsets, counts)
        return counts
    kinds = np.empty(len(lines.data) + PADDING, np.uint8)
    class_of_bytes(lines.data, _kind_table(), kinds)
    words = words_of(lines, "spacy")
    count_by_words(lines.data, words.classes, kinds, lines.offsets, counts)
    return counts


@cache
def _kind_table() -> npt.NDArray[np.uint8]:
    """(0x110000,) uint8, START, STOP and PUNCT of every code point."""
    table = np.full(0x110000, START, np.uint8)
    table[[unicodedata.category(chr(c)).startswith("P") for c in range(0x110000)]] |= PUNCT
    table[[ord(mark) for mark in english.stops()]] |= STOP
    return table
