"""Shingles as the documentation says them, one document at a time."""

import re
import unicodedata
from functools import cache

import regex

from tokenmill.dedup.kernels.ngrams import NGRAM_BASE, NGRAM_FINAL
from tokenmill.dedup.kernels.table import FINAL, FOLD
from tokenmill.dedup.kernels.words import WORD_SEED

_MASK = (1 << 64) - 1

ALONE = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}"
    r"\p{Khitan_Small_Script}\u3006\u3031-\u3035\u303C\u30FC\uFF70\u2E80-\u2FD5]"
)
CLUSTERS = regex.compile(r"[\p{Line_Break=SA}\p{Javanese}\uA9CF\p{Balinese}]")
MARK = regex.compile(r"[\p{M}\p{GCB=Extend}]")
UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}")


@cache
def kind_of(char):  # noqa: C901 one question after the other
    """A letter: BLANK, UNSEEN, LATE, ALONE, TIBETAN, MARK, WORD or - for what separates."""
    is_word = re.match(r"\w", char)
    if char.isspace():
        return "B"
    if UNSEEN.match(char) and not is_word:
        return "U"
    if unicodedata.category(char) == "Cn" and ord(char) >> 16 not in (2, 3):
        return "-"  # `regex` may have a newer Unicode
    if char in "\u0e33\u0eb3\uff9e\uff9f":
        return "L"
    if is_word and ALONE.match(char):
        return "A"
    if regex.match(r"\p{L}", char):
        if CLUSTERS.match(char):
            return "A"
        if regex.match(r"\p{Tibetan}", char):
            return "T"
    if "\u2e80" <= char <= "\u2fd5":  # radicals are symbols to Unicode
        return "A" if regex.match(r"\p{Han}", char) else "-"
    if 0x20000 <= ord(char) < 0x40000 and ord(char) & 0xFFFF < 0xFFFE:
        return "A"
    if regex.match(r"\p{Mc}", char) and regex.match(r"\p{GCB=Other}", char):
        return "A"
    if MARK.match(char) and not 0x1F3FB <= ord(char) <= 0x1F3FF:
        return "M"
    return "W" if is_word else "-"


def script_words(lowered):
    kinds = "".join(map(kind_of, lowered))
    found = re.finditer(r"T[TMLU]*(?:B[MLUB]*)?|[AL][MLUB]*|W+", kinds)
    return ["".join(lowered[i] for i in range(*m.span()) if kinds[i] not in "UB") for m in found]


def words_of(text, words="unicode"):
    lowered = text.lower()
    if words == "scripts":
        return script_words(lowered)
    return re.findall(r"\w+", lowered) if words == "unicode" else lowered.split()


def shingles(text, ngram=5, words="unicode"):
    """The document's shingles as bytes, one per window."""
    found = words_of(text, words)
    if not found:
        return []
    n_windows = max(1, len(found) - ngram + 1)
    return [" ".join(found[i : i + ngram]).encode() for i in range(n_windows)]


def word_hash(word):
    """Hash a word's UTF-8 bytes to 64 bits.

    Eight bytes at a time, little-endian, the last ones zero-padded, then the length.
    """
    h = int(WORD_SEED)
    for i in range(0, len(word), 8):
        chunk = int.from_bytes(word[i : i + 8], "little")
        h = (h ^ chunk) * int(FOLD) & _MASK
        h ^= h >> 32
    h = (h ^ len(word)) * int(FINAL) & _MASK
    return h ^ h >> 32


def ngram_hash(words):
    """Combine word hashes, in their order, to a 64-bit hash of the n-gram."""
    s = 0
    for word in words:
        s = (s * int(NGRAM_BASE) + word) & _MASK
    s = (s ^ s >> 32) * int(NGRAM_FINAL) & _MASK
    return s ^ s >> 32


def shingle_hash(shingle):
    """Hash a shingle, given as its lower-cased words in UTF-8 with single spaces between."""
    return ngram_hash([word_hash(word) for word in shingle.split(b" ")]) >> 32
