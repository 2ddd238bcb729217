"""N-grams that count for nothing: of many documents, of many items, or without a letter.

    Hits of each shard --> documents of each n-gram --> sum over the corpus --> frequent
    NgramIndex ------------------------------------------------------------> shared by items
    its texts -------------------------------------------------------------> letterless

Each is a mask over the n-grams of the index; what is in any of them (`|`) is ignored, for all
benchmarks: an n-gram that the items of one share is a prompt or a licence in the others too.

An n-gram in more than 10 training documents is ignored, as in GPT-3 (Brown et al. 2020,
arXiv:2005.14165, appendix C): "inspection showed the majority of these to contain common cultural
phrases, legal boilerplate, or similar content". That needs the whole corpus, once: counts are
exact, and sparse, since a shard has few of the n-grams. Numbers in a row ("0 1 2 … 12") stand in
too few documents to be frequent, and are no question either.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, Bools, read_only, text_buffers
from tokenmill.dedup.kernels.gram_words import letterless_runs
from tokenmill.dedup.kernels.overlap import merge_spans
from tokenmill.dedup.overlap.cut import copy_spans
from tokenmill.dedup.overlap.find import Hits, find
from tokenmill.dedup.overlap.index import MAX_NGRAM, NgramIndex
from tokenmill.dedup.text.gram_words import GramWords, chars, word_kinds

MOST_DOCS = 10  # GPT-3's
# An n-gram of more items than this is a prompt or a licence rather than a question. The share
# spares passages that many questions ask about: in SQuAD's 10,570 up to some 30 share one.
MOST_ITEMS, MOST_ITEMS_FRAC = 10, 0.01
MOST_PASSAGES, GRAMS_A_PASSAGE = 200, 16  # shown of the ignored n-grams
TEXTS_AT_ONCE = 10_000  # of which all n-grams are held in memory

PASSAGE = pa.schema(
    [
        pa.field("passage", pa.string(), nullable=False),  # as an item has it, single spaces
        pa.field("ngrams", pa.int64(), nullable=False),  # of the passage, ignored and in documents
        # of the n-gram of it that has most: documents, items
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("items", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),  # names, if several with ", " between
    ]
)


class GramCounts(NamedTuple):
    """In how many documents n-grams stand.

    grams: (n,) int64, indices into `NgramIndex.hashes`, distinct, ascending.
    docs: (n,) int64, documents that have each at least once.
    """

    grams: I64
    docs: I64


def document_counts(hits: Hits) -> GramCounts:
    """Count the documents that have each n-gram; no document may be in two of the columns."""
    n_docs = max(hits.n_docs, 1)
    pairs = np.unique(hits.grams * n_docs + hits.docs)
    return GramCounts(*np.unique(pairs // n_docs, return_counts=True))


def total(counts: Iterable[GramCounts], n_grams: int) -> GramCounts:
    """Add up counts of different documents, in place: they may be those of many shards.

    n_grams: of the index.
    """
    docs = np.zeros(n_grams, np.int64)
    for some in counts:
        docs[some.grams] += some.docs
    met = np.flatnonzero(docs)
    return GramCounts(met, docs[met])


def frequent(counts: GramCounts, index: NgramIndex, *, most_docs: int | None = MOST_DOCS) -> Bools:
    """(n_grams,) bool: those that stand in more than `most_docs` documents; None is no limit."""
    mask = np.zeros(len(index.hashes), bool)
    if most_docs is not None:
        mask[counts.grams[counts.docs > most_docs]] = True
    return mask


def shared(index: NgramIndex, benchmark_starts: I64, n_items: int) -> Bools:
    """(n_grams,) bool: the n-grams that many items of one benchmark share.

    Many are more than MOST_ITEMS, and more than MOST_ITEMS_FRAC of the benchmark's.

    benchmark_starts: (n_benchmarks,) int64, first item of each benchmark, ascending from 0.
    n_items: of all benchmarks.
    """
    often = np.flatnonzero(np.diff(index.item_offsets) > MOST_ITEMS)
    at, items = index.items_of(often)
    starts = np.append(benchmark_starts, n_items)
    mask = np.zeros(len(index.hashes), bool)
    mask[of_many_items(often[at], items, starts, MOST_ITEMS, MOST_ITEMS_FRAC)] = True
    return mask


def of_many_items(grams: I64, items: I64, starts: I64, most: int, most_frac: float) -> I64:
    """Those of some n-grams that more items of one benchmark have than `shared` allows.

    grams, items: (n,), each n-gram with each of its items, once.
    starts: (n_benchmarks + 1,) first item of each benchmark, and where the last ends.
    """
    which, n_benchmarks = np.searchsorted(starts, items, "right") - 1, len(starts) - 1
    pairs, counts = np.unique(grams * n_benchmarks + which, return_counts=True)
    allowed = np.maximum(most, most_frac * np.diff(starts))
    many: I64 = pairs[counts > allowed[pairs % n_benchmarks]] // n_benchmarks
    return many


def letterless(index: NgramIndex, texts: pa.Array) -> Bools:
    """(n_grams,) bool: the n-grams without a letter (`str.isalpha`).

    texts: those the index was built from.
    """
    mask = np.zeros(len(index.hashes), bool)
    data, offsets = text_buffers(texts)
    runs = _letterless_runs(data, offsets[:-1], offsets[1:], index.words)
    rows = np.flatnonzero(runs >= index.lengths.min(initial=MAX_NGRAM))
    for first in range(0, len(rows), TEXTS_AT_ONCE):
        some = texts.take(pa.array(rows[first : first + TEXTS_AT_ONCE]))
        hits = find(some, index)
        data, offsets = text_buffers(some)
        begins = offsets[hits.docs]
        runs = _letterless_runs(data, begins + hits.starts, begins + hits.ends, index.words)
        mask[hits.grams[runs == hits.lasts - hits.firsts + 1]] = True
    return mask


def _letterless_runs(data: U8, starts: I64, ends: I64, words: GramWords) -> I64:
    """(n_spans,) int64, the most gram words in a row without a letter in spans of text."""
    runs = np.empty(len(starts), np.int64)
    kinds = word_kinds(words)
    letterless_runs(data, read_only(starts), read_only(ends), chars(), kinds, runs)
    return runs


def ignored_passages(
    reasons: Mapping[str, Bools],
    counts: GramCounts,
    index: NgramIndex,
    texts: pa.Array,
    item_ids: npt.NDArray[np.integer],
    *,
    most: int = MOST_PASSAGES,
) -> pa.Table:
    """Of schema PASSAGE, ignored n-grams that documents have; those of most documents first.

    N-grams that have words in common in the item that is the first to have them are one passage.

    reasons: (n_grams,) bool for each name, such as {"frequent": mask, "shared": mask}.
    counts: documents of each n-gram.  texts, item_ids: those the index was built from.
    most: passages; they are made of the first `16 * most` n-grams.
    """
    ignored = np.any(list(reasons.values()), axis=0)[counts.grams]
    order = np.lexsort((counts.grams, -counts.docs))
    chosen = order[ignored[order]][: most * GRAMS_A_PASSAGE]
    if len(chosen) == 0:
        return PASSAGE.empty_table()
    grams, docs = counts.grams[chosen], counts.docs[chosen]
    texts, places = _places(grams, index, texts, item_ids)
    windows = np.column_stack((places.docs, np.zeros_like(grams), places.starts, places.ends))
    order = np.lexsort(windows.T[::-1])
    spans = np.empty((len(grams), 5), np.int64)
    spans = spans[: merge_spans(read_only(windows[order]), spans)]
    docs_of, _, starts, ends, _ = spans.T
    passages = copy_spans(text_buffers(texts), docs_of, starts, ends)
    grams, docs = grams[order], docs[order]
    first = np.cumsum(spans[:, 4]) - spans[:, 4]  # of the n-grams of each passage
    held = [np.logical_or.reduceat(mask[grams], first) for mask in reasons.values()]
    columns = {
        "passage": [" ".join(words.split()) for words in passages.to_pylist()],
        "ngrams": spans[:, 4],
        "documents": np.maximum.reduceat(docs, first),
        "items": np.maximum.reduceat(np.diff(index.item_offsets)[grams], first),
        "reason": [
            ", ".join(name for name, holds in zip(reasons, of_passage, strict=True) if holds)
            for of_passage in zip(*held, strict=True)
        ],
    }
    by = [("documents", "descending"), ("items", "descending"), ("passage", "ascending")]
    return pa.table(columns, schema=PASSAGE).sort_by(by).slice(0, most).combine_chunks()


def _places(
    grams: I64, index: NgramIndex, texts: pa.Array, item_ids: npt.NDArray[np.integer]
) -> tuple[pa.Array, Hits]:
    """Some of the texts, and where in these each n-gram stands first."""
    firsts = index.items[index.item_offsets[grams]]
    some = texts.take(pa.array(np.flatnonzero(np.isin(item_ids, firsts))))
    hits = find(some, index)
    known, at = np.unique(hits.grams, return_index=True)
    return some, hits.only(at[np.searchsorted(known, grams)])
