"""C4's rules, line by line, writing the lines that are left of each document."""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, skip
from tokenmill.dedup.kernels.u64 import ONE
from tokenmill.pipelines.filters.kernels.characters import BREAK, DECIMAL, KEEP, SPACE, START

LF, CR, DOT, BRACKET, CLOSING_BRACKET, BRACE = b"\n\r.[]{"

LOREM_IPSUM, CURLY_BRACKET = 1, 2

KEPT, DROPPED = 0, -1  # what becomes of a line

# `find_phrases` sets bit k for phrase k: lorem ipsum, javascript, then the policies
LOREM_IPSUM_PHRASE, JAVASCRIPT_PHRASE, POLICY_PHRASES = 1, 2, ~3

BREAKS = LOW_BITS * np.uint64(BREAK)


class LineRules(NamedTuple):
    """Which rules hold for lines; a limit that is off is one that no line meets."""

    remove_citations: bool
    terminal_mark: bool
    lorem_ipsum: bool
    javascript: bool
    curly_bracket: bool
    policy: bool
    min_words: int
    max_word_chars: int


class Phrases(NamedTuple):
    """Lower-case phrases of ASCII letters and spaces.

    text: one behind the other.  ends: (n_phrases,) int64, where in `text` each ends.
    heads, seconds: (256,) uint8, bit k for first and second bytes of phrase k, in either case.
    """

    text: U8
    ends: I64
    heads: U8
    seconds: U8


@inlined
def lower_at(data: U8, i: int, end: int) -> tuple[int, int]:
    """The byte at i in lower case if ASCII is, and how many bytes it stands for.

    Of all other characters the Kelvin sign alone has an ASCII letter for its lower case; that of
    U+0130 is "i" and a combining dot, which no phrase has.
    """
    b = int(data[i])
    if 0x41 <= b <= 0x5A:
        return b + 0x20, 1
    if b == 0xE2 and i + 2 < end and data[i + 1] == 0x84 and data[i + 2] == 0xAA:
        return 0x6B, 3
    return b, 1


@inlined
def phrase_stands_at(data: U8, i: int, end: int, text: U8, first: int, last: int) -> bool:
    """Whether the phrase text[first:last] stands at byte i, whatever its case."""
    for j in range(first, last):
        if i >= end:
            return False
        b, size = lower_at(data, i, end)
        if b != text[j]:
            return False
        i += size
    return True


@inlined
def find_phrases(data: U8, i: int, end: int, phrases: Phrases) -> int:
    """Which phrases occur in data[i:end], whatever their case: bit k for phrase k."""
    text, ends, heads, seconds = phrases
    found = 0
    for j in range(np.uint64(i), np.uint64(max(i, end - 1))):
        may = heads[data[j]] & seconds[data[j + ONE]]
        if may:
            first = 0
            for k in range(ends.shape[0]):
                if may >> k & 1 and phrase_stands_at(
                    data, int(np.int64(j)), end, text, first, ends[k]
                ):
                    found |= 1 << k
                first = ends[k]
    return found


@inlined
def starts_with(data: U8, i: int, end: int, word: U8) -> bool:
    """Whether data[i:end] begins with `word`."""
    same = end - i >= len(word)
    for j in range(len(word) if same else 0):
        same &= data[i + j] == word[j]
    return bool(same)


@inlined
def citation_end(data: U8, classes: U8, i: int, end: int, words: tuple[U8, ...]) -> int:
    """Where a citation that begins with the "[" at byte i ends; i if there is none.

    A citation is what the expression `\\[\\d*]|\\[edit]|\\[citation needed]` matches.
    words: the two that are not numbers: UTF-8, brackets included.
    """
    j = i + 1
    while j < end and classes[j] & DECIMAL:
        j += 1
    if j < end and data[j] == CLOSING_BRACKET:
        return j + 1
    for word in words:
        if starts_with(data, i, end, word):
            return i + len(word)
    return i


@inlined
def has_words(classes: U8, i: int, end: int, least: int) -> bool:
    """Whether at least so many words stand in classes[i:end], which begins with one if any."""
    n = int(i < end)
    while n < least and i + 1 < end:
        n += int(classes[i] & SPACE) > int(classes[i + 1] & SPACE)
        i += 1
    return n >= least


@inlined
def longest_word(classes: U8, i: int, end: int) -> int:
    """The characters of the longest word."""
    longest = chars = 0
    for j in range(i, end):
        chars = 0 if classes[j] & SPACE else chars + int(classes[j] & START)
        longest = max(longest, chars)
    return longest


@inlined
def ends_sentence(data: U8, start: int, end: int) -> bool:
    """Whether data[start:end] ends with one of . ? ! " ' but not with three dots."""
    if end == start:
        return False
    if data[end - 1] == DOT:
        return not (end - start >= 3 and data[end - 2] == DOT and data[end - 3] == DOT)
    return int(data[end - 1]) in (0x3F, 0x21, 0x22, 0x27)


