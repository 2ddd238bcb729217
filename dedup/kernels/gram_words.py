"""Kernels that split text into gram words, and tell what stands where in it.

UTF-8 bytes --> letters of words, one word after the other (--> `words.hash_words`)
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, inlined, kernel
from tokenmill.dedup.kernels.u64 import ONE, THREE, TWO, ZERO
from tokenmill.dedup.kernels.utf8 import place

# Kinds of byte; of ASCII that is kept, its lower case.
NON_ASCII = np.uint8(0x80)
SPACE = np.uint8(0x81)  # of code points too
DELETE = np.uint8(0x82)
KEEP = np.uint8(0)  # of code points
CONTINUES, CONTINUATION = np.uint8(0xC0), np.uint8(0x80)  # of a byte that begins no character
LINE_FEED = np.uint8(0x0A)
FIRST_LETTER, LAST_LETTER = np.uint8(0x61), np.uint8(0x7A)  # in lower case


class Chars(NamedTuple):
    """What becomes of each character; `dedup.text.unicode` has the two-level layout.

    ascii: (256,) by byte: its lower case, SPACE, DELETE or NON_ASCII.
    pages, kinds, lower_delta: of all code points; kinds are SPACE, DELETE or KEEP.
    """

    ascii: U8
    pages: U16
    kinds: U8
    lower_delta: U32


@inlined
def code_point(data: U8, i: int, stop: int) -> tuple[np.uint32, int]:
    """The code point of the multi-byte sequence at `i`, and the place after it, at most `stop`."""
    lead = np.uint32(data[i])
    width = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    cp = np.uint32(lead & np.uint32(0x7F >> width))
    after = min(i + width, stop)
    for j in range(i + 1, after):
        cp = np.uint32((cp << np.uint32(6)) | (np.uint32(data[j]) & np.uint32(0x3F)))
    return min(cp, np.uint32(0x10FFFF)), after


@kernel
def split(
    data: U8, offsets: I64, chars: Chars, letters: U8, ends: I64, stops: I64, doc_words: I64
) -> None:
    """Gather the letters of each document's gram words.

    letters: the words' letters in lower case, one word after the other, ASCII as itself, of
        any other character three bytes, the first from 0x80 on; 3 for 2 bytes of text.
    ends: where in `letters` each word ends; (n_bytes + n_docs) // 2 words at most, and one more.
    stops: as long; the byte of `data` at which the word is known to end: no letter of it
        stands there or behind, and none of the next before.
    doc_words: (n_docs + 1,); words of document d are `doc_words[d]:doc_words[d + 1]`.

    ASCII goes without a branch at the ends of words, which no processor can foresee: letter and
    end are always written, and stay where the counters move on.
    """
    k = ZERO
    n = ZERO
    doc_words[0] = 0
    for d in range(offsets.shape[0] - 1):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        begun = k
        while i < stop:
            kind = chars.ascii[data[i]]
            while kind != NON_ASCII:
                letters[k] = kind
                ends[n] = k
                stops[n] = i
                is_space = kind == SPACE
                n += np.uint64(is_space & (k > begun))
                begun = k if is_space else begun
                k += np.uint64(kind < NON_ASCII)
                i += ONE
                if i >= stop:
                    break
                kind = chars.ascii[data[i]]
            if i >= stop:
                break
            cp, after = code_point(data, int(i), int(stop))
            at = place(chars.pages, cp)
            if chars.kinds[at] == KEEP:
                lower = np.uint32(cp + chars.lower_delta[at])
                if lower < 128:
                    letters[k] = lower
                    k += ONE
                else:
                    letters[k] = np.uint32(0x80) | (lower >> np.uint32(16))
                    letters[k + ONE] = (lower >> np.uint32(8)) & np.uint32(0xFF)
                    letters[k + TWO] = lower & np.uint32(0xFF)
                    k += THREE
            elif chars.kinds[at] == SPACE:
                ends[n] = k
                stops[n] = i
                n += np.uint64(k > begun)
                begun = k
            i = np.uint64(after)
        ends[n] = k
        stops[n] = stop
        n += np.uint64(k > begun)
        doc_words[d + 1] = n


@inlined
def keeps(data: U8, i: int, stop: int, chars: Chars) -> bool:
    """Whether a character of more than a byte that belongs to words begins at `i`."""
    if data[i] & CONTINUES == CONTINUATION:
        return False
    return bool(chars.kinds[place(chars.pages, code_point(data, i, stop)[0])] == KEEP)


@kernel
def locate(
    data: U8,
    chars: Chars,
    begins: I64,
    stops: I64,
    doc_words: I64,
    doc: int,
    passed: int,
    windows: I64,
    hits: I64,
) -> None:
    """Tell where in a text column windows of a block's words stand.

    begins, stops, doc_words, doc, passed: of `dedup.text.gram_words.Block`.
    windows: (n_windows, 4), document of the block, a number, first and last word of the block.
    hits: (n_windows, 6), out: document, the number, first and last word of the document, its
        bytes from the first letter of the window to the end of the last.
    """
    for w in range(windows.shape[0]):
        d, first, last = windows[w, 0], windows[w, 2], windows[w, 3]
        start = begins[d] if first == doc_words[d] else stops[first - 1]
        end = stops[last]
        while start < end:
            kind = chars.ascii[data[start]]
            if kind < NON_ASCII or (kind == NON_ASCII and keeps(data, start, end, chars)):
                break
            start += 1
        at = end
        while at > start:
            at -= 1
            kind = chars.ascii[data[at]]
            if kind < NON_ASCII or (kind == NON_ASCII and keeps(data, at, end, chars)):
                break
            if data[at] & CONTINUES != CONTINUATION:
                end = at
        before = doc_words[d] - (passed if d == 0 else 0)
        hits[w, 0] = doc + d
        hits[w, 1] = windows[w, 1]
        hits[w, 2] = first - before
        hits[w, 3] = last - before
        hits[w, 4] = start - begins[d]
        hits[w, 5] = end - begins[d]


@kernel
def letterless_runs(
    data: U8, starts: I64, ends: I64, chars: Chars, is_letter: U8, runs: I64
) -> None:
    """Tell how many gram words without a letter stand in a row in `data[starts[s]:ends[s]]`.

    is_letter: of all code points, in the places of `chars.kinds`; 1 or 0.
    runs: (n_spans,), out; the most of each span.
    """
    for s in range(starts.shape[0]):
        i, stop = starts[s], ends[s]
        run = longest = 0
        is_word = has_letter = False
        while i < stop:
            kind = chars.ascii[data[i]]
            if kind == NON_ASCII:
                cp, i = code_point(data, i, stop)
                at = place(chars.pages, cp)
                kind = chars.kinds[at]
                has_letter |= is_letter[at] != 0
            else:
                i += 1
                has_letter |= (kind >= FIRST_LETTER) & (kind <= LAST_LETTER)
            is_word |= kind < NON_ASCII
            if kind == SPACE or i >= stop:
                run = 0 if has_letter else run + is_word
                longest = max(longest, run)
                is_word = has_letter = False
        runs[s] = longest


@kernel
def mark_letters(
    data: U8, begins: I64, stops: I64, doc_words: I64, chars: Chars, is_letter: U8, lettered: U8
) -> None:
    """Tell which words have a letter.

    begins, stops, doc_words: of `dedup.text.gram_words.Block`.
    is_letter: as of `letterless_runs`.
    lettered: (n_words,), out: 1 or 0.
    """
    for d in range(begins.shape[0]):
        i = begins[d]
        for w in range(doc_words[d], doc_words[d + 1]):
            lettered[w] = 0
            while i < stops[w]:
                kind = chars.ascii[data[i]]
                if kind == NON_ASCII:
                    cp, i = code_point(data, i, stops[w])
                    lettered[w] |= is_letter[place(chars.pages, cp)]
                else:
                    i += 1
                    lettered[w] |= np.uint8((kind >= FIRST_LETTER) & (kind <= LAST_LETTER))


@kernel
def blank_lines(data: U8, offsets: I64, chars: Chars, blanks: I64) -> int:
    """Find where nothing but white space, if anything, stands between two line feeds or more.

    blanks: (>= line feeds // 2, 3), out: document; byte of it at which the first line feed
        stands, and byte after the last, of as many with white space between as there are.
    Returns how many there are.
    """
    n = 0
    for d in range(offsets.shape[0] - 1):
        begin, stop = offsets[d], offsets[d + 1]
        i = begin
        first = last = stop
        while i < stop:
            kind = chars.ascii[data[i]]
            after = i + 1
            if kind == NON_ASCII:
                cp, after = code_point(data, i, stop)
                kind = chars.kinds[place(chars.pages, cp)]
            if data[i] == LINE_FEED:
                first = min(first, i)
                last = i
            if first < last and (kind != SPACE or after >= stop):
                blanks[n, 0] = d
                blanks[n, 1] = first - begin
                blanks[n, 2] = last + 1 - begin
                n += 1
            if kind != SPACE:
                first = last = stop
            i = after
    return n
