"""Kernels that hash windows of gram words and look them up.

word hashes --> sums --> minimizers, a bitmap --> n-gram hashes, a table

What is looked up stands anywhere in memory. Loops that look up have no branch that depends on
what they find: the processor then fetches for many windows at once.
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U64, inlined, kernel
from tokenmill.dedup.kernels.table import SPREAD, bits_of
from tokenmill.dedup.kernels.u64 import ONE, ZERO

BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash; odd, so that no word fades out
CHUNK = 1024  # windows of which minimizers are made at a time, in the first-level cache


class Table(NamedTuple):
    """Distinct hashes of n-grams, in buckets of those with the same first bits.

    hashes: (n_grams,) ascending.
    starts: (power of two,) where in `hashes` each bucket begins.
    shift: 64 less the bits that number buckets.
    """

    hashes: U64
    starts: I32
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


class Scratch(NamedTuple):
    """Room for what is made of a block of words; (n_words + 1,) each.

    sums: of `add_up`.
    least: of `minimizers`.
    rows, keys: last word of the first of some windows in a row that share a minimizer, and it;
        later the hashes in the table that windows are compared with.
    passed: which rows have their bits set; later which windows are in the table.
    lasts, hashes, places: windows whose minimizer has its bits set: last word, hash, place of
        the hash in the table.
    """

    sums: U64
    least: U64
    rows: I64
    keys: U64
    passed: I64
    lasts: I64
    hashes: U64
    places: I64


@inlined
def hash_of(words: U64, first: int, length: int) -> np.uint64:
    """The sum of word * BASE ** (words after it) mod 2**64."""
    h = ZERO
    for k in range(first, first + length):
        h = h * BASE + words[k]
    return h


@inlined
def power(length: int) -> np.uint64:
    """BASE ** length mod 2**64."""
    weight = ONE
    for _ in range(length):
        weight = weight * BASE
    return weight


@kernel
def add_up(words: U64, sums: U64) -> None:
    """Sum up words: `sums[k]` is that of word * BASE ** (words after it) over `words[:k]`."""
    h = ZERO
    sums[0] = h
    for k in range(words.shape[0]):
        h = h * BASE + words[k]
        sums[k + 1] = h


@inlined
def window_hash(sums: U64, first: int, stop: int, weight: np.uint64) -> np.uint64:
    """The sum of word * BASE ** (words after it) over `words[first:stop]`.

    weight: `power(stop - first)`.
    """
    return np.uint64(sums[stop] - sums[first] * weight)


@inlined
def minimizers(sums: U64, first: int, n: int, window: int, run: int, room: Scratch) -> None:
    """Set `room.least` to the minimizers of the windows in words `first` to `n - 1`, in order."""
    least = room.least
    before, behind = sums[first:], sums[first + run :]
    weight = power(run)
    n_runs = n - first - run + 1
    for i in range(n_runs):
        least[i] = behind[i] - before[i] * weight
    covered = 1  # runs that least[i] is the least of
    while covered < window - run + 1:
        step = min(covered, window - run + 1 - covered)
        further = least[step:]
        n_runs -= step
        for i in range(n_runs):
            least[i] = min(least[i], further[i])
        covered += step


@kernel
def hash_windows(
    words: U64,
    text_words: I64,
    lengths: I64,
    windows: I64,
    runs: I64,
    room: Scratch,
    grams: U64,
    marks: U64,
    gram_texts: I64,
) -> int:
    """Hash every window of `lengths[t]` words of each text t.

    text_words: (n_texts + 1,), where in `words` each text begins.
    lengths, windows, runs: (n_texts,), words of a window, and `window` and `run` of the `Probe`
        that is to find it; a text with `lengths[t]` 0 is left out.
    grams, marks, gram_texts: (>= n_words,), out; hash, minimizer and text of a window.
    Returns the number of windows.
    """
    add_up(words, room.sums)
    found = 0
    for t in range(lengths.shape[0]):
        length = lengths[t]
        if length == 0:
            continue
        first, n = text_words[t], text_words[t + 1]
        minimizers(room.sums, first, n, windows[t], runs[t], room)
        weight = power(length)
        for k in range(first + length - 1, n):
            grams[found] = window_hash(room.sums, k + 1 - length, k + 1, weight)
            marks[found] = room.least[k + 1 - windows[t] - first]
            gram_texts[found] = t
            found += 1
    return found


@inlined
def rows_of(n: int, first: int, probe: Probe, room: Scratch) -> np.uint64:
    """Set `room.rows` and `room.keys` of the windows in words `first` to `n - 1`.

    Returns how many rows there are.
    """
    rows, keys, least = room.rows, room.keys, room.least
    n_rows = ZERO
    before = ZERO
    for begin in range(first, n - probe.window + 1, CHUNK):
        end = min(begin + CHUNK + probe.window - 1, n)
        minimizers(room.sums, begin, end, probe.window, probe.run, room)
        last = begin + probe.window - 1
        if begin == first:
            before = ~least[0]
        for i in range(end - last):
            rows[n_rows] = last + i
            keys[n_rows] = least[i]
            n_rows += np.uint64(least[i] != before)
            before = least[i]
    rows[n_rows] = n
    return n_rows


@inlined
def candidate_runs(n: int, first: int, probe: Probe, room: Scratch) -> int:
    """As `candidates`, where a window is one run and nothing is the least of several."""
    sums, bitmap, lasts, shift = room.sums, probe.bitmap, room.lasts, probe.shift
    weight, run = power(probe.run), np.uint64(probe.run)
    found = ZERO
    for stop in range(np.uint64(first) + run, np.uint64(n + 1)):
        spread = (sums[stop] - sums[stop - run] * weight) * SPREAD
        bits = bits_of(spread)
        lasts[found] = stop - ONE
        found += np.uint64(bitmap[spread >> shift] & bits == bits)
    return int(np.int64(found))


@inlined
def candidates(n: int, held: int, probe: Probe, room: Scratch) -> int:
    """Set `room.lasts` to the words from `held` on that end a window whose bits are set.

    Windows that begin in one document and end in the next are among them.
    Returns how many.
    """
    rows, passed, lasts = room.rows, room.passed, room.lasts
    first = max(held - probe.window + 1, 0)
    if probe.run == probe.window:
        return candidate_runs(n, first, probe, room)
    n_passed = ZERO
    for row in range(rows_of(n, first, probe, room)):
        spread = room.keys[row] * SPREAD
        bits = bits_of(spread)
        passed[n_passed] = row
        n_passed += np.uint64(probe.bitmap[spread >> probe.shift] & bits == bits)
    found = 0
    for row in passed[:n_passed]:
        for k in range(rows[row], rows[row + 1]):
            lasts[found] = k
            found += 1
    return found


@inlined
def look_up(table: Table, room: Scratch, n: int, length: int) -> np.uint64:
    """Set `room.passed` to those of `room.lasts[:n]` that end a window in the table.

    Windows that begin in one document and end in the next are among them, and shorter ones that
    begin with the block.
    Returns how many.
    """
    lasts, hashes, places, keys = room.lasts, room.hashes, room.places, room.keys
    weight = power(length)
    end = table.hashes.shape[0] - 1
    for i in range(n):
        stop = lasts[i] + 1
        h = window_hash(room.sums, max(stop - length, 0), stop, weight)
        hashes[i] = h
        places[i] = min(table.starts[h >> table.shift], end)
    for i in range(n):
        keys[i] = table.hashes[places[i]]
    found = ZERO
    for i in range(n):
        h, key, place = hashes[i], keys[i], places[i]
        while key < h and place < end:
            place += 1
            key = table.hashes[place]
        places[i] = place
        room.passed[found] = i
        found += np.uint64(key == h)
    return found


@kernel
def find_grams(
    doc_words: I64, held: int, table: Table, probe: Probe, room: Scratch, hits: I64, found: int
) -> int:
    """Find the windows of a block's documents that stand in the table.

    doc_words: (n_docs + 1,), where in the words of the block each document begins.
    held: windows that end in the first `held` words are known already.
    room: with the sums of the block's words.
    hits: (room, 4), out from row `found` on: document, index into `table.hashes`, first and
        last word.
    Returns `found` and the number of windows found, stored or not.
    """
    n = candidates(doc_words[-1], held, probe, room)
    for length in probe.lengths:
        doc = 0
        for i in room.passed[: look_up(table, room, n, length)]:
            last = room.lasts[i]
            while doc_words[doc + 1] <= last:
                doc += 1
            if last - length + 1 < doc_words[doc]:
                continue
            if found < hits.shape[0]:
                hits[found, 0] = doc
                hits[found, 1] = room.places[i]
                hits[found, 2] = last - length + 1
                hits[found, 3] = last
            found += 1
    return found


@kernel
def merge_spans(hits: I64, spans: I64) -> int:
    """Join hits of one document and item that have a word in common.

    hits: (n, 4): document, item, first byte, byte after the last; sorted by these.
    spans: (>= n, 5), out: the same of each maximal span, and how many hits it joins.
    Returns the number of spans.
    """
    n = 0
    for i in range(hits.shape[0]):
        doc, item, start, end = hits[i, 0], hits[i, 1], hits[i, 2], hits[i, 3]
        p = n - 1
        if n > 0 and spans[p, 0] == doc and spans[p, 1] == item and start < spans[p, 3]:
            spans[p, 3] = max(spans[p, 3], end)
            spans[p, 4] += 1
        else:
            spans[n, 0] = doc
            spans[n, 1] = item
            spans[n, 2] = start
            spans[n, 3] = end
            spans[n, 4] = 1
            n += 1
    return n
