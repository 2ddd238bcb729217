"""Words, as runs of bytes without SPACE, or parts of them: how many, how long, of what."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, eight
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, U64_56, U64_63, ZERO
from tokenmill.pipelines.filters.kernels.characters import ALPHA, SPACE, START, SYMBOL

# columns of `word_facts`
N_WORDS, N_CONTENT_WORDS, CONTENT_CHARS, N_ALPHA_WORDS, N_STOP_WORDS = range(5)
N_WORD_FACTS = 5

JOINER_BYTES = 3  # of UTF-8
BLOCK = np.uint64(96)  # bytes counted before an uint8 would be full, also in steps of SPACE
SPACE_BIT = 1  # by which SPACE is shifted
ALL_BITS = np.uint64(2**64 - 1)
ALPHAS = LOW_BITS * np.uint64(ALPHA)
SYMBOLS = LOW_BITS * np.uint64(SYMBOL)


TAKEN, JOINS, ALONE = 2, 4, 8  # beside START: marks; joiners; what is a word by itself


@kernel
def take_marks(classes: U8, marks: U8, offsets: I64) -> None:
    """Take SPACE off marks behind a character of a word, and off a joiner between two of one word.

    marks: (n_bytes,), START and bits TAKEN, JOINS, ALONE of each byte's character.
    """
    for d in range(offsets.shape[0] - 1):
        within = joins = False  # whether the character before is of a word; or a joiner behind one
        end = offsets[d + 1]
        for i in range(offsets[d], end):
            if not marks[i] & START:  # as the first byte of its character
                if within and marks[i] & TAKEN:
                    classes[i] &= np.uint8(~SPACE & 0xFF)
                continue
            letter = not classes[i] & SPACE and not marks[i] & (ALONE | TAKEN)
            mark = (within or joins) and marks[i] & TAKEN != 0
            if mark:
                classes[i] &= np.uint8(~SPACE & 0xFF)
            if joins and (letter or mark):
                for j in range(i - JOINER_BYTES, i):
                    classes[j] &= np.uint8(~SPACE & 0xFF)
            joins = within and marks[i] & JOINS != 0
            within = letter or mark


@kernel
def count_words(classes: U8, offsets: I64, out: I64) -> None:
    """out: (n_docs,), the words of each document."""
    for d in range(out.shape[0]):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        n = np.int64(i < end and not classes[i] & SPACE)
        while i + ONE < end:
            stop = min(i + BLOCK, end - ONE)
            found = np.uint8(0)
            for j in range(i, stop):
                found = np.uint8(found + (classes[j] & ~classes[j + ONE] & SPACE))
            n += found // SPACE
            i = stop
        out[d] = n


@inlined
def n_bytes(values: U8, i: np.uint64, end: np.uint64, mask: int, wanted: int) -> int:
    """At how many bytes of values[i:end] the bits of `mask` are `wanted`."""
    n = np.int64(0)
    while i < end:
        stop = min(i + BLOCK, end)
        found = np.uint8(0)
        for j in range(i, stop):
            found = np.uint8(found + np.uint8(values[j] & np.uint8(mask) == np.uint8(wanted)))
        n += found
        i = stop
    return int(n)


@kernel
def count_bits(values: U8, offsets: I64, mask: int, wanted: int, out: I64) -> None:
    """out: (n_docs,), at how many bytes of each document the bits of `mask` are `wanted`."""
    for d in range(out.shape[0]):
        out[d] = n_bytes(values, np.uint64(offsets[d]), np.uint64(offsets[d + 1]), mask, wanted)


@inlined
def find_borders(classes: U8, start: np.uint64, stop: np.uint64, splits: int, borders: U64) -> int:
    """Write where each word of classes[start:stop] begins and ends; how many words.

    splits: the bit of a byte inside a run where one word ends and another begins, or 0.
    borders: (2 * n_words + 2,).
    Each byte writes where the next word would begin or end, and no branch asks whether one does:
    the branches would take three times as long as all else.
    """
    n = ZERO
    was_space = SPACE
    if splits:
        for i in range(start, stop):
            is_space = classes[i] & SPACE
            split = np.uint64(classes[i] & np.uint8(splits) != 0)
            borders[n] = i
            borders[n + ONE] = i
            n += np.uint64((is_space ^ was_space) >> SPACE_BIT) + (split << ONE)
            was_space = is_space
    else:  # a tenth faster
        for i in range(start, stop):
            is_space = classes[i] & SPACE
            borders[n] = i
            n += np.uint64((is_space ^ was_space) >> SPACE_BIT)
            was_space = is_space
    borders[n] = stop
    return int(np.int64((n + ONE) >> ONE))


@inlined
def class_facts(
    classes: U8, first: np.uint64, last: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Of a word: its characters; 1 if it is more than symbols; 1 if it has a letter."""
    chars = other = alpha = ZERO
    at = first
    while at + EIGHT < last:
        chunk = eight(classes, at)
        chars += ((chunk & LOW_BITS) * LOW_BITS) >> U64_56  # START is 1
        other |= ~chunk
        alpha |= chunk
        at += EIGHT
    drop = (at + EIGHT - last) * EIGHT
    chunk = eight(classes, at) << drop
    chars += ((chunk & LOW_BITS) * LOW_BITS) >> U64_56
    other |= ~chunk & (ALL_BITS << drop)
    alpha |= chunk
    return chars, np.uint64(other & SYMBOLS != ZERO), np.uint64(alpha & ALPHAS != ZERO)


