"""What a fastText model has in its file, which of its rows a text has, and their mean.

    text ──white space──► words ──FNV──► rows of words, of their n-grams of characters and of words
    ──mean──► one vector ──fasttext_labels──► labels and probabilities

Hashes, the order of all sums and the precision of each are fastText's, whose words are C++ `char`s:
signed. Source: fastText 0.9.2, `getLine`, `computeSubwords`, `addWordNgrams` and `find` of
dictionary.cc, `addcode` of productquantizer.cc.
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import F32, I32, I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.table import EMPTY
from tokenmill.dedup.kernels.u64 import EIGHT, FOUR, ONE, THREE, TWO, U64_32, U64_63, ZERO

BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)  # of FNV-1a
WORD_FOLD = np.uint64(116049371)
LINE_END = np.frombuffer(b"</s>", np.uint8)
PREFIX = np.frombuffer(b"__label__", np.uint8)
PREFIX_SIZE = np.uint64(len(PREFIX))
OPENING, CLOSING = ord("<"), ord(">")
CENTROIDS = np.uint64(256)  # of each part of a quantized vector
BEHIND_WORD = 10  # bytes: a zero, a count of 64 bits, whether it is a label
FIVE, SIX, SEVEN = map(np.uint64, (5, 6, 7))


class Words(NamedTuple):
    """Entries of a model's dictionary, its words before its labels.

    data: the file's bytes.  starts, ends: (n_entries,), of each word there.
    slots: a power of two of them: above 32 bits a word's hash, below it its number and one.
    n_words: that are no labels.
    """

    data: U8
    starts: I64
    ends: I64
    slots: U64
    n_words: int


class Grams(NamedTuple):
    """Which n-grams have rows.

    least, most: characters.  words: in one of words, 1 for none.
    n_words: rows before those of n-grams.
    bucket: numbers that n-grams share.  inverse: of it, 2**-50 of it too large, which makes
        `remainder` exact.
    bits, places: (bucket / 64,) which of them have rows, and (bucket,) which; or (0,), if all have
        their own.
    """

    least: np.uint64
    most: np.uint64
    words: np.uint64
    n_words: int
    bucket: np.uint64
    inverse: float
    bits: U64
    places: I32


class Matrix(NamedTuple):
    """(n_rows, width) float32, as bytes that need not be aligned, or quantized.

    codes: (n_rows, n_parts) the centroid of each part, (0, 1) if not quantized.
    centroids: by part and code `part` numbers, of the last part `width` less the others'.
    norm_codes: (n_rows,) by which of `norms` each row is multiplied; or (0,).
    """

    width: int
    data: U8
    codes: U8
    part: int
    centroids: F32
    norm_codes: U8
    norms: F32


class Met(NamedTuple):
    """Words met before and the sums of their rows, each in the one slot that its hash names.

    letters: (a power of two, 32) how many letters a word has and one, then these; (0, 0) for none.
    sums: (n_slots, width).  counts: (n_slots,), of rows.
    """

    letters: U8
    sums: F32
    counts: I64


class Scratch(NamedTuple):
    """ids: rows met and not added yet.  word: letters of the longest word, and two.
    hashes: of the words of a text.  nodes, scores: of a tree, on the way down.
    """

    ids: I64
    word: U8
    hashes: U32
    nodes: I64
    scores: F32


@kernel
def find_words(data: U8, at: int, starts: I64, ends: I64, counts: I64, kinds: U8) -> int:
    """Where behind byte `at` the words of a dictionary stand; the byte behind them.

    Less than 0 if the file ends before: how many words are whole is that and its size more, less.
    """
    for i in range(starts.shape[0]):
        starts[i] = at
        while at < data.shape[0] and data[at] != 0:
            at += 1
        ends[i] = at
        if at + BEHIND_WORD > data.shape[0]:
            return -1 - i
        count = np.uint64(0)
        for k in range(8):
            count |= np.uint64(data[at + 1 + k]) << np.uint64(8 * k)
        counts[i] = np.int64(count)
        kinds[i] = data[at + 9]
        at += BEHIND_WORD
    return at


@inlined
def fnv(h: np.uint32, letter: np.uint8) -> np.uint32:
    """A hash with one more byte, of which those from 128 on are negative."""
    return np.uint32((h ^ np.uint32(np.int32(np.int8(letter)))) * PRIME)


@inlined
def same(a: U8, at: int, b: U8, start: int, stop: int) -> bool:
    """Whether b[start:stop] stands in `a` from `at` on."""
    for k in range(stop - start):
        if a[at + k] != b[start + k]:
            return False
    return True


@inlined
def word_slot(
    slots: U64, starts: I64, ends: I64, data: U8, word: U8, start: int, stop: int, h: np.uint32
) -> np.uint64:
    """Where in the slots word[start:stop] of hash `h` stands or belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    at = np.uint64(h) & mask
    while slots[at] != EMPTY:
        slot = slots[at]
        if slot >> U64_32 == np.uint64(h):
            i = np.uint64(np.uint32(slot)) - ONE
            if ends[i] - starts[i] == stop - start and same(data, starts[i], word, start, stop):
                break
        at = (at + ONE) & mask
    return at


