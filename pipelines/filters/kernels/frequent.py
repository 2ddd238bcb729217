"""The most frequent word n-gram of a document.

A word is known by a 64-bit hash, an n-gram by one of the hashes of its words: two n-grams of a
document of m words share one with odds of about m**2 / 2**64. What is asked first is a bound, and
only of rules it does not clear the exact answer: no n-gram is more frequent than its first words.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F64, I32, I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.table import EMPTY, WORD_BASE, mixed, slice_key, slot_of, table_bits
from tokenmill.dedup.kernels.u64 import ONE, U64_64, ZERO
from tokenmill.pipelines.filters.kernels.characters import KEEP


@inlined
def sequence_key(words: U64, w: int, n: np.uint64) -> np.uint64:
    """Hash of words w to w + n - 1, borders included."""
    key = ZERO
    for j in range(w, w + n):
        key = key * WORD_BASE + words[j]
    return mixed(key)


@inlined
def hash_words(letters: U8, starts: U64, words: U64) -> None:
    """words: (n_words,), a hash of each."""
    for w in range(np.uint64(words.shape[0])):
        words[w] = slice_key(letters, starts[w], starts[w + ONE])


@inlined
def find_suspects(
    words: U64,
    chars: I64,
    doc_chars: int,
    sizes: U64,
    limits: F64,
    table: U64,
    suspects: U8,
) -> None:
    """Set the rules that may be broken; the others are not.

    Counted are n-grams of the smallest size, slot by slot: no n-gram is more frequent than the
    slot of its first words, and where it occurs last it is as long as anywhere.
    """
    n_words = np.uint64(words.shape[0])
    bits = table_bits(n_words)
    table[: ONE << bits] = ZERO
    suspects[:] = 0
    least = sizes.min()
    most = sizes.max()
    lowest = limits.min() * doc_chars
    for w in range(n_words - min(least - ONE, n_words)):
        at = sequence_key(words, w, least) >> (U64_64 - bits)
        count = table[at] + ONE
        table[at] = count
        longest = np.uint64(chars[min(w + most, n_words)] - chars[w]) + most
        if count * longest > lowest:
            for rule in range(sizes.shape[0]):
                n = sizes[rule]
                length = np.uint64(chars[min(w + n, n_words)] - chars[w]) + n - ONE
                suspects[rule] |= count * length / doc_chars > limits[rule]


@inlined
def top_chars(words: U64, chars: I64, n: np.uint64, keys: U64, counts: I32, firsts: I32) -> int:
    """Characters of the most frequent n-gram, a space between words, times how often it occurs.

    Of several as frequent the first counts.
    """
    n_words = np.uint64(words.shape[0])
    bits = table_bits(n_words)
    keys[: ONE << bits] = EMPTY
    most = np.int64(0)
    best = np.int64(0)
    for w in range(n_words - n + ONE):
        key = sequence_key(words, w, n)
        at = slot_of(keys, bits, key)
        if keys[at] == EMPTY:
            keys[at] = key
            counts[at] = 0
            firsts[at] = w
        counts[at] += 1
        if counts[at] > most or (counts[at] == most and firsts[at] < best):
            most = counts[at]
            best = firsts[at]
    size = np.int64(n)
    return int(most * (chars[best + size] - chars[best] + size - 1))


@kernel
def first_frequent(
    letters: U8,
    starts: U64,
    chars: I64,
    first_words: I64,
    doc_chars: I64,
    sizes: U64,
    limits: F64,
    first_place: int,
    words: U64,
    keys: U64,
    counts: I32,
    firsts: I32,
    suspects: U8,
    verdicts: U8,
    values: F64,
) -> None:
    """Find the first rule that each document fails: its most frequent n-gram has too many chars.

    letters, starts, chars, first_words: as in pipelines.filters.text.words.
    doc_chars: (n_docs,).  sizes, limits: (n_rules,), an n and the share of characters allowed.
    words, keys, counts, firsts: scratch for the document of most words.  suspects: (n_rules,).
    verdicts, values: (n_docs,), out; documents whose verdict is not 0 are left alone. A document
    that fails gets `first_place` plus the place of the rule, and its share.
    """
    for d in range(verdicts.shape[0]):
        if verdicts[d] != KEEP:
            continue
        first, end = first_words[d], first_words[d + 1]
        n_words = end - first - 1
        hashes, behind = words[:n_words], chars[first:end]
        hash_words(letters, starts[first:end], hashes)
        find_suspects(hashes, behind, doc_chars[d], sizes, limits, keys, suspects)
        for rule in range(sizes.shape[0]):
            if not suspects[rule] or np.int64(sizes[rule]) > n_words:
                continue
            found = top_chars(hashes, behind, sizes[rule], keys, counts, firsts) / doc_chars[d]
            if found > limits[rule]:
                verdicts[d] = first_place + rule
                values[d] = found
                break
