"""Kernels that hash a text's gram words and look its n-grams up.

    UTF-8 bytes --> gram words --> word hashes --> minimizers, a bitmap --> n-gram hashes, a table

The buffer of words stays in the cache; the last words of one filling begin the next.
"""

from typing import NamedTuple

import numpy as np

from dedup.kernels._jit import I32, I64, U8, U16, U32, U64, inlined, kernel

# Kinds of character; from KEEP on, the lower-cased code point plus KEEP.
SPACE = np.uint32(0)
DELETE = np.uint32(1)
KEEP = np.uint32(2)
FNV_OFFSET = np.uint64(0xCBF29CE484222325)  # FNV-1a, 64 bits
FNV_PRIME = np.uint64(0x00000100000001B3)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)  # the finalizer of MurmurHash3, 64 bits
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
MIX_SHIFT = np.uint64(33)
BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash; odd, so that no word fades out
SPREAD = np.uint64(0xD6E8FEB86659FD93)  # from a hash to its slot
TAIL_WORDS = 8  # by which texts shorter than an n-gram are found; the least such text
ZERO = np.uint64(0)
ONE = np.uint64(1)
BIT_SHIFT = np.uint64(6)
BIT_MASK = np.uint64(63)


class Chars(NamedTuple):
    """What becomes of each character; `dedup.unicode` has the two-level layout.

    ascii: (128,) SPACE, DELETE, or the lower case plus KEEP.
    pages, kinds, lower_delta: of all code points; kinds are SPACE, DELETE or KEEP.
    """

    ascii: U32
    pages: U16
    kinds: U8
    lower_delta: U32


class Words(NamedTuple):
    """A buffer of words: hash, first byte of the first kept character, byte after the last.

    lasts: (n,) scratch, last words of the windows that a bitmap did not rule out.
    runs: (n,) scratch, of the window that ends with each word, its minimizer.
    """

    hashes: U64
    starts: I64
    ends: I64
    lasts: I64
    runs: U64


class Table(NamedTuple):
    """Distinct hashes of n-grams, in an open-addressing table.

    hashes: (n_grams,) ascending.
    slots: (power of two > n_grams,) index into `hashes`, -1 where empty.
    shift: 64 less the bits that number slots.
    """

    hashes: U64
    slots: I32
    shift: np.uint64


class Probe(NamedTuple):
    """Which windows to look up: those whose minimizer has its bit set.

    The minimizer of a window is the least hash of its runs of `run_words` words (Schleimer et
    al. 2003, winnowing). Neighbours mostly share it: over 13-grams there is one for four words.

    lengths: (n_lengths,) words in a window to look up, each at least `window_words`.
    window_words: how many last words have the minimizer.
    bitmap: (power of two / 64,) the first bits of a spread minimizer number its bit.
    shift: 64 less the bits that number bits.
    """

    lengths: I64
    window_words: int
    run_words: int
    bitmap: U64
    shift: np.uint64


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


@inlined
def fill(data: U8, i: int, stop: int, chars: Chars, words: Words, n: int) -> tuple[int, int]:
    """Append words of `data[i:stop]` to the `n` in the buffer, until either ends.

    Returns the place reached and the number of words in the buffer.
    """
    ascii_kinds = chars.ascii
    full = words.hashes.shape[0]
    while i < stop and n < full:
        h = FNV_OFFSET
        start = -1
        end = i
        while i < stop:
            at = i
            byte = data[i]
            if byte < 128:
                kind = ascii_kinds[byte]
                i += 1
            else:
                cp, i = code_point(data, i, stop)
                page = np.int64(chars.pages[cp >> np.uint32(8)])
                slot = page * 256 + np.int64(cp & np.uint32(255))
                kind = np.uint32(chars.kinds[slot])
                if kind == KEEP:
                    kind = np.uint32(cp + chars.lower_delta[slot] + KEEP)
            if kind == SPACE:
                if start >= 0:
                    break
            elif kind != DELETE:
                if start < 0:
                    start = at
                h = (h ^ np.uint64(kind)) * FNV_PRIME
                end = i
        if start >= 0:
            h = (h ^ (h >> MIX_SHIFT)) * MIX_1
            h = (h ^ (h >> MIX_SHIFT)) * MIX_2
            words.hashes[n] = h ^ (h >> MIX_SHIFT)
            words.starts[n] = start
            words.ends[n] = end
            n += 1
    return i, n


@inlined
def weight_of_first(length: int) -> np.uint64:
    """BASE ** (length - 1) mod 2**64: how much a window's first word weighs in its hash."""
    weight = ONE
    for _ in range(length - 1):
        weight = weight * BASE
    return weight


@inlined
def window_hash(words: Words, first: int, stop: int) -> np.uint64:
    """The sum of word * BASE ** (words after it) mod 2**64 over `words[first:stop]`."""
    h = ZERO
    for k in range(first, stop):
        h = h * BASE + words.hashes[k]
    return h


@inlined
def least_runs(words: Words, first: int, n: int, window: int, run: int) -> None:
    """Set the minimizers of the windows of `words[first:n]`, from the first whole one on."""
    runs = words.runs
    weight = weight_of_first(run)
    h = window_hash(words, first, min(first + run - 1, n))
    for k in range(first + run - 1, n):
        h = h * BASE + words.hashes[k]
        runs[k] = h
        h -= words.hashes[k - run + 1] * weight
    covered = 1  # runs that runs[k] is the least of
    while covered < window - run + 1:
        step = min(covered, window - run + 1 - covered)
        for k in range(n - 1, first + run - 2 + step, -1):
            runs[k] = min(runs[k], runs[k - step])
        covered += step


