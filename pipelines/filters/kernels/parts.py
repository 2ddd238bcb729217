"""Lines and paragraphs, as what runs of newlines separate: how many of them repeat one before.

A part is known by a 64-bit hash of its bytes. Two of n different parts of a document share one
with odds of about n**2 / 2**65: for a million lines, 3 in 100 million.
"""

import numpy as np

from dedup.kernels._jit import I64, U8, U64, inlined, kernel

START = 1  # as in pipelines.filters.characters; a kernel's constants live in its own file
SPACE = 2
TERMINAL = 32

LF = 0x0A

# 2**64 / golden ratio and the second multiplier of SplitMix64: odd, with well-spread bits
FOLD = np.uint64(0x9E3779B97F4A7C15)
FINAL = np.uint64(0x94D049BB133111EB)
EMPTY = np.uint64(0)  # of a slot
NEVER_EMPTY = np.uint64(1)  # so that no key is EMPTY

U64_8 = np.uint64(8)
U64_32 = np.uint64(32)

# columns of `part_facts`
N_PARTS, N_REPEATED, REPEATED_CHARS, N_TERMINAL, N_SHORT = range(5)
N_PART_FACTS = 5


@inlined
def find_break(data: U8, i: int, end: int, newlines: int) -> tuple[int, int]:
    """Where the next run of `newlines` newlines or more begins and ends; end, end + 1 if none."""
    while i < end:
        if data[i] == LF:
            first = i
            while i < end and data[i] == LF:
                i += 1
            if i - first >= newlines:
                return first, i
        else:
            i += 1
    return end, end + 1


@inlined
def hash_bytes(data: U8, start: int, stop: int) -> np.uint64:
    """A 64-bit hash of data[start:stop], eight bytes at a time; never EMPTY."""
    i = np.uint64(start)
    end = np.uint64(stop)
    h = end - i
    while i + U64_8 <= end:
        chunk = EMPTY
        for j in range(8):  # the compiler makes one load of it
            chunk |= np.uint64(data[i + np.uint64(j)]) << np.uint64(8 * j)
        h = (h ^ chunk) * FOLD
        h ^= h >> U64_32
        i += U64_8
    chunk = EMPTY
    while i < end:
        chunk = (chunk << U64_8) | np.uint64(data[i])
        i += NEVER_EMPTY
    h = (h ^ chunk) * FINAL
    return (h ^ (h >> U64_32)) | NEVER_EMPTY


@inlined
def seen_before(table: U64, size: int, key: np.uint64) -> bool:
    """Whether `key` stands in table[:size] (a power of two, never full); then it does."""
    mask = size - 1
    at = np.int64(key >> U64_32) & mask
    while table[at] != EMPTY:
        if table[at] == key:
            return True
        at = (at + 1) & mask
    table[at] = key
    return False


@kernel
def part_facts(
    data: U8,
    classes: U8,
    offsets: I64,
    n_newlines: I64,
    newlines: int,
    trim: bool,
    skip_blank: bool,
    short_chars: int,
    table: U64,
    out: I64,
) -> None:
    r"""Split each document at runs of at least `newlines` "\n", as `re.split` does, and count.

    n_newlines: (n_docs,), in each document.
    trim: split `text.strip()`.  skip_blank: leave out parts of nothing but whitespace.
    table: scratch, twice the parts of any document, rounded up to a power of two.
    out: (n_docs, N_PART_FACTS): parts; those equal to one before, and their characters; those
    whose last character ends a sentence; those of at most `short_chars` characters.
    """
    for d in range(out.shape[0]):
        facts = out[d]
        facts[:] = 0
        start = offsets[d]
        end = offsets[d + 1]
        if trim:
            while start < end and classes[start] & SPACE:
                start += 1
            while start < end and classes[end - 1] & SPACE:
                end -= 1
        size = 2
        while size < 2 * (n_newlines[d] + 1):
            size *= 2
        table[:size] = EMPTY
        while start <= end:
            stop, after = find_break(data, start, end, newlines)
            chars = 0
            common = SPACE
            for i in range(start, stop):
                chars += classes[i] & START
                common &= classes[i]
            if not (skip_blank and common):
                facts[N_PARTS] += 1
                facts[N_SHORT] += chars <= short_chars
                facts[N_TERMINAL] += stop > start and (classes[stop - 1] & TERMINAL) != 0
                if seen_before(table, size, hash_bytes(data, start, stop)):
                    facts[N_REPEATED] += 1
                    facts[REPEATED_CHARS] += chars
            start = after
