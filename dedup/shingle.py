"""Documents as sets of shingles: hashed windows of consecutive, lower-cased words.

    text --str.lower()--> words --hash each--> windows of n --combine--> 32 bits each

The hashes are part of the file formats of a run: they depend on the text and the settings
alone, not on the machine or the version of Python, and a golden test holds them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup import unicode
from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import TextBuffers, text_buffers
from tokenmill.dedup.kernels import shingles as shingle_kernels
from tokenmill.dedup.kernels import words as word_kernels

# unicode: runs of `\w` in the lower-cased text; whitespace: pieces of its str.split()
Words = Literal["unicode", "whitespace"]

BLOCK_BYTES = 1 << 18  # of text at a time: its word and shingle hashes stay in the L2 cache
LARGE_BYTES = 1 << 21  # a larger document is taken apart, so that its hashes take no more memory

CUTS = np.frombuffer(b" \n", np.uint8)  # bytes that end every word, however it is lower-cased

_MASK = (1 << 64) - 1


class Shingles(NamedTuple):
    """Shingle hashes of documents, those of document `i` at `hashes[offsets[i]:offsets[i + 1]]`.

    hashes:  (n_shingles,) uint32, one per window: as often as the shingle occurs.
    offsets: (n_docs + 1,) int64.
    """

    hashes: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]


class WordLetters(NamedTuple):
    """Lower-cased words, word `w` at `letters[ends[w - 1]:ends[w]]`, the first from 0.

    letters: (at least 16 more than `ends[-1]`,) uint8, UTF-8; its size is a multiple of 8.
    ends: (n_words,) int64.
    doc_words: (n_docs + 1,) int64; words of document `i` are `doc_words[i]:doc_words[i + 1]`.
    """

    letters: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    doc_words: npt.NDArray[np.int64]


def shingles(text: pa.Array, *, ngram: int = 5, words: Words = "unicode") -> Shingles:
    """Hash every window of `ngram` words in each document.

    A document of fewer words is one shingle of all its words; one without words has none.

    Args:
        text: (n_docs,) string or large_string, no nulls.
        ngram: words per shingle.
        words: what a word is.

    Raises:
        ValueError: `ngram` is less than 1, `words` is unknown, or `text` has nulls.
        TypeError: `text` is not text.
    """
    check_shingles(ngram, words)
    return shingles_of(text_buffers(text), ngram=ngram, words=words)


def check_shingles(ngram: int, words: str) -> None:
    """Refuse settings that no shingles can be made with.

    Raises:
        ValueError: `ngram` is less than 1, or `words` is unknown.
    """
    if ngram < 1:
        raise ValueError(f"ngram must be at least 1 word, got {ngram}")
    if words not in get_args(Words):
        known = " or ".join(map(repr, get_args(Words)))
        raise ValueError(f"words must be {known}, got {words!r}")


def shingles_of(text: TextBuffers, *, ngram: int, words: Words) -> Shingles:
    """`shingles` of text that is arrays already, with settings that are checked already."""
    word_hashes, doc_words = _word_hashes(text, words)
    return _windows(word_hashes, doc_words, ngram)


def shingles_in_parts(
    text: TextBuffers, *, ngram: int, words: Words, part_bytes: int
) -> Iterator[Shingles]:
    """`shingles_of` of a single document, those of about `part_bytes` of its text at a time.

    It is cut behind a space or a newline; where there is none, a part is larger.
    """
    at, end = text.offsets.tolist()
    carried = np.empty(0, np.uint64)  # words that windows of the next part begin with
    whole = False  # whether there was a window of `ngram` words
    while at < end:
        stop = _cut(text.data, at + part_bytes, end)
        part = TextBuffers(text.data, np.array([at, stop]))
        found = np.concatenate((carried, _word_hashes(part, words)[0]))
        last = stop == end and not whole
        if len(found) >= ngram or last:
            whole = True
            yield _windows(found, np.array([0, len(found)]), ngram)
        carried = found[max(0, len(found) - ngram + 1) :]
        at = stop


def _cut(data: npt.NDArray[np.uint8], wanted: int, end: int) -> int:
    """Where to cut text before `end`: behind the first space or newline from `wanted` on."""
    at = wanted
    while at < end:
        step = min(at + 4096, end)
        found = np.flatnonzero(np.isin(data[at:step], CUTS))
        if len(found):
            return at + int(found[0]) + 1
        at = step
    return end


def _word_hashes(
    text: TextBuffers, words: Words
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """(n_words,) hashes, and (n_docs + 1,) where in them each document's begin."""
    letters, ends, doc_words = split_words(text, words)
    hashes = np.empty(len(ends), np.uint64)
    word_kernels.hash_words(letters.view("<u8"), ends, hashes)
    return hashes, doc_words


