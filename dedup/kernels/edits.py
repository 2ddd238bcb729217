"""Edits of the texts of a column: done at once, and the way back from what they made.

text, edits --> edited text
spans of it, edits --> spans of the text
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, inlined, kernel
from tokenmill.dedup.kernels.table import n_less


class Edits(NamedTuple):
    """Bytes of a text column that become others.

    doc_ends: (n_docs,) edits up to the last of each document.
    spots: (n_edits, 4) the bytes `start:end` that go; the end in `fresh` of those that come,
        which begin where those of the edit before end; bits of the foldings that did it.
    """

    doc_ends: I64
    spots: I64
    fresh: U8


class Found(NamedTuple):
    """How much room the edits need that a kernel has found, stored or not."""

    edits: int
    fresh: int


@inlined
def note(spots: I64, n: int, start: int, end: int, fresh: int, kinds: np.int64 | int) -> int:
    """Append an edit to the `n` there if there is room; return their number."""
    if n < spots.shape[0]:
        spots[n, 0] = start
        spots[n, 1] = end
        spots[n, 2] = fresh
        spots[n, 3] = kinds
    return n + 1


@inlined
def copy(data: U8, start: int, stop: int, out: U8, at: int) -> int:
    """Write `data[start:stop]` at `at`; return the place after it."""
    these, there = data[start:stop], out[at : at + stop - start]
    for k in range(these.shape[0]):
        there[k] = these[k]
    return at + stop - start


@kernel
def splice(data: U8, offsets: I64, edits: Edits, out: U8, out_offsets: I64, out_ends: I64) -> None:
    """Write the edited documents one after the other.

    out_offsets: (n_docs + 1,), out.
    out_ends: (n_edits,), out; the byte of `out` after the fresh bytes of each edit.
    """
    doc_ends, spots, fresh = edits
    at, e, used = 0, 0, 0
    out_offsets[0] = 0
    for d in range(out_offsets.shape[0] - 1):
        i = offsets[d]
        while e < doc_ends[d]:
            at = copy(data, i, spots[e, 0], out, at)
            at = copy(fresh, used, spots[e, 2], out, at)
            i, used = spots[e, 1], spots[e, 2]
            out_ends[e] = at
            e += 1
        at = copy(data, i, offsets[d + 1], out, at)
        out_offsets[d + 1] = at


@kernel
def unsplice(
    offsets: I64, edits: Edits, out_offsets: I64, out_ends: I64, docs: I64, spans: I64, kinds: U8
) -> None:
    """Turn spans of edited documents into spans of what they were; add up the kinds of edits.

    docs: (n_spans,) the document of each, -1 for one that was not edited.
    spans: (n_spans, 2) bytes from the beginning of a document, in and out.
    An edit that only deletes bytes at the edge of a span is not part of it.
    """
    doc_ends, spots, _ = edits
    for s in range(docs.shape[0]):
        d = docs[s]
        if d < 0 or spans[s, 0] >= spans[s, 1]:
            continue
        first, last = doc_ends[d - 1] if d else 0, doc_ends[d]
        start, end = spans[s, 0] + out_offsets[d], spans[s, 1] + out_offsets[d]
        e = first + n_less(out_ends[first:last], start + 1)
        # the first edit whose fresh bytes end after the span's start
        shift = spots[e - 1, 1] - out_ends[e - 1] if e > first else offsets[d] - out_offsets[d]
        spans[s, 0] = start + shift
        if e < last:  # it may have begun before
            spans[s, 0] = min(start + shift, spots[e, 0])
        spans[s, 1] = end + shift
        while e < last and out_ends[e] - (spots[e, 2] - (spots[e - 1, 2] if e else 0)) < end:
            kinds[s] |= spots[e, 3]
            spans[s, 1] = spots[e, 1] + max(end - out_ends[e], 0)
            e += 1
        spans[s, 0] -= offsets[d]
        spans[s, 1] -= offsets[d]