@inlined
def line_end(data: U8, classes: U8, i: int, end: int) -> tuple[int, int]:
    """Where the line that begins at byte i ends, and where the next begins."""
    i = skip(classes, i, end, BREAKS)
    while i < end and not classes[i] & BREAK:
        i += 1
    if i == end:
        return end, end
    after = i + 1
    if data[i] == CR and after < end and data[after] == LF:
        return i, after + 1
    while after < end and not classes[after] & START:
        after += 1
    return i, after


@inlined
def has_byte(data: U8, i: int, end: int, byte: int) -> bool:
    """Whether a byte stands in data[i:end]."""
    found = False
    for j in range(np.uint64(i), np.uint64(end)):
        found |= data[j] == np.uint8(byte)
    return found


@inlined
def copy(data: U8, i: int, end: int, out: U8, k: int) -> None:
    """Copy data[i:end] to out[k:]."""
    to = np.uint64(k)
    first = np.uint64(i)
    for j in range(np.uint64(end - i)):
        out[to + j] = data[first + j]


@inlined
def copy_line(
    data: U8, classes: U8, i: int, end: int, rules: LineRules, words: tuple[U8, ...], out: U8,
    out_classes: U8, k: int,
) -> int:  # fmt: skip
    """Copy a line without its citations to out[k:]; where the copy ends."""
    if not (rules.remove_citations and has_byte(data, i, end, BRACKET)):
        copy(data, i, end, out, k)
        copy(classes, i, end, out_classes, k)
        return k + end - i
    while i < end:
        if data[i] == BRACKET:
            after = citation_end(data, classes, i, end, words)
            if after > i:
                i = after
                continue
        out[k] = data[i]
        out_classes[k] = classes[i]
        k += 1
        i += 1
    return k


@inlined
def judge_line(out: U8, first: int, k: int, rules: LineRules, phrases: Phrases) -> int:
    """KEPT, DROPPED, or the verdict on the whole document, for a line already copied."""
    if rules.terminal_mark and not ends_sentence(out, first, k):
        return DROPPED
    found = find_phrases(out, first, k, phrases)
    if rules.lorem_ipsum and found & LOREM_IPSUM_PHRASE:
        return LOREM_IPSUM
    if rules.javascript and found & JAVASCRIPT_PHRASE:
        return DROPPED
    if rules.curly_bracket and has_byte(out, first, k, BRACE):
        return CURLY_BRACKET
    if rules.policy and found & POLICY_PHRASES:
        return DROPPED
    return KEPT


@inlined
def trimmed(classes: U8, i: int, end: int) -> tuple[int, int]:
    """The bounds of classes[i:end] without the whitespace around."""
    while i < end and classes[i] & SPACE:
        i += 1
    while i < end and classes[end - 1] & SPACE:
        end -= 1
    return i, end


@kernel
def c4_lines(
    data: U8, classes: U8, offsets: I64, rules: LineRules, words: tuple[U8, ...], phrases: Phrases,
    out: U8, out_classes: U8, out_offsets: I64, verdicts: U8,
) -> None:  # fmt: skip
    r"""Write the lines that are kept of each document, "\n" behind each.

    out, out_classes: (n_bytes + n_docs,) or more.  out_offsets: (n_docs + 1,); of a document that
    is not kept nothing is.  verdicts: (n_docs,), KEEP, LOREM_IPSUM or CURLY_BRACKET.
    """
    most_chars = rules.max_word_chars
    out_offsets[0] = 0
    for d in range(verdicts.shape[0]):
        k = out_offsets[d]
        verdict = KEEP
        i, end = offsets[d], offsets[d + 1]
        while i < end and verdict == KEEP:
            stop, after = line_end(data, classes, i, end)
            first, last = trimmed(classes, i, stop)
            i = after
            if not has_words(classes, first, last, rules.min_words):
                continue
            if last - first > most_chars and longest_word(classes, first, last) > most_chars:
                continue
            line_stop = copy_line(data, classes, first, last, rules, words, out, out_classes, k)
            judged = judge_line(out, k, line_stop, rules, phrases)
            if judged > 0:
                verdict = judged
            elif judged == KEPT:
                out[line_stop] = LF
                out_classes[line_stop] = START | SPACE | BREAK
                k = line_stop + 1
        verdicts[d] = verdict
        out_offsets[d + 1] = k if verdict == KEEP else out_offsets[d]


@kernel
def keep_text(data: U8, classes: U8, offsets: I64, verdicts: U8) -> None:
    """Cut the whitespace around each document, and those not kept; in place."""
    k = i = offsets[0]
    for d in range(verdicts.shape[0]):
        end = offsets[d + 1]
        first, last = trimmed(classes, i, end)
        if verdicts[d] == KEEP:
            for j in range(np.uint64(last - first)):
                data[np.uint64(k) + j] = data[np.uint64(first) + j]
            k += last - first
        offsets[d + 1] = k
        i = end