def _windows(
    word_hashes: npt.NDArray[np.uint64], doc_words: npt.NDArray[np.int64], ngram: int
) -> Shingles:
    hashes = np.empty(len(word_hashes), np.uint32)
    offsets = np.empty(len(doc_words), np.int64)
    leaving = pow(int(shingle_kernels.SHINGLE_BASE), ngram - 1, 1 << 64)
    shingle_kernels.shingle_hashes(
        word_hashes, doc_words, ngram, np.uint64(leaving), hashes, offsets
    )
    return Shingles(hashes[: offsets[-1]], offsets)


def split_words(text: TextBuffers, words: Words) -> WordLetters:
    """Lower-case each document as `str.lower()` does and find its words."""
    n_docs = len(text.offsets) - 1
    n_bytes = int(text.offsets[-1] - text.offsets[0])
    # lower case takes up to 3 bytes for 2; hashing looks up to 16 bytes ahead
    letters = np.empty(n_bytes * 3 // 16 * 8 + 32, np.uint8)
    ends = np.empty((n_bytes + n_docs) // 2 + 1, np.int64)  # a word and a separator: 2 bytes
    doc_words = np.empty(n_docs + 1, np.int64)
    data, offsets = read_only(text.data), read_only(text.offsets)
    word_kernels.split_words(
        data, offsets, *_word_characters(words), *unicode.tables(), letters, ends, doc_words
    )
    return WordLetters(letters, ends[: doc_words[-1]], doc_words)


class WordCharacters(NamedTuple):
    """Tables of the word kernel, as it describes them; read-only, threads share them."""

    low: npt.NDArray[np.uint8]
    two: npt.NDArray[np.uint32]
    three: npt.NDArray[np.uint8]
    is_word: npt.NDArray[np.uint8]


@cache
def _word_characters(words: Words) -> WordCharacters:
    flags = np.arange(256, dtype=np.uint8)
    is_word = (flags & unicode.WORD) != 0 if words == "unicode" else (flags & unicode.SPACE) == 0
    pages, of_place, lower_delta = unicode.tables()
    cp = np.arange(1 << 16, dtype=np.uint32)
    places = pages[cp >> 8].astype(np.int64) * 256 + (cp & 255)
    in_word, lower = is_word[of_place[places]], cp + lower_delta[places]
    ascii_low = np.where(in_word[:128], lower[:128], word_kernels.SEPARATOR)
    low = np.full(256, word_kernels.NON_ASCII, np.uint8)
    low[:128] = ascii_low
    three = np.where(in_word, np.where(lower == cp, word_kernels.IN_WORD, word_kernels.AS_SLOW), 0)
    three[:0x800] = word_kernels.AS_SLOW
    utf8 = 0xC0 | lower >> 6 | (0x80 | lower & 0x3F) << 8
    slow = (cp < 0x80) | (in_word & ((lower < 0x80) | (lower >= 0x800)))
    slow[[unicode.CAPITAL_SIGMA, unicode.CAPITAL_I_WITH_DOT]] = True
    two = np.where(slow, word_kernels.AS_SLOW, np.where(in_word, utf8, 0))[:0x800]
    return WordCharacters(
        read_only(low),
        read_only(two.astype(np.uint32)),
        read_only(three.astype(np.uint8)),
        read_only(is_word.astype(np.uint8)),
    )


def word_hash(word: bytes) -> int:
    """Hash a word's UTF-8 bytes to 64 bits.

    Eight bytes at a time, little-endian, the last ones zero-padded, then the length.
    """
    h = int(word_kernels.WORD_SEED)
    for i in range(0, len(word), 8):
        chunk = int.from_bytes(word[i : i + 8], "little")
        h = (h ^ chunk) * int(word_kernels.WORD_FOLD) & _MASK
        h ^= h >> 32
    h = (h ^ len(word)) * int(word_kernels.WORD_FINAL) & _MASK
    return h ^ h >> 32


def ngram_hash(words: list[int]) -> int:
    """Combine word hashes, in their order, to a 64-bit hash of the n-gram."""
    s = 0
    for word in words:
        s = (s * int(shingle_kernels.SHINGLE_BASE) + word) & _MASK
    s = (s ^ s >> 32) * int(shingle_kernels.SHINGLE_FINAL) & _MASK
    return s ^ s >> 32


def shingle_hash(shingle: bytes) -> int:
    """Hash one shingle, given as its lower-cased words in UTF-8 with single spaces between.

    This is the `hashfunc` with which a datasketch.MinHash equals our signatures:

    >>> import datasketch
    >>> from tokenmill.dedup.shingle import shingle_hash
    >>> m = datasketch.MinHash(num_perm=112, scheme="affine32", hashfunc=shingle_hash)
    >>> m.update(b"five words make one shingle")
    """
    return ngram_hash([word_hash(word) for word in shingle.split(b" ")]) >> 32
