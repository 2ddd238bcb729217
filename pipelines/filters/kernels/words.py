"""Words, as runs of bytes that are not whitespace: how many, how long, of what."""

import numpy as np

from dedup.kernels._jit import I64, U8, U64, inlined, kernel

SPACE = 2  # as in pipelines.filters.characters; a kernel's constants live in its own file
SYMBOL = 16

# columns of `word_facts`
N_WORDS, N_CONTENT_WORDS, CONTENT_CHARS, N_ALPHA_WORDS, N_STOP_WORDS = range(5)
N_WORD_FACTS = 5


ONE = np.uint64(1)  # unsigned indices: a signed one is tested for being negative at each use
ZERO = np.uint64(0)
U64_63 = np.uint64(63)
SPACE_CLASS = np.uint64(SPACE)
SYMBOL_CLASS = np.uint64(SYMBOL)
SYMBOL_BIT = np.uint64(4)  # of SYMBOL and ALPHA
ALPHA_BIT = np.uint64(3)


@kernel
def count_words(classes: U8, offsets: I64, out: I64) -> None:
    """out: (n_docs,), the words of each document."""
    for d in range(out.shape[0]):
        n = 0
        before = SPACE
        for i in range(offsets[d], offsets[d + 1]):
            now = classes[i] & SPACE
            n += before & ~now
            before = now
        out[d] = n // SPACE


@kernel
def count_byte(data: U8, offsets: I64, byte: int, out: I64) -> None:
    """out: (n_docs,), how often `byte` occurs in each document."""
    for d in range(out.shape[0]):
        n = 0
        for i in range(offsets[d], offsets[d + 1]):
            n += data[i] == byte
        out[d] = n


@inlined
def find_word(data: U8, first: np.uint64, last: np.uint64, words: U8, ends: I64) -> int:
    """Which of the packed words equals data[first:last]; -1 if none."""
    size = np.int64(last - first)
    start = 0
    for k in range(ends.shape[0]):
        if ends[k] - start == size:
            j = 0
            while j < size and data[np.int64(first) + j] == words[start + j]:
                j += 1
            if j == size:
                return k
        start = ends[k]
    return -1


@kernel
def word_facts(
    data: U8,
    classes: U8,
    offsets: I64,
    stop_words: U8,
    stop_ends: I64,
    stop_lengths: U64,
    enough: int,
    seen: U8,
    out: I64,
) -> None:
    """Count words, words that are more than symbols and their characters, words with a letter.

    stop_words, stop_ends: words one behind the other, and where each ends.
    stop_lengths: (256,), for each first byte bit k is set if a stop word has k bytes; 63 or more
        are bit 63.
    seen: (n_stop_words,), scratch.  out: (n_docs, N_WORD_FACTS); N_STOP_WORDS counts the
        different stop words that occur, up to `enough`: looking for more costs a third.
    """
    for d in range(out.shape[0]):
        seen[:] = 0
        if offsets[d] == offsets[d + 1]:
            out[d, :] = 0
            continue
        looking = np.uint64(enough > 0)
        n_words = n_content = content_chars = n_alpha = n_stop = ZERO
        in_word = any_class = all_classes = chars = ZERO
        first = i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        while i <= end:
            c = np.uint64(classes[i]) if i < end else SPACE_CLASS
            was_in_word = in_word
            in_word = np.uint64((c & SPACE_CLASS) == 0)
            ended = was_in_word & (in_word ^ ONE)
            # what was gathered counts once, where the word ends; no branch asks whether it does
            content = ended & (((all_classes & SYMBOL_CLASS) >> SYMBOL_BIT) ^ ONE)
            n_words += ended
            n_alpha += ended & (any_class >> ALPHA_BIT)
            n_content += content
            content_chars += content * chars
            if ended & looking & (stop_lengths[data[first]] >> min(i - first, U64_63)):
                k = find_word(data, first, i, stop_words, stop_ends)
                if k >= 0 and not seen[k]:
                    seen[k] = 1
                    n_stop += ONE
                    looking = np.uint64(n_stop < enough)
            same_word = ZERO - was_in_word
            any_class = c | (any_class & same_word)
            all_classes = c & (all_classes | ~same_word)
            chars = (c & ONE) + (chars & same_word)  # START is 1
            first = first if was_in_word else i
            i += ONE
        out[d, N_WORDS] = n_words
        out[d, N_CONTENT_WORDS] = n_content
        out[d, CONTENT_CHARS] = content_chars
        out[d, N_ALPHA_WORDS] = n_alpha
        out[d, N_STOP_WORDS] = n_stop
