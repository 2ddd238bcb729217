"""The documents that have most of each item: the longest match, and the text around it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.overlap.find import Hits, Overlaps
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.pipelines.contamination.found import excerpts, places_of

EXAMPLE = pa.schema(
    [
        pa.field("item", pa.int64(), nullable=False),
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # n-grams of the item that the document has, and their share of all that count
        pa.field("ngrams", pa.int64(), nullable=False),
        pa.field("found_frac", pa.float64(), nullable=False),
        # bits of the foldings (`dedup.text.fold.FOLDINGS`) that it took to see them all
        pa.field("foldings", pa.uint8(), nullable=False),
        # spans of the document that have them; UTF-8 bytes of the longest
        pa.field("spans", pa.int64(), nullable=False),
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("match", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
    ]
)

FRESH_ROWS, FRESH_TABLES = 1 << 14, 1 << 10  # kept unsorted at most; some 4 KB a table


class Pairs(NamedTuple):
    """Pairs of a document and an item that it has n-grams of.

    rows, items: (n,) int64, rows of the documents, and items.
    ngrams: (n,) int64, n-grams of the item that the document has.
    foldings: (n,) uint8, bits of the foldings that it took to see them all.
    """

    rows: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    ngrams: npt.NDArray[np.int64]
    foldings: npt.NDArray[np.uint8]

    def only(self, wanted: npt.NDArray[np.int64]) -> "Pairs":
        """The pairs at the places `wanted`."""
        return Pairs._make(column[wanted] for column in self)


def item_pairs(
    hits: Hits, foldings: npt.NDArray[np.uint8], index: NgramIndex, n_items: int
) -> Pairs:
    """The pairs of documents and items, by document and item.

    foldings: (n_hits,) uint8, bits of the foldings that each hit needed.
    """
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


class _Grouped(NamedTuple):
    """Rows grouped by their keys.

    keys: distinct, ascending.  which: key of each row.  counts: rows of each.  bits: or-ed.
    """

    keys: npt.NDArray[np.int64]
    which: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, keys: npt.NDArray[np.int64], bits: npt.NDArray[np.uint8]) -> "_Grouped":
        distinct, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
        of_keys = np.zeros(len(distinct), np.uint8)
        np.bitwise_or.at(of_keys, which, bits)
        return cls(distinct, which, counts, of_keys)


def best_of(
    items: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
    doc_ids: npt.NDArray[np.uint64],
    most: int,
) -> npt.NDArray[np.int64]:
    """Rows of the `most` best of each item: the greatest shares, then the first documents.

    Returns them by item, the best first.
    """
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


def examples_of(
    found: pa.RecordBatch, spans: Overlaps, chosen: Pairs, shares: npt.NDArray[np.float64]
) -> pa.Table:
    """A row of schema EXAMPLE for each pair of a document and an item.

    found: documents (schema FOUND).
    spans: of all documents of `found` and all items.
    chosen: the pairs.
    shares: (n_chosen,) share of the item's n-grams that count which the document has.
    """
    rows, items = chosen.rows, chosen.items
    longest_first = np.lexsort((spans.starts, spans.starts - spans.ends, spans.items, spans.docs))
    pairs, first, counts = np.unique(
        np.stack([spans.docs, spans.items])[:, longest_first],
        axis=1,
        return_index=True,
        return_counts=True,
    )
    width = int(max(pairs[1].max(), items.max())) + 1 if len(items) else 1
    at = np.searchsorted(pairs[0] * width + pairs[1], rows * width + items)
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
