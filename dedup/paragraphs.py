"""Paragraphs that repeat benchmark items, dropped; the others stay together as one document.

A paragraph is what stands between two blank lines: line feeds with nothing but white space
between, if anything ("\\n\\n", "\\r\\n\\r\\n", "\\n \\n"). It is dropped if it has at least 13
words, and at least half of its windows are n-grams of the index: marin's rule, where Dolma drops
any paragraph of 13 words with a hit. Windows across paragraphs do not count. The blank line behind
a paragraph goes with it, or the one before if none is left behind; all else stays byte by byte.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import TextBuffers, text_buffers
from tokenmill.dedup.cut import copy_spans
from tokenmill.dedup.fold import Folding, fold
from tokenmill.dedup.gram_words import chars, count_words
from tokenmill.dedup.kernels.gram_words import LINE_FEED, blank_lines
from tokenmill.dedup.ngram_index import NgramIndex
from tokenmill.dedup.overlap import find


@dataclass(frozen=True, kw_only=True)
class ParagraphRule:
    """Which paragraphs to drop.

    least_words: shorter ones stay.
    least_frac: share of a paragraph's windows, of one length of the index, that it has.
    """

    least_words: int = 13
    least_frac: float = 0.5


class Remaining(NamedTuple):
    """Documents without the paragraphs dropped, and those paragraphs.

    text: (n_docs,) large_string; "" where nothing is left.
    docs: (n_dropped,) int64, the document of each paragraph dropped, in order.
    starts, ends: (n_dropped,) int64, its UTF-8 bytes from the beginning of the document.
    """

    text: pa.Array
    docs: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def drop_paragraphs(
    text: pa.Array,
    index: NgramIndex,
    ignored: npt.NDArray[np.bool_] | None = None,
    rule: ParagraphRule | None = None,
    folding: Folding | None = None,
) -> Remaining:
    """Drop paragraphs of documents.

    text: (n_docs,) string column, no nulls; those with a hit are enough.
    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    folding: disguises that paragraphs are freed from before they are looked at, each by itself.
    """
    buffers = text_buffers(text)
    docs, starts, ends = _paragraphs(buffers)
    begins = buffers.offsets[docs]
    paragraphs = copy_spans(buffers.data, begins + starts, begins + ends)
    seen = paragraphs if folding is None else fold(paragraphs, folding).text
    dropped = _dropped(seen, index, ignored, rule or ParagraphRule())
    kept = np.flatnonzero(~dropped)
    # up to the next paragraph, if another one of the document is kept
    is_last = np.diff(docs[kept], append=len(text)) > 0
    stops = np.where(is_last, ends[kept], np.append(starts[1:], 0)[kept])
    parts = copy_spans(buffers.data, begins[kept] + starts[kept], begins[kept] + stops)
    lengths = np.zeros(len(text), np.int64)
    np.add.at(lengths, docs[kept], stops - starts[kept])
    left = pa.LargeStringArray.from_buffers(
        len(text), pa.py_buffer(np.append(0, np.cumsum(lengths))), parts.buffers()[2]
    )
    return Remaining(left, docs[dropped], starts[dropped], ends[dropped])


def _paragraphs(
    text: TextBuffers,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(n_paragraphs,) each: document, first byte in it, byte after the last; in order.

    Every document has one at least; paragraphs may be empty.
    """
    data, offsets = text
    n_feeds = np.count_nonzero(data[offsets[0] : offsets[-1]] == LINE_FEED)
    blanks = np.empty((n_feeds // 2, 3), np.int64)
    blanks = blanks[: blank_lines(read_only(data), read_only(offsets), chars(), blanks)]
    whole = np.arange(len(offsets) - 1)
    first = np.column_stack((whole, np.zeros_like(whole)))
    last = np.column_stack((whole, np.diff(offsets)))
    docs, starts = _in_order(np.concatenate((first, blanks[:, ::2])))
    return docs, starts, _in_order(np.concatenate((blanks[:, :2], last)))[1]


def _in_order(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(2, n) of (n, 2) documents and places: by document, and as given within."""
    return np.ascontiguousarray(places[np.argsort(places[:, 0], kind="stable")].T)


def _dropped(
    paragraphs: pa.Array,
    index: NgramIndex,
    ignored: npt.NDArray[np.bool_] | None,
    rule: ParagraphRule,
) -> npt.NDArray[np.bool_]:
    """(n_paragraphs,) bool, which to drop."""
    hits = find(paragraphs, index)
    if ignored is not None:
        hits = hits.only(~ignored[hits.grams])
    n_words = count_words(paragraphs)
    dropped = np.zeros(len(paragraphs), bool)
    for length in index.lengths.tolist():
        of_length = hits.lasts - hits.firsts + 1 == length
        found = np.bincount(hits.docs[of_length], minlength=len(paragraphs))
        dropped |= (found > 0) & (found >= rule.least_frac * (n_words - length + 1))
    return dropped & (n_words >= rule.least_words)
