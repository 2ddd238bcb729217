"""Which benchmark items stand in a document.

documents --> gram words --> n-gram hashes --> NgramIndex --> Overlaps (spans of bytes)
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.arrays import read_only
from dedup.arrow_text import text_buffers
from dedup.gram_words import chars, word_buffer
from dedup.kernels.overlap import find_grams
from dedup.kernels.spans import merge_spans
from dedup.ngram_index import NgramIndex

BUFFER_WORDS = 1024  # 32 KiB: fits the first-level cache of most processors
FIRST_HITS = 1 << 16  # 2 MiB, touched only as far as there are hits; more of them scan twice


class Overlaps(NamedTuple):
    """Maximal spans in which a document repeats n-grams of an item, in order of doc, item, start.

    docs: (n_spans,) int64, rows of the text column.
    items: (n_spans,) int64, ids of items.
    starts, ends: (n_spans,) int64, UTF-8 bytes from the beginning of the document: from the
        first character of the first word to the last of the last, punctuation aside.
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
    """Find the n-grams of the index in documents.

    text: (n_docs,) string column, no nulls.
    """
    data, offsets = text_buffers(text)
    doc_ngrams = np.zeros(len(text), np.int64)
    hits = np.empty((FIRST_HITS, 4), np.int64)
    words = word_buffer(max(BUFFER_WORDS, 2 * index.ngram))
    given = (read_only(data), read_only(offsets), chars(), index.table(), *index.probes(), words)
    found = find_grams(*given, hits, doc_ngrams)
    if found > len(hits):  # rare: it has counted them, now there is room
        hits = np.empty((found, 4), np.int64)
        find_grams(*given, hits, doc_ngrams)
    spans = _spans(hits[:found], index)
    first_byte = offsets[:-1][spans[:, 0]]
    return Overlaps(
        docs=spans[:, 0],
        items=spans[:, 1],
        starts=spans[:, 2] - first_byte,
        ends=spans[:, 3] - first_byte,
        ngrams=spans[:, 4],
        doc_ngrams=doc_ngrams,
    )


def _spans(hits: npt.NDArray[np.int64], index: NgramIndex) -> npt.NDArray[np.int64]:
    """(n_spans, 5): the hits of `find_grams`, one for each item, joined to maximal spans."""
    first, last = index.item_offsets[hits[:, 1]], index.item_offsets[hits[:, 1] + 1]
    n_items = last - first
    named = np.repeat(hits, n_items, axis=0)
    within = np.arange(len(named)) - np.repeat(np.cumsum(n_items) - n_items, n_items)
    named[:, 1] = index.items[np.repeat(first, n_items) + within]
    named = named[np.lexsort(named.T[::-1])]
    spans = np.empty((len(named), 5), np.int64)
    return spans[: merge_spans(named, spans)]
