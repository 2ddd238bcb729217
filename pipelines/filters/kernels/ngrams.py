"""Word n-grams of a document: the most frequent one, and those that repeat one before.

Words become sums of a polynomial over their bytes plus one, mod 2**64:

    sums[w]   of the bytes of the words before word w, as if they were one word
    scale[w]  BASE**-(how many bytes those are)

so the hash of n words written without spaces is `(sums[w + n] - sums[w]) * scale[w]`: it does
not depend on where the n-gram stands, nor on where its words begin. Two n-grams of a document
of m words share a hash with odds of about m**2 / 2**65, unless they are made to.

Each rule is first asked for an upper bound, which takes a small table without keys, and only
where that is over the limit for its exact answer: on 12 MB of documentation one time in nine.
"""

import numpy as np

from dedup.kernels._jit import F64, I32, I64, U8, U64, inlined, kernel

SPACE = 2  # as in pipelines.filters.characters; a kernel's constants live in its own file

BASE = np.uint64(0xD1342543DE82EF95)  # odd, with well-spread bits
BASE_INVERSE = np.uint64(pow(0xD1342543DE82EF95, -1, 2**64))
WORD_BASE = np.uint64(0x9E3779B97F4A7C15)
FINAL = np.uint64(0x94D049BB133111EB)

KEEP = 0  # as in pipelines.stage
EMPTY = np.uint64(0)  # of a slot
NEVER_EMPTY = np.uint64(1)  # so that no key is EMPTY

# Unsigned indices: a signed one is tested for being negative at each use.
ZERO = np.uint64(0)
ONE = np.uint64(1)
U64_6 = np.uint64(6)
U64_32 = np.uint64(32)
U64_63 = np.uint64(63)
U64_64 = np.uint64(64)
LOW_HALF = np.uint64(0xFFFF_FFFF)


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

    words: (n,), a hash of each.  sums, scale, chars: (n + 2,), chars of the characters before.
    Each byte writes where the next word would begin, and no branch asks whether one does: the
    branches would take three times as long as all else.
    """
    n = ZERO
    n_chars = 0
    total = ZERO
    power = ONE
    inverse = ONE
    in_word = ZERO
    sums[0] = ZERO
    scale[0] = ONE
    chars[0] = 0
    i = np.uint64(start)
    end = np.uint64(stop)
    while i < end:
        c = classes[i]
        was_in_word = in_word
        in_word = np.uint64((c & SPACE) == 0)
        n += was_in_word & (in_word ^ ONE)
        all_or_nothing = ZERO - in_word
        total += ((np.uint64(data[i]) + ONE) & all_or_nothing) * power
        power *= (BASE & all_or_nothing) | (in_word ^ ONE)
        inverse *= (BASE_INVERSE & all_or_nothing) | (in_word ^ ONE)
        n_chars += c & np.uint8(in_word)  # START is 1
        sums[n + ONE] = total
        scale[n + ONE] = inverse
        chars[n + ONE] = n_chars
        i += ONE
    n += in_word
    for w in range(n):
        words[w] = mixed((sums[w + 1] - sums[w]) * scale[w])
    return int(np.int64(n))


@inlined
def table_bits(n: int) -> np.uint64:
    """How many bits number the slots of a table at most half full of n keys."""
    bits = ONE
    while (ONE << bits) < 2 * np.uint64(n):
        bits += ONE
    return bits


@inlined
def sequence_key(words: U64, w: int, n: np.uint64) -> np.uint64:
    """Hash of words w to w + n - 1, borders included."""
    key = ZERO
    for j in range(w, w + n):
        key = key * WORD_BASE + words[j]
    return mixed(key)


@inlined
def top_chars_bound(words: U64, chars: I64, n_words: int, n: np.uint64, table: U64) -> int:
    """No less than `top_chars`: slots count n-grams and keep the length of the longest."""
    bits = table_bits(n_words)
    table[: ONE << bits] = ZERO
    bound = ZERO
    for w in range(np.uint64(n_words) - n + ONE):
        at = sequence_key(words, w, n) >> (U64_64 - bits)
        length = np.uint64(chars[w + n] - chars[w]) + n - ONE
        count = (table[at] >> U64_32) + ONE
        length = max(length, table[at] & LOW_HALF)
        table[at] = (count << U64_32) | length
        bound = max(bound, count * length)
    return int(np.int64(bound))


@inlined
def slot_of(keys: U64, bits: np.uint64, key: np.uint64) -> np.uint64:
    """Where in keys[:2**bits], never full, `key` stands or belongs."""
    at = key >> (U64_64 - bits)
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + ONE) & ((ONE << bits) - ONE)
    return at


@inlined
def top_chars(
    words: U64, chars: I64, n_words: int, n: np.uint64, keys: U64, counts: I32, firsts: I32
) -> int:
    """Characters of the most frequent n-gram, a space between words, times how often it occurs.

    Of several as frequent the first counts.
    """
    bits = table_bits(n_words)
    keys[: ONE << bits] = EMPTY
    most = np.int64(0)
    best = np.int64(0)
    for w in range(np.uint64(n_words) - n + ONE):
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


@inlined
def repeated_chars_bound(
    sums: U64, scale: U64, chars: I64, n_words: int, n: np.uint64, table: U64
) -> int:
    """No less than `repeated_chars`: characters covered by n-grams that a Bloom filter knows.

    Each n-gram sets two bits of one slot.
    """
    bits = table_bits(n_words)
    table[: ONE << bits] = ZERO
    covered = 0
    covered_to = ZERO
    for w in range(np.uint64(n_words) - n + ONE):
        key = mixed((sums[w + n] - sums[w]) * scale[w])
        pair = (ONE << (key & U64_63)) | (ONE << ((key >> U64_6) & U64_63))
        at = key >> (U64_64 - bits)
        slot = table[at]
        table[at] = slot | pair
        if slot & pair == pair:
            new_from = covered_to if covered_to > w else w
            covered += chars[w + n] - chars[new_from]
            covered_to = w + n
    return covered


@inlined
def repeated_chars(sums: U64, scale: U64, chars: I64, n_words: int, n: np.uint64, keys: U64) -> int:
    """Characters of n-grams equal to one before when written without spaces, none counted twice.

    From left to right: an n-gram that was met before counts and the words behind it are next;
    else the next one begins one word further.
    """
    bits = table_bits(n_words)
    keys[: ONE << bits] = EMPTY
    repeated = 0
    w = ZERO
    while w + n <= np.uint64(n_words):
        key = mixed((sums[w + n] - sums[w]) * scale[w])
        at = slot_of(keys, bits, key)
        if keys[at] == key:
            repeated += chars[w + n] - chars[w]
            w += n
        else:
            keys[at] = key
            w += ONE
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
            n = np.uint64(sizes[rule])
            if n_words < sizes[rule]:
                continue
            if rule < n_top:
                found = top_chars_bound(words, chars, n_words, n, keys)
            else:
                found = repeated_chars_bound(sums, scale, chars, n_words, n, keys)
            if found / doc_chars[d] <= limits[rule]:
                continue
            if rule < n_top:
                found = top_chars(words, chars, n_words, n, keys, counts, firsts)
            else:
                found = repeated_chars(sums, scale, chars, n_words, n, keys)
            if found / doc_chars[d] > limits[rule]:
                verdicts[d] = first_place + rule
                values[d] = found / doc_chars[d]
                break
