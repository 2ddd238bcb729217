"""The words that a language model knows, and their ids."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import power_of_two, read_only
from tokenmill.pipelines.perplexity.kernels import ngrams as kernels
from tokenmill.pipelines.perplexity.words import line_words

FIRST_WORD = 2  # ids 0 and 1 are UNKNOWN and BOUNDARY

U64 = npt.NDArray[np.uint64]


class KeyTable(NamedTuple):
    """slots: (a power of two,) uint64, keys or 0.  rows: (len(slots),) uint32, of each key."""

    slots: U64
    rows: npt.NDArray[np.uint32]


def key_table(keys: U64, name: str) -> KeyTable:
    """A hash table of keys.

    Raises:
        ValueError: two are the same.
    """
    n_slots = power_of_two(2 * len(keys))
    table = KeyTable(np.zeros(n_slots, np.uint64), np.zeros(n_slots, np.uint32))
    if not kernels.fill(read_only(keys), *table):
        raise ValueError(f"{name} stand there twice")
    return KeyTable(read_only(table.slots), read_only(table.rows))


class Vocabulary:
    """Words, the one at `i` having id `FIRST_WORD + i`.

    words: (n_words,) large_string, each a word as `line_words` finds them.

    Raises:
        ValueError: they are not, or not different.
    """

    def __init__(self, words: pa.Array) -> None:
        found = line_words(words)
        if not np.array_equal(found.doc_ends, 2 * np.arange(len(words) + 1)):
            raise ValueError("what is in the vocabulary is not a word each")
        self.words = words
        self._table = key_table(found.hashes[::2], "words")

    def __len__(self) -> int:
        """With UNKNOWN and BOUNDARY."""
        return len(self.words) + FIRST_WORD

    def ids(self, hashes: U64) -> npt.NDArray[np.uint32]:
        """(n_words + 1,) uint32, of hashed words, after a BOUNDARY."""
        ids = np.empty(len(hashes) + 1, np.uint32)
        ids[0] = kernels.BOUNDARY
        heads = np.empty(len(hashes), np.uint64)
        kernels.word_ids(read_only(hashes), *self._table, FIRST_WORD, heads, ids[1:])
        return ids

    @cached_property
    def names(self) -> npt.NDArray[np.object_]:
        """(n_ids,), of all ids, as ARPA files have them."""
        return np.array(["<unk>", "<s>", *self.words.to_pylist()], np.object_)