@kernel
def fill_words(slots: U64, starts: I64, ends: I64, data: U8) -> None:
    """Put the words of a dictionary into slots; of equal ones the last, as fastText does."""
    for i in range(starts.shape[0]):
        h = BASIS
        for k in range(starts[i], ends[i]):
            h = fnv(h, data[k])
        at = word_slot(slots, starts, ends, data, data, starts[i], ends[i], h)
        slots[at] = np.uint64(h) << U64_32 | np.uint64(i + 1)


@inlined
def remainder(h: np.uint32, bucket: np.uint64, inverse: float) -> np.uint64:
    """Of a hash by the number of buckets; a third of the time of a division."""
    whole = np.int64(h)
    return np.uint64(whole - np.int64(np.float64(whole) * inverse) * np.int64(bucket))


@inlined
def put_gram(bits: U64, n_words: int, bucket: np.uint64, ids: I64, n: np.uint64) -> np.uint64:
    """Append an n-gram's bucket, behind the words, if it has a row; how many there are then.

    Without a branch: that one has is as good as random.
    """
    ids[n] = np.int64(bucket) + n_words
    if bits.shape[0] == 0:
        return n + ONE
    return np.uint64(n + (bits[bucket >> SIX] >> (bucket & U64_63) & ONE))


@inlined
def add_rows(rows: F32, ids: I64, n: np.uint64, sums: F32, d: int) -> None:
    """Add rows ids[:n] to sums[d], eight numbers of each at a time: these stay in registers."""
    width = np.uint64(sums.shape[1])
    j = ZERO
    while j + EIGHT <= width:
        a, b, c, e = sums[d, j], sums[d, j + ONE], sums[d, j + TWO], sums[d, j + THREE]
        p, q, r, s = sums[d, j + FOUR], sums[d, j + FIVE], sums[d, j + SIX], sums[d, j + SEVEN]
        for i in range(n):
            at = np.uint64(ids[i]) * width + j
            a += rows[at]
            b += rows[at + ONE]
            c += rows[at + TWO]
            e += rows[at + THREE]
            p += rows[at + FOUR]
            q += rows[at + FIVE]
            r += rows[at + SIX]
            s += rows[at + SEVEN]
        sums[d, j], sums[d, j + ONE], sums[d, j + TWO], sums[d, j + THREE] = a, b, c, e
        sums[d, j + FOUR], sums[d, j + FIVE], sums[d, j + SIX], sums[d, j + SEVEN] = p, q, r, s
        j += EIGHT
    while j < width:
        a = sums[d, j]
        for i in range(n):
            a += rows[np.uint64(ids[i]) * width + j]
        sums[d, j] = a
        j += ONE


