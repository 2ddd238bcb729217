"""From UTF-8 text to its lower-cased words, and from those to one 64-bit hash each."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.scripts import begins_word, is_part, script_word
from tokenmill.dedup.kernels.table import FINAL, folded
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, THREE, TWO, U64_32, U64_63, ZERO
from tokenmill.dedup.kernels.utf8 import (
    BLANK,
    COMBINING_DOT_ABOVE,
    FINAL_SIGMA,
    decode,
    encode,
    place,
    sigma_is_final,
)
from tokenmill.dedup.text.unicode import CAPITAL_I_WITH_DOT, CAPITAL_SIGMA
from tokenmill.dedup.text.unicode_words import WordKinds

WORD_SEED = np.uint64(0x243F6A8885A308D3)  # the first 64 bits of pi's fraction

# What `low` says of a byte below 0x80 is its lower case, if it is part of a word. Else:
NON_ASCII = 0xFE
SEPARATOR = 0xFF

# What `two` and `three` say of a character.
IN_WORD = 1
AS_SLOW = 2
ALONE = 3
ATTACHED = 4

SIX = np.uint32(6)
EIGHT_BITS = np.uint32(8)
TWELVE = np.uint32(12)

SEVEN = np.uint64(7)
ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@inlined
def eight_bytes(chunks: U64, i: np.uint64) -> np.uint64:
    """Bytes i to i + 7, the first in the lowest place, out of two neighbours."""
    shift = (i & SEVEN) << THREE
    at = i >> THREE
    low = np.uint64(chunks[at] >> shift)
    return low | np.uint64(chunks[at + ONE] << ONE << (U64_63 - shift))


@inlined
def may_go_on(data: U8, i: np.uint64, end: np.uint64, three: U8) -> bool:
    """Whether `i` may go on the word before, one of `kinds`: True unless that is seen at once."""
    if i + TWO >= end or (data[i] & 0xF0) != 0xE0:
        return True
    cp = (
        (np.uint32(data[i] & 0x0F) << TWELVE)
        | (np.uint32(data[i + ONE] & 0x3F) << SIX)
        | np.uint32(data[i + TWO] & 0x3F)
    )
    kind = three[cp]
    return bool(kind == AS_SLOW or kind == ATTACHED)


@kernel
def split_words(
    data: U8,
    offsets: I64,
    low: U8,
    two: U32,
    three: U8,
    is_word: U8,
    pages: U16,
    flags: U8,
    lower_delta: U32,
    kinds: WordKinds,
    letters: U8,
    ends: I64,
    doc_words: I64,
) -> None:
    """Lower-case each document and gather its words, the maximal runs of word characters.

    Where `kinds` says that a character begins a word by itself, `script_word` says how far it goes.

    low: (256,) lower case of an ASCII byte that is a word character, else NON_ASCII, SEPARATOR.
    two: (2048,) by code point, of a word character its lower case in UTF-8, first byte lowest;
        AS_SLOW where that has not two bytes, or depends on what stands around; else 0.
    three: (65536,) by code point, IN_WORD of a word character that is its own lower case;
        AS_SLOW of another, and of one that has not three bytes; ALONE if it is a word with the
        marks behind it, ATTACHED of what may be such a mark, or stand before it; else 0.
    is_word: (256,) by flags, 1 if a character that has them is a word character. A character
        and its lower case agree on this, but for CAPITAL_I_WITH_DOT.
    pages, flags, lower_delta: the tables of dedup.text.unicode.
    kinds: the tables of dedup.text.unicode_words; none of them has another lower case.
    letters: the words' bytes, one word after the other; 3 for 2 bytes of text, and one more.
    ends: where in `letters` each word ends; (n_bytes + n_docs) // 2 words at most, and one more.
    doc_words: (n_docs + 1,), where in `ends` each document's words end; `doc_words[0]` is 0.

    ASCII goes without a branch at the ends of words, which no processor can foresee: a byte
    and an end are always written, and stay where the counters move on. So do most characters
    of two and three bytes, a whole run of them at a time.
    """
    dot_is_word = is_word[flags[place(pages, COMBINING_DOT_ABOVE)]]
    k = ZERO
    n = ZERO
    doc_words[0] = 0
    for d in range(offsets.shape[0] - 1):
        i = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        in_word = ZERO
        while i < end:
            byte = low[data[i]]
            while byte != NON_ASCII:
                was_in_word = in_word
                in_word = np.uint64(byte != SEPARATOR)
                letters[k] = byte
                ends[n] = k
                k += in_word
                n += was_in_word & (ONE - in_word)
                i += ONE
                if i >= end:
                    break
                byte = low[data[i]]
            while i + ONE < end and (data[i] & 0xE0) == 0xC0:
                cp = (np.uint32(data[i] & 0x1F) << SIX) | np.uint32(data[i + ONE] & 0x3F)
                small = two[cp]
                if small == AS_SLOW:
                    break
                was_in_word = in_word
                in_word = np.uint64(small != 0)
                letters[k] = small & 0xFF
                letters[k + ONE] = small >> EIGHT_BITS
                ends[n] = k
                k += in_word << ONE
                n += was_in_word & (ONE - in_word)
                i += TWO
            while i + TWO < end and (data[i] & 0xF0) == 0xE0:
                cp = (
                    (np.uint32(data[i] & 0x0F) << TWELVE)
                    | (np.uint32(data[i + ONE] & 0x3F) << SIX)
                    | np.uint32(data[i + TWO] & 0x3F)
                )
                kind = three[cp]
                if kind == AS_SLOW or (kind == ALONE and may_go_on(data, i + THREE, end, three)):
                    break
                if kind == ALONE:
                    ends[n] = k
                    n += in_word
                    in_word = ZERO
                    letters[k] = 0xE0 | (cp >> TWELVE)
                    letters[k + ONE] = 0x80 | ((cp >> SIX) & 0x3F)
                    letters[k + TWO] = 0x80 | (cp & 0x3F)
                    k += THREE
                    ends[n] = k
                    n += ONE
                    i += THREE
                    continue
                was_in_word = in_word
                in_word = np.uint64(kind == IN_WORD)
                letters[k] = 0xE0 | (cp >> TWELVE)
                letters[k + ONE] = 0x80 | ((cp >> SIX) & 0x3F)
                letters[k + TWO] = 0x80 | (cp & 0x3F)
                ends[n] = k
                k += in_word + (in_word << ONE)
                n += was_in_word & (ONE - in_word)
                i += THREE
            if i >= end or low[data[i]] != NON_ASCII:
                continue
            cp, size = decode(data, i, end, BLANK)
            kind_here = kinds.kinds[place(kinds.pages, cp)]
            if begins_word(kind_here):
                ends[n] = k
                n += in_word
                in_word = ZERO
                stop, after = script_word(data, i, size, end, kind_here, kinds)
                while i < stop:
                    cp, size = decode(data, i, end, BLANK)
                    if is_part(kinds.kinds[place(kinds.pages, cp)]):
                        k = encode(cp, letters, k)
                    i += size
                ends[n] = k
                n += ONE
                i = after
                continue
            at = place(pages, cp)
            if is_word[flags[at]]:
                lower = np.uint32(cp + lower_delta[at])
                if cp == CAPITAL_SIGMA:
                    if sigma_is_final(data, np.uint64(offsets[d]), i, end, pages, flags):
                        lower = FINAL_SIGMA
                k = encode(lower, letters, k)
                in_word = ONE
                if cp == CAPITAL_I_WITH_DOT:
                    if dot_is_word:
                        k = encode(COMBINING_DOT_ABOVE, letters, k)
                    else:
                        ends[n] = k
                        n += ONE
                        in_word = ZERO
            else:
                ends[n] = k
                n += in_word
                in_word = ZERO
            i += size
        ends[n] = k
        n += in_word
        doc_words[d + 1] = n


@kernel
def hash_words(letters: U64, ends: I64, hashes: U64) -> None:
    """Hash each word of `split_words`.

    letters: its letters, seen as little-endian uint64; one element beyond the last word's.
    ends, hashes: (n_words,).
    """
    start = ZERO
    for n in range(ends.shape[0]):
        end = np.uint64(ends[n])
        n_bytes = end - start
        h = WORD_SEED
        while start + EIGHT <= end:
            h = folded(h, eight_bytes(letters, start))
            start += EIGHT
        if start < end:
            surplus = (start + EIGHT - end) << THREE
            h = folded(h, eight_bytes(letters, start) & (ALL_BITS >> surplus))
        h = (h ^ n_bytes) * FINAL
        hashes[n] = h ^ (h >> U64_32)
        start = end


LINE_FEED = 10


@inlined
def has_flag(cp: np.uint32, table: U8, pages: U16, flags: U8) -> bool:
    """What a table of 256 by flags says of a code point."""
    return bool(table[flags[place(pages, cp)]])


@kernel
def word_places(
    data: U8,
    offsets: I64,
    is_word: U8,
    pages: U16,
    flags: U8,
    kinds: WordKinds,
    starts: I64,
    ends: I64,
    doc_words: I64,
) -> None:
    """Find the words that `split_words` finds.

    is_word: (256,) by flags, not 0 if a character that has them is of a word.
    pages, flags: the tables of dedup.text.unicode.  kinds: as there.
    starts, ends: (>= n_words,), bytes from the beginning of the document.
    doc_words: (n_docs + 1,), where in them each document's words end; `doc_words[0]` is 0.
    """
    n = 0
    doc_words[0] = 0
    dot_is_word = has_flag(COMBINING_DOT_ABOVE, is_word, pages, flags)
    for d in range(offsets.shape[0] - 1):
        begin, end = offsets[d], offsets[d + 1]
        in_word = False
        i = begin
        while i < end:
            cp, size = decode(data, i, end, BLANK)
            kind = kinds.kinds[place(kinds.pages, cp)]
            if begins_word(kind):
                if in_word:
                    ends[n] = i - begin
                    n += 1
                    in_word = False
                starts[n] = i - begin
                stop, i = script_word(data, i, size, end, kind, kinds)
                ends[n] = stop - begin
                n += 1
                continue
            if has_flag(cp, is_word, pages, flags):
                if not in_word:
                    starts[n] = i - begin
                    in_word = True
                if cp == CAPITAL_I_WITH_DOT and not dot_is_word:  # its lower case has two
                    ends[n] = i + size - begin
                    n += 1
                    in_word = False
            elif in_word:
                ends[n] = i - begin
                n += 1
                in_word = False
            i += size
        if in_word:
            ends[n] = end - begin
            n += 1
        doc_words[d + 1] = n


@inlined
def spaces(data: U8, i: int, end: int, is_space: U8, pages: U16, flags: U8) -> tuple[int, int, int]:
    """The first white space from byte `i` on: its beginning, its end, its line feeds.

    Where there is none before `end`, that and that.
    """
    begin, feeds = end, 0
    while i < end:
        cp, size = decode(data, i, end, BLANK)
        if has_flag(cp, is_space, pages, flags):
            if begin == end:
                begin = i
            feeds += int(cp == LINE_FEED)
        elif begin < end:
            return begin, i, feeds
        i += size
    return begin, end, feeds


@kernel
def cut_places(
    data: U8,
    offsets: I64,
    starts: I64,
    ends: I64,
    doc_words: I64,
    spans: I64,
    is_space: U8,
    pages: U16,
    flags: U8,
    out: I64,
) -> None:
    """Tell which bytes go with each span of words.

    Marks between the span and white space go too; of the white space before and behind that with
    fewer line feeds, or that behind. With the first or last word of a document all goes that is
    before or behind it.

    offsets, starts, ends, doc_words: as of `word_places`.
    spans: (n_spans, 3), document, first word and last word in it; a word at least stands between
        two of a document.
    out: (n_spans, 2), first byte and byte behind the last, from the beginning of the document.
    """
    for r in range(spans.shape[0]):
        d = spans[r, 0]
        begin, end = offsets[d], offsets[d + 1]
        first, last = doc_words[d] + spans[r, 1], doc_words[d] + spans[r, 2]
        is_first, is_last = first == doc_words[d], last == doc_words[d + 1] - 1
        # before: the last white space between the word before and the span
        stop = begin + starts[first]
        before, start, feeds_before = stop, stop, 0
        i = stop if is_first else begin + ends[first - 1]
        while i < stop:
            space, after, feeds = spaces(data, i, stop, is_space, pages, flags)
            if space < stop:
                before, start, feeds_before = space, after, feeds
            i = after
        # behind: the first white space between the span and the word behind
        gap = end if is_last else begin + starts[last + 1]
        behind, after, feeds = spaces(data, begin + ends[last], gap, is_space, pages, flags)
        if is_first:
            out[r, 0], out[r, 1] = 0, after - begin
        elif feeds > feeds_before:
            out[r, 0], out[r, 1] = before - begin, behind - begin
        else:
            out[r, 0], out[r, 1] = start - begin, after - begin
        if is_last:
            out[r, 0], out[r, 1] = out[r, 0] if is_first else before - begin, end - begin
