"""Word n-grams of a document: the most frequent one, and those that repeat one before.

Words become sums of a polynomial over their bytes plus one, mod 2**64:

    word      h = b0 + b1*B + b2*B**2 + ...
    document  sums[w]  = bytes of the words before word w, as if they were one word
              scale[w] = B**-(how many bytes those are)

so the hash of n words written without spaces is `(sums[w + n] - sums[w]) * scale[w]`: it does
not depend on where the n-gram stands, nor on where its words begin. Two n-grams of a document
of m words share a hash with odds of about m**2 / 2**65, unless they are made to.
"""

import numpy as np

from dedup.kernels._jit import F64, I32, I64, U8, U64, inlined, kernel

START = 1  # as in pipelines.filters.characters; a kernel's constants live in its own file
SPACE = 2

BASE = np.uint64(0xD1342543DE82EF95)  # odd, with well-spread bits
BASE_INVERSE = np.uint64(pow(0xD1342543DE82EF95, -1, 2**64))
WORD_BASE = np.uint64(0x9E3779B97F4A7C15)
FINAL = np.uint64(0x94D049BB133111EB)

KEEP = 0  # as in pipelines.stage
EMPTY = np.uint64(0)  # of a slot
NEVER_EMPTY = np.uint64(1)  # so that no key is EMPTY
U64_0 = np.uint64(0)
U64_1 = np.uint64(1)
U64_32 = np.uint64(32)


@inlined
def mixed(h: np.uint64) -> np.uint64:
    """Spread a hash over all 64 bits; never EMPTY."""
    h = (h ^ (h >> U64_32)) * FINAL
    return (h ^ (h >> U64_32)) | NEVER_EMPTY


@inlined
def split_words(
    data: U8, classes: U8, start: int, stop: int, words: U64, sums: U64, scale: U64, chars: I64
) -> int:
    """Hash the words of one document; how many there are.

    words: (n,), a hash of each.  sums, scale, chars: (n + 1,).  All have one element more for the
    bytes behind the last word.
    Each byte writes where the next word would begin, and no branch asks whether one does.
    """
    n = U64_0
    n_chars = 0
    total = U64_0
    power = U64_1
    inverse = U64_1
    in_word = U64_0
    sums[0] = U64_0
    scale[0] = U64_1
    chars[0] = 0
    i = np.uint64(start)
    end = np.uint64(stop)
    while i < end:
        c = classes[i]
        was_in_word = in_word
        in_word = np.uint64((c & SPACE) == 0)
        n += was_in_word & (in_word ^ U64_1)
        if in_word:
            total += (np.uint64(data[i]) + U64_1) * power
            power *= BASE
            inverse *= BASE_INVERSE
            n_chars += c & START
        sums[n + U64_1] = total
        scale[n + U64_1] = inverse
        chars[n + U64_1] = n_chars
        i += U64_1
    n_words = np.int64(n + in_word)
    for w in range(n_words):
        words[w] = mixed((sums[w + 1] - sums[w]) * scale[w])
    return n_words


@inlined
def table_size(n: int) -> int:
    """The power of two that holds n keys at half load."""
    size = 2
    while size < 2 * n:
        size *= 2
    return size


@inlined
def slot_of(keys: U64, size: int, key: np.uint64) -> int:
    """Where in keys[:size] (a power of two, never full) `key` stands or belongs."""
    mask = size - 1
    at = np.int64(key >> U64_32) & mask
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@inlined
def top_chars(words: U64, chars: I64, n_words: int, n: int, keys: U64, counts: I32, firsts: I32) -> int:
    """Characters of the most frequent n-gram, a space between words, times how often it occurs.

    Of several as frequent the first counts. 0 if there are fewer than n words.
    """
    size = table_size(n_words)
    keys[:size] = EMPTY
    most = 0
    best = 0
    for w in range(n_words - n + 1):
        key = U64_0
        for j in range(w, w + n):
            key = key * WORD_BASE + words[j]
        key = mixed(key)
        at = slot_of(keys, size, key)
        if keys[at] == EMPTY:
            keys[at] = key
            counts[at] = 0
            firsts[at] = w
        counts[at] += 1
        if counts[at] > most or (counts[at] == most and firsts[at] < best):
            most = counts[at]
            best = firsts[at]
    return most * (chars[best + n] - chars[best] + n - 1) if most else 0


@inlined
def repeated_chars(sums: U64, scale: U64, chars: I64, n_words: int, n: int, keys: U64) -> int:
    """Characters of n-grams equal to one before when written without spaces, none counted twice.

    From left to right: an n-gram that was met before counts and the words behind it are next;
    else the next one begins one word further.
    """
    size = table_size(n_words)
    keys[:size] = EMPTY
    repeated = 0
    w = 0
    while w + n <= n_words:
        key = mixed((sums[w + n] - sums[w]) * scale[w])
        at = slot_of(keys, size, key)
        if keys[at] == key:
            repeated += chars[w + n] - chars[w]
            w += n
        else:
            keys[at] = key
            w += 1
    return repeated


@kernel
def first_repetition(
    data: U8,
    classes: U8,
    offsets: I64,
    doc_chars: I64,
    sizes: I64,
    limits: F64,
    n_top: int,
    first_place: int,
    words: U64,
    sums: U64,
    scale: U64,
    chars: I64,
    keys: U64,
    counts: I32,
    firsts: I32,
    verdicts: U8,
    values: F64,
) -> None:
    """Find the first rule that each document fails: its share of characters is over the limit.

    doc_chars: (n_docs,).  sizes, limits: (n_rules,); the first `n_top` are of the most frequent
    n-gram, the others of repeated ones.
    words, sums, scale, chars, keys, counts, firsts: scratch for the document of most words.
    verdicts, values: (n_docs,), out; documents whose verdict is not 0 are left alone. A document
    that fails gets `first_place` plus the place of the rule, and its share.
    """
    for d in range(verdicts.shape[0]):
        if verdicts[d] != KEEP:
            continue
        n_words = split_words(data, classes, offsets[d], offsets[d + 1], words, sums, scale, chars)
        for rule in range(sizes.shape[0]):
            n = sizes[rule]
            if n_words < n:
                continue
            if rule < n_top:
                found = top_chars(words, chars, n_words, n, keys, counts, firsts)
            else:
                found = repeated_chars(sums, scale, chars, n_words, n, keys)
            if found / doc_chars[d] > limits[rule]:
                verdicts[d] = first_place + rule
                values[d] = found / doc_chars[d]
                break
