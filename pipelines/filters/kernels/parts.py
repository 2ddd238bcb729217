"""Lines and paragraphs, as what runs of newlines separate: how many of them repeat one before.

A part is known by a 64-bit hash of its bytes. Two of n different parts of a document share one
with odds of about n**2 / 2**65: for a million lines, 3 in 100 million.
"""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import LOW_BITS, bytes_below, eight
from tokenmill.dedup.kernels.table import EMPTY, piece_key, probed
from tokenmill.dedup.kernels.u64 import EIGHT, FOUR, ONE, U64_32
from tokenmill.pipelines.filters.kernels.characters import SPACE, START, TERMINAL

LF = 0x0A

HIGH_BITS = np.uint64(0x8080808080808080)
NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)

# columns of `part_facts`
N_PARTS, N_REPEATED, REPEATED_CHARS, N_TERMINAL, N_SHORT = range(5)
N_PART_FACTS = 5


@inlined
def find_newline(data: U8, i: np.uint64, end: np.uint64) -> np.uint64:
    r"""Where the next "\n" stands; `end` if nowhere. A byte less one borrows where it is 0."""
    while i + EIGHT <= end:
        chunk = eight(data, i) ^ NEWLINES
        zeros = (chunk - LOW_BITS) & ~chunk & HIGH_BITS
        if zeros:
            return i + bytes_below(zeros)
        i += EIGHT
    while i < end and data[i] != LF:
        i += ONE
    return i


@inlined
def find_break(
    data: U8, i: np.uint64, end: np.uint64, newlines: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Where the next run of `newlines` newlines or more begins and ends; end, end + 1 if none."""
    while i < end:
        first = find_newline(data, i, end)
        i = first
        while i < end and data[i] == LF:
            i += ONE
        if first < end and i - first >= newlines:
            return first, i
    return end, end + ONE


@inlined
def n_characters(classes: U8, start: np.uint64, stop: np.uint64) -> int:
    """Characters that begin in classes[start:stop]."""
    n = 0
    for i in range(start, stop):
        n += int(classes[i] & START)
    return n


@inlined
def is_short(classes: U8, start: np.uint64, stop: np.uint64, chars: np.uint64) -> bool:
    """Whether classes[start:stop] has at most so many characters, of up to four bytes each."""
    if stop - start <= chars:
        return True
    return bool(stop - start <= FOUR * chars and n_characters(classes, start, stop) <= chars)


@inlined
def is_blank(classes: U8, start: np.uint64, stop: np.uint64) -> bool:
    """Whether classes[start:stop] is nothing but whitespace."""
    while start < stop and classes[start] & SPACE:
        start += ONE
    return bool(start == stop)


@inlined
def seen_before(table: U64, size: int, key: np.uint64) -> bool:
    """Whether `key` stands in table[:size] (a power of two, never full); then it does."""
    mask = np.uint64(size - 1)
    at = probed(table, mask, (key >> U64_32) & mask, key)
    known = table[at] == key
    table[at] = key
    return bool(known)


@kernel
def part_facts(
    data: U8, classes: U8, offsets: I64, n_newlines: I64, newlines: int, trim: bool,
    skip_blank: bool, short_chars: int, table: U64, out: I64,
) -> None:  # fmt: skip
    r"""Split each document at runs of at least `newlines` "\n", as `re.split` does, and count.

    n_newlines: (n_docs,), in each document.
    trim: split `text.strip()`.  skip_blank: leave out parts of nothing but whitespace.
    table: scratch, twice the parts of any document, rounded up to a power of two.
    out: (n_docs, N_PART_FACTS): parts; those equal to one before, and their characters; those
    whose last character ends a sentence; those of at most `short_chars` characters.
    """
    fewest = np.uint64(newlines)
    short = np.uint64(short_chars)
    for d in range(out.shape[0]):
        n_parts = n_repeated = repeated_chars = n_terminal = n_short = 0
        start = np.uint64(offsets[d])
        end = np.uint64(offsets[d + 1])
        if trim:
            while start < end and classes[start] & SPACE:
                start += ONE
            while start < end and classes[end - ONE] & SPACE:
                end -= ONE
        size = 2
        while size < 2 * (n_newlines[d] + 1):
            size *= 2
        table[:size] = EMPTY
        while start <= end:
            stop, after = find_break(data, start, end, fewest)
            if not (skip_blank and is_blank(classes, start, stop)):
                n_parts += 1
                n_short += is_short(classes, start, stop, short)
                n_terminal += bool(stop > start and classes[stop - ONE] & TERMINAL)
                if seen_before(table, size, piece_key(data, start, stop)):
                    n_repeated += 1
                    repeated_chars += n_characters(classes, start, stop)
            start = after
        out[d, N_PARTS] = n_parts
        out[d, N_REPEATED] = n_repeated
        out[d, REPEATED_CHARS] = repeated_chars
        out[d, N_TERMINAL] = n_terminal
        out[d, N_SHORT] = n_short
