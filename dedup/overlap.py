"""Which benchmark items stand in a document.

documents --> gram words --> n-gram hashes --> NgramIndex --> Hits (windows) --> Overlaps (spans)

Hits are kept apart from what is made of them: which n-grams count for nothing is only known once
the whole corpus has been searched (`dedup.gram_counts`).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.arrays import read_only
from dedup.arrow_text import text_buffers
from dedup.gram_windows import scratch
from dedup.gram_words import Block, blocks, chars
from dedup.kernels.gram_words import locate
from dedup.kernels.overlap import Probe, Scratch, Table, add_up, find_grams
from dedup.kernels.spans import merge_spans
from dedup.ngram_index import NgramIndex

FIRST_HITS = 1 << 12  # room for the hits of a block; where there are more it is searched again


class Hits(NamedTuple):
    """Windows of documents that are n-grams of the index, in order of document and last word.

    n_docs: documents searched.
    docs: (n_hits,) int64, rows of the text column.
    grams: (n_hits,) int64, indices into `NgramIndex.hashes`.
    firsts, lasts: (n_hits,) int64, gram words of the document, counted from 0.
    starts, ends: (n_hits,) int64, UTF-8 bytes from the beginning of the document: from the
        first character of the first word to the last of the last, punctuation aside.
    """

    n_docs: int
    docs: npt.NDArray[np.int64]
    grams: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    lasts: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def only(self, wanted: npt.NDArray[np.bool_]) -> "Hits":
        """Those of the hits for which `wanted` is true."""
        return Hits(self.n_docs, *(column[wanted] for column in self[1:]))


class Overlaps(NamedTuple):
    """Maximal spans in which a document repeats n-grams of an item, in order of doc, item, start.

    docs: (n_spans,) int64, rows of the text column.
    items: (n_spans,) int64, ids of items.
    starts, ends: (n_spans,) int64, bytes of the document, as those of `Hits`.
    ngrams: (n_spans,) int64, windows of the span that the item has; spans of one document
        and item have no word in common.
    doc_ngrams: (n_docs,) int64, windows of each document that any item has.
    """

    docs: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    ngrams: npt.NDArray[np.int64]
    doc_ngrams: npt.NDArray[np.int64]


def scan(text: pa.Array, index: NgramIndex) -> Overlaps:
    """Find what documents have in common with items.

    text: (n_docs,) string column, no nulls.
    """
    return overlaps(find(text, index), index)


def find(text: pa.Array, index: NgramIndex) -> Hits:
    """Find every window of a document that is an n-gram of the index.

    text: (n_docs,) string column, no nulls.
    """
    data = read_only(text_buffers(text).data)
    table, probes = index.table(), index.probes()
    windows = np.empty((FIRST_HITS, 4), np.int64)
    found = [np.empty((0, 6), np.int64)]
    room = scratch(0)
    for block in blocks(text, longest=int(index.lengths.max(initial=1))):
        if len(block.hashes) >= len(room.sums):
            room = scratch(len(block.hashes))
        n = _find(block, table, probes, room, windows)
        if n > len(windows):  # they have been counted, now there is room
            windows = np.empty((2 * n, 4), np.int64)
            _find(block, table, probes, room, windows)
        if n:
            hits = np.empty((n, 6), np.int64)
            locate(
                data,
                chars(),
                read_only(block.begins),
                read_only(block.stops),
                read_only(block.doc_words),
                block.doc,
                block.passed,
                windows[np.argsort(windows[:n, 3], kind="stable")],
                hits,
            )
            found.append(hits)
    docs, *columns = np.ascontiguousarray(np.concatenate(found).T)
    return Hits(len(text), docs, *columns)


def _find(
    block: Block,
    table: Table,
    probes: Iterable[Probe],
    room: Scratch,
    windows: npt.NDArray[np.int64],
) -> int:
    add_up(read_only(block.hashes), room.sums)
    doc_words, found = read_only(block.doc_words), 0
    for probe in probes:
        found = find_grams(doc_words, block.held, table, probe, room, windows, found)
    return found


def overlaps(
    hits: Hits, index: NgramIndex, ignored: npt.NDArray[np.bool_] | None = None
) -> Overlaps:
    """Join hits to maximal spans of each item.

    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    """
    if ignored is not None:
        hits = hits.only(~ignored[hits.grams])
    at, items = index.items_of(hits.grams)
    named = np.column_stack((hits.docs[at], items, hits.starts[at], hits.ends[at]))
    named = named[np.lexsort(named.T[::-1])]
    spans = np.empty((len(named), 5), np.int64)
    spans = spans[: merge_spans(named, spans)]
    docs, of_items, starts, ends, ngrams = np.ascontiguousarray(spans.T)
    doc_ngrams = np.bincount(hits.docs, minlength=hits.n_docs)
    return Overlaps(docs, of_items, starts, ends, ngrams, doc_ngrams)
