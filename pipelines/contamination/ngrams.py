"""How many words an n-gram of a benchmark has, as GPT-3's overlap analysis has it.

Brown et al. 2020, arXiv:2005.14165, appendix C: N is "the 5th percentile example length in words,
ignoring all punctuation, whitespace, and casing", at least 8 and at most 13. Which percentile is
not said; here it is the nearest rank, the least length that 5 % of the items do not exceed: an
item has that many words, so that nothing is rounded.

    words     N-grams                    matched as a whole
    0-2       -                          no: such words stand everywhere
    3-7       -  not testable by them    the item: found where all its words stand in a row
    8-(N-1)   -                          each text of the item
    N-        each text of the item
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.fold import Folding, fold
from tokenmill.dedup.gram_words import count_words
from tokenmill.dedup.ngram_index import MIN_WORDS, NgramIndex

PERCENTILE = 5
LEAST_NGRAM, MOST_NGRAM = 8, 13
LEAST_WHOLE = 3  # words of an item that is matched as a whole, though under 8


def ngram_of(lengths_words: npt.NDArray[np.integer]) -> int:
    """N of a benchmark: the 5th percentile of the lengths of its items, from 8 to 13.

    lengths_words: (n_items,) words of each item, one at least.

    >>> ngram_of(np.array([40, 10, 90, 70]))
    10
    """
    rank = np.percentile(lengths_words, PERCENTILE, method="inverted_cdf")
    return int(np.clip(rank, LEAST_NGRAM, MOST_NGRAM))


@dataclass(frozen=True, eq=False)
class ItemTexts:
    """The texts of all benchmarks' items, and how each is matched.

    texts: (n_texts,) large_string, as the benchmarks have them.
    folding: what they are freed from before words are counted and n-grams made.
    items: (n_texts,) int64, the item of each text; items count through the benchmarks.
    ngrams: (n_texts,) int64, N of the item's benchmark.
    least: (n_texts,) int64, words from which on the text is matched as a whole.
    lengths: (n_items,) int64, words of each item: of its longest text.
    starts: (n_benchmarks,) int64, first item of each benchmark.
    benchmark_ngrams: (n_benchmarks,) int64.
    """

    texts: pa.Array
    folding: Folding
    items: npt.NDArray[np.int64]
    ngrams: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    benchmark_ngrams: npt.NDArray[np.int64]

    def indexed(self) -> NgramIndex:
        folded = fold(self.texts, self.folding).text
        return NgramIndex.build(folded, self.items, ngram=self.ngrams, least=self.least)


def prepare_texts(
    texts: pa.Array,
    items: npt.NDArray[np.int64],
    n_items: npt.NDArray[np.int64],
    ngrams: list[int | None] | None = None,
    folding: Folding | None = None,
) -> ItemTexts:
    """Settle N of each benchmark, and which texts are matched as a whole.

    Of an item under 8 words only the longest text is: the first of them if several are.

    texts, items: as of `ItemTexts`; those of an item need not stand together.
    n_items: (n_benchmarks,) int64, items of each benchmark, one at least.
    ngrams: N of each benchmark; None computes it.
    folding: the default of `Folding` if None.
    """
    folding = folding or Folding()
    counts = count_words(fold(texts, folding).text)
    lengths = np.zeros(int(n_items.sum()), np.int64)
    np.maximum.at(lengths, items, counts)
    starts = np.cumsum(n_items) - n_items
    given = ngrams or [None] * len(n_items)
    settled = np.array(
        [
            ngram if ngram is not None else ngram_of(lengths[start : start + n])
            for ngram, start, n in zip(given, starts.tolist(), n_items.tolist(), strict=True)
        ],
        np.int64,
    )
    order = np.lexsort((-counts, items))
    longest = order[np.unique(items[order], return_index=True)[1]]
    least = np.full(len(texts), MIN_WORDS)
    least[longest[counts[longest] < MIN_WORDS]] = LEAST_WHOLE
    return ItemTexts(
        texts=texts,
        folding=folding,
        items=items,
        ngrams=settled[np.searchsorted(starts, items, "right") - 1],
        least=least,
        lengths=lengths,
        starts=starts,
        benchmark_ngrams=settled,
    )
