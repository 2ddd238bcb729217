"""What the rules of OBELICS measure of a text: its words, marks, and windows that repeat.

Marks are characters of no word, as points. Function words hold English sentences together; lists of
keywords lack them.
"""

import json
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F64, I32, I64, U8, U64, read_only, text_buffers
from tokenmill.dedup.kernels.words import hash_words
from tokenmill.dedup.text import unicode
from tokenmill.dedup.text.words import split_words
from tokenmill.pipelines.core.step import ratio
from tokenmill.pipelines.filters.kernels import node_facts as kernels
from tokenmill.pipelines.filters.kernels.node_facts import IN_TOKEN, POINT, SPECIAL
from tokenmill.pipelines.filters.kernels.urls import fill
from tokenmill.pipelines.filters.text.characters import LISTED, point_flags

POINTS = ",;:?!."

# ASCII's punctuation, digits and whitespace, some marks and letters; emoji of one character
MARKS, EMOJI = (" ".join(LISTED["obelics"][name]) for name in ("marks", "emoji"))


@cache
def marks_table() -> U8:
    """(0x110000,) uint8, the bits of every code point."""
    table = np.zeros(unicode.N_CODE_POINTS, np.uint8)
    table[unicode.code_points(MARKS, EMOJI)] |= SPECIAL
    table[point_flags() & unicode.WORD != 0] |= IN_TOKEN
    table[ord("'")] |= IN_TOKEN
    table[[ord(point) for point in POINTS]] |= POINT
    return read_only(table)


PADDING = 16  # bytes that may be read behind the last word


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
    text: pa.Array, *, char_ngram: int, word_ngram: int, lists: Sequence[U64]
) -> NodeFacts:
    """Measure (n_texts,) string or large_string; lists: as `word_table` gives them."""
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


def word_table(words: Collection[str]) -> U64:
    """(2**k,) uint64, what `node_facts` knows the words of a list by; their case is not changed."""
    encoded = [word.encode() for word in sorted(set(words) - {""})]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
    table = np.zeros(1 << max(2, (2 * len(encoded)).bit_length()), np.uint64)
    fill(read_only(_hashes(np.array(bytearray(b"".join(encoded)), np.uint8), ends)), table)
    return read_only(table)


def _char_facts(text: pa.Array, ngram: int) -> F64:
    """(N_CHAR_FACTS, n_texts), a row for each count of the kernel."""
    buffers = text_buffers(text)
    most = int(buffers.lengths.max(initial=1))
    out = np.empty((len(text), kernels.N_CHAR_FACTS), np.float64)
    points, tally = np.empty(most, np.uint32), np.zeros(most + 1, np.int64)
    kernels.char_facts(*buffers, marks_table(), ngram, points, *_tables(most), tally, out)
    return out.T


def _stripped_words(text: pa.Array) -> tuple[U64, I64]:
    """(n_words,) hashes of lower-cased words, and (n_texts + 1,) where each text's begin."""
    found = split_words(text_buffers(text), "whitespace")
    letters, every_end = np.empty_like(found.letters), np.empty_like(found.ends)
    text_words = np.empty_like(found.doc_words)
    kernels.strip_words(*found, marks_table(), letters, every_end, text_words)
    ends = every_end[: text_words[-1]]
    return _hashes(letters[: ends[-1] if len(ends) else 0], ends), text_words


def _hashes(letters: U8, ends: I64) -> U64:
    padded = np.zeros((len(letters) + 2 * PADDING) // 8 * 8, np.uint8)
    padded[: len(letters)] = letters
    out = np.empty(len(ends), np.uint64)
    hash_words(padded.view("<u8"), ends, out)
    return out


def _tables(most: int) -> tuple[U64, I32]:
    """Keys and counts for as many windows."""
    slots = 1 << max(2, (2 * most - 1).bit_length())
    return np.empty(slots, np.uint64), np.empty(slots, np.int32)


def _how_many(words: U64, text_words: I64, known: U64) -> F64:
    """(n_texts,) words of each that are known."""
    out = np.zeros(len(text_words) - 1, np.float64)
    if known.any():
        kernels.count_known(words, text_words, known, out)
    return out


def _share(part: npt.ArrayLike, whole: npt.ArrayLike) -> F64:
    """Part / whole; 0 of nothing, as OBELICS has it."""
    return np.nan_to_num(ratio(part, whole), nan=0.0)


# a list of ours
FUNCTION_WORDS = Path(__file__).with_name("words.json")
ENGLISH = frozenset(" ".join(json.loads(FUNCTION_WORDS.read_bytes()).values()).split())
