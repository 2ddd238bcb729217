"""Which items of benchmarks are in a corpus, and where.

    FOUND of every shard ─ add ─► Analysis ──► items: clean, dirty, untestable; documents; sources

As published an item is dirty if any document has any of its n-grams (Brown et al. 2020,
arXiv:2005.14165, appendix C) that is not ignored (`dedup.overlap.counts`). By shares it is if a
document has enough of those that are its own (`pipelines.contamination.shares`), and the corpus has
*some* of it if a document has fewer. An item of fewer than 8 words cannot be
tested by n-grams; it is looked for as a whole (`pipelines.contamination.index`).
The n-grams of an item that many documents repeat are in too many of them, so that all are ignored
and the item is clean by that rule. Such a clean item is *widespread*: at least half of its n-grams
stand in too many documents, n-grams apart that are ignored for what they are (shared by many
items, or without a letter).
Counts are exact; of the documents that have an item a few are kept, those with most of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I64, U8, U64, Bools, read_only
from tokenmill.dedup.kernels.overlap import merge_spans
from tokenmill.dedup.overlap.find import Hits, Overlaps, overlaps
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.pipelines.contamination.found import IDS, excerpts, hits_of, parts_of, places_of
from tokenmill.pipelines.contamination.index import ItemTexts
from tokenmill.pipelines.contamination.model import BenchmarkCounts
from tokenmill.pipelines.contamination.shares import MOST, OfPairs, Shares
from tokenmill.pipelines.contamination.verbatim import NO_SPANS, Verbatim
from tokenmill.pipelines.core.schema import needed

EXAMPLE = pa.schema(
    [
        *needed(item=pa.int64()),
        *IDS,
        # n-grams of the item that the document has, and their share of all that count
        *needed(ngrams=pa.int64(), found_frac=pa.float64()),
        # bits of the foldings (`dedup.text.fold.FOLDINGS`) that it took to see them all
        *needed(foldings=pa.uint8()),
        # spans of the document that have them; UTF-8 bytes of the longest
        *needed(spans=pa.int64(), start_byte=pa.int64(), end_byte=pa.int64()),
        *needed(before=pa.string(), match=pa.string(), after=pa.string()),
    ]
)

FRESH_ROWS, FRESH_TABLES = 1 << 14, 1 << 10  # kept unsorted at most; some 4 KB a table


class Pairs(NamedTuple):
    """Pairs of a document and an item that it has n-grams of, (n,) each: rows of the documents,
    items, how many of the item's n-grams, and bits of the foldings that it took to see them all.
    """

    rows: I64
    items: I64
    ngrams: I64
    foldings: U8

    def only(self, wanted: I64) -> "Pairs":
        return Pairs._make(column[wanted] for column in self)

    def with_spans(self, spans: Overlaps) -> "Pairs":
        """And pairs of spans, one of each pair."""
        docs, items, ngrams, bits = self
        return Pairs(
            np.append(docs, spans.docs),
            np.append(items, spans.items),
            np.append(ngrams, spans.ngrams),
            np.append(bits, spans.marks),
        )


def item_pairs(hits: Hits, foldings: U8, index: NgramIndex, n_items: int) -> Pairs:
    """The pairs of documents and items, by both; foldings: (n_hits,) uint8, bits of each hit."""
    n = len(index.hashes)
    grams = _Grouped.of(hits.docs * n + hits.grams, foldings)  # of each document
    docs, of_docs = np.divmod(grams.keys, n)
    # n-grams that just the same items have are counted before there is a row for each item
    sets = _Grouped.of(docs * n + index.alike(of_docs), grams.bits)
    docs, of_docs = np.divmod(sets.keys, n)
    at, items = index.items_of(of_docs)
    pairs = _Grouped.of(docs[at] * n_items + items, sets.bits[at])
    ngrams = np.bincount(pairs.which, sets.counts[at], len(pairs.keys)).astype(np.int64)
    return Pairs(*np.divmod(pairs.keys, n_items), ngrams, pairs.bits)


def _judged(pairs: Pairs, of_pairs: OfPairs, threshold: float) -> tuple[Pairs, F64]:
    """The pairs with a share from the threshold on, with their own n-grams; and the shares."""
    at = of_pairs.at(pairs.rows, pairs.items)
    shares = np.append(of_pairs.shares, 0.0)[at]  # 0 where there is none, at -1
    wanted = np.flatnonzero(shares >= threshold)
    at = at[wanted]
    return pairs.only(wanted)._replace(ngrams=of_pairs.ngrams[at]), of_pairs.shares[at]


class _Grouped(NamedTuple):
    """Rows by keys, distinct, ascending; which: key of each row.  counts: rows.  bits: or-ed."""

    keys: I64
    which: I64
    counts: I64
    bits: U8

    @classmethod
    def of(cls, keys: I64, bits: U8) -> "_Grouped":
        distinct, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
        of_keys = np.zeros(len(distinct), np.uint8)
        np.bitwise_or.at(of_keys, which, bits)
        return cls(distinct, which, counts, of_keys)


def best_of(items: I64, shares: F64, doc_ids: U64, most: int) -> I64:
    """Rows of the `most` best of each item, by item: greatest shares, then first documents."""
    order = np.lexsort((doc_ids, -shares, items))
    by_item = items[order]
    rank = np.arange(len(order)) - np.searchsorted(by_item, by_item)
    return order[rank < most]


class BestRows:
    """The best rows of each item, as `best_of` chooses them, among all rows that were added.

    Added rows are collected and sorted in many at a time, so that a batch costs no copy of all.
    """

    def __init__(self, schema: pa.Schema, share: str, most: int) -> None:
        """schema: with `item`, `doc_id` and the column `share`."""
        self._share, self._most = share, most
        self._kept, self._fresh, self._n_fresh = schema.empty_table(), list[pa.Table](), 0

    def add(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._fresh.append(rows)
            self._n_fresh += rows.num_rows
        many_rows = self._n_fresh >= max(FRESH_ROWS, self._kept.num_rows)
        if many_rows or len(self._fresh) >= FRESH_TABLES:
            self.table()

    def table(self) -> pa.Table:
        """The best rows by item, the best first."""
        if self._fresh:
            both = pa.concat_tables([self._kept, *self._fresh])
            names = "item", self._share, "doc_id"
            items, shares, doc_ids = (np.asarray(both[name]) for name in names)
            kept = best_of(items, shares, doc_ids, self._most)
            self._kept = both.take(pa.array(kept)).combine_chunks()
            self._fresh, self._n_fresh = [], 0
        return self._kept


def examples_of(found: pa.RecordBatch, spans: Overlaps, chosen: Pairs, shares: F64) -> pa.Table:
    """A row of schema EXAMPLE for each pair of a document and an item.

    found: documents (schema FOUND).
    spans: of all documents of `found` and all items.
    chosen: the pairs.
    shares: (n_chosen,) share of the item's n-grams that count which the document has.
    """
    rows, items = chosen.rows, chosen.items
    n_items = int(spans.items.max(initial=0)) + 1
    pairs = spans.docs * n_items + spans.items
    longest_first = np.lexsort((spans.starts, spans.starts - spans.ends, pairs))
    keys, first, counts = np.unique(pairs[longest_first], return_index=True, return_counts=True)
    at = np.searchsorted(keys, rows * n_items + items)
    longest = longest_first[first[at]]
    starts, ends = spans.starts[longest], spans.ends[longest]
    places = places_of(found, rows, starts)
    stops = places.at + ends - starts
    columns = [
        pa.array(items),
        *(found[name].take(pa.array(rows)) for name in ("doc_id", "id", "source")),
        pa.array(chosen.ngrams),
        pa.array(shares),
        pa.array(chosen.foldings),
        pa.array(counts[at]),
        pa.array(starts),
        pa.array(ends),
        *excerpts(places.data, places.at, stops, begins=places.begins, ends=places.ends),
    ]
    return pa.table(columns, schema=EXAMPLE)


CLEAN, DIRTY, UNTESTABLE, SOME, ONLY_CONTEXT, EDITED = range(6)
# a number for each set of foldings, lower for fewer foldings; its last 8 bits are the set
FEWEST = np.array([bits.bit_count() << 8 | bits for bits in range(256)])
UNSEEN = 1 << 16  # its last 8 bits are no folding
MOST_EXAMPLES = 1
MOST_DOCUMENTS = 100

WORST = pa.schema(
    [
        *IDS,
        # items that it makes dirty, and UTF-8 bytes of its text in n-grams that count
        *needed(items=pa.int64(), overlap_bytes=pa.int64(), text_bytes=pa.int64()),
    ]
)


@dataclass(kw_only=True)
class SourceCounts:
    """Documents of one source that have counted n-grams, and their pairs with items."""

    docs: int = 0
    pairs: int = 0


class Analysis:
    """Counts of items, documents and sources, from all FOUND rows that were added.

    item_docs: (n_items,) int64, documents that have each item.
    worst: rows of schema WORST: the documents with most items, then with most bytes of them.
    sources: counts by source.
    frequent: an analysis of the items that may be widespread, with the n-grams that stand in too
        many documents; None if there are no such items.
    """

    def __init__(
        self,
        texts: ItemTexts,
        index: NgramIndex,
        ignored: Bools,
        *,
        frequent: Bools | None = None,
        shares: Shares | None = None,
        most_examples: int = MOST_EXAMPLES,
        most_documents: int = MOST_DOCUMENTS,
    ) -> None:
        """Count nothing as yet.

        frequent: (n_grams,) bool, those ignored only because too many documents have them.
        shares: what decides which pairs of documents and items count; None: any n-gram does.
        """
        self.shares = shares
        self._texts, self._index, self._ignored = texts, index, ignored
        self._most_examples, self._most_documents = most_examples, most_documents
        self._met = np.zeros(len(index.hashes), bool)  # n-grams, ignored ones too
        self._counted = self._per_item(~ignored)
        self._testable = ~texts.is_short
        self._verbatim: Verbatim | None = None
        self._only_verbatim = np.zeros(len(texts.lengths), bool)
        if shares is not None:
            unlike = self._testable & shares.asked_alike
            self._verbatim = Verbatim.build(texts, index, unlike, shares.units.groups)
            self._only_verbatim[[item for of in self._verbatim.items for item in of]] = True
            self._testable &= shares.testable | self._only_verbatim
        n_frequent = 0 if frequent is None else self._per_item(frequent)
        self._mostly_frequent = self._testable & (n_frequent >= np.maximum(self._counted, 1))
        self.frequent: Analysis | None = None
        if frequent is not None and self._mostly_frequent.any():
            of_them = self._mostly_frequent[index.items]
            wanted = np.logical_or.reduceat(of_them, index.item_offsets[:-1])
            others = ~wanted | (ignored & ~frequent)
            self.frequent = Analysis(texts, index, others, most_examples=1)
        self.item_docs = np.zeros(len(texts.lengths), np.int64)
        self._benchmark_docs = np.zeros(len(texts.starts), np.int64)
        self._needed = np.full(len(texts.lengths), UNSEEN)
        self._examples = BestRows(EXAMPLE, "found_frac", most_examples)
        self.worst = WORST.empty_table()
        self.sources: dict[str, SourceCounts] = {}

    def add(self, found: pa.RecordBatch) -> None:
        """Add the rows of some documents (schema FOUND); no document may come twice."""
        if self.frequent is not None:
            self.frequent.add(found)
        for part in parts_of(found, self._index):
            self._add(part)

    def _add(self, found: pa.RecordBatch) -> None:
        hits = hits_of(found)
        self._met[hits.grams] = True
        own, exact = None, NO_SPANS
        if self.shares is not None and self._verbatim is not None:
            own = self.shares.note(np.asarray(found["doc_id"]), hits)
            exact = self._verbatim.spans(found, hits)
            self.shares.best[exact.items] = 1
        counted = ~self._ignored[hits.grams]
        foldings, hits = np.asarray(found["foldings"].flatten())[counted], hits.only(counted)
        if len(hits.docs) + len(exact.docs) == 0:
            return
        seen = np.unique(hits.grams * len(FEWEST) + foldings)
        at, items = self._index.items_of(seen // len(FEWEST))
        np.minimum.at(self._needed, items, FEWEST[seen % len(FEWEST)][at])
        pairs = item_pairs(hits, foldings, self._index, len(self.item_docs))
        shares = pairs.ngrams / np.maximum(self._counted[pairs.items], 1)
        if own is not None and self.shares is not None:
            pairs, shares = _judged(pairs, own, self.shares.threshold)
            pairs, shares = pairs.with_spans(exact), np.append(shares, np.ones(len(exact.docs)))
        rows, items = pairs.rows, pairs.items
        self.item_docs += np.bincount(items, minlength=len(self.item_docs))
        n = len(self._benchmark_docs)
        of_benchmarks = np.unique(rows * n + self._texts.benchmarks_of(items)) % n
        self._benchmark_docs += np.bincount(of_benchmarks, minlength=n)
        best = best_of(items, shares, np.asarray(found["doc_id"])[rows], self._most_examples)
        both: Iterable[Any] = zip(overlaps(hits, self._index), exact, strict=True)
        spans = Overlaps._make(map(np.concatenate, both))
        fresh = examples_of(found, spans, pairs.only(best), shares[best])
        self._examples.add(fresh)
        self._count_documents(found, hits, np.bincount(rows, minlength=found.num_rows))

    def own_copies(self, copies: pa.RecordBatch) -> pa.RecordBatch:
        """Copies (schema COPY) not of a context alone, whose items are noted as such, once."""
        if self.shares is None:
            return copies
        of_context = self.shares.units.contexts[np.asarray(copies["text"])]
        self.shares.copied[np.asarray(copies["item"])[of_context]] = True
        return copies.filter(pa.array(~of_context))

    @property
    def examples(self) -> pa.Table:
        """Rows of schema EXAMPLE by item, at most `most_examples` each, the best first."""
        return self._examples.table()

    def status(self, edited: Bools | None = None) -> U8:
        """(n_items,) CLEAN, DIRTY, UNTESTABLE or, by shares, SOME or ONLY_CONTEXT.

        edited: (n_items,) of those of `unseen` the ones that are EDITED instead.
        """
        tested = np.where(self.item_docs > 0, DIRTY, CLEAN)
        if self.shares is not None:
            other = (self.item_docs == 0) & ~self._mostly_frequent
            tested[other & self.shares.units.only_context] = ONLY_CONTEXT
            tested[other & (self.shares.best > 0)] = SOME
        status = np.where(self._testable, tested, UNTESTABLE).astype(np.uint8)
        if edited is not None:
            status[edited] = EDITED
        return status

    def widespread(self) -> Bools:
        """(n_items,) the clean items that stand in too many documents to be dirty."""
        widespread: Bools = (self.status() == CLEAN) & self._mostly_frequent
        return widespread

    def unseen(self) -> Bools:
        """(n_items,) items neither found by n-grams nor widespread: a copy of one is edited."""
        unseen: Bools = (self.item_docs == 0) & ~self.widespread()
        return unseen

    def widespread_docs(self) -> I64:
        """(n_items,) documents that have any n-gram of each widespread item; 0 of others."""
        if self.frequent is None:
            return np.zeros_like(self.item_docs)
        return np.where(self.widespread(), self.frequent.item_docs, 0)

    def foldings(self) -> U8:
        """(n_items,) bits of the fewest foldings that it took to see any n-gram of each item.

        0 for items that were seen without any, and for items that were not seen at all.
        """
        return np.where(self.item_docs > 0, self._needed & 0xFF, 0).astype(np.uint8)

    def found_frac(self) -> F64:
        """(n_items,) share of each item's counted n-grams that stand anywhere in the corpus.

        By shares: that of the document with the greatest.
        """
        if self.shares is not None:
            return self.shares.best
        return self._per_item(self._met & ~self._ignored) / np.maximum(self._counted, 1)

    def counts(self, edited: Bools | None = None) -> list[BenchmarkCounts]:
        """Counts of each benchmark, in order.  edited: as of `status`."""
        status, is_found = self.status(edited), self.item_docs > 0
        clean, untestable = status == CLEAN, status == UNTESTABLE
        widespread = self.widespread()
        items = {
            "clean": clean,
            "dirty": status == DIRTY,
            "untestable": untestable,
            "found_whole": untestable & is_found,
            "too_short": untestable & (self._per_item(np.ones_like(self._met)) == 0),
            "widespread": widespread,
            "only_ignored": clean & ~widespread & (self._per_item(self._met) > 0),
            "uncounted": clean & ~self._mostly_frequent & (self._counted == 0),
            **({} if edited is None else {"short_clean": clean & self._texts.brief()}),
            "pairs": self.item_docs,
            **self._by_share(status),
        }
        starts = self._texts.starts
        needed = self.foldings()
        of_foldings = {name: (needed >> bit) & 1 for bit, name in enumerate(FOLDINGS)}
        sums, disguised = (
            {k: np.add.reduceat(v, starts, dtype=np.int64) for k, v in columns.items()}
            for columns in (items, of_foldings)
        )
        return [
            BenchmarkCounts(
                ngram=int(n),
                docs=int(self._benchmark_docs[b]),
                **{name: int(column[b]) for name, column in sums.items()},
                foldings={name: int(c[b]) for name, c in disguised.items() if c[b]},
            )
            for b, n in enumerate(self._texts.benchmark_ngrams)
        ]

    def _by_share(self, status: U8) -> dict[str, Bools]:
        """(n_items,) what only shares tell apart, by the names of `BenchmarkCounts`."""
        if self.shares is None:
            return {}
        best, units = self.shares.best, self.shares.units
        is_found = self.shares.context_found
        first = np.unique(units.groups, return_index=True)[1]
        return {
            "whole": self._testable & (best == 1),
            "most": self._testable & (best >= MOST) & (best < 1),
            "some": status == SOME,
            "only_context": status == ONLY_CONTEXT,
            "context_found": is_found & (status != DIRTY),
            "uncounted": ~self._texts.is_short & (status == UNTESTABLE),
            "verbatim": (status == CLEAN) & self._only_verbatim,
            "repeated": ~np.isin(np.arange(len(best)), first),
        }

    def _per_item(self, grams: Bools) -> I64:
        """(n_items,) how many of some n-grams each item has; grams: (n_grams,)."""
        wanted = np.repeat(grams, np.diff(self._index.item_offsets))
        return np.bincount(self._index.items[wanted], minlength=len(self._texts.lengths))

    def _count_documents(self, found: pa.RecordBatch, hits: Hits, n_items: I64) -> None:
        """Add documents to the sources and to the worst; n_items: (n_docs,) items of each."""
        windows = np.column_stack((hits.docs, np.zeros_like(hits.docs), hits.starts, hits.ends))
        merged = np.empty((len(windows), 5), np.int64)
        sorted_windows = read_only(windows[np.lexsort(windows.T[::-1])])
        merged = merged[: merge_spans(sorted_windows, merged)]
        covered = np.zeros(found.num_rows, np.int64)
        np.add.at(covered, merged[:, 0], merged[:, 3] - merged[:, 2])
        rows = np.flatnonzero(n_items)
        documents = found.select(["doc_id", "id", "source", "text_bytes"]).take(pa.array(rows))
        sources, sizes = documents["source"].to_pylist(), n_items[rows].tolist()
        for source, n in zip(sources, sizes, strict=True):
            of_source = self.sources.setdefault(source, SourceCounts())
            of_source.docs += 1
            of_source.pairs += n
        *names, text_bytes = documents.columns
        columns = [*names, pa.array(sizes), pa.array(covered[rows]), text_bytes]
        both = pa.concat_tables([self.worst, pa.table(columns, schema=WORST)])
        order = [("items", "descending"), ("overlap_bytes", "descending"), ("doc_id", "ascending")]
        self.worst = both.sort_by(order).slice(0, self._most_documents).combine_chunks()
