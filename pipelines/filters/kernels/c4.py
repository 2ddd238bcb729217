"""C4's rules, line by line, writing what is left of each document."""

from typing import NamedTuple

import numpy as np

from dedup.kernels._jit import F64, I64, U8, inlined, kernel

START = 1  # as in pipelines.filters.characters; a kernel's constants live in its own file
SPACE = 2
BREAK = 4
TERMINAL = 32
DECIMAL = 64
CLOSING = 128

LF = 0x0A
CR = 0x0D
DOT = 0x2E
BRACKET = 0x5B
CLOSING_BRACKET = 0x5D
BRACE = 0x7B

KEEP = 0  # as in pipelines.stage
LOREM_IPSUM, CURLY_BRACKET, TOO_FEW_SENTENCES = range(1, 4)

KEPT, DROPPED = 0, -1  # what becomes of a line

# `find_phrases` sets bit k for phrase k: lorem ipsum, javascript, then the policies
LOREM_IPSUM_PHRASE = 1
JAVASCRIPT_PHRASE = 2
POLICY_PHRASES = ~3


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


class CitationWords(NamedTuple):
    """The two citations of Wikipedia that are not numbers: UTF-8, brackets included."""

    edit: U8
    needed: U8


class Phrases(NamedTuple):
    """Lower-case phrases of ASCII letters and spaces.

    text: one behind the other.  ends: (n_phrases,) int64, where in `text` each ends.
    heads, seconds: (256,) uint8, 1 for first and second bytes of phrases, in either case.
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
    found = 0
    for j in range(i, end - 1):
        if phrases.heads[data[j]] and phrases.seconds[data[j + 1]]:
            first = 0
            for k in range(phrases.ends.shape[0]):
                if phrase_stands_at(data, j, end, phrases.text, first, phrases.ends[k]):
                    found |= 1 << k
                first = phrases.ends[k]
    return found


@inlined
def starts_with(data: U8, i: int, end: int, word: U8) -> bool:
    """Whether data[i:end] begins with `word`."""
    same = end - i >= len(word)
    for j in range(len(word) if same else 0):
        same &= data[i + j] == word[j]
    return bool(same)


@inlined
def citation_end(data: U8, classes: U8, i: int, end: int, words: CitationWords) -> int:
    """Where a citation that begins with the "[" at byte i ends; i if there is none.

    A citation is what the expression `\\[\\d*]|\\[edit]|\\[citation needed]` matches.
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
def word_lengths(classes: U8, i: int, end: int) -> tuple[int, int]:
    """How many words a line has, and how many characters its longest."""
    n = longest = chars = 0
    for j in range(i, end):
        if classes[j] & SPACE:
            chars = 0
        else:
            n += chars == 0
            chars += classes[j] & START
            longest = max(longest, chars)
    return n, longest


@inlined
def ends_sentence(data: U8, start: int, end: int) -> bool:
    """Whether data[start:end] ends with one of . ? ! " ' but not with three dots."""
    if end == start:
        return False
    if data[end - 1] == DOT:
        return not (end - start >= 3 and data[end - 2] == DOT and data[end - 3] == DOT)
    return int(data[end - 1]) in (0x3F, 0x21, 0x22, 0x27)


@inlined
def count_sentences(classes: U8, i: int, end: int) -> int:
    """Sentences of a line; at least 1.

    One ends where whitespace follows a terminal mark, closing marks between them allowed.
    """
    n = 1
    after_mark = ended = False
    for j in range(i, end):
        c = classes[j]
        if c & SPACE:
            ended = ended or after_mark
            after_mark = False
            continue
        n += ended
        ended = False
        after_mark = (c & TERMINAL) != 0 or (after_mark and (c & CLOSING) != 0)
    return n


@inlined
def line_end(data: U8, classes: U8, i: int, end: int) -> tuple[int, int]:
    """Where the line that begins at byte i ends, and where the next begins."""
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
def copy_line(
    data: U8, classes: U8, i: int, end: int, rules: LineRules, words: CitationWords, out: U8,
    out_classes: U8, k: int, at_start: bool,
) -> int:  # fmt: skip
    """Copy a line without its citations to out[k:]; where the copy ends.

    at_start: nothing stands before it in its document; leading whitespace is then left out.
    """
    first = k
    while i < end:
        if data[i] == BRACKET and rules.remove_citations:
            after = citation_end(data, classes, i, end, words)
            if after > i:
                i = after
                continue
        if not (at_start and k == first and classes[i] & SPACE):
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
    if rules.curly_bracket:
        for j in range(first, k):
            if out[j] == BRACE:
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
def c4_documents(
    data: U8,
    classes: U8,
    offsets: I64,
    rules: LineRules,
    words: CitationWords,
    phrases: Phrases,
    min_sentences: int,
    out: U8,
    out_classes: U8,
    out_offsets: I64,
    verdicts: U8,
    values: F64,
) -> None:
    """Write the kept lines of each document, one behind the other, and judge it.

    out, out_classes: (n_bytes,).  out_offsets: (n_docs + 1,); a document that is not kept is
    empty.  verdicts, values: (n_docs,); value is the number of sentences where that decides.
    """
    out_offsets[0] = 0
    for d in range(verdicts.shape[0]):
        start = k = out_offsets[d]
        sentences = 0
        verdict = KEEP
        i, end = offsets[d], offsets[d + 1]
        while i < end and verdict == KEEP:
            stop, after = line_end(data, classes, i, end)
            first, last = trimmed(classes, i, stop)
            i = after
            n_words, longest = word_lengths(classes, first, last)
            if n_words < rules.min_words or longest > rules.max_word_chars:
                continue
            line = k
            if k > start:
                out[k] = LF
                out_classes[k] = START | SPACE | BREAK
                line += 1
            line_stop = copy_line(
                data, classes, first, last, rules, words, out, out_classes, line, k == start
            )
            judged = judge_line(out, line, line_stop, rules, phrases)
            if judged > 0:
                verdict = judged
            elif judged == KEPT:
                sentences += count_sentences(out_classes, line, line_stop)
                k = line_stop
        if verdict == KEEP and sentences < min_sentences:
            verdict = TOO_FEW_SENTENCES
        values[d] = sentences if verdict == TOO_FEW_SENTENCES else np.nan
        while k > start and out_classes[k - 1] & SPACE:
            k -= 1
        verdicts[d] = verdict
        out_offsets[d + 1] = k if verdict == KEEP else start
