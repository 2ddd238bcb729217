"""Kernels that hash windows of an item's text, to find them in documents."""

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.u64 import ZERO

BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash; odd, so that no word fades out


@inlined
def hash_of(words: U64, first: int, length: int) -> np.uint64:
    """The sum of word * BASE ** (words after it) mod 2**64."""
    h = ZERO
    for k in range(first, first + length):
        h = h * BASE + words[k]
    return h


@kernel
def hash_seeds(
    words: U64,
    text_words: I64,
    lettered: U8,
    lengths: I64,
    shortest: I64,
    seeds: U64,
    tails: U64,
    seed_texts: I32,
) -> int:
    """Hash every window of `lengths[t]` words of each text t that has a letter.

    text_words: (n_texts + 1,), where in `words` each text begins.
    lettered: (n_words,), of `kernels.gram_words.mark_letters`.
    lengths, shortest: (n_texts,), words of a window, and `shortest` of the `Probe` that is to
        find it; a text with length 0 is left out.
    seeds, tails, seed_texts: (>= n_words,), out: of a window, its hash, that of its last
        `shortest[t]` words, its text.
    Returns the number of windows.
    """
    found = 0
    for t in range(lengths.shape[0]):
        length = lengths[t]
        if length == 0:
            continue
        letters = 0
        for k in range(text_words[t], text_words[t + 1]):
            letters += lettered[k]
            first = k - length + 1
            if first < text_words[t]:
                continue
            if letters > 0:
                seeds[found] = hash_of(words, first, length)
                tails[found] = hash_of(words, k - shortest[t] + 1, shortest[t])
                seed_texts[found] = t
                found += 1
            letters -= lettered[first]
    return found