@inlined
def gram_of(table: Table, h: np.uint64) -> int:
    """The index of a hash in `table.hashes`, -1 if it is not there."""
    last = table.slots.shape[0] - 1
    s = np.int64((h * SPREAD) >> table.shift)
    while table.slots[s] >= 0 and table.hashes[table.slots[s]] != h:
        s = (s + 1) & last
    return int(table.slots[s])


@kernel
def hash_items(
    data: U8,
    offsets: I64,
    chars: Chars,
    ngram: int,
    words: Words,
    run_words: int,
    lengths: I64,
    tails: U64,
    grams: U64,
    minimizers: U64,
    gram_texts: I64,
) -> int:
    """Hash every window of `ngram` words of each text; of a shorter text, all of it.

    words: room for the words of the longest text.
    lengths: (n_texts,), out; words in each window, 0 if under both `ngram` and `TAIL_WORDS`.
    tails: (n_texts,), out; of a text shorter than `ngram`, the hash of its last words.
    grams, minimizers, gram_texts: (>= words of all texts,), out; of a window. A window shorter
        than `ngram` has no minimizer: 0.
    Returns the number of windows.
    """
    found = 0
    for t in range(lengths.shape[0]):
        _, n = fill(data, offsets[t], offsets[t + 1], chars, words, 0)
        lengths[t] = min(ngram, n) if n >= min(ngram, TAIL_WORDS) else 0
        if lengths[t] == 0:
            continue
        tails[t] = window_hash(words, max(n - TAIL_WORDS, 0), n)
        if lengths[t] == ngram:
            least_runs(words, 0, n, ngram, run_words)
        weight = weight_of_first(lengths[t])
        h = window_hash(words, 0, lengths[t] - 1)
        for k in range(lengths[t] - 1, n):
            h = h * BASE + words.hashes[k]
            grams[found] = h
            minimizers[found] = words.runs[k] if lengths[t] == ngram else ZERO
            gram_texts[found] = t
            found += 1
            h -= words.hashes[k - lengths[t] + 1] * weight
    return found


@kernel
def enter(hashes: U64, slots: I32, shift: np.uint64) -> None:
    """Fill the slots of a table, all -1 before."""
    last = slots.shape[0] - 1
    for g in range(hashes.shape[0]):
        s = np.int64((hashes[g] * SPREAD) >> shift)
        while slots[s] >= 0:
            s = (s + 1) & last
        slots[s] = g


@inlined
def candidates(words: Words, held: int, n: int, probe: Probe) -> np.int64:
    """Note which of `words[held:n]` end a window whose bit is set; return how many.

    No branch depends on a bit: the processor fetches many of them at once (1.7 times as fast).
    """
    first = max(held - probe.window_words + 1, 0)
    least_runs(words, first, n, probe.window_words, probe.run_words)
    found = np.int64(0)
    for k in range(first + probe.window_words - 1, n):
        bit = (words.runs[k] * SPREAD) >> probe.shift
        words.lasts[found] = k
        found += np.int64((probe.bitmap[bit >> BIT_SHIFT] >> (bit & BIT_MASK)) & ONE)
    return found


@inlined
def look_up(
    words: Words, held: int, n: int, probe: Probe, table: Table, doc: int, hits: I64, found: int
) -> int:
    """Look up the windows that end in `words[held:n]`; return the hits so far."""
    for last in words.lasts[: candidates(words, held, n, probe)]:
        for length in probe.lengths:
            first = last - length + 1
            gram = gram_of(table, window_hash(words, first, last + 1)) if first >= 0 else -1
            if gram >= 0:
                if found < hits.shape[0]:
                    hits[found, 0] = doc
                    hits[found, 1] = gram
                    hits[found, 2] = words.starts[first]
                    hits[found, 3] = words.ends[last]
                found += 1
    return found


@kernel
def find_grams(
    data: U8,
    offsets: I64,
    chars: Chars,
    table: Table,
    full: Probe,
    short: Probe,
    words: Words,
    hits: I64,
    doc_grams: I64,
) -> int:
    """Find the windows of every document that stand in the table.

    full: of windows of an n-gram, the longest.  short: of texts indexed as a whole.
    words: scratch, longer than an n-gram.
    hits: (room, 4), out: document, index into `table.hashes`, first byte, end byte.
    doc_grams: (n_docs,), out; hits of each.  Returns their number, stored or not.
    """
    found = 0
    for d in range(doc_grams.shape[0]):
        before = found
        i, stop = offsets[d], offsets[d + 1]
        n = 0
        while i < stop:
            held = n  # windows that end in these have been looked up
            i, n = fill(data, i, stop, chars, words, n)
            found = look_up(words, held, n, full, table, d, hits, found)
            if short.lengths.shape[0] > 0:
                found = look_up(words, held, n, short, table, d, hits, found)
            drop = max(n - full.window_words + 1, 0)
            n -= drop
            for k in range(n):
                words.hashes[k] = words.hashes[k + drop]
                words.starts[k] = words.starts[k + drop]
                words.ends[k] = words.ends[k + drop]
        doc_grams[d] = found - before
    return found
