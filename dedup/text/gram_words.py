"""The words that benchmark overlap compares.

The *gram words* of a text are those of GPT-3's overlap analysis (Brown et al. 2020,
arXiv:2005.14165, appendix C): lower case, without punctuation, delimited by whitespace.
Exactly:
- a word is a maximal run of characters at which `str.split()` does not split, nor is one the
  Ethiopic wordspace or a mark in its place (U+1360 to U+1368);
- punctuation is Unicode's general category P* and all of ASCII's `string.punctuation`
  (so `$+<=>^`|~` too); it is deleted, not replaced: "well-known" is the word "wellknown",
  and a word of punctuation alone vanishes;
- each code point is lower-cased by itself: a final sigma like any other, U+0130 to "i";
- but `apart`, as edited copies are looked for, punctuation other than apostrophes stands between
  words: "utils/read-me.md" is four of them, "don't" one;
- and with `scripts`, the default, one character, or grapheme cluster, is a word where a script sets
  no spaces (`dedup.text.unicode_words`). Such a word says less: two stand for one where lengths
  count (`dense`). GPT-3's own words are `whitespace`.
Documents and items are treated alike, from the frozen tables of `dedup.text.unicode`.
"""

from collections.abc import Iterator
from functools import cache
from string import punctuation
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, U64, TextBuffers, read_only, text_buffers
from tokenmill.dedup.kernels import gram_words as kernels
from tokenmill.dedup.kernels.paraphrase import hash_stems
from tokenmill.dedup.text import unicode_words
from tokenmill.dedup.text.unicode import ALPHA, PAGE, PUNCT, SPACE, tables
from tokenmill.dedup.text.words import BLOCK_BYTES, pieces
from tokenmill.dedup.text.words import blocks as documents_in_blocks

GramWords = Literal["scripts", "whitespace"]
ETHIOPIC_MARKS = slice(0x60, 0x69)  # of their page, U+1300: section mark, wordspace, full stop, …
APOSTROPHES = "'\u2019"  # stand in words: "don't" is no better told from others by a "t"
CHARACTERS_A_WORD = 2  # of English that says as much, where each character is a word
# First bytes in UTF-8, and of no other character: of U+4000 to U+9FFF, of U+3000 to U+9FFF.
HAN, HAN_OR_KANA = (0xE4, 0xE9), (0xE3, 0xE9)


class Block(NamedTuple):
    """The words of some documents, or of a part of one that is longer than a block.

    doc: row of the first document; a block has one document or more.
    hashes: (n_words,) uint64.
    stops: (n_words,) int64, the byte of the column's data at which each word is known to end.
    doc_words: (n_docs + 1,) int64; words of document `doc + d` are
        `doc_words[d]:doc_words[d + 1]`.
    begins: (n_docs,) int64, byte of the column's data at which each document begins.
    held: the first words of the block that the block before had too: the end of the part
        before.
    passed: words of the first document that stand before the block.

    The arrays are overwritten when the next block is asked for.
    """

    doc: int
    hashes: U64
    stops: I64
    doc_words: I64
    begins: I64
    held: int
    passed: int

    def places(self, data: U8, windows: I64) -> I64:
        """(n, 6) where windows of the words stand; both as `locate` of the kernels has them."""
        found = np.empty((len(windows), 6), np.int64)
        words = self.begins, self.stops, self.doc_words
        kernels.locate(data, chars(), *words, self.doc, self.passed, windows, found)
        return found


class _How(NamedTuple):
    """How text is split; see `blocks`."""

    words: GramWords
    stems: bool
    apart: bool


class _Room(NamedTuple):
    hashes: U64
    stops: I64


@cache
def chars(*, apart: bool = False) -> kernels.Chars:
    """What becomes of each character, as the kernels read it; `apart` as of `blocks`."""
    t = tables()
    kinds = np.full(t.flags.shape, kernels.KEEP, np.uint8)
    kinds[(t.flags & ALPHA) != 0] = kernels.FIRST_LETTER
    kinds[(t.flags & PUNCT) != 0] = punctuation_kind = kernels.SPACE if apart else kernels.DELETE
    kinds[(t.flags & SPACE) != 0] = kernels.SPACE
    kinds.reshape(-1, PAGE)[t.pages[0x13], ETHIOPIC_MARKS] = kernels.SPACE
    code_points = np.arange(128, dtype=np.uint32)
    slots = t.pages[0].astype(np.int64) * 256 + code_points
    kinds[slots[[ord(c) for c in punctuation]]] = punctuation_kind
    for c in APOSTROPHES:
        kinds[t.pages[ord(c) >> 8].astype(np.int64) * 256 + (ord(c) & 255)] = kernels.DELETE
    lower = code_points + t.lower_delta[slots]
    ascii_kinds = np.full(256, kernels.NON_ASCII, np.uint8)
    ascii_kinds[:128] = np.where(kinds[slots] < kernels.NON_ASCII, lower, kinds[slots])
    return kernels.Chars(
        read_only(ascii_kinds), read_only(t.pages), read_only(kinds), read_only(t.lower_delta)
    )


@cache
def word_kinds(words: GramWords) -> unicode_words.WordKinds:
    return unicode_words.tables() if words == "scripts" else unicode_words.no_kinds()


@cache
def _entries(words: GramWords, apart: bool) -> U64:
    """What the kernels know of the first code points."""
    entries = np.empty(0x10000, np.uint64)
    kernels.fill_entries(chars(apart=apart), word_kinds(words), entries)
    return read_only(entries)


