"""Ids copied to where they belong; words numbered, and their ids put in a row."""

from typing import Any

import numpy as np

from tokenmill.dedup.arrays import I32, I64, U8, U32
from tokenmill.dedup.kernels._jit import inlined, kernel


@kernel
def place(
    ids: U32, starts: I64, stops: I64, wanted: I64, bos: int, eos: int, out: Any, offsets: I64
) -> None:
    """Write documents, `ids[starts[i]:stops[i]]` each, to the places of `wanted`.

    out: any integer type wide enough.  offsets: of all documents in `out`.
    bos, eos: an id, or -1 for none.
    """
    for i in range(wanted.shape[0]):
        k = offsets[wanted[i]]
        if bos >= 0:
            out[k] = bos
            k += 1
        span = ids[starts[i] : stops[i]]
        to = out[k : k + span.shape[0]]  # a view, as in `dedup.kernels.cut.copy_to`
        for j in range(span.shape[0]):
            to[j] = span[j]
        if eos >= 0:
            out[k + span.shape[0]] = eos


@inlined
def _same(a: U8, a0: int, a1: int, b: U8, b0: int, b1: int) -> bool:
    if a1 - a0 != b1 - b0:
        return False
    for i in range(a1 - a0):  # noqa: SIM110 - no generators in kernels
        if a[a0 + i] != b[b0 + i]:
            return False
    return True


@kernel
def number_words(
    data: U8, offsets: I64, space: U8, table: I32, bounds: I64, letters: U8, n: int, words: I64,
    starts: I64,
) -> int:  # fmt: skip
    """Number the words of documents: white space, and what follows up to more of it.

    Words met for the first time get the next number, from `n` on; returned is the number after
    the last. space: (256,) 1 for bytes that are white space.  table: a power of two of slots, by
    hash, with the number of a word plus 1, or 0.  bounds, letters: word `w` is
    `letters[bounds[w]:bounds[w + 1]]`.  words: filled with the numbers; those of document `d` are
    `words[starts[d]:starts[d + 1]]`.
    """
    k = 0
    for d in range(offsets.shape[0] - 1):
        at, stop = offsets[d], offsets[d + 1]
        while at < stop:
            end = at
            h = np.uint64(0xCBF29CE484222325)
            while end < stop and space[data[end]]:
                h = (h ^ np.uint64(data[end])) * np.uint64(0x100000001B3)
                end += 1
            while end < stop and not space[data[end]]:
                h = (h ^ np.uint64(data[end])) * np.uint64(0x100000001B3)
                end += 1
            slot = np.int64((h ^ (h >> np.uint64(29))) & np.uint64(table.shape[0] - 1))
            w = table[slot] - 1
            while w >= 0 and not _same(data, at, end, letters, bounds[w], bounds[w + 1]):
                slot = (slot + 1) & (table.shape[0] - 1)
                w = table[slot] - 1
            if w < 0:
                w = n
                n += 1
                table[slot] = n
                begin = bounds[w]
                bounds[n] = begin + end - at
                for i in range(at, end):
                    letters[begin + i - at] = data[i]
            words[k] = w
            k += 1
            at = end
        starts[d + 1] = k
    return n


@kernel
def measure_words(words: I64, starts: I64, bounds: I64, apart: U8, offsets: I64, whole: U8) -> None:
    """How many ids documents have, from those of their words, and which are to be taken whole.

    bounds: of the ids of each word.  apart: of each word, 1 if no other may stand behind it.
    offsets: (n_docs + 1,) filled.  whole: (n_docs,) filled.
    """
    offsets[0] = 0
    for d in range(starts.shape[0] - 1):
        n = 0
        whole[d] = 0
        for k in range(starts[d], starts[d + 1]):
            n += bounds[words[k] + 1] - bounds[words[k]]
            if apart[words[k]] and k + 1 < starts[d + 1]:
                whole[d] = 1
        offsets[d + 1] = offsets[d] + n


@kernel
def join_words(words: I64, bounds: I64, ids: U32, out: U32) -> None:
    """Write the ids of words, `ids[bounds[w]:bounds[w + 1]]` each, one behind the other."""
    k = 0
    for i in range(words.shape[0]):
        for j in range(bounds[words[i]], bounds[words[i] + 1]):
            out[k] = ids[j]
            k += 1
