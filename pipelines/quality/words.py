"""Documents as counts of hashed words, and what a linear model makes of them.

    text --str.lower().split()--> words --murmur3--> features, with as many counts

The words are those of Spark's Tokenizer, but that it splits at each of six ASCII characters, so
that it has an empty word between two of them, and this at runs of whatever `str.isspace()` has.
The hash is that of Spark's HashingTF since 3.0: MurmurHash3_x86_32, seed 42, modulo the number
of features. No norm: a feature's value is how often its words occur.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import parts, read_only
from tokenmill.dedup.arrow_text import TextBuffers, text_buffers
from tokenmill.dedup.shingle import WordLetters, split_words
from tokenmill.pipelines.filters.kernels import quality as kernels

BLOCK_BYTES = 1 << 18  # of text at a time: its letters and words stay in the second-level cache
MOST_FEATURES = 1 << 24


class WordFeatures(NamedTuple):
    """The features of words; those of document `i` at `features[offsets[i]:offsets[i + 1]]`.

    features: (n_words,) uint32.  offsets: (n_docs + 1,) int64.
    words: the words themselves, as `split_words` has them.
    """

    features: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    words: WordLetters

    def word(self, number: int) -> str:
        """One of the words, by its number."""
        ends = self.words.ends
        start = int(ends[number - 1]) if number else 0
        return self.words.letters[start : ends[number]].tobytes().decode()


def check_features(n_features: int) -> None:
    """Refuse numbers of features that no hash can be cut to.

    Raises:
        ValueError: it is no power of two from 2 to `MOST_FEATURES`.
    """
    if not 2 <= n_features <= MOST_FEATURES or n_features & (n_features - 1):
        raise ValueError(
            f"the number of features is a power of two, 2 to {MOST_FEATURES:,}, got {n_features:,}"
        )


def word_features(text: pa.Array, n_features: int) -> WordFeatures:
    """The feature of each word of each document, in order.

    text: (n_docs,) string or large_string, no nulls.  n_features: a power of two.
    """
    words = split_words(text_buffers(text), "whitespace")
    features = np.empty(len(words.ends), np.uint32)
    kernels.word_features(
        read_only(words.letters), read_only(words.ends), np.uint32(n_features - 1), features
    )
    return WordFeatures(features, words.doc_words, words)


def weight_sums(
    text: pa.Array, weights: npt.NDArray[np.float32], intercept: float
) -> npt.NDArray[np.float64]:
    """(n_docs,) float64, the intercept and the weight of each word, added in the words' order.

    text: (n_docs,) string or large_string, no nulls.  weights: (n_features,), a power of two.
    """
    out = np.empty(len(text), np.float64)
    for rows, words in _blocks(text_buffers(text)):
        kernels.add_weights(
            read_only(words.letters),
            read_only(words.ends),
            read_only(words.doc_words),
            read_only(weights),
            intercept,
            out[rows],
        )
    return out


def _blocks(text: TextBuffers) -> Iterator[tuple[slice, WordLetters]]:
    for rows in parts(text.lengths, BLOCK_BYTES):
        offsets = text.offsets[rows.start : rows.stop + 1]
        yield rows, split_words(TextBuffers(text.data, offsets), "whitespace")
