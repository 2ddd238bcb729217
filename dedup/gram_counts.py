"""N-grams that count for nothing: those of many documents, and those of many items.

    Hits of each shard --> documents of each n-gram --> sum over the corpus --> frequent
    NgramIndex ------------------------------------------------------------> shared by items

An n-gram in more than 10 training documents is ignored, as in GPT-3 (Brown et al. 2020,
arXiv:2005.14165, appendix C): "inspection showed the majority of these to contain common cultural
phrases, legal boilerplate, or similar content". That needs the whole corpus, once: counts are
exact, and sparse, since a shard has few of the n-grams.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.arrow_text import text_buffers
from dedup.ngram_index import NgramIndex
from dedup.overlap import Hits, find

MOST_DOCS = 10  # GPT-3's
# An n-gram of more items than this is a prompt or a licence rather than a question. The share
# spares passages that many questions ask about: in SQuAD's 10,570 up to some 30 share one.
MOST_ITEMS, MOST_ITEMS_FRAC = 10, 0.01


class GramCounts(NamedTuple):
    """In how many documents n-grams stand.

    grams: (n,) int64, indices into `NgramIndex.hashes`, distinct, ascending.
    docs: (n,) int64, documents that have each at least once.
    """

    grams: npt.NDArray[np.int64]
    docs: npt.NDArray[np.int64]


def document_counts(hits: Hits) -> GramCounts:
    """Count the documents that have each n-gram; no document may be in two of the columns."""
    pairs = np.unique(np.stack([hits.grams, hits.docs]), axis=1)
    return GramCounts(*np.unique(pairs[0], return_counts=True))


def total(counts: Iterable[GramCounts]) -> GramCounts:
    """Add up counts of different documents."""
    empty = np.empty(0, np.int64)
    grams, docs = map(np.concatenate, zip((empty, empty), *counts, strict=True))
    order = np.argsort(grams, kind="stable")
    grams, docs = grams[order], docs[order]
    starts = np.flatnonzero(np.append(True, grams[1:] != grams[:-1])[: len(grams)])
    return GramCounts(grams[starts], np.add.reduceat(docs, starts) if len(docs) else docs)


def frequent(
    counts: GramCounts, index: NgramIndex, *, most_docs: int = MOST_DOCS
) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool: the n-grams that stand in more than `most_docs` documents."""
    mask = np.zeros(len(index.hashes), bool)
    mask[counts.grams[counts.docs > most_docs]] = True
    return mask


def shared(
    index: NgramIndex,
    benchmark_starts: npt.NDArray[np.int64],
    n_items: int,
    *,
    most_items: int = MOST_ITEMS,
    most_items_frac: float = MOST_ITEMS_FRAC,
) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool: the n-grams that many items of one benchmark share.

    Many are more than `most_items`, and more than `most_items_frac` of the benchmark's.

    benchmark_starts: (n_benchmarks,) int64, first item of each benchmark, ascending from 0.
    n_items: of all benchmarks.
    """
    often = np.flatnonzero(np.diff(index.item_offsets) > most_items)
    at, items = index.items_of(often)
    which = np.searchsorted(benchmark_starts, items, "right") - 1
    pairs, counts = np.unique(np.stack([often[at], which]), axis=1, return_counts=True)
    allowed = np.maximum(most_items, most_items_frac * np.diff(benchmark_starts, append=n_items))
    mask = np.zeros(len(index.hashes), bool)
    mask[pairs[0, counts > allowed[pairs[1]]]] = True
    return mask


def gram_texts(
    grams: npt.NDArray[np.int64],
    index: NgramIndex,
    texts: pa.Array,
    item_ids: npt.NDArray[np.integer],
) -> list[str]:
    """The words of each n-gram as the first of its items has them, with single spaces.

    texts, item_ids: those the index was built from.
    """
    firsts = index.items[index.item_offsets[grams]]
    some = texts.take(pa.array(np.flatnonzero(np.isin(item_ids, firsts))))
    hits = find(some, index)
    known, at = np.unique(hits.grams, return_index=True)
    at = at[np.searchsorted(known, grams)]
    data, offsets = text_buffers(some)
    starts, ends = (offsets[hits.docs[at]] + place[at] for place in (hits.starts, hits.ends))
    return [
        " ".join(data[a:b].tobytes().decode().split())
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def letterless(
    index: NgramIndex, texts: pa.Array, item_ids: npt.NDArray[np.integer]
) -> npt.NDArray[np.bool_]:
    """(n_grams,) bool: the n-grams without a letter, such as "0 1 2 3 4 5 6 7 8 9 10 11 12".

    texts, item_ids: those the index was built from.
    """
    mask = np.zeros(len(index.hashes), bool)
    hits = find(texts, index)
    data, offsets = text_buffers(texts)
    for gram, doc, a, b in zip(hits.grams, hits.docs, hits.starts, hits.ends, strict=True):
        words = data[offsets[doc] + a : offsets[doc] + b].tobytes().decode()
        mask[gram] = not any(map(str.isalpha, words))
    return mask
