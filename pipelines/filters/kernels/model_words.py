"""From UTF-8 text to one hash for each of its words, a line a sentence."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.table import FOLD, finalized
from tokenmill.dedup.kernels.u64 import ONE
from tokenmill.dedup.kernels.utf8 import BLANK, decode

# What an action says of a character, above the 24 bits of a code point.
SPACE = np.uint32(0)  # ends a word
IN_WORD = np.uint32(1)  # part of a word, as the code point
ALONE = np.uint32(2)  # ends a word and is one, as the code point
DELETED = np.uint32(3)
LINE_END = np.uint32(4)
MANY = np.uint32(5)  # several others, listed at this place
KIND = np.uint32(24)
VALUE = np.uint32(0xFFFFFF)

BOUNDARY_HASH = np.uint64(0)  # of no word: the end of a line that has any
SEED = np.uint64(0x243F6A8885A308D3)


@inlined
def taken(h: np.uint64, cp: np.uint32) -> np.uint64:
    """A word's hash with one more code point."""
    return np.uint64((h ^ np.uint64(cp)) * FOLD)


@kernel
def word_hashes(
    data: U8, offsets: I64, actions: U32, many: U32, hashes: U64, spans: I64, doc_ends: I64
) -> None:
    """Hash the words of each document, with BOUNDARY_HASH behind those of each line.

    actions: (0x110000,) by code point.
    many: how many actions there are, then these, at the places that MANY says.
    hashes: as many as bytes, half of them again, and two for each document.
    spans: (len(hashes), 2), the bytes of `data` that each came from; or (0, 2), for none.
    doc_ends: (n_docs + 1,), where in `hashes` each document's end; `doc_ends[0]` is 0.
    """
    with_spans = spans.shape[0] > 0
    n = 0
    doc_ends[0] = 0
    for d in range(offsets.shape[0] - 1):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        line = n
        h = SEED
        start = i
        in_word = False
        while i <= end:
            size = ONE
            action = np.uint32(LINE_END << KIND)  # of the document's end too
            if i < end:
                cp, size = decode(data, i, end, BLANK)
                action = actions[cp]
            kind = np.uint32(action >> KIND)
            at = np.int64(0)
            left = np.int64(1)
            if kind == MANY:
                at = np.int64(action & VALUE)
                left = np.int64(many[at])
            while left > 0:
                left -= 1
                if at > 0:
                    at += 1
                    action = many[at]
                    kind = np.uint32(action >> KIND)
                if kind == IN_WORD:
                    if not in_word:
                        start = i
                        in_word = True
                    h = taken(h, np.uint32(action & VALUE))
                elif kind != DELETED:
                    if in_word:
                        hashes[n] = finalized(h)
                        if with_spans:
                            spans[n, 0] = start
                            spans[n, 1] = i
                        n += 1
                        h = SEED
                        in_word = False
                    if kind == ALONE:
                        hashes[n] = finalized(taken(SEED, np.uint32(action & VALUE)))
                        if with_spans:
                            spans[n, 0] = i
                            spans[n, 1] = i + size
                        n += 1
                    elif kind == LINE_END and n > line:
                        hashes[n] = BOUNDARY_HASH
                        if with_spans:
                            spans[n, 0] = i
                            spans[n, 1] = i
                        n += 1
                        line = n
            i += size
        doc_ends[d + 1] = n
