"""Documents without spans of them: as GPT-3 was cleaned, or less paragraphs, or spans of words.

GPT-3 (Brown et al. 2020, arXiv:2005.14165, appendix C): "we removed the colliding 13-gram as well
as a 200 character window around it, splitting the original document into pieces. … Pieces less than
200 characters long were discarded. Documents split into more than 10 pieces were considered
contaminated and removed entirely." What the text leaves open is decided here:
- characters are Unicode code points of the document as it stands, not of its words;
- the window is 200 characters before the first letter of the n-gram and 200 behind the last;
- a cut is a maximal union of n-grams and their windows: where windows overlap or touch there is
  one cut, however many n-grams lie in it. A leak of 23 words in a row is one cut, not eleven;
- a document falls into the pieces between its cuts, empty ones apart; pieces of every length
  count towards the 10, so that those under 200 characters are for the caller to discard;
- a document without a cut is kept whole, whatever its length.

Paragraphs that repeat benchmark items are dropped; the others stay together as one document. A
paragraph is what stands between two blank lines: line feeds with nothing but white space
between, if anything ("\\n\\n", "\\r\\n\\r\\n", "\\n \\n"). It is dropped if it has at least 13
words, and at least half of its windows are n-grams of the index: marin's rule, where Dolma drops
any paragraph of 13 words with a hit. Windows across paragraphs do not count. The blank line behind
a paragraph goes with it, or the one before if none is left behind; all else stays byte by byte.

A span of words is cut out from the first letter of its first word to the last of its last one, with
the marks up to white space. Of the white space before and behind the one stays that has more line
feeds, so that lines and paragraphs which were apart stay apart.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools, TextBuffers, large_strings, read_only, text_buffers
from tokenmill.dedup.kernels.cut import copy_to, cut_documents
from tokenmill.dedup.kernels.gram_words import LINE_FEED, blank_lines
from tokenmill.dedup.kernels.words import cut_places
from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.text import unicode
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.dedup.text.gram_words import chars, count_words, dense
from tokenmill.dedup.text.words import Units, WordPlaces, word_characters

LEAST_WORDS = 13  # of a paragraph that is dropped
LEAST_FRAC = 0.5  # of its windows, of one length of the index, that it has


class Pieces(NamedTuple):
    """What is left of documents, in order.

    docs: (n_kept,) int64, the document that each piece was part of.
    starts, ends: (n_kept,) int64, UTF-8 bytes from the beginning of that document.
    n_pieces: (n_docs,) int64, pieces each document fell into, dropped or not: 0 if it was cut
        away whole, 1 if it was not cut or only at an end.
    """

    docs: I64
    starts: I64
    ends: I64
    n_pieces: I64


def cut(
    text: pa.Array,
    docs: I64,
    starts: I64,
    ends: I64,
    *,
    window_chars: int = 200,
    most_pieces: int = 10,
) -> Pieces:
    """Cut spans out of documents, with the text around them; the defaults are GPT-3's.

    text: (n_docs,) string column, no nulls.
    docs, starts, ends: (n_spans,) int64, rows of `text` and bytes of the document, at characters:
        of `dedup.overlap.find.Hits` or `Overlaps`; in any order, and spans may overlap.
    window_chars: removed on each side of a span.
    most_pieces: a document that falls into more is dropped.
    """
    data, offsets = text_buffers(text)
    spans = np.column_stack((docs, starts, ends))
    spans = spans[np.lexsort((ends, starts, docs))]
    pieces = np.empty((len(text) + len(spans), 3), np.int64)
    n_pieces = np.empty(len(text), np.int64)
    kept = cut_documents(
        data, offsets, read_only(spans), window_chars, most_pieces, pieces, n_pieces
    )
    of_docs, piece_starts, piece_ends = np.ascontiguousarray(pieces[:kept].T)
    return Pieces(of_docs, piece_starts, piece_ends, n_pieces)


def piece_texts(text: pa.Array, pieces: Pieces) -> pa.Array:
    """(n_kept,) large_string: the text of each piece."""
    return copy_spans(text_buffers(text), pieces.docs, pieces.starts, pieces.ends)


def copy_spans(text: TextBuffers, docs: I64, starts: I64, ends: I64) -> pa.Array:
    """(n_spans,) large_string: the bytes from `starts[i]` to `ends[i]` of document `docs[i]`."""
    begins, offsets = text.offsets[docs], np.append(0, np.cumsum(ends - starts))
    out = np.empty(offsets[-1], np.uint8)
    copy_to(text.data, begins + starts, begins + ends, offsets[:-1], out)
    return large_strings(out, offsets)


def joined(parts: pa.Array, docs: I64, n: int) -> pa.Array:
    """(n,) large_string, the parts of each document put together; docs: of each, ascending."""
    data, offsets = text_buffers(parts)
    return large_strings(data, offsets[np.searchsorted(docs, np.arange(n + 1))])


class Remaining(NamedTuple):
    """Documents without the paragraphs dropped, or the spans cut out, and where these stood.

    text: (n_docs,) large_string; "" where nothing is left.
    docs: (n_dropped,) int64, the document of each paragraph or span, in order.
    starts, ends: (n_dropped,) int64, its UTF-8 bytes from the beginning of the document.
    """

    text: pa.Array
    docs: I64
    starts: I64
    ends: I64


def drop_paragraphs(
    text: pa.Array, index: NgramIndex, ignored: Bools | None = None, folding: Folding | None = None
) -> Remaining:
    """Drop paragraphs of documents.

    text: (n_docs,) string column, no nulls; those with a hit are enough.
    ignored: (n_grams,) bool, n-grams of the index that count for nothing.
    folding: disguises that paragraphs are freed from before they are looked at, each by itself.
    """
    buffers = text_buffers(text)
    docs, starts, ends = _paragraphs(buffers)
    paragraphs = copy_spans(buffers, docs, starts, ends)
    seen = paragraphs if folding is None else fold(paragraphs, folding).text
    dropped = _dropped(seen, index, ignored)
    kept = np.flatnonzero(~dropped)
    # up to the next paragraph, if another one of the document is kept
    is_last = np.diff(docs[kept], append=len(text)) > 0
    stops = np.where(is_last, ends[kept], np.append(starts[1:], 0)[kept])
    parts = copy_spans(buffers, docs[kept], starts[kept], stops)
    left = joined(parts, docs[kept], len(text))
    return Remaining(left, docs[dropped], starts[dropped], ends[dropped])


def _paragraphs(text: TextBuffers) -> tuple[I64, I64, I64]:
    """(n_paragraphs,) each: document, first byte in it, byte after the last; in order.

    Every document has one at least; paragraphs may be empty.
    """
    data, offsets = text
    n_feeds = np.count_nonzero(data[offsets[0] : offsets[-1]] == LINE_FEED)
    blanks = np.empty((n_feeds // 2, 3), np.int64)
    blanks = blanks[: blank_lines(data, offsets, chars(), blanks)]
    whole = np.arange(len(offsets) - 1)
    first = np.column_stack((whole, np.zeros_like(whole)))
    last = np.column_stack((whole, np.diff(offsets)))
    docs, starts = _in_order(np.concatenate((first, blanks[:, ::2])))
    return docs, starts, _in_order(np.concatenate((blanks[:, :2], last)))[1]


def _in_order(places: I64) -> I64:
    """(2, n) of (n, 2) documents and places: by document, and as given within."""
    return np.ascontiguousarray(places[np.argsort(places[:, 0], kind="stable")].T)


def _dropped(paragraphs: pa.Array, index: NgramIndex, ignored: Bools | None) -> Bools:
    """(n_paragraphs,) bool, which to drop."""
    hits = find(paragraphs, index)
    if ignored is not None:
        hits = hits.only(~ignored[hits.grams])
    n_words = count_words(paragraphs, index.words)
    dropped = np.zeros(len(paragraphs), bool)
    for length in index.lengths.tolist():
        of_length = hits.lasts - hits.firsts + 1 == length
        found = np.bincount(hits.docs[of_length], minlength=len(paragraphs))
        dropped |= (found > 0) & (found >= LEAST_FRAC * (n_words - length + 1))
    return dropped & (n_words >= LEAST_WORDS * dense(paragraphs, n_words, index.words))


def cut_words(text: pa.Array, places: WordPlaces, docs: I64, firsts: I64, lasts: I64) -> Remaining:
    """Cut spans of words out of documents.

    places: of `text`.
    docs, firsts, lasts: (n_cuts,), document, first and last word in it; ascending, and a word at
        least between two of a document.
    """
    spans, out = np.column_stack((docs, firsts, lasts)), np.empty((len(docs), 2), np.int64)
    is_space, (pages, flags, _) = word_characters("whitespace").is_space, unicode.tables()
    cut_places(*text_buffers(text), *places, spans, is_space, pages, flags, out)
    starts, ends = np.ascontiguousarray(out.T)
    return Remaining(without(text, docs, starts, ends), docs, starts, ends)


def without(text: pa.Array, docs: I64, starts: I64, ends: I64) -> pa.Array:
    """(n_docs,) large_string: the documents without some of their bytes.

    docs, starts, ends: (n_cuts,) document and bytes in it, ascending, that do not overlap.
    """
    buffers = text_buffers(text)
    places = np.searchsorted(docs, np.arange(len(text) + 1))
    begins = np.insert(ends, places[:-1], 0)
    stops = np.insert(starts, places[1:], buffers.lengths)
    of = np.insert(docs, places[:-1], np.arange(len(text)))
    return joined(copy_spans(buffers, of, begins, stops), of, len(text))


def without_units(units: Units, keep: Bools) -> pa.Array:
    """(n_docs,) large_string: the documents without some of their lines.

    units: of `text.words.lines`.  keep: (n_lines,) bool.
    """
    lines, docs = units
    of = np.repeat(np.arange(len(docs) - 1), np.diff(docs))
    kept = np.flatnonzero(keep)
    has_feed = np.ones(len(keep), np.bool_)
    has_feed[docs[1:] - 1] = False  # the last line of a document
    is_last = np.diff(of[kept], append=-1) != 0
    stops = lines.lengths[kept] - (is_last & has_feed[kept])
    parts = copy_spans(lines, kept, np.zeros_like(kept), stops)
    return joined(parts, of[kept], len(docs) - 1)
