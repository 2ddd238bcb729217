"""Lines as `str.splitlines()` has them: how they begin and end, how many sentences they have."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, bytes_below, eight, skip
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, THREE, TWO
from tokenmill.pipelines.filters.kernels.characters import (
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
from tokenmill.pipelines.filters.kernels.words import n_bytes

LF, CR, HASH, DASH, DOT = b"\n\r#-."
LAST_OF_ELLIPSIS = 0xA6  # of U+2026 in UTF-8, E2 80 A6
ALL_BITS = 0xFF

# columns of `line_facts`
N_LINES, N_BULLET_LINES, N_ELLIPSIS_LINES, N_HASHES, N_ELLIPSES = range(5)
N_LINE_FACTS = 5

BLOCK = np.uint64(128)  # bytes looked at together
BREAKS = LOW_BITS * np.uint64(BREAK)


@inlined
def is_bullet(data: U8, i: np.uint64, end: np.uint64) -> bool:
    """Whether "-" or U+2022 stands at byte i."""
    if data[i] == DASH:
        return True
    if end < i + THREE:
        return False
    return bool(data[i] == 0xE2 and data[i + ONE] == 0x80 and data[i + TWO] == 0xA2)


@inlined
def find_break(classes: U8, i: np.uint64, end: np.uint64) -> np.uint64:
    """Where the next line break begins; `end` if nowhere. Reads up to seven bytes behind."""
    while i < end:
        breaks = eight(classes, i) & BREAKS
        if breaks:
            return min(end, i + bytes_below(breaks))
        i += EIGHT
    return end


@inlined
def is_ellipsis(data: U8, i: int) -> bool:
    """Whether the three bytes at i are dots, or U+2026; no branch, so that many are one test."""
    first, second, third = data[i], data[i + ONE], data[i + TWO]
    dots = (first == DOT) & (second == DOT) & (third == DOT)
    return bool(dots | ((first == 0xE2) & (second == 0x80) & (third == LAST_OF_ELLIPSIS)))


@inlined
def count_ellipses(data: U8, i: np.uint64, end: np.uint64) -> int:
    """U+2026 and three dots in data[i:end]; six dots are two."""
    n = 0
    free = i
    while i + TWO < end:
        stop = min(i + BLOCK, end - TWO)
        found = False
        for j in range(i, stop):
            found |= is_ellipsis(data, j)
        if found:
            for j in range(i, stop):
                if j >= free and is_ellipsis(data, j):
                    n += 1
                    free = j + THREE
        i = stop
    return n


@kernel
def line_facts(data: U8, classes: U8, offsets: I64, out: I64) -> None:
    """Count lines, those that begin with a bullet or end with an ellipsis, "#" and ellipses.

    out: (n_docs, N_LINE_FACTS). Whitespace around a line does not count. An ellipsis is U+2026
    or three dots; six dots are two.
    """
    for d in range(out.shape[0]):
        n_lines = n_bullets = n_trailing = 0
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        out[d, N_HASHES] = n_bytes(data, i, end, ALL_BITS, HASH)
        out[d, N_ELLIPSES] = n_ellipses = count_ellipses(data, i, end)
        while i < end:
            line = i
            i = last = find_break(classes, i, end)
            if n_ellipses:
                while last > line and classes[last - ONE] & SPACE:
                    last -= ONE
                n_trailing += bool(last >= line + THREE and is_ellipsis(data, int(last - THREE)))
            while line < last and classes[line] & SPACE:
                line += ONE
            n_lines += 1
            n_bullets += bool(line < last and is_bullet(data, line, last))
            i += ONE
            if i < end and data[i - ONE] == CR and data[i] == LF:
                i += ONE
            while i < end and not classes[i] & START:
                i += ONE
        out[d, N_LINES] = n_lines
        out[d, N_BULLET_LINES] = n_bullets
        out[d, N_ELLIPSIS_LINES] = n_trailing


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
