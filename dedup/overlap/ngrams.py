"""N-grams of words that stand more than once in a corpus, found without a key for each of them.

    units of text --words--> windows of n words --minimizers--> those that may repeat --> hashes

A window is n words in a row of one unit: a document, or a line of one. Words are lower-cased, as
those of shingles. A substring of n words or more repeats if and only if all of its windows do: so
windows that repeat, put together, are what a suffix array finds (Lee et al. 2022,
arXiv:2107.06499), and the share of a paragraph's windows that stood before is what a Bloom filter
is asked for (BFF). Of the two, a suffix array takes 10 times the text in the memory of one
machine; what a filter says depends on who came to it first, is wrong in 1 % of all cases, and it
lies in the memory of every machine. Hashes that are parted by range do neither. They have 64 bits:
of 6 billion candidates one equals another by chance.

Of each window the run of half as many words with the least hash is its minimizer (Schleimer et
al. 2003). Equal windows have equal minimizers at places of their own; so a window whose minimizer
stands at one place in the corpus is unique, and no hash of it has to be kept. Neighbours share
theirs: there is one for each (n + 4) / 4 windows or so. In web text 0.3 % of windows of 50 words
are candidates where 0.1 % repeat, of 13 words 2.4 % where 1.3 % do.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I32, I64, U64, bucket_starts, read_only, shift_of
from tokenmill.dedup.kernels import ngrams as kernels
from tokenmill.dedup.text.shingle import leaving
from tokenmill.dedup.text.words import Units, Words, word_hashes


class Known(NamedTuple):
    """Minimizers that stand at more than one place.

    keys: (n,) uint64, distinct, ascending.
    starts: (n_buckets + 1,) int32, where in `keys` those of the same first bits begin.
    """

    keys: U64
    starts: I32

    @classmethod
    def of(cls, keys: U64) -> "Known":
        """keys: (n,), in any order, perhaps more than once."""
        distinct = np.unique(keys)
        return cls(distinct, bucket_starts(distinct))


class Candidates(NamedTuple):
    """Windows that may repeat: (n,) hashes, the document of each, and its first word in that."""

    hashes: U64
    docs: I64
    words: I64


@dataclass(frozen=True, kw_only=True)
class Ngrams:
    """What a window is: `ngram` words, 2 at least, of such `words`."""

    ngram: int
    words: Words

    @property
    def run(self) -> int:
        """Words of the runs of which the least is a window's minimizer."""
        return (self.ngram + 1) // 2

    def minimizers(self, units: Units) -> U64:
        """(n,) a hash for each place that is a minimizer, in order."""
        words, ends = word_hashes(units.text, self.words)
        keys, out = (np.empty(len(words), np.uint64) for _ in range(2))
        sizes = self.ngram, self.run, leaving(self.run)
        n = kernels.minimizers(words, ends, *sizes, keys, out)
        return out[:n]

    def candidates(self, units: Units, known: Known) -> Candidates:
        """The windows whose minimizer is known, in order."""
        words, ends = word_hashes(units.text, self.words)
        keys, out = (np.empty(len(words), np.uint64) for _ in range(2))
        places = np.empty(len(words), np.int64)
        sizes = self.ngram, self.run, leaving(self.ngram), leaving(self.run)
        wanted = read_only(known.keys), read_only(known.starts), shift_of(known.starts[:-1])
        n = kernels.candidates(words, ends, *sizes, *wanted, keys, out, places)
        begins = ends[units.docs]
        docs = np.repeat(np.arange(len(begins) - 1), np.diff(np.searchsorted(places[:n], begins)))
        return Candidates(out[:n].copy(), docs, places[:n] - begins[docs])
