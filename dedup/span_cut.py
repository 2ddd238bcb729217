"""Spans of words cut out of documents.

    text --> where its words are --> bytes of spans --> what is left

From the first letter of a span's first word to the last of its last one, and the marks up to white
space. Of the white space before and behind the one stays that has more line feeds, so that lines
and paragraphs which were apart stay apart.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup import unicode
from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import TextBuffers, text_buffers
from tokenmill.dedup.cut import copy_spans
from tokenmill.dedup.kernels import word_places as kernels
from tokenmill.dedup.shingle import Words
from tokenmill.dedup.spans import Units

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]


class WordPlaces(NamedTuple):
    """Words of documents; those of document `d` are `doc_words[d]:doc_words[d + 1]`.

    starts, ends: (n_words,) int64, UTF-8 bytes from the beginning of the document.
    doc_words: (n_docs + 1,) int64.
    """

    starts: Ints
    ends: Ints
    doc_words: Ints


class Rest(NamedTuple):
    """What is left of documents.

    text: (n_docs,) large_string.
    starts, ends: (n_cuts,) int64, the bytes cut, from the beginning of the document.
    """

    text: pa.Array
    starts: Ints
    ends: Ints


def word_places(text: TextBuffers, words: Words) -> WordPlaces:
    """Find the words of documents, as `dedup.shingle` has them."""
    data, offsets = text
    # a word and a separator: 2 bytes
    room = int(offsets[-1] - offsets[0] + len(offsets)) // 2 + 1
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    doc_words = np.empty(len(offsets), np.int64)
    pages, flags, _ = unicode.tables()
    is_word = _characters(words)
    kernels.word_places(
        read_only(data), read_only(offsets), is_word, pages, flags, starts, ends, doc_words
    )
    n = int(doc_words[-1])
    return WordPlaces(starts[:n], ends[:n], doc_words)


def cut_words(text: pa.Array, places: WordPlaces, docs: Ints, firsts: Ints, lasts: Ints) -> Rest:
    """Cut spans of words out of documents.

    places: of `text`.
    docs, firsts, lasts: (n_cuts,), document, first and last word in it; ascending, and a word at
        least between two of a document.
    """
    data, offsets = text_buffers(text)
    spans, out = np.column_stack((docs, firsts, lasts)), np.empty((len(docs), 2), np.int64)
    pages, flags, _ = unicode.tables()
    kernels.cut_places(
        read_only(data),
        read_only(offsets),
        read_only(places.starts),
        read_only(places.ends),
        read_only(places.doc_words),
        read_only(spans),
        read_only(1 - _characters("whitespace")),
        pages,
        flags,
        out,
    )
    starts, ends = np.ascontiguousarray(out.T)
    return Rest(without(text, docs, starts, ends), starts, ends)


def without(text: pa.Array, docs: Ints, starts: Ints, ends: Ints) -> pa.Array:
    """(n_docs,) large_string: the documents without some of their bytes.

    docs, starts, ends: (n_cuts,) document and bytes in it, ascending, that do not overlap.
    """
    data, offsets = text_buffers(text)
    places = np.searchsorted(docs, np.arange(len(text) + 1))
    begins = np.insert(offsets[docs] + ends, places[:-1], offsets[:-1])
    stops = np.insert(offsets[docs] + starts, places[1:], offsets[1:])
    parts = copy_spans(data, begins, stops)
    lengths = np.diff(offsets)
    np.subtract.at(lengths, docs, ends - starts)
    return pa.LargeStringArray.from_buffers(
        len(text), pa.py_buffer(np.append(0, np.cumsum(lengths))), parts.buffers()[2]
    )


def without_units(units: Units, keep: npt.NDArray[np.bool_]) -> pa.Array:
    """(n_docs,) large_string: the documents without some of their lines.

    units: of `dedup.spans.lines`.  keep: (n_lines,) bool.
    """
    (data, offsets), docs = units
    of = np.repeat(np.arange(len(docs) - 1), np.diff(docs))
    kept = np.flatnonzero(keep)
    ends = offsets[1:].copy()
    ends[docs[1:] - 1] += 1  # the last line of a document has no line feed behind it
    is_last = np.diff(of[kept], append=-1) != 0
    stops = np.where(is_last, ends[kept] - 1, offsets[1:][kept])
    parts = copy_spans(data, offsets[kept], stops)
    lengths = np.zeros(len(docs) - 1, np.int64)
    np.add.at(lengths, of[kept], stops - offsets[kept])
    return pa.LargeStringArray.from_buffers(
        len(lengths), pa.py_buffer(np.append(0, np.cumsum(lengths))), parts.buffers()[2]
    )


@cache
def _characters(words: Words) -> Flags:
    """(256,) by flags of dedup.unicode: 1 for characters of words."""
    flags = np.arange(256, dtype=np.uint8)
    is_word = (flags & unicode.WORD) != 0 if words == "unicode" else (flags & unicode.SPACE) == 0
    return read_only(is_word.astype(np.uint8))
