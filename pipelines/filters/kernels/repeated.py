"""Word n-grams of a document that repeat: the most frequent one, and all that were met before.

For the most frequent one a word is known by a 64-bit hash, an n-gram by one of the hashes of its
words: two n-grams of a document of m words share one with odds of about m**2 / 2**64.

N-grams equal to one before are compared written without spaces. So written an n-gram is a slice of
the document's letters, known by a 64-bit hash: two of m share one with odds of about m**2 / 2**65.

What is asked first is a bound, and only of rules it does not clear the exact answer: no n-gram is
more frequent than its first words, and who repeats an n-gram repeats its first letters too.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F64, I32, I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import eight
from tokenmill.dedup.kernels.table import (
    EMPTY,
    FOLD,
    WORD_BASE,
    bits_of,
    mixed,
    slice_key,
    slot_of,
    table_bits,
)
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, U64_64, ZERO
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
def ends_of(sizes: U64) -> tuple[np.uint64, np.uint64]:
    """The least and the greatest; NumPy's own take a second to compile."""
    least = most = sizes[0]
    for rule in range(sizes.shape[0]):
        least = min(least, sizes[rule])
        most = max(most, sizes[rule])
    return least, most


@inlined
def find_suspects(
    words: U64, chars: I64, doc_chars: int, sizes: U64, limits: F64, table: U64, suspects: U8
) -> None:
    """Set the rules that may be broken; the others are not.

    Counted are n-grams of the smallest size, slot by slot: no n-gram is more frequent than the
    slot of its first words, and where it occurs last it is as long as anywhere.
    """
    n_words = np.uint64(words.shape[0])
    bits = table_bits(n_words)
    table[: ONE << bits] = ZERO
    suspects[:] = 0
    least, most = ends_of(sizes)
    lowest = limits[0]
    for rule in range(limits.shape[0]):
        lowest = min(lowest, limits[rule])
    lowest *= doc_chars
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
    """Characters of the most frequent n-gram, the first of such, with spaces, times how often."""
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
    letters: U8, starts: U64, chars: I64, first_words: I64, doc_chars: I64, sizes: U64, limits: F64,
    first_place: int, words: U64, keys: U64, counts: I32, firsts: I32, suspects: U8, verdicts: U8,
    values: F64,
) -> None:  # fmt: skip
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


THIRD = np.uint64(0xC2B2AE3D27D4EB4F)
FOURTH = np.uint64(0x165667B19E3779F9)

SHORT = np.uint64(16)  # letters
LONG = np.uint64(32)
ANY_NUMBER = np.uint64(2**64 - 1)


@inlined
def knew(once: U64, again: U64, bits: np.uint64, key: np.uint64) -> bool:
    """Whether a Bloom filter may know a key; now it does, and `again` knows those met again."""
    pair = bits_of(key)
    at = key >> (U64_64 - bits)
    slot = once[at]
    once[at] = slot | pair
    if slot & pair != pair:
        return False
    again[at] |= pair
    return True


@inlined
def knows(table: U64, bits: np.uint64, key: np.uint64) -> bool:
    """Whether a Bloom filter may know a key."""
    pair = bits_of(key)
    return bool(table[key >> (U64_64 - bits)] & pair == pair)


