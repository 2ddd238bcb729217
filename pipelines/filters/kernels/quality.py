"""Words as hashed features, and what a linear model makes of a document's.

letters --murmur3--> feature of each word --weights--> their sum, a document at a time
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F32, F64, I64, U8, U32, inlined, kernel
from tokenmill.dedup.kernels.minhash import premix
from tokenmill.dedup.kernels.swar import eight
from tokenmill.dedup.kernels.u64 import FOUR, ZERO

# MurmurHash3_x86_32 (Austin Appleby, public domain) with the seed of Spark's HashingTF
SEED = np.uint32(42)
C1 = np.uint32(0xCC9E2D51)
C2 = np.uint32(0x1B873593)
STEP = np.uint32(0xE6546B64)
FIVE = np.uint32(5)

BITS_8 = np.uint32(8)
BITS_13, BITS_15, BITS_17, BITS_19 = np.uint32(13), np.uint32(15), np.uint32(17), np.uint32(19)


@inlined
def scrambled(chunk: np.uint32) -> np.uint32:
    """Four bytes of a word, the first in the lowest place, before they go into the hash."""
    chunk = np.uint32(chunk * C1)
    chunk = np.uint32(chunk << BITS_15) | np.uint32(chunk >> BITS_17)
    return np.uint32(chunk * C2)


@inlined
def murmur3(letters: U8, start: np.uint64, end: np.uint64) -> np.uint32:
    """The hash of letters[start:end]; eight bytes behind are read, and count for nothing."""
    h = SEED
    at = start
    while at + FOUR <= end:
        h = np.uint32(h ^ scrambled(np.uint32(eight(letters, at))))
        h = np.uint32(h << BITS_13) | np.uint32(h >> BITS_19)
        h = np.uint32(np.uint32(h * FIVE) + STEP)
        at += FOUR
    left = np.uint32(end - at)
    mask = np.uint32(np.uint32(np.uint32(1) << np.uint32(left * BITS_8)) - np.uint32(1))
    chunk = np.uint32(eight(letters, at)) & mask  # of no bytes 0, which changes nothing
    h = np.uint32(h ^ scrambled(chunk))
    return premix(np.uint32(h ^ np.uint32(end - start)))


@kernel
def word_features(letters: U8, ends: I64, mask: np.uint32, out: U32) -> None:
    """Set `out` (n_words,) to the low bits of each word's hash; letters, ends: `WordLetters`."""
    start = ZERO
    for w in range(ends.shape[0]):
        end = np.uint64(ends[w])
        out[w] = murmur3(letters, start, end) & mask
        start = end


@kernel
def add_weights(
    letters: U8, ends: I64, doc_words: I64, weights: F32, intercept: float, out: F64
) -> None:
    """out: (n_docs,), the intercept and the weight of each word of a document, added in order.

    letters, ends, doc_words: as `dedup.text.words.WordLetters`.  weights: a power of two of them.
    """
    mask = np.uint32(weights.shape[0] - 1)
    start = ZERO
    for d in range(out.shape[0]):
        total = intercept
        for w in range(doc_words[d], doc_words[d + 1]):
            end = np.uint64(ends[w])
            total += np.float64(weights[murmur3(letters, start, end) & mask])
            start = end
        out[d] = total
