"""Documents without what they have in common with benchmarks, as GPT-3 was cleaned.

Brown et al. 2020, arXiv:2005.14165, appendix C: "we removed the colliding 13-gram as well as a 200
character window around it, splitting the original document into pieces. … Pieces less than 200
characters long were discarded. Documents split into more than 10 pieces were considered
contaminated and removed entirely." What the text leaves open is decided here:
- characters are Unicode code points of the document as it stands, not of its words;
- the window is 200 characters before the first letter of the n-gram and 200 behind the last;
- a cut is a maximal union of n-grams and their windows: where windows overlap or touch there is
  one cut, however many n-grams lie in it. A leak of 23 words in a row is one cut, not eleven;
- a document falls into the pieces between its cuts, empty ones apart; pieces of every length
  count towards the 10, so that those under 200 characters are for the caller to discard;
- a document without a cut is kept whole, whatever its length.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.kernels.cut import copy_ranges, cut_documents


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """How to cut; the defaults are GPT-3's.

    window_chars: removed on each side of an n-gram.
    most_pieces: a document that falls into more is dropped.
    """

    window_chars: int = 200
    most_pieces: int = 10


class Pieces(NamedTuple):
    """What is left of documents, in order.

    docs: (n_kept,) int64, the document that each piece was part of.
    starts, ends: (n_kept,) int64, UTF-8 bytes from the beginning of that document.
    n_pieces: (n_docs,) int64, pieces each document fell into, dropped or not: 0 if it was cut
        away whole, 1 if it was not cut or only at an end.
    """

    docs: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    n_pieces: npt.NDArray[np.int64]


def cut(
    text: pa.Array,
    docs: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    cutting: Cutting | None = None,
) -> Pieces:
    """Cut spans out of documents, with the text around them.

    text: (n_docs,) string column, no nulls.
    docs, starts, ends: (n_spans,) int64, rows of `text` and bytes of the document, at characters:
        of `dedup.overlap.Hits` or `Overlaps`; in any order, and spans may overlap.
    """
    rules = cutting or Cutting()
    data, offsets = text_buffers(text)
    spans = np.column_stack((docs, starts, ends))
    spans = spans[np.lexsort((ends, starts, docs))]
    pieces = np.empty((len(text) + len(spans), 3), np.int64)
    n_pieces = np.empty(len(text), np.int64)
    kept = cut_documents(
        read_only(data),
        read_only(offsets),
        read_only(spans),
        rules.window_chars,
        rules.most_pieces,
        pieces,
        n_pieces,
    )
    of_docs, piece_starts, piece_ends = np.ascontiguousarray(pieces[:kept].T)
    return Pieces(of_docs, piece_starts, piece_ends, n_pieces)


def piece_texts(text: pa.Array, pieces: Pieces) -> pa.Array:
    """(n_kept,) large_string: the text of each piece."""
    data, offsets = text_buffers(text)
    begins = offsets[pieces.docs]
    return copy_spans(data, begins + pieces.starts, begins + pieces.ends)


def copy_spans(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> pa.Array:
    """(n_spans,) large_string: `data[starts[i]:ends[i]]` of each."""
    out = np.empty(int((ends - starts).sum()), np.uint8)
    out_offsets = np.empty(len(starts) + 1, np.int64)
    copy_ranges(read_only(data), read_only(starts), read_only(ends), out, out_offsets)
    return pa.LargeStringArray.from_buffers(
        len(starts), pa.py_buffer(out_offsets), pa.py_buffer(out)
    )
