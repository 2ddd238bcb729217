"""Kernels that split text into gram words, and tell what stands where in it.

UTF-8 bytes --> hashes of words, and where they end (--> their letters)
"""

from typing import Any, NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U16, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.scripts import begins_word, is_part, script_word
from tokenmill.dedup.kernels.swar import EVEN_BITS, n_bits
from tokenmill.dedup.kernels.table import finalized
from tokenmill.dedup.kernels.u64 import ONE, SEVEN, THREE, TWO, U64_63, U64_64, ZERO
from tokenmill.dedup.kernels.utf8 import (
    BLANK,
    NO_ENTRY,
    Place,
    code_points_in,
    decode,
    is_ascii,
    place,
    starts_in,
)
from tokenmill.dedup.text.unicode_words import BLANK as WHITE
from tokenmill.dedup.text.unicode_words import LATE, SYLLABLE, UNSEEN, WordKinds

# Kinds of byte; of ASCII that is kept, its lower case.
NON_ASCII = np.uint8(0x80)
SPACE = np.uint8(0x81)  # of code points too
DELETE = np.uint8(0x82)
KEEP = np.uint8(0)  # of code points
FIRST_LETTER, LAST_LETTER = np.uint8(0x61), np.uint8(0x7A)  # in lower case; of code points as well
# What `split` knows of a character, in one number. These; above them what it is hashed to:
TURN = np.uint64(7)  # bits by which the hash of a word is turned before; 0 if it is left out
SPACE_AT = np.uint64(6)  # whether it is white space
SPECIAL = np.uint64(128)  # whether it is a word by itself, or has no entry of its own
ON_AT = np.uint64(8)  # 3 if a word goes on with it, 0 of white space
WORD_AT = np.uint64(10)  # its kind of `dedup.text.unicode_words`
FLAGS = np.uint64(0x1FFF)
UNKNOWN = SPECIAL | SEVEN << WORD_AT  # it has no entry of its own
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
    """Write a character as `spell_words` has it; where the next one goes."""
    if cp < 128:
        letters[k] = cp
        return k + ONE
    letters[k] = np.uint32(0x80) | (cp >> np.uint32(16))
    letters[k + ONE] = (cp >> np.uint32(8)) & np.uint32(0xFF)
    letters[k + TWO] = cp & np.uint32(0xFF)
    return k + THREE


@inlined
def slow_entry(cp: np.uint32, chars: Chars, words: WordKinds) -> np.uint64:
    """What `split` knows of a code point."""
    at = place(chars.pages, cp)
    kind, word = chars.kinds[at], np.uint64(words.kinds[place(words.pages, cp)])
    if cp < 128 and kind == SPACE:  # punctuation too, where it sets words apart
        word = np.uint64(WHITE)
    entry = word << WORD_AT | (ONE << SPACE_AT if kind == SPACE else THREE << ON_AT)
    if begins_word(word):
        entry |= SPECIAL
    if kind < NON_ASCII or begins_word(word):
        lower = np.uint32(cp + chars.lower_delta[at])
        return (finalized(np.uint64(lower) + ONE) & ~FLAGS) | TURN | entry
    return entry


@kernel
def fill_entries(chars: Chars, words: WordKinds, entries: U64) -> None:
    """entries: (n + 1,), out: what `split` knows of the first n code points, and UNKNOWN."""
    n = entries.shape[0] - 1
    for cp in range(n):
        entries[cp] = slow_entry(np.uint32(cp), chars, words)
    entries[n] = UNKNOWN


@inlined
def step(
    entry: np.uint64, at: Place, h: np.uint64, n: np.uint64, script: Any, out: tuple[U64, I64]
) -> tuple[np.uint64, np.uint64, Any]:
    """Go on to the character at `at`; return what `h`, `n` and `script` are behind it.

    h: hash of the word so far, 0 of none.
    n: words before it.
    script: SPECIAL while the word may go on with its marks; with SYLLABLE, with syllables too.
    out: hashes and stops of words. There is no branch at the ends of words, which no processor
        can foresee: they are always written, and stay where `n` moves on.
    """
    hashes, stops = out
    hashes[n] = h
    stops[n] = at
    ends, goes_on = entry >> SPACE_AT & ONE, entry >> ON_AT & THREE
    if (entry | script) & SPECIAL:
        word = entry >> WORD_AT & SEVEN
        if script and (word >= LATE or (word == SYLLABLE and script != SPECIAL)):
            ends, goes_on = ZERO, THREE
            entry = entry if word < UNSEEN else ZERO
            script = SPECIAL if word == WHITE else script
        else:
            ends, goes_on = ONE, ZERO
            script = (entry & SPECIAL) | (word if word == SYLLABLE else ZERO)
    n += ends & np.uint64(h != ZERO)
    h &= goes_on * EVEN_BITS
    turn = entry & U64_63
    return (h << turn | h >> (U64_64 - turn & U64_63)) + (entry & ~FLAGS), n, script


