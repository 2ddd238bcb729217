"""Documents as hashed words, by line: what our own language models are trained on and score.

    text ── lines, CCNet's normalization ──► words ── 64 bits each ──► hashes, 0 behind each line
    CCNet: strip ─► lower case ─► no accents ─► digits as 0 ─► ASCII punctuation ─► no control

`normalize` is CCNet's normalization of a string, which KenLM models are read with; our own models
take a table of what each character is, and becomes. A word is a run of letters, digits and marks;
every other character, punctuation above all, is a word by itself, and so is a character of a script
that is written without spaces. A vocabulary gives the words that a model knows their ids.

Departures of the table from CCNet, whose models read pieces of SentencePiece: white space ends a
word, where CCNet deletes tabs and joins what they part; characters of format, as soft hyphens, are
deleted; a final sigma is a sigma. Lower case and classes are of a frozen version of Unicode
(dedup.text.unicode), those of `normalize` of the interpreter's, as CCNet's.

Source: cc_net/text_normalizer.py of facebookresearch/cc_net (MIT), `normalize`. With its slip of a
full-width 1 among the punctuation, which never matters: digits are 0 by then.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import (
    I64,
    U32,
    U64,
    TextBuffers,
    parts,
    power_of_two,
    read_only,
    text_buffers,
)
from tokenmill.dedup.text import unicode
from tokenmill.pipelines.filters.kernels import ngrams as kernels

MARKS = "，、。„”“«»」「《》´’∶：？！（）；–━►～〈〉【】％"
PLAIN = ',,."""""""""\'\'::?!();---~<>[]%'  # of each mark
PUNCTUATION = dict(zip(MARKS, PLAIN, strict=True)) | {"—": " - ", "．": ". ", "…": "..."}


def normalize(text: str) -> str:
    """Text as CCNet's models read it; a whole document loses its newlines so, as there.

    >>> normalize(" Café, 1984 — „so“ ")
    'cafe, 0000  -  "so"'
    """
    return unicodedata.normalize("NFD", text.strip().lower()).translate(_CHARACTERS)


def became(char: str) -> str:
    """What is made of one character in lower case, the characters around it aside.

    >>> became("é"), became("…")
    ('e', '...')
    """
    return unicodedata.normalize("NFD", char).translate(_CHARACTERS)


class _Characters(dict[int, str]):
    """What each character of decomposed text becomes; found when it is first met."""

    def __missing__(self, cp: int) -> str:
        self[cp] = made = _made(chr(cp))
        return made


def _made(char: str) -> str:
    kind = unicodedata.category(char)
    if kind in ("Mn", "Cc"):
        return ""
    return "0" if kind == "Nd" else PUNCTUATION.get(char, char)


_CHARACTERS = _Characters()


