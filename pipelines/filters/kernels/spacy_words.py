"""Where words begin inside pieces of text, as a table remembers it of pieces met before.

A piece is what whitespace separates, known by a 64-bit hash: two of n pieces share one with odds
of about n**2 / 2**65. Most pieces are not in the table: letters, and letters with one mark behind,
are plain, their words known without it.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, bytes_below, eight
from tokenmill.dedup.kernels.table import EMPTY, piece_key
from tokenmill.dedup.kernels.u64 import EIGHT, ONE, THREE, U64_32
from tokenmill.pipelines.filters.kernels.characters import ALPHA, BLANK, SPACE, SPLIT, START

# columns of the table: what a slot holds of a piece
KEY, FIRST, END, STATE = range(4)  # its hash; where in `splits` its own stand; one of these:
KNOWN, TOUCHY, PENDING = range(3)  # pending: met, its splits not yet known
N_COLUMNS = 4

# of `place`: where to go on, and how many there are in `fresh`, `missed`, `touching`
DOC, BYTE, N_FRESH, N_MISSED, N_TOUCHING = range(5)
N_PLACES = 5

AFTER_LOWER, AFTER_UPPER = 1, 2  # bits of `plain`: a mark that is a word behind such letters
LOWER = 0x20  # of an ASCII letter

SEVEN = np.uint64(7)
SPACES = LOW_BITS * np.uint64(SPACE)


@inlined
def slot_of(table: U64, key: np.uint64) -> np.uint64:
    """Where in a table, never full, `key` stands or belongs."""
    mask = np.uint64(table.shape[0] - 1)
    at = (key >> U64_32) & mask
    while table[at, KEY] != EMPTY and table[at, KEY] != key:
        at = (at + ONE) & mask
    return at


@inlined
def is_rule(data: U8, start: np.uint64, stop: np.uint64, rules: U64, longest: np.uint64) -> bool:
    """Whether data[start:stop] is one of the rules, of which none has more than `longest` bytes."""
    if stop - start > longest:
        return False
    key = piece_key(data, start, stop)
    return bool(rules[slot_of(rules, key), KEY] == key)


@inlined
def piece_end(classes: U8, start: np.uint64, end: np.uint64, longest: np.uint64) -> np.uint64:
    """Where the piece from `start` ends: at whitespace or `longest` bytes; reads seven more."""
    limit = min(end, start + longest)
    i = start
    while i < limit:
        spaces = eight(classes, i) & SPACES
        if spaces:
            i += bytes_below(spaces)
            break
        i += EIGHT
    i = min(i, limit)
    if i < end and not classes[i] & SPACE:  # not inside a character
        while i > start + ONE and not classes[i] & START:
            i -= ONE
    return i


@inlined
def letters_end(data: U8, classes: U8, start: np.uint64, stop: np.uint64) -> np.uint64:
    """Where the ASCII letters from `start` on end."""
    i = start
    while i + EIGHT <= np.uint64(data.shape[0]) and i < stop:
        others = ~((eight(classes, i) >> THREE) & ~(eight(data, i) >> SEVEN)) & LOW_BITS
        if others:
            return min(stop, i + bytes_below(others))
        i += EIGHT
    while i < stop and data[i] < 0x80 and classes[i] & ALPHA:
        i += ONE
    return min(stop, i)


@inlined
def is_plain(
    data: U8, start: np.uint64, letters: np.uint64, stop: np.uint64, plain: U8, rules: U64,
    longest: np.uint64,
) -> bool:  # fmt: skip
    """Whether a piece is letters that no rule knows, with at most one mark behind."""
    if letters == start or letters + ONE < stop:
        return False
    if letters < stop:
        behind = AFTER_LOWER if data[letters - ONE] & np.uint8(LOWER) else AFTER_UPPER
        if not plain[data[letters]] & np.uint8(behind):
            return False
        if is_rule(data, start, stop, rules, longest):
            return False
    return not is_rule(data, start, letters, rules, longest)


@inlined
def joins(data: U8, classes: U8, blank: int, first: int, end: int, bridges: U8) -> bool:
    """Whether words around a byte may be one, the only space there.

    bridges: (256, 256), by the bytes beside it.
    """
    if blank <= first or blank + 1 >= end or data[blank] != BLANK:
        return False
    before, behind = blank - 1, blank + 1
    if classes[before] & SPACE or classes[behind] & SPACE:
        return False
    return bool(bridges[data[before], data[behind]])


@inlined
def mark_piece(
    data: U8, classes: U8, start: int, stop: int, first: int, end: int, table: U64,
    slot: np.uint64, splits: U32, bridges: U8,
) -> bool:  # fmt: skip
    """Mark the words of a piece of a document [first:end]; whether those around may change them."""
    for k in range(table[slot, FIRST], table[slot, END]):
        at = start + np.int64(splits[k])
        if at < stop:  # as of any piece but one that shares its hash with another
            classes[at] |= np.uint8(SPLIT)
    return table[slot, STATE] == np.uint64(TOUCHY) and (
        joins(data, classes, start - 1, first, end, bridges)
        or joins(data, classes, stop, first, end, bridges)
    )


@kernel
def mark_words(
    data: U8, classes: U8, offsets: I64, table: U64, splits: U32, plain: U8, rules: U64,
    longest_rule: int, bridges: U8, longest: int, room: int, fresh: I64, missed: I64, touching: I64,
    place: I64,
) -> None:  # fmt: skip
    """Set SPLIT where a word begins inside a piece, and list what the table cannot tell.

    classes: (n_bytes,) or more, in and out.  table: (n_slots, N_COLUMNS), a power of two of them.
    splits: positions in pieces, 1 or more.  plain: (256,), by byte.  rules: (n_slots, 1), keys.
    longest_rule: its bytes.  bridges: as `joins` has them.  longest: bytes of a piece; what is
        longer is taken in parts.  room: pieces that the table may take up.
    fresh: (n, 3), out: start, stop and slot of pieces now pending.
    missed: (n, 4), out: document, start, stop and slot of all pieces that are pending.
    touching: (n, 3), out: document, start and stop of pieces that depend on those around.
    place: (N_PLACES,), in and out; ends early, DOC before n_docs, where a list is full.
    """
    n_docs = offsets.shape[0] - 1
    n_fresh = n_missed = n_touching = 0
    d, i = int(place[DOC]), int(place[BYTE])
    full = False
    while d < n_docs and not full:
        first, end = int(offsets[d]), int(offsets[d + 1])
        i = max(i, first)
        while i < end:
            if classes[i] & SPACE:
                i += 1
                continue
            start = np.uint64(i)
            behind = piece_end(classes, start, np.uint64(end), np.uint64(longest))
            letters = letters_end(data, classes, start, behind)
            stop = int(np.int64(behind))
            if is_plain(data, start, letters, behind, plain, rules, np.uint64(longest_rule)):
                if letters < behind:
                    classes[letters] |= np.uint8(SPLIT)
            else:
                if max(n_missed - missed.shape[0], n_touching - touching.shape[0]) == 0:
                    full = True
                    break
                key = piece_key(data, start, behind)
                slot = slot_of(table, key)
                if table[slot, KEY] == EMPTY:
                    if n_fresh == min(room, fresh.shape[0]):
                        full = True
                        break
                    table[slot, KEY] = key
                    table[slot, STATE] = PENDING
                    fresh[n_fresh, 0], fresh[n_fresh, 1], fresh[n_fresh, 2] = i, stop, slot
                    n_fresh += 1
                if table[slot, STATE] == np.uint64(PENDING):
                    missed[n_missed, 0], missed[n_missed, 1] = d, i
                    missed[n_missed, 2], missed[n_missed, 3] = stop, slot
                    n_missed += 1
                elif mark_piece(data, classes, i, stop, first, end, table, slot, splits, bridges):
                    touching[n_touching, 0] = d
                    touching[n_touching, 1], touching[n_touching, 2] = i, stop
                    n_touching += 1
            if stop < end and not classes[stop] & SPACE:  # a part of a longer piece
                classes[stop] |= np.uint8(SPLIT)
            i = stop
        d += not full
    place[DOC], place[BYTE] = d, i
    place[N_FRESH], place[N_MISSED], place[N_TOUCHING] = n_fresh, n_missed, n_touching


@kernel
def mark_missed(
    data: U8, classes: U8, offsets: I64, table: U64, splits: U32, bridges: U8, missed: I64,
    touching: I64, place: I64,
) -> None:  # fmt: skip
    """Set SPLIT in pieces missed that the table knows now; touching: has room for all of them."""
    n_touching = place[N_TOUCHING]
    for k in range(missed.shape[0]):
        d, i, stop = int(missed[k, 0]), int(missed[k, 1]), int(missed[k, 2])
        slot = np.uint64(missed[k, 3])
        first, end = int(offsets[d]), int(offsets[d + 1])
        if mark_piece(data, classes, i, stop, first, end, table, slot, splits, bridges):
            touching[n_touching, 0] = d
            touching[n_touching, 1], touching[n_touching, 2] = i, stop
            n_touching += 1
    place[N_TOUCHING] = n_touching


@kernel
def find_runs(
    data: U8, classes: U8, offsets: I64, bridges: U8, longest: int, touching: I64, runs: I64
) -> int:
    """Write the longest runs of pieces that join, each around one of `touching`; how many.

    touching: as `mark_words` has them, in order of text.  runs: (n, 2), out: start and stop.
    A piece of more than `longest` bytes joins none.
    """
    n = 0
    for k in range(touching.shape[0]):
        d, start, stop = int(touching[k, 0]), int(touching[k, 1]), int(touching[k, 2])
        if n and start < runs[n - 1, 1]:
            continue
        first, end = int(offsets[d]), int(offsets[d + 1])
        while joins(data, classes, start - 1, first, end, bridges):
            i = start - 2
            while i > first and not classes[i - 1] & SPACE and start - i <= longest + 1:
                i -= 1
            if start - 1 - i > longest:
                break
            start = i
        while joins(data, classes, stop, first, end, bridges):
            i = stop + 2
            while i < end and not classes[i] & SPACE and i - stop <= longest + 1:
                i += 1
            if i - stop - 1 > longest:
                break
            stop = i
        runs[n, 0], runs[n, 1] = start, stop
        n += 1
    return n


@kernel
def write_keys(data: U8, offsets: I64, keys: U64) -> None:
    """Enter each document as a piece into a table of a column alone."""
    for d in range(offsets.shape[0] - 1):
        key = piece_key(data, np.uint64(offsets[d]), np.uint64(offsets[d + 1]))
        keys[slot_of(keys, key), KEY] = key
