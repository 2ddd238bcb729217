"""Documents as sets of shingles: hashed windows of consecutive, lower-cased words.

    text --str.lower()--> words --hash each--> windows of n --combine--> 32 bits each

The hashes are part of the file formats of a run: they depend on the text and the settings
alone, not on the machine or the version of Python, and a golden test holds them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U32, U64, TextBuffers, text_buffers
from tokenmill.dedup.kernels import ngrams as kernels
from tokenmill.dedup.text.words import LARGE_BYTES, Words, hashes_of, pieces


class Shingles(NamedTuple):
    """Hashes of all windows; those of document `i` are `hashes[offsets[i]:offsets[i + 1]]`."""

    hashes: U32
    offsets: I64


def shingles_of(text: TextBuffers, *, ngram: int, words: Words) -> Iterator[Shingles]:
    """Hash every window of `ngram` words in each document.

    A document of fewer words is one shingle of all its words; one without words has none. Those of
    a single document of more than LARGE_BYTES come in several parts.
    """
    if len(text.offsets) > 2 or text.n_bytes <= LARGE_BYTES:
        yield _windows(*hashes_of(text, words), ngram)
        return
    carried = np.empty(0, np.uint64)  # words that windows of the next part begin with
    whole = False  # whether there was a window of `ngram` words
    for part in pieces(text, LARGE_BYTES):
        found = np.concatenate((carried, hashes_of(part, words)[0]))
        last = part.offsets[-1] == text.offsets[-1] and not whole
        if len(found) >= ngram or last:
            whole = True
            yield _windows(found, np.array([0, len(found)]), ngram)
        carried = found[max(0, len(found) - ngram + 1) :]


def _windows(word_hashes: U64, doc_words: I64, ngram: int) -> Shingles:
    hashes = np.empty(len(word_hashes), np.uint32)
    offsets = np.empty(len(doc_words), np.int64)
    kernels.shingle_hashes(word_hashes, doc_words, ngram, leaving(ngram), hashes, offsets)
    return Shingles(hashes[: offsets[-1]], offsets)


def leaving(ngram: int) -> np.uint64:
    """The weight of the word that leaves a window of so many."""
    return np.uint64(pow(int(kernels.NGRAM_BASE), ngram - 1, 1 << 64))


def shingle_hash(shingle: bytes) -> int:
    """Hash one shingle, given as its lower-cased words in UTF-8 with single spaces between.

    This is the `hashfunc` with which a datasketch.MinHash equals our signatures:

    >>> import datasketch
    >>> from tokenmill.dedup.text.shingle import shingle_hash
    >>> m = datasketch.MinHash(num_perm=112, scheme="affine32", hashfunc=shingle_hash)
    >>> m.update(b"five words make one shingle")
    """
    text = text_buffers(pa.array([shingle.decode()]))
    (found,) = shingles_of(text, ngram=shingle.count(b" ") + 1, words="whitespace")
    return int(found.hashes[0])