@kernel
def split(
    data: U8,
    offsets: I64,
    entries: U64,
    chars: Chars,
    words: WordKinds,
    code_points: U16,
    hashes: U64,
    stops: I64,
    doc_words: I64,
) -> None:
    """Hash each document's gram words.

    entries: (0x10000,), of `fill_entries`.
    words: which characters are words by themselves, as `script_word` has them.
    code_points: (64,), scratch.
    hashes: (n_bytes + n_docs) // 2 words at most, and one more.
    stops: as long; the byte of `data` at which the word is known to end: no letter of it
        stands there or behind, and none of the next before.
    doc_words: (n_docs + 1,); words of document d are `doc_words[d]:doc_words[d + 1]`.

    Where characters begin, and which, is told of 64 bytes at once: none waits for the one before.
    """
    out = hashes, stops
    n = ZERO
    doc_words[0] = 0
    n_bytes = np.uint64(data.shape[0])
    for d in range(offsets.shape[0] - 1):
        i, stop = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
        h = script = ZERO
        while i < stop:
            block = min(i + U64_64, stop)
            if is_ascii(data, i, block):
                for k in range(i, block):
                    h, n, script = step(entries[data[k]], k, h, n, script, out)
            else:
                starts = ~ZERO >> (i + U64_64 - block)
                if i + U64_64 + TWO <= n_bytes:
                    code_points_in(data, int(np.int64(i)), code_points)
                    starts &= starts_in(data, int(np.int64(i)))
                else:  # the last ones of the column
                    code_points[:] = NO_ENTRY
                    for k in range(block - i):
                        starts &= ~(np.uint64(data[i + k] & CONTINUES == CONTINUATION) << k)
                while starts:
                    byte = n_bits((starts - ONE) & ~starts)
                    at = i + byte
                    starts &= starts - ONE
                    entry = entries[code_points[byte]]
                    if entry == UNKNOWN:
                        entry = slow_entry(decode(data, at, stop, BLANK)[0], chars, words)
                    h, n, script = step(entry, at, h, n, script, out)
            i = block
        hashes[n] = h
        stops[n] = stop
        n += np.uint64(h != ZERO)
        doc_words[d + 1] = n
    for k in range(n):
        hashes[k] = finalized(hashes[k])


@kernel
def spell_words(
    data: U8,
    begins: I64,
    stops: I64,
    doc_words: I64,
    chars: Chars,
    words: WordKinds,
    letters: U8,
    ends: I64,
) -> None:
    """Gather the letters of words.

    begins, stops, doc_words: of `dedup.text.gram_words.Block`.
    letters: (>= 3 for 2 bytes of text,), out; the words' letters in lower case, one word after
        the other, ASCII as itself, of any other character three bytes, the first from 0x80 on.
    ends: (n_words,), out: where in `letters` each word ends.
    """
    k = ZERO
    for d in range(begins.shape[0]):
        i = begins[d]
        for w in range(doc_words[d], doc_words[d + 1]):
            alone = False
            while i < stops[w]:
                cp, size = decode(data, i, stops[w], BLANK)
                at, word = place(chars.pages, cp), words.kinds[place(words.pages, cp)]
                alone |= begins_word(word)
                if is_part(word) if alone else chars.kinds[at] < NON_ASCII:
                    k = encode(np.uint32(cp + chars.lower_delta[at]), letters, k)
                i += size
            ends[w] = k


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
    """The most gram words without a letter in a row in `data[starts[s]:ends[s]]`, to `runs[s]`."""
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
    """Count the letters of words to `letters`, (n_words,); others: of `gram_words.Block`."""
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
