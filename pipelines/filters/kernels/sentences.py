"""How many sentences documents have whose lines all end with a newline, each line at least one."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, skip
from tokenmill.pipelines.filters.kernels.classes import (
    BLANK,
    BREAK,
    CLOSING,
    PUNCT,
    SPACE,
    SPLIT,
    START,
    STOP,
    TERMINAL,
)

TERMINALS = LOW_BITS * np.uint64(TERMINAL)


@kernel
def count_by_marks(classes: U8, offsets: I64, out: I64) -> None:
    """out: (n_docs,), sentences as marks and what stands behind tell.

    One ends with its line, and where whitespace follows a terminal mark in a line, closing marks
    between them allowed.
    """
    for d in range(out.shape[0]):
        i, end = offsets[d], offsets[d + 1]
        n = 0
        for j in range(np.uint64(i), np.uint64(end)):
            n += int(classes[j] & BREAK != 0)  # one behind each line, and nowhere else
        while i < end:
            if not classes[i] & TERMINAL:
                i = skip(classes, i + 1, end, TERMINALS)
                continue
            while i < end and classes[i] & (TERMINAL | CLOSING):
                i += 1
            mark_end = i
            while i < end and classes[i] & SPACE and not classes[i] & BREAK:
                i += 1
            n += mark_end < i and i < end and not classes[i] & BREAK
        out[d] = n


@inlined
def word_end(words: U8, kinds: U8, i: int, end: int) -> tuple[int, bool, bool]:
    """Where the word at byte i ends; whether it is a mark that ends a sentence; all punctuation."""
    stops = bool(kinds[i] & STOP)
    punct = bool(kinds[i] & PUNCT)
    i += 1
    while i < end and not words[i] & (SPACE | SPLIT):
        stops &= not kinds[i] & START
        punct &= kinds[i] & PUNCT != 0
        i += 1
    return i, stops, punct


@kernel
def count_by_words(data: U8, words: U8, kinds: U8, offsets: I64, out: I64) -> None:
    """out: (n_docs,), sentences as spaCy's sentencizer has them, a line at a time.

    A sentence ends before the first word that is no punctuation behind a word that is a mark; a
    space that is more than a single blank between two words is such a word.
    words: classes with SPACE, BREAK at the end of each line alone, and SPLIT.
    kinds: START, STOP and PUNCT of each byte's character.
    """
    for d in range(out.shape[0]):
        i, end = offsets[d], offsets[d + 1]
        n = 0
        seen = False
        while i < end:
            space = i
            while i < end and words[i] & SPACE and not words[i] & BREAK:
                i += 1
            if i > space and seen and not (i == space + 1 and data[space] == BLANK):
                n += 1
                seen = False
            if i < end and words[i] & BREAK:
                n += 1
                seen = False
                i += 1
            elif i < end:
                i, stops, punct = word_end(words, kinds, i, end)
                if stops:
                    seen = True
                elif seen and not punct:
                    n += 1
                    seen = False
        out[d] = n
