"""How much of an item stands in one document: a share of the n-grams that are its own.

    texts of items ─ Units.build ─► distinct texts, and the n-grams that are own of each
    hits ─ Shares.of ─► shares of pairs of document and item ─ note ─► the greatest of each

A *unit* is a text of items of a benchmark: repeated rows, and a passage that several questions ask
about, are one. An n-gram is *own* of a unit if no other text of the benchmark has it. What more
texts have than `overlap.counts` lets items share is a template's and counts for nothing, as what
has no letter. A text without an n-gram of its own is told by all those that are left, if a document
has every one of them: of two items made from one template a document has one. An item's share in a
document is the greatest of its texts. A *context*, a passage that is asked about or any field but a
question that items share, makes no item dirty: it is told by itself, and its n-grams count for
nothing where all fields are searched together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U64, Bools
from tokenmill.dedup.overlap.counts import MOST_ITEMS, MOST_ITEMS_FRAC, letterless
from tokenmill.dedup.overlap.find import Hits, find
from tokenmill.dedup.overlap.index import NgramIndex, window_lengths, windows_of
from tokenmill.dedup.text.fold import fold
from tokenmill.dedup.text.gram_words import GramWords, blocks
from tokenmill.pipelines.contamination.index import ItemTexts
from tokenmill.pipelines.contamination.items.spec import CONTEXT, QUESTION, WHOLE

MOST = 0.5  # of an item from this share on most of it is there


class Lists(NamedTuple):
    """Numbers by keys 0, 1, …: those of key k are `values[offsets[k]:offsets[k + 1]]`."""

    offsets: I64
    values: I64

    @classmethod
    def of(cls, keys: I64, values: I64, n_keys: int) -> "Lists":
        order = np.lexsort((values, keys))
        return cls(np.searchsorted(keys[order], np.arange(n_keys + 1)), values[order])

    def __getitem__(self, keys: I64) -> tuple[I64, I64]:  # type: ignore[override]
        """Every value of each of some keys: places in `keys`, ascending, and the values."""
        sizes = self.offsets[keys + 1] - self.offsets[keys]
        at = np.repeat(np.arange(len(keys)), sizes)
        within = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return at, self.values[self.offsets[keys][at] + within]


def word_keys(text: pa.Array, words: GramWords) -> U64:
    """(n_docs,) uint64: equal for texts of the same gram words; text: string column, no nulls."""
    keys = np.zeros(len(text), np.uint64)
    for block in blocks(text, longest=None, words=words):
        counts = np.diff(block.doc_words)
        places = np.arange(len(block.hashes)) - np.repeat(block.doc_words[:-1], counts)
        mixed = (block.hashes ^ (places.astype(np.uint64) * _PLACE)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
        sums = np.append(np.uint64(0), np.cumsum(mixed * _SPREAD))
        keys[block.doc : block.doc + len(counts)] = (
            sums[block.doc_words[1:]] - sums[block.doc_words[:-1]] + counts.astype(np.uint64)
        )
    return keys


_SPREAD, _PLACE = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Units:
    """Distinct texts of each benchmark's items, and the n-grams that are their own.

    firsts: (n_units,) int64, a text of each.
    items_of: the items that each unit is a text of.
    is_context: (n_units,) bool, those that make no item dirty.
    of_grams: the units that each n-gram counts for.
    alike: (n_units,) bool, those without an n-gram of their own: all that count must be found.
    ignored: (n_grams,) bool, n-grams that are own of no unit.
    only_context: (n_items,) bool, items whose question is too short to be searched, but not what
        stands around it.
    groups: (n_items,) int64, equal for items that are the same in all words.
    contexts: (n_texts,) bool, texts of units that are contexts.
    """

    firsts: I64
    items_of: Lists
    is_context: Bools
    of_grams: Lists
    alike: Bools
    ignored: Bools
    only_context: Bools
    groups: I64
    contexts: Bools

    @classmethod
    def build(cls, texts: ItemTexts, ngrams: NgramIndex) -> "Units":
        folded = fold(texts.texts, texts.folding).text
        lengths = window_lengths(folded, texts.ngrams, texts.least, texts.words)
        benchmarks, is_whole = texts.benchmarks_of(texts.items), texts.roles == WHOLE
        keys = word_keys(folded, texts.words).view(np.int64)
        order = np.lexsort((-lengths, keys, is_whole, benchmarks))
        sorted_by = np.stack([keys, is_whole, benchmarks])[:, order]
        fresh = np.append(True, (np.diff(sorted_by, axis=1) != 0).any(axis=0))
        units = np.empty(len(order), np.int64)
        units[order] = np.cumsum(fresh) - 1
        firsts = order[fresh]
        of_unit = np.unique(np.stack([units, texts.items]), axis=1)
        items_of = Lists.of(of_unit[0], of_unit[1], len(firsts))
        groups = _groups(texts, units)
        is_context = _contexts(texts, folded, groups, items_of, firsts)
        windows = windows_of(folded.take(pa.array(firsts)), lengths[firsts], texts.words)
        pairs = np.unique(
            np.stack([windows.texts, np.searchsorted(ngrams.hashes, windows.grams)]), axis=1
        )
        kinds = 2 * benchmarks[firsts] + is_whole[firsts]
        n_texts = _distinct(units, texts.texts)
        shares = _texts_with(pairs, kinds, n_texts, len(ngrams.hashes))
        asked = is_context[pairs[0]] | ~_in_context(
            pairs, folded, ngrams, items_of, is_context, firsts
        )
        own, alike = _own(pairs, shares, kinds, asked & ~letterless(ngrams, folded)[pairs[1]])
        of_grams = Lists.of(pairs[1][own], pairs[0][own], len(ngrams.hashes))
        return cls(
            firsts=firsts,
            items_of=items_of,
            is_context=is_context,
            of_grams=of_grams,
            alike=alike,
            ignored=np.diff(of_grams.offsets) == 0,
            only_context=_only_context(texts, lengths),
            groups=groups,
            contexts=is_context[units],
        )

    def own(self, wanted: Bools) -> I64:
        """(n_units,) own n-grams of each; wanted: (n_grams,) only such count, but in contexts."""
        grams = np.repeat(np.arange(len(wanted)), np.diff(self.of_grams.offsets))
        units = self.of_grams.values
        counted = units[wanted[grams] | self.is_context[units]]
        return np.bincount(counted, minlength=len(self.firsts))


def _groups(texts: ItemTexts, units: I64) -> I64:
    """(n_items,) the unit of all fields of an item together, or of its last one."""
    groups = -1 - np.arange(len(texts.lengths))
    order = np.argsort(texts.roles == WHOLE, kind="stable")
    groups[texts.items[order]] = units[order]
    return groups


def _contexts(
    texts: ItemTexts, folded: pa.Array, groups: I64, items_of: Lists, firsts: I64
) -> Bools:
    """(n_units,) bool: passages, and other fields, no questions, that different items share.

    But not what has the question of each of its items in it: that is all of the item.
    """
    at, items = items_of[np.arange(len(firsts))]
    different = np.unique(np.stack([at, groups[items]]), axis=1)[0]
    n_groups = np.bincount(different, minlength=len(firsts))
    roles = texts.roles[firsts]
    is_part = (texts.roles[firsts[groups[texts.items[firsts]]]] == WHOLE) & (roles != WHOLE)
    is_shared = (n_groups > 1) & (roles != QUESTION)
    contexts: Bools = is_part & (is_shared | (roles == CONTEXT))
    found = np.flatnonzero(contexts)
    asked = np.isin(texts.items, items_of[found][1])
    asks = np.flatnonzero(asked & (texts.roles == QUESTION))
    questions = dict(
        zip(texts.items[asks].tolist(), folded.take(pa.array(asks)).to_pylist(), strict=True)
    )
    for unit in found.tolist():
        text = folded[firsts[unit]].as_py()
        of_unit = items_of[np.array([unit])][1].tolist()
        contexts[unit] = not all(item in questions and questions[item] in text for item in of_unit)
    return contexts


def _distinct(units: I64, texts: pa.Array) -> I64:
    """(n_units,) distinct texts of each; units: (n_texts,), every one from 0 on."""
    numbers = np.asarray(texts.dictionary_encode().indices).astype(np.int64)
    return np.bincount(np.unique(np.stack([units, numbers]), axis=1)[0])


def _texts_with(pairs: I64, kinds: I64, n_texts: I64, n_grams: int) -> I64:
    """(n_pairs,) how many texts of a unit's kind have an n-gram; parameters as of `_own`.

    n_texts: (n_units,) distinct texts of each: they may differ in punctuation.
    """
    units, grams = pairs
    _, which = np.unique(kinds[units] * n_grams + grams, return_inverse=True)
    sums = np.bincount(which, n_texts[units]).astype(np.int64)
    return sums[which]


def _in_context(
    pairs: I64,
    folded: pa.Array,
    ngrams: NgramIndex,
    items_of: Lists,
    is_context: Bools,
    firsts: I64,
) -> Bools:
    """(n_pairs,) bool: n-grams that a context of the unit's item has, of whatever length they are.

    pairs: (2, n_pairs) units and n-grams.
    """
    n = len(ngrams.hashes)
    contexts = np.flatnonzero(is_context)
    hits = find(folded.take(pa.array(firsts[contexts])), ngrams)
    at, items = items_of[contexts[hits.docs]]
    first_items = items_of.values[items_of.offsets[pairs[0]]]
    return np.isin(first_items * n + pairs[1], items * n + hits.grams[at])


def _own(pairs: I64, shares: I64, kinds: I64, wanted: Bools) -> tuple[Bools, Bools]:
    """(n_pairs,) bool: the n-grams that count for a unit. (n_units,) bool: none is its own.

    pairs: (2, n_pairs) units and n-grams, by unit.
    shares: (n_pairs,), of `_texts_with`.
    kinds: (n_units,) units are compared with those of their number: benchmark, and its fields or
        all of them together.
    wanted: (n_pairs,) bool, n-grams that may count.
    """
    units = pairs[0]
    most = np.maximum(MOST_ITEMS, MOST_ITEMS_FRAC * np.bincount(kinds))[kinds[units]]
    counted = wanted & (shares <= most)
    n_own = np.bincount(units[counted & (shares == 1)], minlength=len(kinds))
    own: Bools = counted & ((shares == 1) | (n_own[units] == 0))
    return own, n_own == 0


def _only_context(texts: ItemTexts, lengths: I64) -> Bools:
    """(n_items,) bool: items that can be searched, but for their questions.

    lengths: (n_texts,) words of the windows of each text; 0 of one that is not searched.
    """
    asks, searched, asked = (np.zeros(len(texts.lengths), bool) for _ in range(3))
    of_question, is_searched = texts.roles == QUESTION, lengths > 0
    asks[texts.items[of_question]] = True
    searched[texts.items[is_searched]] = True
    asked[texts.items[of_question & is_searched]] = True
    only: Bools = asks & searched & ~asked
    return only


class OfPairs(NamedTuple):
    """Pairs of a document and an item that it has n-grams of, and the share of the item's own.

    rows, items: (n,) int64, ascending.  ngrams: (n,) of its text that the document has most of.
    shares: (n,) float64.
    """

    rows: I64
    items: I64
    ngrams: I64
    shares: F64

    def at(self, rows: I64, items: I64) -> I64:
        """Where pairs are; -1 of one that is not there."""
        if len(self.rows) == 0:
            return np.full(len(rows), -1)
        n = int(max(self.items.max(), items.max(initial=0))) + 1
        mine, asked = self.rows * n + self.items, rows * n + items
        at = np.minimum(np.searchsorted(mine, asked), len(mine) - 1)
        return np.where(mine[at] == asked, at, -1)


class Shares:
    """Shares of items and of contexts in documents, and the greatest of each.

    threshold: an item with this share in one document is dirty.
    best: (n_items,) float64, the greatest share of each item in any document.
    best_unit, unit_docs: (n_units,) of each context: the greatest share; documents that have it
        from the threshold on.
    unit_doc: (n_units,) uint64, the document with the greatest share.
    copied: (n_items,) bool, items of which a document has an edited copy of a context, no more.
    """

    def __init__(self, texts: ItemTexts, units: Units, frequent: Bools, threshold: float) -> None:
        """frequent: (n_grams,) bool, n-grams in too many documents to count for items."""
        self.units, self.threshold = units, threshold
        self._counted = ~frequent
        self._own = units.own(self._counted)
        self.n_items = len(texts.lengths)
        self._asks = texts.roles[units.firsts] == QUESTION
        self.best = np.zeros(self.n_items)
        n = len(units.firsts)
        self.best_unit, self.unit_docs = np.zeros(n), np.zeros(n, np.int64)
        self.unit_doc = np.zeros(n, np.uint64)
        self.copied = np.zeros(self.n_items, bool)

    @property
    def testable(self) -> Bools:
        """(n_items,) items of which a text that makes it dirty has an n-gram of its own."""
        return self._items_of(self._has_own & ~self.units.is_context)

    @property
    def asked_alike(self) -> Bools:
        """(n_items,) items whose question has no n-gram of its own, or that are not `testable`."""
        return self._items_of(self._asks & ~self._has_own) | ~self.testable

    @property
    def _has_own(self) -> Bools:
        return self.units.own(np.ones(len(self._counted), bool)) > 0

    def _items_of(self, units: Bools) -> Bools:
        found = np.zeros(self.n_items, bool)
        found[self.units.items_of[np.flatnonzero(units)][1]] = True
        return found

    @property
    def found_contexts(self) -> I64:
        """The contexts that a document has from the threshold on, ascending."""
        return np.flatnonzero(self.units.is_context & (self.best_unit >= self.threshold))

    @property
    def context_found(self) -> Bools:
        """(n_items,) items of which a context was found, from the threshold on or edited."""
        found = self.copied.copy()
        found[self.units.items_of[self.found_contexts][1]] = True
        return found

    def of(self, hits: Hits) -> OfPairs:
        """The pairs of documents and items with own n-grams of these; hits: of some documents."""
        rows, units, ngrams = self._units_in(hits, contexts=False)
        at, items = self.units.items_of[units]
        of_units = ngrams / np.maximum(self._own[units], 1)
        of_units[self.units.alike[units] & (of_units < 1)] = 0
        shares = of_units[at]
        order = np.lexsort((-shares, items, rows[at]))
        columns = (rows[at][order], items[order], ngrams[at][order], shares[order])
        if len(order) == 0:
            return OfPairs(*columns)
        first = np.append(True, (np.diff(columns[0]) != 0) | (np.diff(columns[1]) != 0))
        return OfPairs(*(column[first] for column in columns))

    def note(self, docs: U64, hits: Hits) -> OfPairs:
        """Take in documents, by (n_docs,) uint64 ids, none twice; their pairs."""
        pairs = self.of(hits)
        np.maximum.at(self.best, pairs.items, pairs.shares)
        rows, units, ngrams = self._units_in(hits, contexts=True)
        shares = ngrams / np.maximum(self._own[units], 1)
        enough = units[shares >= self.threshold]
        self.unit_docs += np.bincount(enough, minlength=len(self.unit_docs))
        order = np.lexsort((rows, -shares, units))
        best = order[np.unique(units[order], return_index=True)[1]]
        best = best[shares[best] > self.best_unit[units[best]]]
        self.best_unit[units[best]] = shares[best]
        self.unit_doc[units[best]] = docs[rows[best]]
        return pairs

    def _units_in(self, hits: Hits, *, contexts: bool) -> tuple[I64, I64, I64]:
        """Pairs of a document and a unit, in order, and how many of its own n-grams it has."""
        wanted = np.ones(len(hits.docs), bool) if contexts else self._counted[hits.grams]
        n = len(self._counted)
        docs, grams = np.divmod(np.unique(hits.docs[wanted] * n + hits.grams[wanted]), n)
        at, units = self.units.of_grams[grams]
        of_kind = self.units.is_context[units] == contexts
        n = len(self.units.firsts)
        pairs, counts = np.unique(docs[at][of_kind] * n + units[of_kind], return_counts=True)
        return *np.divmod(pairs, n), counts
