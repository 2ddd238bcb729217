"""What the rules for nodes count: marks, words without the marks around, windows that repeat.

A window of characters or words is known by a 64-bit hash: two of m windows of a text share one
with odds of about m**2 / 2**64.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F64, I32, I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.table import EMPTY, WORD_BASE, mixed, probed, slot_of, table_bits
from tokenmill.dedup.kernels.u64 import ONE, ZERO
from tokenmill.dedup.kernels.utf8 import REPLACEMENT, before, decode

SPECIAL = 1  # no letter of a word: taken off its ends, and counted
IN_TOKEN = 2  # `[\w']` of `re`
POINT = 4  # one of , ; : ? ! .

# columns of `char_facts`
N_CHARS, N_SPECIAL, N_TOKENS, N_POINTS, REPETITION = range(5)
N_CHAR_FACTS = 5


@inlined
def count_one(window: np.uint64, bits: np.uint64, keys: U64, counts: I32) -> None:
    """Count a window in the table keys[:2**bits], never full."""
    key = mixed(window)
    at = slot_of(keys, bits, key)
    counts[at] = 1 if keys[at] == EMPTY else counts[at] + 1
    keys[at] = key


@inlined
def top_share(bits: np.uint64, keys: U64, counts: I32, tally: I64, n: int) -> float:
    """Share of n windows that are one of the most frequent.

    Those are as many as the root of the number of different ones, but only ones that repeat.
    tally: (most windows + 1,), zeros, and zeros again when it is done.
    """
    distinct = repeating = most = 0
    for at in range(ONE << bits):
        if keys[at] != EMPTY:
            count = int(counts[at])
            distinct += 1
            repeating += int(count > 1)
            most = max(most, count)
            tally[count] += 1
    left = min(int(np.sqrt(distinct)), repeating)
    top = 0
    for count in range(most, 0, -1):
        taken = min(left, int(tally[count]))
        top += taken * count
        left -= taken
        tally[count] = 0
    return top / n


@kernel
def char_facts(
    data: U8, offsets: I64, marks: U8, ngram: int, points: U32, keys: U64, counts: I32, tally: I64,
    out: F64,
) -> None:  # fmt: skip
    r"""Count characters of each text, special ones, tokens, and how far windows repeat.

    A token is a point, or a run of characters that are IN_TOKEN.
    marks: (0x110000,), bits of every code point.  ngram: characters of a window.
    points: (most characters,), scratch.  keys, counts: scratch, slots for as many windows.
    tally: (most characters + 1,), zeros.
    out: (n_texts, N_CHAR_FACTS).
    """
    power = ONE
    for _ in range(ngram - 1):
        power *= WORD_BASE
    for d in range(out.shape[0]):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        n = n_special = n_tokens = n_points = 0
        was_in_token = 0
        while i < end:
            cp, size = decode(data, i, end, REPLACEMENT)
            i += size
            points[n] = cp
            n += 1
            mark = int(marks[cp])
            n_special += mark & SPECIAL
            in_token = mark & IN_TOKEN
            n_tokens += int(in_token > was_in_token)
            n_points += int(mark & POINT > 0)
            was_in_token = in_token
        out[d, N_CHARS] = n
        out[d, N_SPECIAL] = n_special
        out[d, N_TOKENS] = n_tokens + n_points
        out[d, N_POINTS] = n_points
        out[d, REPETITION] = 0.0
        n_windows = n - ngram + 1
        if n_windows < 1:
            continue
        bits = table_bits(np.uint64(n_windows))
        keys[: ONE << bits] = EMPTY
        window = ZERO
        for j in range(n):
            if j >= ngram:
                window -= np.uint64(points[j - ngram]) * power
            window = window * WORD_BASE + np.uint64(points[j])
            if j >= ngram - 1:
                count_one(window, bits, keys, counts)
        out[d, REPETITION] = top_share(bits, keys, counts, tally, n_windows)


@kernel
def strip_words(
    letters: U8, ends: I64, text_words: I64, marks: U8, out: U8, out_ends: I64, out_words: I64
) -> None:
    """Take special characters off both ends of each word; drop words of nothing else.

    letters, ends, text_words: as `dedup.text.words.split_words` gives them.
    out, out_ends, out_words: likewise, of the words left, as large.
    """
    n = k = ZERO
    out_words[0] = 0
    first = ZERO
    for d in range(text_words.shape[0] - 1):
        for w in range(text_words[d], text_words[d + 1]):
            i = first
            end = np.uint64(ends[w])
            first = end
            while i < end:
                cp, size = decode(letters, i, end, REPLACEMENT)
                if not marks[cp] & SPECIAL:
                    break
                i += size
            while i < end:
                last = before(letters, i, end)
                if not marks[decode(letters, last, end, REPLACEMENT)[0]] & SPECIAL:
                    break
                end = last
            if i < end:
                for j in range(i, end):
                    out[k] = letters[j]
                    k += ONE
                out_ends[n] = k
                n += ONE
        out_words[d + 1] = n


@kernel
def repeated_windows(
    words: U64, text_words: I64, ngram: int, keys: U64, counts: I32, out: F64
) -> None:
    """out: (n_texts,), the share of windows of `ngram` words that occur again in their text.

    words: hashes, those of text d at text_words[d]:text_words[d + 1].
    keys, counts: scratch, slots for the windows of the longest text.
    """
    for d in range(out.shape[0]):
        first = text_words[d]
        n_windows = text_words[d + 1] - first - ngram + 1
        out[d] = 0.0
        if n_windows < 1:
            continue
        bits = table_bits(np.uint64(n_windows))
        keys[: ONE << bits] = EMPTY
        for w in range(first, first + n_windows):
            window = ZERO
            for j in range(w, w + ngram):
                window = window * WORD_BASE + words[j]
            count_one(window, bits, keys, counts)
        repeated = np.int64(0)
        for at in range(ONE << bits):
            if keys[at] != EMPTY and counts[at] > 1:
                repeated += counts[at]
        out[d] = repeated / n_windows


@kernel
def count_known(words: U64, text_words: I64, table: U64, out: F64) -> None:
    """out: (n_texts,), how many words of each text are in a table of hashes.

    words, text_words: as for `repeated_windows`.
    table: (2**k,), at most half full; hash h stands from h mod 2**k on, EMPTY is none.
    """
    mask = np.uint64(table.shape[0] - 1)
    for d in range(out.shape[0]):
        n = 0
        for w in range(text_words[d], text_words[d + 1]):
            n += int(table[probed(table, mask, words[w] & mask, words[w])] != EMPTY)
        out[d] = n
