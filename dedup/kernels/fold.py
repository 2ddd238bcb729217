"""Kernels that find what a folding would change in a text, that do it, and find the way back.

    text --> documents that need any --> edits, kind by kind
    text, edits --> edited text
    spans of it, edits --> spans of the text

A kernel that finds edits tells how much room they need; where there was less, it is run again.
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, U32, inlined, kernel
from tokenmill.dedup.kernels.swar import HIGH_BITS, LOW_BITS, eight, gathered, n_bits
from tokenmill.dedup.kernels.table import n_less
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, THREE, TWO, ZERO
from tokenmill.dedup.kernels.utf8 import entry_at


class Edits(NamedTuple):
    """Bytes of a text column that become others.

    doc_ends: (n_docs,) edits up to the last of each document.
    spots: (n_edits, 4) the bytes `start:end` that go; the end in `fresh` of those that come,
        which begin where those of the edit before end; bits of the foldings that did it.
    """

    doc_ends: I64
    spots: I64
    fresh: U8


class Found(NamedTuple):
    """How much room the edits need that a kernel has found, stored or not."""

    edits: int
    fresh: int


@inlined
def note(spots: I64, n: int, start: int, end: int, fresh: int, kinds: np.int64 | int) -> int:
    """Append an edit to the `n` there if there is room; return their number."""
    if n < spots.shape[0]:
        spots[n, 0] = start
        spots[n, 1] = end
        spots[n, 2] = fresh
        spots[n, 3] = kinds
    return n + 1


@inlined
def copy(data: U8, start: int, stop: int, out: U8, at: int) -> int:
    """Write `data[start:stop]` at `at`; return the place after it."""
    these, there = data[start:stop], out[at : at + stop - start]
    for k in range(these.shape[0]):
        there[k] = these[k]
    return at + stop - start


@kernel
def splice(data: U8, offsets: I64, edits: Edits, out: U8, out_offsets: I64, out_ends: I64) -> None:
    """Write the edited documents one after the other.

    out_offsets: (n_docs + 1,), out.
    out_ends: (n_edits,), out; the byte of `out` after the fresh bytes of each edit.
    """
    doc_ends, spots, fresh = edits
    at, e, used = 0, 0, 0
    out_offsets[0] = 0
    for d in range(out_offsets.shape[0] - 1):
        i = offsets[d]
        while e < doc_ends[d]:
            at = copy(data, i, spots[e, 0], out, at)
            at = copy(fresh, used, spots[e, 2], out, at)
            i, used = spots[e, 1], spots[e, 2]
            out_ends[e] = at
            e += 1
        at = copy(data, i, offsets[d + 1], out, at)
        out_offsets[d + 1] = at


@kernel
def unsplice(
    offsets: I64, edits: Edits, out_offsets: I64, out_ends: I64, docs: I64, spans: I64, kinds: U8
) -> None:
    """Turn spans of edited documents into spans of what they were; add up the kinds of edits.

    docs: (n_spans,) the document of each, -1 for one that was not edited.
    spans: (n_spans, 2) bytes from the beginning of a document, in and out.
    An edit that only deletes bytes at the edge of a span is not part of it.
    """
    doc_ends, spots, _ = edits
    for s in range(docs.shape[0]):
        d = docs[s]
        if d < 0 or spans[s, 0] >= spans[s, 1]:
            continue
        first, last = doc_ends[d - 1] if d else 0, doc_ends[d]
        start, end = spans[s, 0] + out_offsets[d], spans[s, 1] + out_offsets[d]
        e = first + n_less(out_ends[first:last], start + 1)
        # the first edit whose fresh bytes end after the span's start
        shift = spots[e - 1, 1] - out_ends[e - 1] if e > first else offsets[d] - out_offsets[d]
        spans[s, 0] = start + shift
        if e < last:  # it may have begun before
            spans[s, 0] = min(start + shift, spots[e, 0])
        spans[s, 1] = end + shift
        while e < last and out_ends[e] - (spots[e, 2] - (spots[e - 1, 2] if e else 0)) < end:
            kinds[s] |= spots[e, 3]
            spans[s, 1] = spots[e, 1] + max(end - out_ends[e], 0)
            e += 1
        spans[s, 0] -= offsets[d]
        spans[s, 1] -= offsets[d]


# Foldings, in the order in which they are applied.
ENTITIES = 1
LINE_BREAKS = 2
COMPAT = 4
INVISIBLE = 8
SIGNS = 16
MARKS = 32
CONFUSABLES = 64
MARKUP = 128
CHARS = COMPAT | INVISIBLE | SIGNS | MARKS | CONFUSABLES  # one character at a time

# Properties of a code point. Those of a run of letters, and what ends it: none of the four.
LATIN = 1
LOOKALIKE = 2
OTHER = 4  # another letter
INNER = 8  # combining or invisible
LETTER = LATIN | LOOKALIKE | OTHER
IN_RUN = LETTER | INNER
WORD = 16  # letter, digit or INNER
MAYBE = 32  # a lookalike, or may become one
HYPHEN = 64  # breaks a word at the end of a line
ASTRAL = 128  # beyond the tables of two and three bytes: to be looked up; of `Foldings.rows` alone
KINDS_AT = 8
ASCII_LATIN = 1 << 16  # a Latin letter of ASCII, where it is told apart; LATIN is another then
ANY_LATIN = np.int64(ASCII_LATIN | LATIN | ASTRAL)
CHANGED = ASTRAL | 0xFF << KINDS_AT  # bits of what may become something else

BLOCK = 64  # bytes that are looked at together
LARGEST = np.int64(0x10FFFF)
NONE = np.int64(0)
# of eight bytes: what makes letters small, and the highest bit of ASCII from "a", or behind "z", on
SMALL, FROM_A, BEHIND_Z = (np.uint64(byte) * LOW_BITS for byte in (0x20, 0x1F, 0x05))


class Foldings(NamedTuple):
    """What to do with which character.

    enabled: bits of the foldings.
    actions: (0x110000,) 0, or 1 + the index of what the character becomes.
    kinds: (n_actions,) bits of the foldings that make it so.
    fresh, fresh_ends: UTF-8 of it; that of action a ends at `fresh_ends[a]`.
    props: (0x110000,) bits LATIN ... HYPHEN, and the `kinds` of the action from KINDS_AT on.
    letters: (0x110000,) the ASCII letter that a LOOKALIKE looks like.
    leads: of `dedup.text.unicode`.
    rows: (0x10001,) LATIN, MAYBE, HYPHEN and kinds by code point; ASTRAL of those beyond.
    """

    enabled: int
    actions: U16
    kinds: U8
    fresh: U8
    fresh_ends: I64
    props: U16
    letters: U8
    leads: U32
    rows: U16


@inlined
def firsts_in(data: U8, at: np.uint64) -> np.uint64:
    """The bytes of 64 from `at` on that begin a character beyond ASCII, as bits of one number."""
    firsts = ZERO
    for word in range(EIGHT):
        chunk = eight(data, at + word * EIGHT)
        firsts |= gathered(chunk & chunk << ONE) << word * EIGHT
    return firsts


@inlined
def letters_in(data: U8, at: np.uint64) -> np.uint64:
    """The ASCII letters of 64 bytes from `at` on, as bits of one number."""
    letters = ZERO
    for word in range(EIGHT):
        chunk = eight(data, at + word * EIGHT)
        low = (chunk | SMALL) & ~HIGH_BITS
        letters |= gathered((low + FROM_A) & ~(low + BEHIND_Z | chunk)) << word * EIGHT
    return letters


@inlined
def seen_in(data: U8, start: int, foldings: Foldings) -> np.int64:
    """Props that characters have which begin in BLOCK bytes from `start`, with two more at hand.

    MAYBE, HYPHEN of what may end a line, LATIN, ASTRAL, kinds; ASCII_LATIN where any may be.
    ASCII goes without branches and in 8 bits throughout: it runs on vectors of bytes. Of others
    the first bytes are found as bits of one number, so that none has to wait for the one before.
    """
    these, nexts = data[start : start + BLOCK], data[start + 1 : start + 1 + BLOCK]
    high, broken, latin = np.uint8(0), np.uint8(0), np.uint8(0)
    for k in range(BLOCK):
        hyphen, end = np.uint8(these[k] == np.uint8(45)), np.uint8(nexts[k] < np.uint8(14))
        high = np.uint8(high | these[k])
        latin = np.uint8(latin | np.uint8(np.uint8(these[k] & np.uint8(0xC0)) == np.uint8(0x40)))
        broken = np.uint8(broken | (hyphen & end))
    in_ascii = np.int64(broken * HYPHEN | latin * ASCII_LATIN)
    if high < 0x80:
        return in_ascii
    found, begin = np.uint16(0), np.uint64(start)
    firsts = firsts_in(data, begin)
    while firsts:
        at = begin + n_bits((firsts - ONE) & ~firsts)
        found |= foldings.rows[entry_at(data, at, foldings.leads)]
        firsts &= firsts - ONE
    return np.int64(found) | in_ascii


@inlined
def aligned(data: U8, i: int, start: int, stop: int) -> int:
    """Where the first character begins from `i` on, in a text from `start` to `stop`."""
    while start < i < stop and (data[i] & 0xC0) == 0x80:
        i += 1
    return i


@inlined
def next_hyphen(data: U8, i: int, stop: int, foldings: Foldings) -> int:
    """The character to go on with: no block from `i` to it has a hyphen that may end a line."""
    start = i
    while i + BLOCK + 1 < stop and not seen_in(data, i, foldings) & HYPHEN:
        i += BLOCK
    return aligned(data, i, start, stop)


@inlined
def next_with(data: U8, i: int, stop: int, bits: np.int64, leads: U32, rows: U16) -> int:
    """The next character from `i` on that may have any of the bits.

    With ASCII_LATIN, an ASCII letter. Any may near the end.
    """
    start = i
    while i + BLOCK + 1 < stop:
        begin = np.uint64(i)
        letters = firsts = ZERO
        if bits & ASCII_LATIN:
            letters = letters_in(data, begin)
        if bits & ~ASCII_LATIN:
            firsts = firsts_in(data, begin)
        while firsts:
            at = begin + n_bits((firsts - ONE) & ~firsts)
            if rows[entry_at(data, at, leads)] & bits:
                break
            firsts &= firsts - ONE
        letters |= firsts
        if letters:
            return i + int(np.int64(n_bits((letters - ONE) & ~letters)))
        i += BLOCK
    return aligned(data, i, start, stop)


@inlined
def code_point(data: U8, i: int, stop: int) -> tuple[np.int64, int]:
    """The code point at `i` and the place after it, at most `stop`; its bytes may be fewer.

    Of each length in a branch of its own: what the processor foresees it need not wait for.
    """
    at, last = np.uint64(i), np.uint64(stop - 1)
    lead = np.int64(data[at])
    if lead < 0x80:
        return lead, i + 1
    cp = (lead & 0x1F) << 6 | (data[min(at + ONE, last)] & 0x3F)
    if lead < 0xE0:
        return cp, min(i + 2, stop)
    cp = (cp & 0x3FF) << 6 | (data[min(at + TWO, last)] & 0x3F)
    if lead < 0xF0:
        return cp, min(i + 3, stop)
    cp = (cp & 0x7FFF) << 6 | (data[min(at + THREE, last)] & 0x3F)
    return min(cp, LARGEST), min(i + 4, stop)


@inlined
def before(data: U8, i: int, start: int) -> np.int64:
    """The code point that ends at `i`, 0 if there is none."""
    j = i - 1
    while j > start and (data[j] & 0xC0) == 0x80:
        j -= 1
    return code_point(data, j, i)[0] if j >= start else NONE


@inlined
def joined_at(data: U8, i: int, after: int, start: int, stop: int, props: U16) -> int:
    """Where the word goes on that the hyphen `data[i:after]` breaks at the end of a line, or -1."""
    if after < stop and data[after] == 13:
        after += 1
    if after >= stop or data[after] != 10:
        return -1
    after += 1
    while after < stop and (data[after] == 32 or data[after] == 9):
        after += 1
    if after >= stop or not props[code_point(data, after, stop)[0]] & WORD:
        return -1
    return after if props[before(data, i, start)] & WORD else -1


@kernel
def find_line_breaks(data: U8, offsets: I64, wanted: U8, foldings: Foldings, edits: Edits) -> Found:
    """Join words that a hyphen breaks at the end of a line: delete hyphen, break and indent.

    wanted: (n_docs,) not 0 for documents to look at; here and below.
    """
    props, spots = foldings.props, edits.spots
    n = 0
    for d in range(wanted.shape[0]):
        start, stop = offsets[d], offsets[d + 1]
        i = start if wanted[d] else stop
        while i < stop:
            i = next_hyphen(data, i, stop, foldings)
            block = min(i + BLOCK, stop)
            while i < block:
                cp, after = code_point(data, i, stop)
                if props[cp] & HYPHEN:
                    end = joined_at(data, i, after, start, stop, props)
                    if end >= 0:
                        n = note(spots, n, i, end, 0, LINE_BREAKS)
                        after = end
                i = after
        edits.doc_ends[d] = n
    return Found(n, 0)


@kernel
def find_chars(data: U8, offsets: I64, wanted: U8, foldings: Foldings, edits: Edits) -> Found:
    """Replace single characters."""
    actions, kinds, texts, text_ends = foldings[1:5]
    spots, fresh = edits.spots, edits.fresh
    n, at = 0, 0
    for d in range(wanted.shape[0]):
        stop = offsets[d + 1]
        i = offsets[d] if wanted[d] else stop
        while i < stop:
            i = next_with(data, i, stop, np.int64(CHANGED), foldings.leads, foldings.rows)
            block = min(i + BLOCK, stop)
            while i < block:
                cp, after = code_point(data, i, stop)
                action = np.int64(actions[cp])
                if action:
                    for k in range(text_ends[action - 1], text_ends[action]):
                        if at < fresh.shape[0]:
                            fresh[at] = texts[k]
                        at += 1
                    n = note(spots, n, i, after, at, np.int64(kinds[action]))
                i = after
        edits.doc_ends[d] = n
    return Found(n, at)


class Context(NamedTuple):
    """Letters around a place: LATIN or OTHER of the nearest that is no lookalike, 0 if none.

    last: of the one before.
    ahead, ahead_at: of the one after, which begins at `ahead_at`; stale if the place is later.
    """

    last: np.int64
    ahead: np.int64
    ahead_at: int


@inlined
def next_letter(data: U8, i: int, stop: int, props: U16) -> tuple[np.int64, int]:
    """LATIN or OTHER of the first letter from `i` that is no lookalike, 0 if none; its place."""
    while i < stop:
        cp, after = code_point(data, i, stop)
        if props[cp] & (LATIN | OTHER):
            return np.int64(props[cp] & (LATIN | OTHER)), i
        i = after
    return NONE, stop


@inlined
def run_before(data: U8, i: int, at: int, props: U16) -> tuple[int, np.int64, np.int64]:
    """Where the run before `at` begins, its props, and the last letter that is no lookalike.

    From `i` on; of the letter LATIN or OTHER, 0 if there is none. A run with OTHER is not looked
    at further: its lookalikes stay.
    """
    start, held, letter, in_run = at, NONE, NONE, True
    while at > i and (not letter or (in_run and not held & OTHER)):
        after = at
        at -= 1
        while at > i and (data[at] & 0xC0) == 0x80:
            at -= 1
        prop = np.int64(props[code_point(data, at, after)[0]])
        in_run &= prop & IN_RUN != 0
        if in_run:
            start = at
            held |= prop & LETTER
        letter = letter if letter else prop & (LATIN | OTHER)
    return start, held, letter


@inlined
def next_run(
    data: U8, i: int, stop: int, foldings: Foldings, latin: np.int64, around: Context
) -> tuple[int, int, Context]:
    """The next run of letters from `i` whose lookalikes stand for Latin letters.

    It has a Latin letter and no other; or lookalikes alone, between Latin letters or, at
    the end of a text, beside one. Returns its start (`stop` if there is none) and end.

    latin: ASCII_LATIN, and LATIN and ASTRAL unless the text has no such characters.
    """
    props = foldings.props
    last_letter, ahead, ahead_at = around
    while i < stop:
        wanted = latin if last_letter == OTHER else np.int64(MAYBE | ASTRAL)
        at = next_with(data, i, stop, wanted, foldings.leads, foldings.rows)
        start, held, letter = run_before(data, i, at, props)
        last_letter = letter if letter else last_letter
        before_run = last_letter
        i = end = at
        while i < stop and i == end:
            cp, i = code_point(data, i, stop)
            prop = np.int64(props[cp])
            if prop & IN_RUN:
                end = i
            held |= prop & LETTER
            if prop & (LATIN | OTHER):
                last_letter = prop & (LATIN | OTHER)
        if held & LOOKALIKE and not held & OTHER:
            if not held & LATIN and ahead_at < end:
                ahead, ahead_at = next_letter(data, end, stop, props)
            if held & LATIN or before_run | ahead == LATIN:
                return start, end, Context(last_letter, ahead, ahead_at)
    return stop, stop, Context(last_letter, ahead, ahead_at)


@kernel
def find_confusables(data: U8, offsets: I64, wanted: U8, foldings: Foldings, edits: Edits) -> Found:
    """Replace lookalikes by Latin letters where they stand for them."""
    props, letters = foldings.props, foldings.letters
    spots, fresh = edits.spots, edits.fresh
    n = 0
    for d in range(wanted.shape[0]):
        stop = offsets[d + 1]
        i = offsets[d] if wanted[d] else stop
        around = Context(NONE, NONE, -1)
        while i < stop:
            i, end, around = next_run(data, i, stop, foldings, ANY_LATIN, around)
            while i < end:
                cp, after = code_point(data, i, stop)
                if props[cp] & LOOKALIKE:
                    if n < fresh.shape[0]:
                        fresh[n] = letters[cp]
                    n = note(spots, n, i, after, n + 1, CONFUSABLES)
                i = after
        edits.doc_ends[d] = n
    return Found(n, n)


@inlined
def needs_of(data: U8, start: int, stop: int, foldings: Foldings) -> np.int64:
    """Bits of the foldings that `data[start:stop]` may need, of all but ENTITIES."""
    props, needs, seen = foldings.props, NONE, NONE
    i = start
    while i < stop:
        while i + BLOCK + 1 < stop:
            these = seen_in(data, i, foldings)
            if these & (HYPHEN | ASTRAL):
                break
            seen |= these
            i += BLOCK
        i = aligned(data, i, start, stop)
        block = min(i + BLOCK, stop)
        while i < block:
            cp, after = code_point(data, i, stop)
            prop = np.int64(props[cp])
            seen |= prop ^ (LATIN | ASCII_LATIN) if cp < 0x80 and prop & LATIN else prop
            if prop & HYPHEN and joined_at(data, i, after, start, stop, props) >= 0:
                needs |= LINE_BREAKS & foldings.enabled
            i = after
    needs |= (seen & CHANGED) >> KINDS_AT
    if seen & MAYBE and foldings.enabled & CONFUSABLES:
        latin = ANY_LATIN if seen & LATIN else seen & ASCII_LATIN
        around = Context(NONE, NONE, -1)
        if needs or (latin and next_run(data, start, stop, foldings, latin, around)[0] < stop):
            needs |= CONFUSABLES
    return needs


@kernel
def find_needs(data: U8, offsets: I64, foldings: Foldings, needs: U8) -> None:
    """Set the bits of the foldings that may change each document whose bits are 0."""
    for d in range(needs.shape[0]):
        if not needs[d]:
            needs[d] = needs_of(data, offsets[d], offsets[d + 1], foldings)
