"""Kernels that find what a folding would change in a text.

    text --> documents that need any --> edits, kind by kind

A kernel that finds edits tells how much room they need; where there was less, it is run again.
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U16, inlined, kernel
from tokenmill.dedup.kernels.edits import Edits, Found, note
from tokenmill.dedup.kernels.swar import n_bits
from tokenmill.dedup.kernels.u64 import ONE, THREE, TWO, ZERO
from tokenmill.dedup.kernels.utf8 import NO_ENTRY, short_code_point

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
KINDS_AT = 8
ASCII_LATIN = 1 << 16  # a Latin letter of ASCII, where it is told apart; LATIN is another then
BEYOND = 1 << 17  # something is not ASCII
ANY_LATIN = np.int64(ASCII_LATIN | LATIN)
CHANGED = 0xFF << KINDS_AT  # bits of what may become something else
SOUGHT = LATIN | MAYBE | HYPHEN | CHANGED  # of a character in a block

BLOCK = 64  # bytes that are looked at together
LARGEST = np.int64(0x10FFFF)
NONE = np.int64(0)
AGAIN = 3  # with each of so many blocks, and one, that have others the calm ones are renewed


class Foldings(NamedTuple):
    """What to do with which character.

    enabled: bits of the foldings.
    actions: (0x110000,) 0, or 1 + the index of what the character becomes.
    kinds: (n_actions,) bits of the foldings that make it so.
    fresh, fresh_ends: UTF-8 of it; that of action a ends at `fresh_ends[a]`.
    props: (0x110000,) bits LATIN ... HYPHEN, and the `kinds` of the action from KINDS_AT on.
    letters: (0x110000,) the ASCII letter that a LOOKALIKE looks like.
    by_64: (0x4400,) the `props` of 64 code points each, or-ed.
    """

    enabled: int
    actions: U16
    kinds: U8
    fresh: U8
    fresh_ends: I64
    props: U16
    letters: U8
    by_64: U16


class Range(NamedTuple):
    """Code points `start` to `start + size - 1`."""

    start: np.uint16
    size: np.uint16


class Calm(NamedTuple):
    """Code points without the props that are sought, as hiragana, kanji, commas and digits."""

    one: Range
    two: Range
    three: Range
    four: Range


NO_RANGE = Range(np.uint16(0), np.uint16(0))
NO_CALM = Calm(NO_RANGE, NO_RANGE, NO_RANGE, NO_RANGE)


@inlined
def range_around(cp: np.int64, sought: np.int64, foldings: Foldings) -> Range:
    """As many code points of three bytes at most around `cp` as have none of the props."""
    props, by_64 = foldings.props, foldings.by_64
    start, stop = cp, cp
    while stop < NO_ENTRY and not props[stop] & sought:
        stop += 64 if stop & 63 == 0 and not by_64[stop >> 6] & sought else 1
    while start > 0x80 and not props[start - 1] & sought:
        start -= 64 if start & 63 == 0 and not by_64[(start >> 6) - 1] & sought else 1
    return Range(np.uint16(start), np.uint16(min(stop, np.int64(NO_ENTRY)) - start))


@inlined
def is_in(cp: np.uint16, calm: Calm) -> np.uint16:
    one, two, three, four = calm
    return (
        np.uint16(np.uint16(cp - one.start) < one.size)
        | np.uint16(np.uint16(cp - two.start) < two.size)
        | np.uint16(np.uint16(cp - three.start) < three.size)
        | np.uint16(np.uint16(cp - four.start) < four.size)
    )


@inlined
def is_calm(data: U8, start: int, calm: Calm) -> bool:
    """Whether a block has only ASCII and characters of `calm`; in 16 bits, so on vectors."""
    these, seconds = data[start : start + BLOCK], data[start + 1 : start + 1 + BLOCK]
    thirds, far = data[start + 2 : start + 2 + BLOCK], np.uint16(0)
    for k in range(BLOCK):
        near = is_in(short_code_point(these[k], seconds[k], thirds[k]), calm)
        far = np.uint16(far | (np.uint16(these[k] >= 0xC0) & np.uint16(near ^ np.uint16(1))))
    return bool(far == 0)


@inlined
def leads_in(data: U8, start: int) -> np.uint64:
    """The bytes of BLOCK that begin a character beyond ASCII, as bits of one number."""
    these, found = data[start : start + BLOCK], ZERO
    for k in range(BLOCK):
        found |= np.uint64(these[k] >= 0xC0) << np.uint64(k)
    return found


@inlined
def point_in(data: U8, start: int, firsts: np.uint64) -> np.int64:
    """The character of a block, with three bytes behind it, that the first bit stands for."""
    at = start + int(np.int64(n_bits((firsts - ONE) & ~firsts)))
    return code_point(data, at, at + 4)[0]


@inlined
def is_ascii_letter(byte: np.uint8) -> bool:
    return bool(np.uint8((byte | 0x20) - 97) < 26)


@inlined
def letters_in(data: U8, start: int) -> np.uint64:
    """The ASCII letters of BLOCK bytes from `start` on, as bits of one number."""
    these, found = data[start : start + BLOCK], ZERO
    for k in range(BLOCK):
        found |= np.uint64(is_ascii_letter(these[k])) << np.uint64(k)
    return found


@inlined
def ascii_in(data: U8, start: int) -> np.int64:
    """Of BLOCK bytes: HYPHEN that may end a line, ASCII_LATIN where a letter may be, or BEYOND.

    Without branches and in 8 bits throughout: it runs on vectors of bytes.
    """
    these, nexts = data[start : start + BLOCK], data[start + 1 : start + 1 + BLOCK]
    high, broken, latin = np.uint8(0), np.uint8(0), np.uint8(0)
    for k in range(BLOCK):
        hyphen, end = np.uint8(these[k] == np.uint8(45)), np.uint8(nexts[k] < np.uint8(14))
        high = np.uint8(high | these[k])
        latin = np.uint8(latin | np.uint8(np.uint8(these[k] & np.uint8(0xC0)) == np.uint8(0x40)))
        broken = np.uint8(broken | (hyphen & end))
    return np.int64(broken * HYPHEN | latin * ASCII_LATIN | (high >> np.uint8(7)) * BEYOND)


@inlined
def seen_in(data: U8, start: int, props: U16) -> np.int64:
    """SOUGHT of the characters beyond ASCII of a block with three bytes behind it."""
    found, firsts = NONE, leads_in(data, start)
    while firsts:
        found |= props[point_in(data, start, firsts)]
        firsts &= firsts - ONE
    return found & SOUGHT


@inlined
def with_other(data: U8, start: int, calm: Calm, sought: np.int64, foldings: Foldings) -> Calm:
    """`calm` with the range, without props that are `sought`, of a character that is not in it."""
    firsts = leads_in(data, start)
    while firsts:
        cp = point_in(data, start, firsts)
        if cp < NO_ENTRY and not is_in(np.uint16(cp), calm):
            return Calm(range_around(cp, sought, foldings), calm.one, calm.two, calm.three)
        firsts &= firsts - ONE
    return calm


@inlined
def aligned(data: U8, i: int, start: int, stop: int) -> int:
    """Where the first character begins from `i` on, in a text from `start` to `stop`."""
    while start < i < stop and (data[i] & 0xC0) == 0x80:
        i += 1
    return i


@inlined
def next_hyphen(data: U8, i: int, stop: int, props: U16) -> int:
    """The character to go on with: no block from `i` to it has a hyphen that may end a line."""
    start = i
    while i + BLOCK + 2 < stop:
        these = ascii_in(data, i)
        if these & HYPHEN or (these & BEYOND and seen_in(data, i, props) & HYPHEN):
            break
        i += BLOCK
    return aligned(data, i, start, stop)


@inlined
def next_with(data: U8, i: int, stop: int, bits: np.int64, calm: Calm, props: U16) -> int:
    """The next character beyond ASCII from `i` on that has any of the bits; any near the end.

    calm: none of these characters has.
    """
    start = i
    while i + BLOCK + 2 < stop:
        firsts = ZERO
        if not (calm.one.size and is_calm(data, i, calm)):
            firsts = leads_in(data, i)
        while firsts:
            if props[point_in(data, i, firsts)] & bits:
                return i + int(np.int64(n_bits((firsts - ONE) & ~firsts)))
            firsts &= firsts - ONE
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
            i = next_hyphen(data, i, stop, props)
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
    spots, fresh, changed = edits.spots, edits.fresh, np.int64(CHANGED)
    n, at = 0, 0
    for d in range(wanted.shape[0]):
        stop = offsets[d + 1]
        i = offsets[d] if wanted[d] else stop
        calm = NO_CALM
        while i < stop:
            i = next_with(data, i, stop, changed, calm, foldings.props)
            action = np.int64(1)
            while i < stop and action:
                cp, after = code_point(data, i, stop)
                action = np.int64(actions[cp])
                if not action and 0x80 <= cp < NO_ENTRY and not is_in(np.uint16(cp), calm):
                    calm = Calm(range_around(cp, changed, foldings), calm.one, calm.two, calm.three)
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
def has_other(data: U8, i: int, stop: int, props: U16) -> bool:
    """Whether the run of letters that goes on at `i` has one that is OTHER."""
    prop = np.int64(IN_RUN & ~OTHER)
    while i < stop and prop & IN_RUN and not prop & OTHER:
        cp, i = code_point(data, i, stop)
        prop = np.int64(props[cp])
    return bool(prop & OTHER)


@inlined
def next_turn(
    data: U8, i: int, stop: int, latin: np.int64, last: np.int64, props: U16
) -> tuple[int, int, np.int64]:
    """The next character from `i` on whose run may have lookalikes that stand for Latin letters.

    Any may near the end. Runs of ASCII, and those with an OTHER, are passed: returns the start
    of the last, or `i`; the character; and the letter before it that is no lookalike,
    OTHER within a run that has one.
    """
    start, at = i, i
    while at + BLOCK + 2 < stop:
        ascii_letters, leads = letters_in(data, at), leads_in(data, at)
        left = ~ZERO
        while left:
            found = ascii_letters & left if last == OTHER else ZERO
            beyond = leads & left & (found - ONE) & ~found
            sought = latin & LATIN if last == OTHER else np.int64(MAYBE | OTHER)
            prop = NONE
            while beyond and sought and not prop:
                prop = np.int64(props[point_in(data, at, beyond)]) & sought
                found = beyond if prop else found
                beyond &= beyond - ONE
            below = (found - ONE) & ~found
            left = ~below
            if found:
                here = at + int(np.int64(n_bits(below)))
                if last == OTHER:
                    if prop or data[here - 1] >= 0x80:
                        return i, here, last
                    last = np.int64(LATIN)
                else:
                    if prop & MAYBE and not has_other(data, here, stop, props):
                        return i, here, last
                    last = np.int64(OTHER)
                i = here
        at += BLOCK
    return i, aligned(data, at, start, stop), last


@inlined
def next_run(
    data: U8, i: int, stop: int, foldings: Foldings, latin: np.int64, around: Context
) -> tuple[int, int, Context]:
    """The next run of letters from `i` whose lookalikes stand for Latin letters.

    It has a Latin letter and no other; or lookalikes alone, between Latin letters or, at
    the end of a text, beside one. Returns its start (`stop` if there is none) and end.

    latin: ASCII_LATIN, and LATIN unless the text has no such characters.
    """
    props = foldings.props
    last_letter, ahead, ahead_at = around
    while i < stop:
        i, at, last_letter = next_turn(data, i, stop, latin, last_letter, props)
        behind_other = last_letter == OTHER
        start, held, letter = run_before(data, i, at, props)
        last_letter = letter if letter else last_letter
        before_run = last_letter
        i = end = at
        while i < stop and i == end and (behind_other or not held & OTHER):
            here = i
            cp, i = code_point(data, i, stop)
            prop = np.int64(props[cp])
            if prop & IN_RUN:
                end = i
            held |= prop & LETTER
            if prop & (LATIN | OTHER):
                last_letter = prop & (LATIN | OTHER)
        if held & OTHER and not behind_other:
            i = here
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
    calm, n_others = NO_CALM, 0
    i = start
    while i < stop:
        while i + BLOCK + 2 < stop:
            these = ascii_in(data, i)
            if these & BEYOND and not is_calm(data, i, calm):
                these |= seen_in(data, i, props)
                if n_others & AGAIN == 0:  # what was seen already need not be seen again
                    sought = SOUGHT & ~(seen | these) | HYPHEN
                    calm = with_other(data, i, calm, sought, foldings)
                n_others += 1
            if these & HYPHEN:
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