@inlined
def first_letters(letters: U8, at: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Keys of the SHORT and of the LONG letters that begin at `at`."""
    short = eight(letters, at) * FOLD + eight(letters, at + EIGHT) * WORD_BASE
    third, fourth = eight(letters, at + SHORT), eight(letters, at + SHORT + EIGHT)
    return mixed(short), mixed(short + third * THIRD + fourth * FOURTH)


@inlined
def filter_bits(n_words: np.uint64) -> np.uint64:
    """How many bits number the slots of a Bloom filter of two keys a word: 4 of 64 bits set."""
    return table_bits(n_words) - ONE


@inlined
def find_repeats(
    letters: U8, starts: U64, least: np.uint64, once: U64, again: U64, words: U64, below: U64
) -> int:
    """Write the words at which an n-gram may begin that equals one before; how many words.

    An n-gram of at least SHORT letters may do so where its first SHORT letters stood at the
    beginning of a word before, one of at least LONG where its first LONG did.
    starts: (n_words + 1,).  least: words of the shortest n-gram.
    once, again: Bloom filters of the first letters of all words, and of those met again.
    words: (n_words,), ascending.  below: (n_words,), such n-grams have fewer letters.
    """
    n_words = np.uint64(starts.shape[0] - 1)
    bits = filter_bits(n_words)
    once[: ONE << bits] = ZERO
    again[: ONE << bits] = ZERO
    n = ZERO
    for w in range(n_words - min(least - ONE, n_words)):
        at = starts[w]
        short, long = first_letters(letters, at)
        reach = LONG if knew(once, again, bits, short) else SHORT
        if knew(once, again, bits, long):
            reach = ANY_NUMBER
        words[n] = w
        below[n] = reach
        n += np.uint64(starts[w + least] - at < reach)
    return int(np.int64(n))


@inlined
def find_twins(
    letters: U8, starts: U64, least: np.uint64, again: U64, words: U64, below: U64
) -> int:
    """Write the words at which an n-gram may begin that stands more than once; how many words.

    again: as `find_repeats` left it, whose other arguments are these.
    """
    n_words = np.uint64(starts.shape[0] - 1)
    bits = filter_bits(n_words)
    n = ZERO
    for w in range(n_words - min(least - ONE, n_words)):
        at = starts[w]
        short, long = first_letters(letters, at)
        reach = SHORT
        if knows(again, bits, short):
            reach = ANY_NUMBER if knows(again, bits, long) else LONG
        words[n] = w
        below[n] = reach
        n += np.uint64(starts[w + least] - at < reach)
    return int(np.int64(n))


@inlined
def repeated_chars_bound(
    letters: U8, starts: U64, chars: I64, n: np.uint64, repeats: U64, below: U64, once: U64,
    again: U64,
) -> int:  # fmt: skip
    """No less than `repeated_chars`: characters covered by n-grams that may repeat one before.

    Those of fewer than SHORT letters are looked up in `once`, and added.
    """
    n_words = np.uint64(starts.shape[0] - 1)
    bits = filter_bits(n_words)
    covered = 0
    covered_to = ZERO
    for k in range(repeats.shape[0]):
        w = repeats[k]
        behind = w + n
        if behind > n_words or starts[behind] - starts[w] >= below[k]:
            continue
        if starts[behind] - starts[w] < SHORT:
            key = slice_key(letters, starts[w], starts[behind])
            if not knew(once, again, bits, key):
                continue
        covered += chars[behind] - chars[max(w, covered_to)]
        covered_to = behind
    return covered


@inlined
def repeated_chars(
    letters: U8, starts: U64, chars: I64, n: np.uint64, twins: U64, below: U64, keys: U64
) -> int:
    """Characters of n-grams equal to one before when written without spaces, none counted twice.

    From left to right: an n-gram that was met before counts and the words behind it are next;
    else the next one begins one word further. Of all words only `twins` need be asked.
    """
    n_words = np.uint64(starts.shape[0] - 1)
    bits = table_bits(np.uint64(twins.shape[0]))
    keys[: ONE << bits] = EMPTY
    repeated = 0
    next_word = ZERO
    for k in range(twins.shape[0]):
        w = twins[k]
        behind = w + n
        if w < next_word or behind > n_words or starts[behind] - starts[w] >= below[k]:
            continue
        key = slice_key(letters, starts[w], starts[behind])
        at = slot_of(keys, bits, key)
        if keys[at] == key:
            repeated += chars[behind] - chars[w]
            next_word = behind
        else:
            keys[at] = key
    return repeated


@kernel
def first_repeated(
    letters: U8, starts: U64, chars: I64, first_words: I64, doc_chars: I64, sizes: U64, limits: F64,
    first_place: int, tables: U64, lists: U64, verdicts: U8, values: F64,
) -> None:  # fmt: skip
    """Find the first rule that each document fails: its repeated n-grams have too many characters.

    tables, lists: (3, n_slots) and (4, n_words), scratch for the document of most words.
    The other arguments are those of `first_frequent`.
    """
    once, again, keys = tables[0], tables[1], tables[2]
    repeats, repeats_below, twins, twins_below = lists[0], lists[1], lists[2], lists[3]
    least, _ = ends_of(sizes)
    for d in range(verdicts.shape[0]):
        if verdicts[d] != KEEP:
            continue
        at = starts[first_words[d] : first_words[d + 1]]
        before = chars[first_words[d] : first_words[d + 1]]
        r = find_repeats(letters, at, least, once, again, repeats, repeats_below)
        t = -1  # not known
        for rule in range(sizes.shape[0]):
            n = sizes[rule]
            found = repeated_chars_bound(
                letters, at, before, n, repeats[:r], repeats_below[:r], once, again
            )
            if found / doc_chars[d] <= limits[rule]:
                continue
            if t < 0:
                t = find_twins(letters, at, least, again, twins, twins_below)
            found = repeated_chars(letters, at, before, n, twins[:t], twins_below[:t], keys)
            if found / doc_chars[d] > limits[rule]:
                verdicts[d] = first_place + rule
                values[d] = found / doc_chars[d]
                break
