"""Kernels that split text into gram words, and tell what stands where in it.

UTF-8 bytes --> letters of words, one word after the other (--> `words.hash_words`)
"""

from typing import Any, NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U16, U32, inlined, kernel
from tokenmill.dedup.kernels.scripts import begins_word, script_word
from tokenmill.dedup.kernels.u64 import ONE, THREE, TWO, ZERO
from tokenmill.dedup.kernels.utf8 import BLANK, Place, decode, place
from tokenmill.dedup.text.unicode_words import BASE, LATE, SYLLABLE, UNSEEN, WordKinds
from tokenmill.dedup.text.unicode_words import BLANK as WHITE

# Kinds of byte; of ASCII that is kept, its lower case.
NON_ASCII = np.uint8(0x80)
SPACE = np.uint8(0x81)  # of code points too
DELETE = np.uint8(0x82)
KEEP = np.uint8(0)  # of code points
FIRST_LETTER, LAST_LETTER = np.uint8(0x61), np.uint8(0x7A)  # in lower case; of code points as well
# What `split` knows of a character, in one number: its lower case, and
LOWER = np.uint32(0x1FFFFF)
KEPT = np.uint32(0x200000)  # it is no punctuation, nor
SPACES = np.uint32(0x400000)  # white space
WORD_AT = np.uint32(24)  # and its kind of `dedup.text.unicode_words`
NO_WORD = 0
CONTINUES, CONTINUATION = np.uint8(0xC0), np.uint8(0x80)  # of a byte that begins no character
LINE_FEED = np.uint8(0x0A)


class Chars(NamedTuple):
    """What becomes of each character; `dedup.text.unicode` has the two-level layout.

    ascii: (256,) by byte: its lower case, SPACE, DELETE or NON_ASCII.
    pages, kinds, lower_delta: of all code points; kinds are SPACE, DELETE, FIRST_LETTER of all
        letters, or KEEP.
    """

    ascii: U8
    pages: U16
    kinds: U8
    lower_delta: U32


@inlined
def kind_at(data: U8, i: int, stop: int, chars: Chars) -> tuple[np.uint8, int]:
    """The kind of the character at `i`, and the place after it."""
    kind = chars.ascii[data[i]]
    if kind != NON_ASCII:
        return kind, i + 1
    cp, size = decode(data, i, stop, BLANK)
    return chars.kinds[place(chars.pages, cp)], i + size


@inlined
def is_letter(kind: np.uint8) -> bool:
    return bool(FIRST_LETTER <= kind <= LAST_LETTER)


@inlined
def encode(cp: np.uint32, letters: U8, k: Place) -> Place:
    """Write a character as `split` has it; where the next one goes."""
    if cp < 128:
        letters[k] = cp
        return k + ONE
    letters[k] = np.uint32(0x80) | (cp >> np.uint32(16))
    letters[k + ONE] = (cp >> np.uint32(8)) & np.uint32(0xFF)
    letters[k + TWO] = cp & np.uint32(0xFF)
    return k + THREE


@inlined
def entry_of(lower: Any, kind: Any, word: Any) -> Any:
    """What `split` knows of a character: lower case, KEPT or SPACES, and the kind of word."""
    kept = np.uint32(kind < NON_ASCII) * KEPT
    return lower | kept | np.uint32(kind == SPACE) * SPACES | word << WORD_AT


@inlined
def slow_entry(cp: np.uint32, chars: Chars, words: WordKinds) -> np.uint32:
    """`entry_of` any code point."""
    at = place(chars.pages, cp)
    word = np.uint32(words.kinds[place(words.pages, cp)])
    return np.uint32(entry_of(np.uint32(cp + chars.lower_delta[at]), chars.kinds[at], word))


@kernel
def fill_entries(chars: Chars, words: WordKinds, entries: U32) -> None:
    """entries: (n,), out: `entry_of` the first code points."""
    for cp in range(entries.shape[0]):
        entries[cp] = slow_entry(np.uint32(cp), chars, words)


