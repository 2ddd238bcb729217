"""Characters of texts, as kernels see them: a class for each byte, and the letters of words.

What is here is the bits of a class, how bytes of UTF-8 come to that of the character each is part
of, and how a document's letters (all bytes that are not whitespace) are put one behind the other.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, kernel
from tokenmill.dedup.kernels.u64 import ONE, ZERO

START = 1  # first byte of its character: as many as there are characters; kernels add it up
SPACE = 2  # str.isspace(), or whatever is in no word
BREAK = 4  # str.splitlines() ends a line here
ALPHA = 8  # str.isalpha()
SYMBOL = 16  # in datatrove's PUNCTUATION_SET: a word of nothing else is no word to Gopher's rules
TERMINAL = 32  # in datatrove's TERMINAL_PUNCTUATION: ends a sentence in some script
DECIMAL = 64  # str.isdecimal(), `\d` of `re`
CLOSING = 128  # may stand between the end of a sentence and the space behind it

SPLIT = 128  # in classes of words, in place of CLOSING: another word begins inside a run
STOP, PUNCT = 4, 8  # beside START: a mark that ends a sentence; of a category of punctuation
BLANK = 0x20  # the one space that is no word to spaCy
KEEP = 0  # a verdict, as in pipelines.core.step


NOT_START = 0xFE  # all bits but START of pipelines.filters.text.characters
LAST_CODE_POINT = 0x10FFFF
REPLACEMENT = 0xFFFD

BLOCK = np.uint64(64)  # bytes looked at together


@kernel
def class_of_bytes(data: U8, table: U8, out: U8) -> None:
    """Write the class of each byte's character; all bytes but its first go without START.

    table: (0x110000,).  data: (n_bytes,).  out: as many or more.
    Text is UTF-8, as Arrow requires; where it is not, nothing is read out of bounds.
    """
    n = np.uint64(data.shape[0])
    i = ZERO
    while i < n:
        lead = data[i]
        if lead < 0x80:
            stop = min(i + BLOCK, n)
            not_ascii = np.uint8(0)
            for j in range(i, stop):
                not_ascii |= data[j]
            if not_ascii < 0x80:
                for j in range(i, stop):
                    out[j] = table[data[j]]
                i = stop
            while i < stop and data[i] < 0x80:
                out[i] = table[data[i]]
                i += ONE
            continue
        size = 2 + int(lead >= 0xE0) + int(lead >= 0xF0)
        cp = np.int64(lead) & (0x7F >> size)
        last = min(i + np.uint64(size), n)
        for j in range(i + ONE, last):
            cp = (cp << 6) | (np.int64(data[j]) & 0x3F)
        c = table[cp if cp <= LAST_CODE_POINT else REPLACEMENT]
        out[i] = c
        for j in range(i + ONE, last):
            out[j] = c & NOT_START
        i = last


@kernel
def split_words(
    data: U8, classes: U8, offsets: I64, splits: int, first_words: I64, letters: U8, starts: U64,
    chars: I64,
) -> None:  # fmt: skip
    """Write the letters of each document and where its words begin.

    splits: the bit of a byte inside a run where one word ends and another begins, or 0.
    first_words: (n_docs + 1,), where in `starts` and `chars` each document has its own.
    letters: (n_bytes,), those of a document from where its bytes begin.
    starts, chars: of each word where in `letters` it begins and how many characters stand before
    it in its document; and those of the end of the last.
    Each byte writes where the next word would begin, and no branch asks whether one does: the
    branches would take three times as long as all else.
    """
    for d in range(offsets.shape[0] - 1):
        w = np.uint64(first_words[d])
        at = np.uint64(offsets[d])
        n_chars = np.int64(0)
        was_in_word = ZERO
        for i in range(at, np.uint64(offsets[d + 1])):
            c = classes[i]
            in_word = np.uint64((c & SPACE) == 0)
            letters[at] = data[i]
            starts[w] = at
            chars[w] = n_chars
            split = np.uint64(c & np.uint8(splits) != 0)
            w += in_word & ((was_in_word ^ ONE) | split)
            at += in_word
            n_chars += c & np.uint8(in_word)  # START is 1
            was_in_word = in_word
        starts[w] = at
        chars[w] = n_chars
