"""A linear model of quality over hashed words, the file it is kept in, and draws by its scores.

    text ── str.lower().split() ──► words ── murmur3 ──► features, with as many counts
    score = 1 / (1 + exp(-(intercept + the sum of the weights of a document's words)))

    quality.npz   weights    (n_features,) float32, a power of two of them
                  intercept  float64
                  about      JSON: how it was made, of what, and how well it does

The file is arrays and nothing else; no object in it is ever unpickled.

The words are those of Spark's Tokenizer, but for two things: that one splits at each of six ASCII
characters, so that an empty word stands between two of them, and this one at runs of whatever
`str.isspace()` has. The hash is that of Spark's HashingTF since 3.0: MurmurHash3_x86_32, seed 42,
modulo the number of features. There is no norm: a feature's value is how often its words occur.

A draw depends on a document's id and a seed alone, so that reruns agree, whatever the order of the
documents and the number of workers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from tokenmill.dedup.arrays import F32, F64, I64, U32, TextBuffers, parts, read_only, text_buffers
from tokenmill.dedup.same.digest import digests
from tokenmill.dedup.text.words import WordLetters, split_words
from tokenmill.pipelines.filters.kernels import quality as kernels
from tokenmill.pipelines.filters.models import ngram_model

BLOCK_BYTES = 1 << 18  # of text at a time: its letters and words stay in the second-level cache
MOST_FEATURES = 1 << 24


class WordFeatures(NamedTuple):
    """The features of words; those of document `i` at `features[offsets[i]:offsets[i + 1]]`.

    features: (n_words,) uint32.  offsets: (n_docs + 1,) int64.
    words: the words themselves, as `split_words` has them.
    """

    features: U32
    offsets: I64
    words: WordLetters

    def word(self, number: int) -> str:
        ends = self.words.ends
        start = int(ends[number - 1]) if number else 0
        return self.words.letters[start : ends[number]].tobytes().decode()


def check_features(n_features: int) -> None:
    """Raise ValueError unless a number is a power of two from 2 to `MOST_FEATURES`."""
    if not 2 <= n_features <= MOST_FEATURES or n_features & (n_features - 1):
        raise ValueError(
            f"the number of features is a power of two, 2 to {MOST_FEATURES:,}, got {n_features:,}"
        )


def word_features(text: pa.Array, n_features: int) -> WordFeatures:
    """The feature of each word of (n_docs,) texts, in order; n_features: a power of two."""
    words = split_words(text_buffers(text), "whitespace")
    features = np.empty(len(words.ends), np.uint32)
    kernels.word_features(
        read_only(words.letters), read_only(words.ends), np.uint32(n_features - 1), features
    )
    return WordFeatures(features, words.doc_words, words)


def weight_sums(text: pa.Array, weights: F32, intercept: float) -> F64:
    """(n_docs,) float64, the intercept and the weight of each word, added in the words' order.

    text: (n_docs,) string or large_string, no nulls.  weights: (n_features,), a power of two.
    """
    out = np.empty(len(text), np.float64)
    for rows, words in _blocks(text_buffers(text)):
        kernels.add_weights(*words, read_only(weights), intercept, out[rows])
    return out


def _blocks(text: TextBuffers) -> Iterator[tuple[slice, WordLetters]]:
    for rows in parts(text.lengths, BLOCK_BYTES):
        offsets = text.offsets[rows.start : rows.stop + 1]
        yield rows, split_words(TextBuffers(text.data, offsets), "whitespace")


FORMAT = 1  # raise it when the same file would give other scores
ARRAYS: ngram_model.Layout = {
    "weights": ("<f4", (MOST_FEATURES,)),
    "intercept": ("<f8", ()),
    "about": ("|u1", (ngram_model.MOST_BYTES,)),
}
DECIMALS = 9  # of scores: processors and C libraries differ in the last bits of exp()


@dataclass(frozen=True, eq=False)
class LinearModel:
    """weights: (n_features,) float32.  about: as `train` makes it; JSON."""

    weights: F32
    intercept: float
    about: dict[str, Any]

    def __post_init__(self) -> None:
        check_features(len(self.weights))
        wrong = int(np.count_nonzero(~np.isfinite(self.weights)))
        if wrong or not np.isfinite(self.intercept):
            raise ValueError(f"{wrong:,} of {len(self.weights):,} weights are not finite numbers")

    def scores(self, text: pa.Array) -> F64:
        """(n_docs,) float64 in [0, 1], the probability that a document is a good one."""
        from scipy.special import expit  # takes as long as all other imports of a recipe

        sums = weight_sums(text, self.weights, self.intercept)
        rounded: F64 = np.round(expit(sums), DECIMALS)
        return rounded


def save_model(model: LinearModel, path: Path) -> None:
    """Write a model; the same model makes the same bytes."""
    weights, intercept = model.weights.astype("<f4"), np.array(model.intercept, "<f8")
    ngram_model.write_model(
        path, "quality", FORMAT, model.about, weights=weights, intercept=intercept
    )


def load_model(path: Path) -> LinearModel:
    """Read a model, whose weights are finite numbers; see `read_model`."""
    return ngram_model.read_model(path, "quality", FORMAT, ARRAYS, _made)


def _made(arrays: ngram_model.Arrays, about: dict[str, Any]) -> LinearModel:
    return LinearModel(arrays["weights"], float(arrays["intercept"]), about)


# the finalizer of SplitMix64 (Steele, Lea and Flood 2014)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BITS_27, BITS_30, BITS_31 = np.uint64(27), np.uint64(30), np.uint64(31)
OF_53_BITS = 2.0**-53


def uniform(ids: pa.Array, purpose: str, seed: int) -> F64:
    """(n_docs,) float64 in [0, 1), multiples of 2**-53, by string ids; purposes are independent."""
    key = np.uint64(xxhash.xxh3_64_intdigest(f"{purpose} {seed}".encode()))
    x = digests(ids, "xxh3")[:, 0] ^ key
    x = (x ^ (x >> BITS_30)) * FIRST
    x = (x ^ (x >> BITS_27)) * SECOND
    x ^= x >> BITS_31
    return (x >> np.uint64(11)).astype(np.float64) * OF_53_BITS


def kept_share(scores: F64, alpha: float) -> F64:
    """(n_docs,) float64, with what probability the Pareto rule keeps documents of such scores.

        P(pareto(alpha) > 1 - score)  =  (1 + 1 - score) ** -alpha

    `numpy.random.pareto` draws from the Lomax distribution, whose P(X > x) is (1 + x) ** -alpha.

    >>> kept_share(np.array([0.0, 0.5, 1.0]), alpha=9).round(4).tolist()
    [0.002, 0.026, 1.0]
    """
    shares: F64 = (2.0 - scores) ** -alpha
    return shares
