"""Kernels that hash windows of an item's text, to find them in documents."""

import numpy as np

from dedup.kernels._jit import I32, I64, U8, U16, U64, inlined, kernel

BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash; odd, so that no word fades out
ZERO = np.uint64(0)


@inlined
def code_point(data: U8, i: int, stop: int) -> tuple[np.uint32, int]:
    """The code point of the UTF-8 sequence at `i`, and the place after it, at most `stop`."""
    lead = np.uint32(data[i])
    if lead < 0x80:
        return lead, i + 1
    width = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    cp = np.uint32(lead & np.uint32(0x7F >> width))
    after = min(i + width, stop)
    for j in range(i + 1, after):
        cp = np.uint32((cp << np.uint32(6)) | (np.uint32(data[j]) & np.uint32(0x3F)))
    return min(cp, np.uint32(0x10FFFF)), after


@inlined
def hash_of(words: U64, first: int, length: int) -> np.uint64:
    """The sum of word * BASE ** (words after it) mod 2**64."""
    h = ZERO
    for k in range(first, first + length):
        h = h * BASE + words[k]
    return h


@kernel
def mark_letters(
    data: U8, begins: I64, stops: I64, doc_words: I64, pages: U16, is_letter: U8, lettered: U8
) -> None:
    """Tell which words have a letter.

    begins, stops, doc_words: of `dedup.gram_words.Block`.
    pages, is_letter: of all code points, in the layout of `dedup.unicode`.
    lettered: (n_words,), out: 1 or 0.
    """
    for d in range(begins.shape[0]):
        i = begins[d]
        for w in range(doc_words[d], doc_words[d + 1]):
            lettered[w] = 0
            while i < stops[w]:
                cp, i = code_point(data, i, stops[w])
                page = np.int64(pages[cp >> np.uint32(8)])
                lettered[w] |= is_letter[page * 256 + np.int64(cp & np.uint32(255))]


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
    lettered: (n_words,), of `mark_letters`.
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