@inlined
def add_quantized(
    codes: U8, part: int, centroids: F32, norm_codes: U8, norms: F32, ids: I64, n: np.uint64,
    sums: F32, d: int,
) -> None:  # fmt: skip
    """Add rows ids[:n] to sums[d], of each part the centroid that its code names."""
    width = sums.shape[1]
    for i in range(n):
        row = np.uint64(ids[i])
        norm = np.float32(1)
        if norm_codes.shape[0] > 0:
            norm = norms[norm_codes[row]]
        for p in range(codes.shape[1]):
            first = np.uint64(p * part)
            size = np.uint64(min(part, width - p * part))
            at = first * CENTROIDS + np.uint64(codes[row, p]) * size
            for k in range(size):
                sums[d, first + k] += norm * centroids[at + k]


@inlined
def emptied(
    places: I32, n_words: int, rows: F32, codes: U8, part: int, centroids: F32, norm_codes: U8,
    norms: F32, ids: I64, n: np.uint64, sums: F32, counts: I64, d: int,
) -> np.uint64:  # fmt: skip
    """Add rows ids[:n] to those of text d; how many are left then, none."""
    if places.shape[0] > 0:
        for i in range(n):
            if ids[i] >= n_words:
                ids[i] = places[ids[i] - n_words] + n_words
    if codes.shape[0] > 0:
        add_quantized(codes, part, centroids, norm_codes, norms, ids, n, sums, d)
    else:
        add_rows(rows, ids, n, sums, d)
    counts[d] += np.int64(n)
    return ZERO