# Thai to Tibetan, Myanmar, Khmer, kana, ideographs
WITHOUT_SPACES = (
    (0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)  # fmt: skip
DELETED = int(kernels.DELETED) << int(kernels.KIND)
FINAL_SIGMA, SIGMA = "\u03c2", "\u03c3"
# ideographs and characters of private use: five in six, and each stands alone as it is
AS_THEY_ARE = ((0x3400, 0x9FFF), (0xE000, 0xF8FF), (0x20000, 0x2F7FF), (0xF0000, 0x10FFFF))


class Characters(NamedTuple):
    """Tables of the word kernel, as it describes them; read-only, threads share them."""

    actions: U32
    many: U32


@cache
def characters() -> Characters:
    """Make the tables; once a process, a fraction of a second."""
    frozen = unicode.tables()
    cps = np.arange(unicode.N_CODE_POINTS)
    places = frozen.pages[cps >> 8].astype(np.int64) * unicode.PAGE + (cps & 255)
    lower = (cps + frozen.lower_delta[places]) & 0xFFFF_FFFF
    looked_at = frozen.flags[places] & unicode.UNASSIGNED == 0
    for first, last in AS_THEY_ARE:
        looked_at[first : last + 1] = False
    actions = _action(kernels.ALONE, cps)
    many = [0]  # place 0 is of none
    for cp, low in zip(cps[looked_at].tolist(), lower[looked_at].tolist(), strict=True):
        found = [_action_of(char) for char in _became(chr(low))]
        if len(found) == 1:
            actions[cp] = found[0]
        else:
            actions[cp] = _action(kernels.MANY, len(many)) if found else DELETED
            many += [len(found), *found] if found else []
    return Characters(read_only(actions), read_only(np.array(many, np.uint32)))


def _became(char: str) -> str:
    """What CCNet makes of a character in lower case."""
    if char == FINAL_SIGMA:
        return SIGMA
    return char if char.isspace() else became(char)


@cache
def _action_of(char: str) -> int:
    cp, kind = ord(char), unicodedata.category(char)
    if char == "\n":
        return int(_action(kernels.LINE_END, 0))
    if char.isspace() or kind[0] == "Z":
        return int(_action(kernels.SPACE, 0))
    if kind in ("Mn", "Cf"):
        return DELETED
    in_word = kind[0] in "LNM" or char == "_"
    alone = not in_word or any(first <= cp <= last for first, last in WITHOUT_SPACES)
    return int(_action(kernels.ALONE if alone else kernels.IN_WORD, cp))


def _action(kind: np.uint32, value: int | I64) -> U32:
    return np.asarray((int(kind) << int(kernels.KIND)) | np.asarray(value), np.uint32)


BOUNDARY_HASH = int(kernels.BOUNDARY_HASH)
BLOCK_BYTES = 1 << 16  # of text at a time: its hashes and n-grams stay in the second-level cache


class LineWords(NamedTuple):
    """Words of document `i` are `hashes[doc_ends[i]:doc_ends[i + 1]]`, BOUNDARY_HASH after a line.

    hashes: (n_words,) uint64; lines without words have none.
    doc_ends: (n_docs + 1,) int64.
    """

    hashes: U64
    doc_ends: I64


class PlacedWords(NamedTuple):
    """words: of documents.  spans: (n_words, 2) int64, the bytes of their text each came from."""

    words: LineWords
    spans: I64
    text: TextBuffers

    def span(self, word: int) -> bytes:
        """The text that a word came from, as it stands there."""
        start, end = self.spans[word]
        return self.text.data[start:end].tobytes()


def line_words(text: pa.Array) -> LineWords:
    """The words of each document.  text: (n_docs,) string or large_string, no nulls."""
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
    kernels.word_hashes(*text, *characters(), hashes, spans, doc_ends)
    n = doc_ends[-1]
    return PlacedWords(LineWords(hashes[:n], doc_ends), spans[:n], text)


FIRST_WORD = 2  # ids 0 and 1 are UNKNOWN and BOUNDARY


class Vocabulary:
    """Words, the one at `i` having id `FIRST_WORD + i`.

    words: (n_words,) large_string, each as `line_words` finds them, all different; or ValueError.
    """

    def __init__(self, words: pa.Array) -> None:
        found = line_words(words)
        if not np.array_equal(found.doc_ends, 2 * np.arange(len(words) + 1)):
            raise ValueError("what is in the vocabulary is not a word each")
        self.words = words
        n_slots = power_of_two(2 * len(words))
        slots, rows = np.zeros(n_slots, np.uint64), np.zeros(n_slots, np.uint32)
        if not kernels.fill(read_only(found.hashes[::2]), slots, rows):
            raise ValueError("words stand there twice")
        self._table = read_only(slots), read_only(rows)

    def __len__(self) -> int:
        """With UNKNOWN and BOUNDARY."""
        return len(self.words) + FIRST_WORD

    def ids(self, hashes: U64) -> U32:
        """(n_words + 1,) uint32, of hashed words, after a BOUNDARY."""
        ids = np.empty(len(hashes) + 1, np.uint32)
        ids[0] = kernels.BOUNDARY
        heads = np.empty(len(hashes), np.uint64)
        kernels.word_ids(read_only(hashes), *self._table, FIRST_WORD, heads, ids[1:])
        return ids

    @cached_property
    def names(self) -> npt.NDArray[np.object_]:
        """(n_ids,), of all ids, as ARPA files have them."""
        return np.array(["<unk>", "<s>", *self.words.to_pylist()], np.object_)
