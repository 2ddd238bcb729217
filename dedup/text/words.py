"""The words of text: lower-cased and hashed, or where they are; and text a block at a time.

    text --str.lower()--> words --> 64-bit hash of each

Words are the same on every machine and with every version of Python: tables are frozen.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64, U8, U32, U64, TextBuffers, read_only
from tokenmill.dedup.kernels import words as kernels
from tokenmill.dedup.text import unicode, unicode_words

# unicode: runs of `\w` in the lower-cased text; whitespace: pieces of its str.split(); scripts: as
# unicode, but one character, or grapheme cluster, or Tibetan syllable a word where a script sets no
# spaces (`dedup.text.unicode_words`), whatever white space stands there
Words = Literal["scripts", "unicode", "whitespace"]

BLOCK_BYTES = 1 << 18  # of text at a time: what is made of its words stays in the L2 cache
LARGE_BYTES = 1 << 21  # a larger document is taken apart, so that its hashes take no more memory
SEARCHED_BYTES = 4096  # at a time for a place to cut
CUTS = np.frombuffer(b" \n", np.uint8)  # bytes that end every word, however it is lower-cased,
BLANK = 0x20  # unless what follows is a mark that is part of it, or white space before that
LINE_FEED = 10


# text in blocks, and in units


def blocks(text: TextBuffers) -> Iterator[tuple[slice, TextBuffers]]:
    """Rows of whole documents, and these, of BLOCK_BYTES of text at most; larger ones alone."""
    data, offsets = text
    start, n_docs = 0, len(offsets) - 1
    while start < n_docs:
        stop = int(np.searchsorted(offsets, offsets[start] + BLOCK_BYTES, "right")) - 1
        stop = max(stop, start + 1)
        yield slice(start, stop), TextBuffers(data, offsets[start : stop + 1])
        start = stop


def pieces(text: TextBuffers, n_bytes: int) -> Iterator[TextBuffers]:
    """A text in pieces of `n_bytes`, cut behind blanks or line feeds; larger if there is none."""
    at, end = text.offsets.tolist()
    while at < end:
        stop = _cut(text.data, at + n_bytes, end)
        yield TextBuffers(text.data, read_only(np.array([at, stop])))
        at = stop


def _cut(data: U8, wanted: int, end: int) -> int:
    for at in range(wanted, end, SEARCHED_BYTES):
        stop = min(at + SEARCHED_BYTES, end - 1)
        fits = np.isin(data[at:stop], CUTS) & (data[at + 1 : stop + 1] > BLANK)
        for place in (np.flatnonzero(fits) + at + 1).tolist():
            if not _is_attached(data[place : place + 4].tobytes()):
                return int(place)
    return end


def _is_attached(begin: bytes) -> bool:
    """Whether text that begins so may begin with a part of the word before it."""
    if begin[0] < 0x80:
        return False
    pages, kinds = unicode_words.tables()
    cp = ord(begin.decode(errors="replace")[:1])
    return bool(kinds[int(pages[cp >> 8]) * 256 + (cp & 255)] >= unicode_words.LATE)


class Units(NamedTuple):
    """Texts whose windows are looked at, each by itself.

    text: unit `u` at `data[offsets[u]:offsets[u + 1]]`.
    docs: (n_docs + 1,) int64; units of document `d` are `docs[d]:docs[d + 1]`.
    """

    text: TextBuffers
    docs: I64


def whole_documents(text: TextBuffers) -> Units:
    """Each document as one unit."""
    return Units(text, np.arange(len(text.offsets)))


def lines(text: TextBuffers) -> Units:
    """The lines of each document, as `str.split("\\n")` has them, with the line feed behind."""
    data, offsets = text
    feeds = np.flatnonzero(data[offsets[0] : offsets[-1]] == LINE_FEED) + offsets[0] + 1
    places = np.concatenate((feeds, offsets))  # a line that ends a document before the next one
    order = np.argsort(places, kind="stable")
    docs = np.flatnonzero(order >= len(feeds))
    return Units(TextBuffers(data, read_only(places[order])), docs)


# words


class WordLetters(NamedTuple):
    """Lower-cased words, word `w` at `letters[ends[w - 1]:ends[w]]`, the first from 0.

    letters: (at least 16 more than `ends[-1]`,) uint8, UTF-8; its size is a multiple of 8.
    ends: (n_words,) int64.
    doc_words: (n_docs + 1,) int64; words of document `i` are `doc_words[i]:doc_words[i + 1]`.
    """

    letters: U8
    ends: I64
    doc_words: I64


def split_words(text: TextBuffers, words: Words) -> WordLetters:
    """Lower-case each document as `str.lower()` does and find its words."""
    n_docs, n_bytes = len(text.offsets) - 1, text.n_bytes
    # lower case takes up to 3 bytes for 2; hashing looks up to 16 bytes ahead
    letters = np.empty(n_bytes * 3 // 16 * 8 + 32, np.uint8)
    ends = np.empty((n_bytes + n_docs) // 2 + 1, np.int64)  # a word and a separator: 2 bytes
    doc_words = np.empty(n_docs + 1, np.int64)
    (data, offsets), chars = text, word_characters(words)
    tables = (*chars[:4], *unicode.tables(), chars.kinds)
    kernels.split_words(data, offsets, *tables, letters, ends, doc_words)
    return WordLetters(letters, ends[: doc_words[-1]], doc_words)


class WordCharacters(NamedTuple):
    """Tables of the word kernel, as it tells; read-only. is_space: the other way than `is_word`."""

    low: U8
    two: U32
    three: U8
    is_word: U8
    is_space: U8
    kinds: unicode_words.WordKinds


@cache
def word_characters(words: Words) -> WordCharacters:
    flags = np.arange(256, dtype=np.uint8)
    is_word = (flags & unicode.SPACE) == 0 if words == "whitespace" else (flags & unicode.WORD) != 0
    kinds = unicode_words.tables() if words == "scripts" else unicode_words.no_kinds()
    pages, of_place, lower_delta = unicode.tables()
    cp = np.arange(1 << 16, dtype=np.uint32)
    places = pages[cp >> 8].astype(np.int64) * 256 + (cp & 255)
    in_word, lower = is_word[of_place[places]], cp + lower_delta[places]
    ascii_low = np.where(in_word[:128], lower[:128], kernels.SEPARATOR)
    low = np.full(256, kernels.NON_ASCII, np.uint8)
    low[:128] = ascii_low
    three = np.where(in_word, np.where(lower == cp, kernels.IN_WORD, kernels.AS_SLOW), 0)
    kind = kinds.kinds[kinds.pages[cp >> 8].astype(np.int64) * 256 + (cp & 255)]
    three[kind >= unicode_words.MARK] = kernels.ATTACHED
    three[kind == unicode_words.BASE] = kernels.ALONE
    three[(kind == unicode_words.SYLLABLE) | (kind == unicode_words.LATE)] = kernels.AS_SLOW
    three[:0x800] = kernels.AS_SLOW
    utf8 = 0xC0 | lower >> 6 | (0x80 | lower & 0x3F) << 8
    slow = (cp < 0x80) | (in_word & ((lower < 0x80) | (lower >= 0x800)))
    slow[[unicode.CAPITAL_SIGMA, unicode.CAPITAL_I_WITH_DOT]] = True
    two = np.where(slow, kernels.AS_SLOW, np.where(in_word, utf8, 0))[:0x800]
    return WordCharacters(
        read_only(low),
        read_only(two.astype(np.uint32)),
        read_only(three.astype(np.uint8)),
        read_only(is_word.astype(np.uint8)),
        read_only((~is_word).astype(np.uint8)),
        kinds,
    )


def hashes_of(text: TextBuffers, words: Words) -> tuple[U64, I64]:
    """(n_words,) hashes of all words, and (n_docs + 1,) where in them each document's begin."""
    letters, ends, doc_words = split_words(text, words)
    hashes = np.empty(len(ends), np.uint64)
    kernels.hash_words(letters.view("<u8"), ends, hashes)
    return hashes, doc_words