@inlined
def character_grams(
    word: U8, start: np.uint64, size: np.uint64, least: np.uint64, most: np.uint64, n_words: int,
    bucket: np.uint64, inverse: float, bits: U64, ids: I64, n: np.uint64,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Append the n-grams that begin from `start` on in word[:size], which stands between < and >.

    Where those behind begin that find no room, and how many rows there are.
    """
    while start < size and n + most <= np.uint64(ids.shape[0]):
        h = BASIS
        at = start
        length = ZERO
        while at < size and length < most:
            h = fnv(h, word[at])
            at += ONE
            while at < size and word[at] & 0xC0 == 0x80:
                h = fnv(h, word[at])
                at += ONE
            length += ONE
            bracket = length == ONE and (start == ZERO or at == size)
            if length >= least and not bracket:
                n = put_gram(bits, n_words, remainder(h, bucket, inverse), ids, n)
        start += ONE
        while start < size and word[start] & 0xC0 == 0x80:
            start += ONE
    return start, n


@inlined
def word_grams(
    hashes: U32, first: np.uint64, n_hashes: np.uint64, most: np.uint64, n_words: int,
    bucket: np.uint64, bits: U64, ids: I64, n: np.uint64,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Append the n-grams of two words and more, as `character_grams`."""
    while first < n_hashes and n + most <= np.uint64(ids.shape[0]):
        h = np.uint64(np.int64(np.int32(hashes[first])))
        for second in range(first + ONE, min(first + most, n_hashes)):
            h = h * WORD_FOLD + np.uint64(np.int64(np.int32(hashes[second])))
            n = put_gram(bits, n_words, h % bucket, ids, n)
        first += ONE
    return first, n


@inlined
def next_word(
    text: U8, at: np.uint64, end: np.uint64, blank: U8, word: U8
) -> tuple[np.uint64, np.uint64, np.uint32]:
    """Copy the next word of a text to word[1:size]: the byte behind it, `size`, and its hash."""
    while at < end and blank[text[at]]:
        at += ONE
    h = BASIS
    size = ONE
    while at < end and not blank[text[at]]:
        h = fnv(h, text[at])
        word[size] = text[at]
        at += ONE
        size += ONE
    return at, size, h


@inlined
def knows(letters: U8, slot: np.uint64, word: U8, size: np.uint64) -> bool:
    """Whether it is word[1:size] that the slot has."""
    if letters[slot, 0] != size:
        return False
    for k in range(ONE, size):
        if letters[slot, k] != word[k]:
            return False
    return True


@kernel
def mean_rows(
    text: U8, offsets: I64, blank: U8, words: Words, grams: Grams, matrix: Matrix, met: Met,
    scratch: Scratch, means: F32, counts: I64,
) -> None:  # fmt: skip
    """The mean of the rows that each text has, and how many these are.

    blank: (256,), 1 for each byte that parts words.
    means: (n_docs, width) zeros.  counts: (n_docs,) zeros.
    """
    # Taken out once: Numba counts references whenever an array is taken out of a tuple. Words are
    # looked up here and not by a helper: a call with five arrays takes 35 ns.
    data, starts, ends, slots, n_words = words
    least, most, most_words, _, bucket, inverse, bits, places = grams
    _, bytes_of_rows, codes, part, centroids, norm_codes, norms = matrix
    rows = bytes_of_rows.view(np.float32)
    letters, met_sums, met_counts = met
    ids, word, hashes, _, _ = scratch
    word[0] = OPENING
    room, mask = np.uint64(ids.shape[0]), np.uint64(slots.shape[0] - 1)
    longest_met = np.uint64(letters.shape[1])
    for d in range(counts.shape[0]):
        at, end = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        n = n_hashes = ZERO
        ended = False
        while not ended:
            at, size, h = next_word(text, at, end, blank, word)
            ended = size == ONE or (size == FIVE and same(word, 1, LINE_END, 0, 4))
            if size == ONE:
                for letter in LINE_END:
                    word[size] = letter
                    size += ONE
                    h = fnv(h, letter)
            short = size <= longest_met
            slot = np.uint64(h) & np.uint64(letters.shape[0] - 1)
            hashes[n_hashes] = h
            if short and knows(letters, slot, word, size):
                n_hashes += ONE
                for k in range(means.shape[1]):
                    means[d, k] += met_sums[slot, k]
                counts[d] += met_counts[slot]
                continue
            row = np.int64(-1)
            place = np.uint64(h) & mask
            while slots[place] != EMPTY and row < 0:
                i = np.int64(np.uint32(slots[place])) - 1
                if (
                    slots[place] >> U64_32 == np.uint64(h)
                    and ends[i] - starts[i] == np.int64(size) - 1
                    and same(data, starts[i], word, 1, int(size))
                ):
                    row = i
                place = (place + ONE) & mask
            if row >= n_words or (
                row < 0 and size > PREFIX_SIZE and same(word, 1, PREFIX, 0, PREFIX.shape[0])
            ):
                continue
            n_hashes += ONE
            if n == room:
                n = emptied(
                    places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n, means,
                    counts, d,
                )  # fmt: skip
            if short:
                letters[slot, 0] = np.uint8(size)
                for k in range(ONE, size):
                    letters[slot, k] = word[k]
                for k in range(met_sums.shape[1]):
                    met_sums[slot, k] = 0
                met_counts[slot] = 0
            ids[n] = row
            n += np.uint64(row >= 0)
            start, size = ZERO, size + ONE
            if most == ZERO or ended:
                start = size
            word[size - ONE] = CLOSING
            while start < size:
                start, n = character_grams(
                    word, start, size, least, most, n_words, bucket, inverse, bits, ids, n
                )
                if start < size and short:
                    n = emptied(
                        places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n,
                        met_sums, met_counts, int(np.int64(slot)),
                    )  # fmt: skip
                elif start < size:
                    n = emptied(
                        places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n,
                        means, counts, d,
                    )  # fmt: skip
            if short:
                n = emptied(
                    places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n,
                    met_sums, met_counts, int(np.int64(slot)),
                )  # fmt: skip
                for k in range(means.shape[1]):
                    means[d, k] += met_sums[slot, k]
                counts[d] += met_counts[slot]
            elif longest_met > ZERO:  # so that sums do not depend on what was met
                n = emptied(
                    places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n,
                    means, counts, d,
                )  # fmt: skip
        first = ZERO if most_words > ONE else n_hashes
        while first < n_hashes:
            first, n = word_grams(
                hashes, first, n_hashes, most_words, n_words, bucket, bits, ids, n
            )
            n = emptied(
                places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n, means,
                counts, d,
            )  # fmt: skip
        emptied(
            places, n_words, rows, codes, part, centroids, norm_codes, norms, ids, n, means, counts,
            d,
        )  # fmt: skip
        share = np.float32(1 / max(1, counts[d]))
        for k in range(means.shape[1]):
            means[d, k] *= share