@kernel
def split(
    data: U8,
    offsets: I64,
    entries: U32,
    chars: Chars,
    words: WordKinds,
    letters: U8,
    ends: I64,
    stops: I64,
    doc_words: I64,
) -> None:
    """Gather the letters of each document's gram words.

    entries: (0x10000,), of `fill_entries`.
    words: which characters are words by themselves, as `script_word` has them.
    letters: the words' letters in lower case, one word after the other, ASCII as itself, of
        any other character three bytes, the first from 0x80 on; 3 for 2 bytes of text, and two.
    ends: where in `letters` each word ends; (n_bytes + n_docs) // 2 words at most, and one more.
    stops: as long; the byte of `data` at which the word is known to end: no letter of it
        stands there or behind, and none of the next before.
    doc_words: (n_docs + 1,); words of document d are `doc_words[d]:doc_words[d + 1]`.

    There is no branch at the ends of words, which no processor can foresee: letter and end are
    always written, and stay where the counters move on.
    """
    k = ZERO
    n = ZERO
    doc_words[0] = 0
    for d in range(offsets.shape[0] - 1):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        begun = k
        script = NO_WORD  # BASE or SYLLABLE while the last word may go on with its marks
        while i < stop:
            kind = chars.ascii[data[i]]
            while script and kind == SPACE:
                script = BASE
                i += ONE
                kind = chars.ascii[data[i]] if i < stop else NON_ASCII
            if script and kind != NON_ASCII:
                script = NO_WORD
                ends[n] = k
                stops[n] = i
                n += ONE
                begun = k
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
            while i < stop and data[i] >= 0x80:
                lead = np.uint32(data[i])
                if lead & 0xF0 == 0xE0 and i + TWO < stop:
                    cp = np.uint32(
                        (lead & 0x0F) << 12 | (data[i + ONE] & 0x3F) << 6 | (data[i + TWO] & 0x3F)
                    )
                    size, entry = THREE, entries[cp]
                elif lead & 0xE0 == 0xC0 and i + ONE < stop:
                    cp = np.uint32((lead & 0x1F) << 6 | (data[i + ONE] & 0x3F))
                    size, entry = TWO, entries[cp]
                else:
                    cp, width = decode(data, i, stop, BLANK)
                    size, entry = np.uint64(width), slow_entry(cp, chars, words)
                word = entry >> WORD_AT
                ends[n] = k
                stops[n] = i
                if script != NO_WORD and (word >= LATE or word == script == SYLLABLE):
                    is_end, kept = False, word < UNSEEN
                    script = BASE if word == WHITE else script
                elif begins_word(word):
                    is_end, kept = True, True
                    script = SYLLABLE if word == SYLLABLE else BASE
                else:
                    is_end, kept = script != NO_WORD or entry & SPACES != 0, entry & KEPT != 0
                    script = NO_WORD
                n += np.uint64(is_end & (k > begun))
                begun = k if is_end else begun
                width = np.uint64(encode(entry & LOWER, letters, k) - k)
                k += width if kept else ZERO
                i += size
        ends[n] = k
        stops[n] = stop
        n += np.uint64(k > begun)
        doc_words[d + 1] = n


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
            kind, after = kind_at(data, start, end, chars)
            if kind < NON_ASCII:
                break
            start = after
        at = end
        while at > start:
            at -= 1
            if data[at] & CONTINUES == CONTINUATION:
                continue
            if kind_at(data, at, end, chars)[0] < NON_ASCII:
                break
            end = at
        before = doc_words[d] - (passed if d == 0 else 0)
        hits[w, 0] = doc + d
        hits[w, 1] = windows[w, 1]
        hits[w, 2] = first - before
        hits[w, 3] = last - before
        hits[w, 4] = start - begins[d]
        hits[w, 5] = end - begins[d]


@kernel
def count_script_words(data: U8, offsets: I64, words: WordKinds, counts: I64) -> None:
    """counts: (n_docs,), out: words of each document that are characters by themselves."""
    for d in range(counts.shape[0]):
        i, stop = offsets[d], offsets[d + 1]
        counts[d] = 0
        while i < stop:
            cp, size = decode(data, i, stop, BLANK)
            word = words.kinds[place(words.pages, cp)]
            if begins_word(word):
                counts[d] += 1
                _, i = script_word(data, i, size, stop, word, words)
            else:
                i += size


@kernel
def letterless_runs(
    data: U8, starts: I64, ends: I64, chars: Chars, words: WordKinds, runs: I64
) -> None:
    """Tell how many gram words without a letter stand in a row in `data[starts[s]:ends[s]]`.

    runs: (n_spans,), out; the most of each span.
    """
    for s in range(starts.shape[0]):
        i, stop = starts[s], ends[s]
        run = longest = 0
        is_word = has_letter = False
        while i < stop:
            cp, size = decode(data, i, stop, BLANK)
            alone = words.kinds[place(words.pages, cp)]
            if begins_word(alone):
                run = 0 if has_letter else run + is_word
                longest = max(longest, run)
                is_word = has_letter = False
            kind, after = kind_at(data, i, stop, chars)
            has_letter |= is_letter(kind)
            is_word |= bool(kind < NON_ASCII)
            if begins_word(alone):
                _, after = script_word(data, i, size, stop, alone, words)
            i = after
            if begins_word(alone) or kind == SPACE or i >= stop:
                run = 0 if has_letter else run + is_word
                longest = max(longest, run)
                is_word = has_letter = False
        runs[s] = longest


@kernel
def count_letters(
    data: U8, begins: I64, stops: I64, doc_words: I64, chars: Chars, letters: I32
) -> None:
    """Count the letters of words.

    begins, stops, doc_words: of `dedup.text.gram_words.Block`.
    letters: (n_words,), out.
    """
    for d in range(begins.shape[0]):
        i = begins[d]
        for w in range(doc_words[d], doc_words[d + 1]):
            letters[w] = 0
            while i < stops[w]:
                kind, i = kind_at(data, i, stops[w], chars)
                letters[w] += is_letter(kind)


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
            kind, after = kind_at(data, i, stop, chars)
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