def word_hashes(text: TextBuffers, words: Words) -> tuple[U64, I64]:
    """`hashes_of`, taken apart in blocks that stay in the cache."""
    made, counts = [np.empty(0, np.uint64)], np.zeros(len(text.offsets) - 1, np.int64)
    for rows, block in blocks(text):
        for part in pieces(block, LARGE_BYTES) if block.n_bytes > LARGE_BYTES else (block,):
            hashes, doc_words = hashes_of(part, words)
            made.append(hashes)
            counts[rows] += np.diff(doc_words)
    return np.concatenate(made), np.append(0, np.cumsum(counts))


class WordPlaces(NamedTuple):
    """Words of documents; those of document `d` are `doc_words[d]:doc_words[d + 1]`.

    starts, ends: (n_words,) int64, UTF-8 bytes from the beginning of the document.
    doc_words: (n_docs + 1,) int64.
    """

    starts: I64
    ends: I64
    doc_words: I64


def word_places(text: TextBuffers, words: Words) -> WordPlaces:
    """Find the words of documents, as `split_words` has them."""
    data, offsets = text
    # a word and a separator: 2 bytes
    room = (text.n_bytes + len(offsets)) // 2 + 1
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    doc_words = np.empty(len(offsets), np.int64)
    pages, flags, _ = unicode.tables()
    chars = word_characters(words)
    tables = chars.is_word, pages, flags, chars.kinds
    kernels.word_places(data, offsets, *tables, starts, ends, doc_words)
    n = int(doc_words[-1])
    return WordPlaces(starts[:n], ends[:n], doc_words)
