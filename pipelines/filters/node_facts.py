"""What the rules of OBELICS measure of a text: its words, marks, and windows that repeat."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.kernels.words import hash_words
from tokenmill.dedup.shingle import split_words
from tokenmill.pipelines.filters.kernels import node_facts as kernels
from tokenmill.pipelines.filters.marks import marks_table
from tokenmill.pipelines.filters.rules import ratio

PADDING = 16  # bytes that may be read behind the last word

F64 = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]


class NodeFacts(NamedTuple):
    """Of each text, (n_texts,) float64.

    n_words: pieces between whitespace, less special characters at their ends, if any is left.
    char_repetition: share of windows of characters that are one of the most frequent.
    word_repetition: share of windows of words that occur again in the text.
    special: special characters per character.  points: per token.  n_tokens: points and `[\\w']+`.
    shares: for each list of words, the share of words that are in it; 0 of no words.
    """

    n_words: F64
    char_repetition: F64
    word_repetition: F64
    special: F64
    points: F64
    n_tokens: F64
    shares: tuple[F64, ...]


def node_facts(
    text: pa.Array, *, char_ngram: int, word_ngram: int, lists: Sequence[Hashes]
) -> NodeFacts:
    """Measure texts.

    text: (n_texts,) string or large_string.  lists: as `word_table` gives them.
    """
    chars = _char_facts(text, char_ngram)
    words, text_words = _stripped_words(text)
    n_words = np.diff(text_words)
    repetition = np.empty(len(text), np.float64)
    tables = _tables(int(n_words.max(initial=1)))
    kernels.repeated_windows(words, text_words, word_ngram, *tables, repetition)
    return NodeFacts(
        n_words.astype(np.float64),
        chars[kernels.REPETITION],
        repetition,
        _share(chars[kernels.N_SPECIAL], chars[kernels.N_CHARS]),
        _share(chars[kernels.N_POINTS], chars[kernels.N_TOKENS]),
        chars[kernels.N_TOKENS],
        tuple(_share(_how_many(words, text_words, known), n_words) for known in lists),
    )


def word_table(words: Collection[str]) -> Hashes:
    """(2**k,) uint64, what `node_facts` knows the words of a list by; their case is not changed."""
    encoded = [word.encode() for word in sorted(set(words) - {""})]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
    table = np.zeros(1 << max(2, (2 * len(encoded)).bit_length()), np.uint64)
    mask = len(table) - 1
    for key in _hashes(np.array(bytearray(b"".join(encoded)), np.uint8), ends).tolist():
        at = key & mask
        while table[at]:
            at = (at + 1) & mask
        table[at] = key
    return read_only(table)


def _char_facts(text: pa.Array, ngram: int) -> F64:
    """(N_CHAR_FACTS, n_texts), a row for each count of the kernel."""
    buffers = text_buffers(text)
    most = int(buffers.lengths.max(initial=1))
    out = np.empty((len(text), kernels.N_CHAR_FACTS), np.float64)
    scratch = (np.empty(most, np.uint32), *_tables(most), np.zeros(most + 1, np.int64))
    data, offsets = read_only(buffers.data), read_only(buffers.offsets)
    kernels.char_facts(data, offsets, marks_table(), ngram, *scratch, out)
    return out.T


def _stripped_words(text: pa.Array) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """(n_words,) hashes of lower-cased words, and (n_texts + 1,) where each text's begin."""
    found = split_words(text_buffers(text), "whitespace")
    letters, every_end = np.empty_like(found.letters), np.empty_like(found.ends)
    text_words = np.empty_like(found.doc_words)
    kernels.strip_words(*found, marks_table(), letters, every_end, text_words)
    ends = every_end[: text_words[-1]]
    return _hashes(letters[: ends[-1] if len(ends) else 0], ends), text_words


def _hashes(letters: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> Hashes:
    padded = np.zeros((len(letters) + 2 * PADDING) // 8 * 8, np.uint8)
    padded[: len(letters)] = letters
    out = np.empty(len(ends), np.uint64)
    hash_words(padded.view("<u8"), ends, out)
    return out


def _tables(most: int) -> tuple[Hashes, npt.NDArray[np.int32]]:
    """Keys and counts for as many windows."""
    slots = 1 << max(2, (2 * most - 1).bit_length())
    return np.empty(slots, np.uint64), np.empty(slots, np.int32)


def _how_many(words: Hashes, text_words: npt.NDArray[np.int64], known: Hashes) -> F64:
    """(n_texts,) words of each that are known."""
    out = np.zeros(len(text_words) - 1, np.float64)
    if known.any():
        kernels.count_known(words, text_words, known, out)
    return out


def _share(part: npt.ArrayLike, whole: npt.ArrayLike) -> F64:
    """Part / whole; 0 of nothing, as OBELICS has it."""
    return np.nan_to_num(ratio(part, whole), nan=0.0)