@inlined
def is_word(data: U8, first: np.uint64, size: int, word: U8) -> bool:
    """Whether data[first:first + size] equals a word of as many bytes."""
    for j in range(size):
        if data[first + np.uint64(j)] != word[j]:
            return False
    return True


@inlined
def count_stop_words(
    data: U8, borders: U64, stop_words: U8, stop_ends: I64, lengths: U64, enough: int, seen: U8
) -> int:
    """How many different stop words occur, up to `enough`: most documents soon have those."""
    seen[:] = 0
    found = 0
    for w in range(borders.shape[0] // 2):
        if found >= enough:
            break
        first = borders[2 * w]
        size = borders[2 * w + 1] - first
        if not (lengths[data[first]] >> min(size, U64_63)) & ONE:
            continue
        start = 0
        for k in range(stop_ends.shape[0]):
            end = stop_ends[k]
            if end - start == np.int64(size) and not seen[k]:
                if is_word(data, first, end - start, stop_words[start:end]):
                    seen[k] = 1
                    found += 1
            start = end
    return found


@kernel
def word_facts(
    data: U8, classes: U8, offsets: I64, splits: int, stop_words: U8, stop_ends: I64,
    stop_lengths: U64, enough: int, seen: U8, borders: U64, out: I64,
) -> None:  # fmt: skip
    """Count words, words that are more than symbols and their characters, words with a letter.

    splits: as `find_borders` has it.
    stop_words, stop_ends: words one behind the other, and where each ends.
    stop_lengths: (256,), for each first byte bit k is set if a stop word has k bytes; 63 or more
        are bit 63.
    seen: (n_stop_words,), scratch.  borders: (2 * most words + 2,), scratch.
    out: (n_docs, N_WORD_FACTS); N_STOP_WORDS counts the different stop words that occur, up to
        `enough`.
    """
    for d in range(out.shape[0]):
        n_words = find_borders(
            classes, np.uint64(offsets[d]), np.uint64(offsets[d + 1]), splits, borders
        )
        n_content = content_chars = n_alpha = ZERO
        for w in range(n_words):
            chars, content, alpha = class_facts(classes, borders[2 * w], borders[2 * w + 1])
            n_content += content
            content_chars += content * chars
            n_alpha += alpha
        out[d, N_WORDS] = n_words
        out[d, N_CONTENT_WORDS] = n_content
        out[d, CONTENT_CHARS] = content_chars
        out[d, N_ALPHA_WORDS] = n_alpha
        out[d, N_STOP_WORDS] = count_stop_words(
            data, borders[: 2 * n_words], stop_words, stop_ends, stop_lengths, enough, seen
        )
