"""Documents as hashed words, by line: what our own language models are trained on and score.

text --lines, CCNet's normalization--> words --64 bits each--> hashes, 0 behind each line
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import parts, read_only
from tokenmill.dedup.arrow_text import TextBuffers, text_buffers
from tokenmill.pipelines.perplexity.characters import characters
from tokenmill.pipelines.perplexity.kernels import words as kernels

BOUNDARY_HASH = int(kernels.BOUNDARY_HASH)
BLOCK_BYTES = 1 << 16  # of text at a time: its hashes and n-grams stay in the second-level cache


class LineWords(NamedTuple):
    """Words of document `i` are `hashes[doc_ends[i]:doc_ends[i + 1]]`, BOUNDARY_HASH after a line.

    hashes: (n_words,) uint64; lines without words have none.
    doc_ends: (n_docs + 1,) int64.
    """

    hashes: npt.NDArray[np.uint64]
    doc_ends: npt.NDArray[np.int64]


class PlacedWords(NamedTuple):
    """words: of documents.  spans: (n_words, 2) int64, the bytes of their text each came from."""

    words: LineWords
    spans: npt.NDArray[np.int64]
    text: TextBuffers

    def span(self, word: int) -> bytes:
        """The text that a word came from, as it stands there."""
        start, end = self.spans[word]
        return self.text.data[start:end].tobytes()


def line_words(text: pa.Array) -> LineWords:
    """The words of each document.

    text: (n_docs,) string or large_string, no nulls.
    """
    return _found(text_buffers(text), with_spans=False).words


def placed_words(text: pa.Array) -> PlacedWords:
    """The words of each document, and where they stand."""
    return _found(text_buffers(text), with_spans=True)


def blocks(text: pa.Array) -> Iterator[tuple[slice, LineWords]]:
    """The words of some documents at a time, and which these are."""
    whole = text_buffers(text)
    for rows in parts(whole.lengths, BLOCK_BYTES):
        part = TextBuffers(whole.data, whole.offsets[rows.start : rows.stop + 1])
        yield rows, _found(part, with_spans=False).words


def _found(text: TextBuffers, *, with_spans: bool) -> PlacedWords:
    n_docs = len(text.offsets) - 1
    n_bytes = int(text.offsets[-1] - text.offsets[0])
    room = n_bytes + n_bytes // 2 + 2 * n_docs + 1  # "a\na\n": two words and two boundaries in 4
    hashes = np.empty(room, np.uint64)
    spans = np.empty((room if with_spans else 0, 2), np.int64)
    doc_ends = np.empty(n_docs + 1, np.int64)
    tables = characters()
    kernels.word_hashes(
        read_only(text.data), read_only(text.offsets), *tables, hashes, spans, doc_ends
    )
    n = doc_ends[-1]
    return PlacedWords(LineWords(hashes[:n], doc_ends), spans[:n], text)
