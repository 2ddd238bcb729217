"""The words that hashes stand for, as they were first met."""

import unicodedata

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import U64, Bools
from tokenmill.pipelines.filters.models.text import (
    BOUNDARY_HASH,
    FINAL_SIGMA,
    SIGMA,
    PlacedWords,
    became,
    line_words,
)

LONGEST = 128  # bytes of a text that a word of a vocabulary stands in


class Names:
    """Words by their hashes; those that are too long for a vocabulary have no name."""

    def __init__(self) -> None:
        self._spans: dict[int, bytes] = {}

    def add(self, placed: PlacedWords) -> None:
        """Add the words of some documents."""
        hashes, places = np.unique(placed.words.hashes, return_index=True)
        lengths = placed.spans[places, 1] - placed.spans[places, 0]
        fits = (hashes != BOUNDARY_HASH) & (lengths <= LONGEST)
        for key, place in zip(hashes[fits].tolist(), places[fits].tolist(), strict=True):
            if key not in self._spans:
                self._spans[key] = placed.span(place)

    def has(self, hashes: U64) -> Bools:
        """(n_hashes,) whether each has a name."""
        return np.array([key in self._spans for key in hashes.tolist()], np.bool_)

    def of(self, hashes: U64) -> pa.Array:
        """(n_hashes,) large_string, words as a model has them; each hash has a name."""
        words = [_normalized(self._spans[key]) for key in hashes.tolist()]
        # one character may become several words, as an ellipsis does: all are signs
        for i in np.flatnonzero(_hashes(words) != hashes).tolist():
            letters = [*words[i]]
            words[i] = letters[int(np.flatnonzero(_hashes(letters) == hashes[i])[0])]
        return pa.array(words, pa.large_string())


def _normalized(span: bytes) -> str:
    word = became(span.decode().lower()).replace(FINAL_SIGMA, SIGMA)
    word = "".join(c for c in word if c.isascii() or unicodedata.category(c) != "Cf")
    return word.strip()  # a dash has spaces around it


def _hashes(words: list[str]) -> U64:
    """(n_words,) uint64, the hash of each; 0 for what is not one word."""
    hashes, doc_ends = line_words(pa.array(words, pa.large_string()))
    starts, ends = doc_ends[:-1], doc_ends[1:]
    one = ends - starts == 2
    return np.where(one, np.append(hashes, np.uint64(0))[np.where(one, starts, -1)], 0)
