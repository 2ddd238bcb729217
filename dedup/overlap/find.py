"""Which benchmark items stand in a document.

documents --> gram words --> n-gram hashes --> NgramIndex --> Hits (windows) --> Overlaps (spans)

Hits are kept apart from what is made of them: which n-grams count for nothing is only known once
the whole corpus has been searched (`dedup.overlap.counts`).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, Bools, parts, read_only, text_buffers
from tokenmill.dedup.kernels.overlap import Probe, Scratch, Table, add_up, find_grams, merge_spans
from tokenmill.dedup.overlap.index import NgramIndex, scratch
from tokenmill.dedup.text.gram_words import Block, blocks

FIRST_HITS = 1 << 12  # room for the hits of a block; where there are more it is searched again
MOST_PAIRS = 1 << 20  # of spans and items that have them, joined at once


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
    docs: I64
    grams: I64
    firsts: I64
    lasts: I64
    starts: I64
    ends: I64

    def only(self, wanted: Bools | I64) -> "Hits":
        return Hits(self.n_docs, *(column[wanted] for column in self[1:]))


class Overlaps(NamedTuple):
    """Maximal spans in which a document repeats n-grams of an item, in order of doc, item, start.

    docs: (n_spans,) int64, rows of the text column.
    items: (n_spans,) int64, ids of items.
    starts, ends: (n_spans,) int64, bytes of the document, as those of `Hits`.
    ngrams: (n_spans,) int64, windows of the span that the item has; spans of one document
        and item have no word in common.
    marks: (n_spans,) uint8, the marks of the windows, or-ed; 0 where there are none.
    """

    docs: I64
    items: I64
    starts: I64
    ends: I64
    ngrams: I64
    marks: U8

    def only(self, wanted: Bools) -> "Overlaps":
        return Overlaps._make(column[wanted] for column in self)


def find(text: pa.Array, index: NgramIndex) -> Hits:
    """Find every window of a document that is an n-gram of the index.

    text: (n_docs,) string column, no nulls.
    """
    data = text_buffers(text).data
    table, probes = index.table(), index.probes()
    windows = np.empty((FIRST_HITS, 4), np.int64)
    found = [np.empty((0, 6), np.int64)]
    room = scratch(0)
    for block in blocks(text, longest=int(index.lengths.max(initial=1)), words=index.words):
        if len(block.hashes) >= len(room.sums):
            room = scratch(len(block.hashes))
        n = _find(block, table, probes, room, windows)
        if n > len(windows):  # they have been counted, now there is room
            windows = np.empty((2 * n, 4), np.int64)
            _find(block, table, probes, room, windows)
        if n:
            order = np.argsort(windows[:n, 3], kind="stable")
            found.append(block.places(data, windows[order]))
    docs, *columns = np.ascontiguousarray(np.concatenate(found).T)
    return Hits(len(text), docs, *columns)


def _find(block: Block, table: Table, probes: Iterable[Probe], room: Scratch, windows: I64) -> int:
    add_up(block.hashes, room.sums)
    found = 0
    for probe in probes:
        found = find_grams(block.doc_words, block.held, table, probe, room, windows, found)
    return found


def overlaps(hits: Hits, index: NgramIndex, marks: U8 | None = None) -> Overlaps:
    """Join hits to maximal spans of each item.

    Hits that just the same items have are joined first, so that memory and work are those of the
    spans, not of the hits times the items of each.

    marks: (n_hits,) uint8, bits to be or-ed over the hits of a span.
    """
    marks = np.zeros(len(hits.docs), np.uint8) if marks is None else marks
    once = np.ones(len(hits.docs), np.int64)
    sets = index.alike(hits.grams)
    runs: tuple[Any, ...] = _joined(hits.docs, sets, hits.starts, hits.ends, once, marks)
    # in order of place, so that the spans of an item are in one part, or at the ends of two
    order = np.lexsort((runs[2], runs[0]))
    docs, grams, *columns = (column[order] for column in runs)
    spans = [_joined(*(column[:0] for column in runs))]
    for part in parts(index.n_items_of(grams), MOST_PAIRS):
        at, items = index.items_of(grams[part])
        spans.append(_joined(docs[part][at], items, *(column[part][at] for column in columns)))
    if len(spans) > 2:
        spans.append(_joined(*map(np.concatenate, zip(*spans, strict=True))))
    return spans[-1]


def _joined(docs: I64, items: I64, starts: I64, ends: I64, ngrams: I64, marks: U8) -> Overlaps:
    """Join spans of one document and item that have a word in common.

    items: numbers of items, or of sets of them.
    """
    order = np.lexsort((ends, starts, items, docs))
    named = np.column_stack([column[order] for column in (docs, items, starts, ends)])
    spans = np.empty((len(named), 5), np.int64)
    spans = spans[: merge_spans(read_only(named), spans)]
    docs, items, starts, ends, joined = np.ascontiguousarray(spans.T)
    if len(joined) == 0:
        return Overlaps(docs, items, starts, ends, joined, marks[:0])
    firsts = np.cumsum(joined) - joined
    sums = np.add.reduceat(ngrams[order], firsts)
    of_spans = np.bitwise_or.reduceat(marks[order], firsts)
    return Overlaps(docs, items, starts, ends, sums, of_spans)
