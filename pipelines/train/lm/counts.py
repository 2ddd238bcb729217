"""N-grams of a text by their 64-bit keys: how often each stands there, and what it is part of.

    ids of words --keys by order, sorted--> one row for each n-gram that occurs

Two different n-grams with one key would be taken for one: of 100 million, once in 3,700 times.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.filters.kernels import ngrams as kernels

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


class NgramCounts(NamedTuple):
    """The different n-grams of one order, by their keys.

    n: words each has.
    keys: (n_ngrams,) uint64, ascending.
    counts: (n_ngrams,) int64.
    places: (n_ngrams,) int64, of the last word of one of its occurrences, in the ids.
    contexts, suffixes: (n_ngrams,) uint64, keys of all words but the last, and but the first.
    """

    n: int
    keys: U64
    counts: I64
    places: I64
    contexts: U64
    suffixes: U64

    def take(self, rows: npt.NDArray[np.bool_]) -> "NgramCounts":
        """Some of them."""
        return self._replace(
            keys=self.keys[rows],
            counts=self.counts[rows],
            places=self.places[rows],
            contexts=self.contexts[rows],
            suffixes=self.suffixes[rows],
        )

    def words(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """(n_ngrams, n) uint32, the ids of the words of each."""
        found: npt.NDArray[np.uint32] = ids[self.places[:, None] + np.arange(1 - self.n, 1)]
        return found


def ngram_counts(ids: npt.NDArray[np.uint32], order: int) -> Iterator[NgramCounts]:
    """The n-grams of 1, 2, … `order` words; one order at a time is held.

    ids: (n_words + 1,), of lines, each with BOUNDARY behind it, and one before all.
    """
    keys = np.empty(len(ids), np.uint64)
    for n in range(1, order + 1):
        shorter = keys.copy() if n > 1 else keys
        kernels.ngram_keys(ids, n, keys)
        places = np.flatnonzero(keys)
        found, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
        places = places[first]
        contexts, suffixes = shorter[places - 1], shorter[places]
        if n == 2:  # before the first line there is nothing to have made a key of
            contexts[places == 1] = word_keys(kernels.BOUNDARY + 1)[kernels.BOUNDARY]
        yield NgramCounts(n, found, counts, places, contexts, suffixes)


def word_keys(n_ids: int) -> U64:
    """(n_ids,) uint64, the key of each word by itself, by its id."""
    ids = np.arange(n_ids + 1, dtype=np.uint32) - np.uint32(1)  # the first counts for nothing
    keys = np.empty(n_ids + 1, np.uint64)
    kernels.ngram_keys(ids, 1, keys)
    return keys[1:]