def blocks(
    text: pa.Array,
    *,
    longest: int | None,
    words: GramWords = "scripts",
    stems: bool = False,
    apart: bool = False,
) -> Iterator[Block]:
    """Split a column into words, a block at a time.

    text: (n_docs,) string column, no nulls.
    longest: words of the longest window; a block that goes on with a document begins with as
        many words of the block before, so that every window that ends in it is whole, and the
        word before the window is there. None: no document is split over several blocks, and one
        may be as long as a document.
    stems: the hashes are those of the words' stems (`kernels.paraphrase.hash_stems`).
    apart: punctuation stands between words.
    """
    how = _How(words, stems, apart)
    room = _room(BLOCK_BYTES, 1)
    for rows, block in documents_in_blocks(text_buffers(text)):
        if block.n_bytes > BLOCK_BYTES:
            parts = _parts(block, rows.start, longest or 0, how)
            yield from parts if longest is not None else [_joined(list(parts))]
            continue
        n_docs = rows.stop - rows.start
        if len(room.stops) < _most_words(block.n_bytes, n_docs):  # many documents without a word
            room = _room(BLOCK_BYTES, n_docs)
        hashes, stops, doc_words = _words(block, room, how)
        yield Block(rows.start, hashes, stops, doc_words, block.offsets[:-1], 0, 0)


def count_words(text: pa.Array, words: GramWords = "scripts", *, apart: bool = False) -> I64:
    """(n_docs,) int64, gram words of each document of a string column without nulls."""
    counts = np.zeros(len(text), np.int64)
    for block in blocks(text, longest=0, words=words, apart=apart):
        counts[block.doc : block.doc + len(block.begins)] += np.diff(block.doc_words)
    return counts


def dense(text: pa.Array, counts: I64, words: GramWords = "scripts") -> I64:
    """(n_docs,) int64: by what to divide gram words to compare them with words of English.

    CHARACTERS_A_WORD where most are characters or clusters by themselves, else 1.

    counts: (n_docs,), of `count_words`.
    """
    return np.where(2 * count_alone(text, words) > counts, CHARACTERS_A_WORD, 1)


def count_alone(text: pa.Array, words: GramWords = "scripts") -> I64:
    """(n_docs,) int64, gram words that are characters or clusters by themselves."""
    alone = np.empty(len(text), np.int64)
    kernels.count_script_words(*text_buffers(text), word_kinds(words), alone)
    return alone


def count_led(text: pa.Array, first_bytes: tuple[int, int]) -> I64:
    """(n_docs,) int64, characters that one of these bytes begins, such as HAN."""
    data, offsets = text_buffers(text)
    led = (data >= first_bytes[0]) & (data <= first_bytes[1])
    before: I64 = np.append(0, np.cumsum(led))
    counts: I64 = before[offsets[1:]] - before[offsets[:-1]]
    return counts


def _parts(text: TextBuffers, doc: int, longest: int, how: _How) -> Iterator[Block]:
    """The blocks of one long document, cut behind words."""
    hashes, stops = np.empty(0, np.uint64), np.empty(0, np.int64)
    passed = 0
    for part in pieces(text, BLOCK_BYTES):
        held = min(longest, len(hashes))
        passed += len(hashes) - held
        fresh = _words(part, _room(part.n_bytes, 1), how)
        hashes = np.concatenate((hashes[len(hashes) - held :], fresh[0]))
        stops = np.concatenate((stops[len(stops) - held :], fresh[1]))
        doc_words = read_only(np.array([0, len(hashes)]))
        yield Block(
            doc, read_only(hashes), read_only(stops), doc_words, text.offsets[:1], held, passed
        )


def _joined(parts: list[Block]) -> Block:
    hashes = read_only(np.concatenate([part.hashes for part in parts]))
    stops = read_only(np.concatenate([part.stops for part in parts]))
    doc_words = read_only(np.array([0, len(hashes)]))
    return parts[0]._replace(hashes=hashes, stops=stops, doc_words=doc_words)


def _words(text: TextBuffers, room: _Room, how: _How) -> tuple[U64, I64, I64]:
    """Hashes and stops of the words, and where each document's begin."""
    doc_words = np.empty(len(text.offsets), np.int64)
    known = chars(apart=how.apart), word_kinds(how.words)
    kernels.split(
        *text, _entries(how.words, how.apart), *known, np.empty(64, np.uint16), *room, doc_words
    )
    hashes, stops = room.hashes[: doc_words[-1]], room.stops[: doc_words[-1]]
    if how.stems:
        letters, ends = np.empty(text.n_bytes * 3 // 2 + 16, np.uint8), np.empty_like(stops)
        begins = read_only(text.offsets[:-1])
        kernels.spell_words(text.data, begins, stops, doc_words, *known, letters, ends)
        hash_stems(letters, ends, doc_words, hashes)
    return read_only(hashes), read_only(stops), read_only(doc_words)


def _most_words(n_bytes: int, n_docs: int) -> int:
    """A bound: a word takes a byte and, but for the last of a document, a space; one to spare."""
    return (n_bytes + n_docs) // 2 + 1


def _room(n_bytes: int, n_docs: int) -> _Room:
    n_words = _most_words(n_bytes, n_docs)
    return _Room(np.empty(n_words, np.uint64), np.empty(n_words, np.int64))
