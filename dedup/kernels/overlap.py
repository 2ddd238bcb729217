"""Kernels that hash windows of gram words and look them up.

word hashes --> minimizers, a bitmap --> n-gram hashes, a table
"""

from typing import NamedTuple

import numpy as np

from dedup.kernels._jit import I32, I64, U64, inlined, kernel

BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash; odd, so that no word fades out
SPREAD = np.uint64(0xD6E8FEB86659FD93)  # from a hash to its slot
ZERO = np.uint64(0)
ONE = np.uint64(1)
BIT_MASK = np.uint64(63)  # of the number of a bit in an element
FIRST_BIT = np.uint64(24)  # in a spread hash, where the numbers of its bits begin
SECOND_BIT = np.uint64(30)


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
    """Which windows to look up: those whose minimizer has its bits set.

    The minimizer of a window is the least hash of the runs of `run` words among its last
    `window` words (Schleimer et al. 2003, winnowing). Neighbours mostly share it: with runs of 7
    words in windows of 13 there is one for four words.

    lengths: (n_lengths,) words in a window to look up, ascending, each at least `window`.
    bitmap: (power of two,) a Bloom filter of minimizers, with both bits of one in one element.
    shift: 64 less the bits that number elements.
    """

    lengths: I64
    window: int
    run: int
    bitmap: U64
    shift: np.uint64


@inlined
def weight_of_first(length: int) -> np.uint64:
    """BASE ** (length - 1) mod 2**64: how much a window's first word weighs in its hash."""
    weight = ONE
    for _ in range(length - 1):
        weight = weight * BASE
    return weight


@inlined
def least_runs(words: U64, first: int, n: int, window: int, run: int, least: U64) -> None:
    """Set the minimizers of the windows that end in `words[first:n]`, from the first whole one.

    A run's hash is the sum of word * BASE ** (words after it) mod 2**64.
    """
    weight = weight_of_first(run)
    h = ZERO
    for k in range(first, min(first + run - 1, n)):
        h = h * BASE + words[k]
    for k in range(first + run - 1, n):
        h = h * BASE + words[k]
        least[k] = h
        h -= words[k - run + 1] * weight
    covered = 1  # runs that least[k] is the least of
    while covered < window - run + 1:
        step = min(covered, window - run + 1 - covered)
        for k in range(n - 1, first + run - 2 + step, -1):
            least[k] = min(least[k], least[k - step])
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
def hash_windows(
    words: U64,
    text_words: I64,
    lengths: I64,
    windows: I64,
    runs: I64,
    least: U64,
    grams: U64,
    minimizers: U64,
    gram_texts: I64,
) -> int:
    """Hash every window of `lengths[t]` words of each text t.

    text_words: (n_texts + 1,), where in `words` each text begins.
    lengths, windows, runs: (n_texts,), words of a window, and `window` and `run` of the `Probe`
        that is to find it; a text with `lengths[t]` 0 is left out.
    least: (n_words,) scratch.
    grams, minimizers, gram_texts: (>= n_words,), out; of a window.
    Returns the number of windows.
    """
    found = 0
    for t in range(lengths.shape[0]):
        length = lengths[t]
        if length == 0:
            continue
        first, n = text_words[t], text_words[t + 1]
        least_runs(words, first, n, windows[t], runs[t], least)
        weight = weight_of_first(length)
        h = ZERO
        for k in range(first, min(first + length - 1, n)):
            h = h * BASE + words[k]
        for k in range(first + length - 1, n):
            h = h * BASE + words[k]
            grams[found] = h
            minimizers[found] = least[k]
            gram_texts[found] = t
            found += 1
            h -= words[k - length + 1] * weight
    return found


@inlined
def bits_of(spread: np.uint64) -> np.uint64:
    """The two bits of a spread minimizer in its element of a bitmap."""
    first = ONE << ((spread >> FIRST_BIT) & BIT_MASK)
    return first | (ONE << ((spread >> SECOND_BIT) & BIT_MASK))


@kernel
def mark(minimizers: U64, bitmap: U64, shift: np.uint64) -> None:
    """Set the bits of a `Probe`."""
    for m in minimizers:
        spread = m * SPREAD
        bitmap[spread >> shift] |= bits_of(spread)


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
def candidates(words: U64, held: int, probe: Probe, least: U64, lasts: I64) -> np.int64:
    """Note which of `words[held:]` end a window whose bit is set; return how many.

    Windows that begin in one document and end in the next are among them. No branch depends
    on a bit: the processor fetches many of them at once (1.7 times as fast).
    """
    first = max(held - probe.window + 1, 0)
    n = words.shape[0]
    least_runs(words, first, n, probe.window, probe.run, least)
    found = np.int64(0)
    for k in range(first + probe.window - 1, n):
        spread = least[k] * SPREAD
        bits = bits_of(spread)
        lasts[found] = k
        found += np.int64(probe.bitmap[spread >> probe.shift] & bits == bits)
    return found


@kernel
def find_grams(
    words: U64,
    doc_words: I64,
    held: int,
    table: Table,
    probe: Probe,
    least: U64,
    lasts: I64,
    hits: I64,
    found: int,
) -> int:
    """Find the windows of a block's documents that stand in the table.

    doc_words: (n_docs + 1,), where in `words` each document begins.
    held: windows that end in the first `held` words are known already.
    least, lasts: (>= n_words,) scratch.
    hits: (room, 4), out from row `found` on: document, index into `table.hashes`, first and
        last word.
    Returns `found` and the number of windows found, stored or not.
    """
    doc = 0
    for last in lasts[: candidates(words, held, probe, least, lasts)]:
        while doc_words[doc + 1] <= last:
            doc += 1
        h = ZERO
        weight = ONE
        first = last + 1
        for length in probe.lengths:
            if last - length + 1 < doc_words[doc]:
                break
            while first > last - length + 1:
                first -= 1
                h += words[first] * weight
                weight = weight * BASE
            gram = gram_of(table, h)
            if gram >= 0:
                if found < hits.shape[0]:
                    hits[found, 0] = doc
                    hits[found, 1] = gram
                    hits[found, 2] = first
                    hits[found, 3] = last
                found += 1
    return found
