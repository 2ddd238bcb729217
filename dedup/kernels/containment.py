"""Kernels that score how much of an item's text stands in a stretch of a document.

word hashes --> a bitmap, a table --> seeds --> words near them --> the stretch with most grams
            --> its words and the text's, laid side by side --> how many are in place
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.overlap import BASE, hash_of, power
from tokenmill.dedup.kernels.table import SPREAD, bits_of
from tokenmill.dedup.kernels.u64 import ONE, U64_32, ZERO


class Seeds(NamedTuple):
    """Hashes of seeds, in an open-addressing table, and the texts that have each.

    hashes: (n_seeds,) distinct.
    slots: (power of two > n_seeds,) index into `hashes`, -1 where empty.
    shift: 64 less the bits that number slots.
    offsets: (n_seeds + 1,); seed s stands in `texts[offsets[s]:offsets[s + 1]]`.
    """

    hashes: U64
    slots: I32
    shift: np.uint64
    offsets: I64
    texts: I32


class Probe(NamedTuple):
    """Which windows to look up among the seeds: those whose last words have their bits set.

    shortest, longest: words of a seed; seeds of all lengths between are found by the hash of
        their last `shortest` words.
    spaced: 1 if a seed says nothing of its word before the last GAP, else 0.
    bitmap: (power of two,) a Bloom filter of these hashes, with both bits of one in one element.
    shift: 64 less the bits that number elements.
    """

    shortest: int
    longest: int
    spaced: int
    bitmap: U64
    shift: np.uint64


class Texts(NamedTuple):
    """What of each text is looked for around its seeds.

    gram: words of a gram.
    words: (n_texts,).
    grams: (n_texts,) distinct grams that count; 0 of a text that is left out.
    table: the lower halves of the hashes of each text's grams, EMPTY where there is none.
    offsets: (n_texts + 1,); the open-addressing table of text t is
        `table[offsets[t]:offsets[t + 1]]`.
    spelled: the lower halves of the hashes of each text's words, one text behind the other.
    begins: (n_texts,); text t is `spelled[begins[t]:begins[t] + words[t]]`; -1 of one whose words
        in place say nothing.
    """

    gram: int
    words: I64
    grams: I64
    table: U32
    offsets: I64
    spelled: U32
    begins: I64


class Room(NamedTuple):
    """Scratch.

    lasts: (>= n_words,).
    at: (>= n_words,) where in its text's table the gram is that ends in a word, or -1.
    counts: (>= slots of the largest table of a text,) zeros.
    near: (n_texts, 4) zeros: the words now known to be near seeds of a text, from and to; the
        most grams of a stretch so far, and its last word. To is 0 where the document has no seed.
    touched: (n_texts,) texts of which the document has a seed.
    scores: (> words around a stretch,); a text with more than this allows has none in place.
    """

    lasts: I64
    at: I32
    counts: I32
    near: I64
    touched: I64
    scores: I32


class Thresholds(NamedTuple):
    """The containment from which on a stretch counts, of grams or of words in place.

    short: of texts with fewer than `grams` grams.
    middle: of those with fewer than `more_grams`.
    full: of all others.
    worth: share of the threshold that the grams must have for words in place to be looked for.
    chance: what the share of words in place is to exceed it by.
    nearly: share of the threshold from which on letters in place are worth a look.
    """

    short: float
    middle: float
    full: float
    grams: int
    more_grams: int
    worth: float
    chance: float
    nearly: float


GAP = 2  # words behind the one that a spaced seed says nothing of


@inlined
def gap_weight(spaced: int) -> np.uint64:
    """What that word is worth in a hash of the window; 0 where it counts."""
    return np.uint64(spaced) * power(GAP)


@kernel
def hash_seeds(
    words: U64,
    text_words: I64,
    letters: I32,
    least: int,
    lengths: I64,
    shortest: I64,
    spaced: int,
    seeds: U64,
    tails: U64,
    seed_texts: I32,
) -> int:
    """Hash every window of `lengths[t]` words of each text t that has enough letters.

    text_words: (n_texts + 1,), where in `words` each text begins.
    letters: (n_words,), of `kernels.gram_words.count_letters`.
    least: letters of a window.
    lengths, shortest: (n_texts,), words of a window, and `shortest` of the `Probe` that is to
        find it; a text with length 0 is left out.
    spaced: as of `Probe`, for all texts.
    seeds, tails, seed_texts: (>= n_words,), out: of a window, its hash, that of its last
        `shortest[t]` words, its text.
    Returns the number of windows.
    """
    found = 0
    for t in range(lengths.shape[0]):
        length = lengths[t]
        if length == 0:
            continue
        of_window = 0
        for k in range(text_words[t], text_words[t + 1]):
            of_window += letters[k]
            first = k - length + 1
            if first < text_words[t]:
                continue
            if of_window >= least:
                spare = words[k - GAP] * gap_weight(spaced)
                seeds[found] = hash_of(words, first, length) - spare
                tails[found] = hash_of(words, k - shortest[t] + 1, shortest[t]) - spare
                seed_texts[found] = t
                found += 1
            of_window -= letters[first]
    return found


EMPTY = np.uint32(0)  # of a text's table


@inlined
def reach_of(words: int) -> int:
    """Words of a stretch, at most, in which a text of so many words is looked for."""
    return words + words // 4


@inlined
def slot_of(table: U32, offset: int, size: int, h: np.uint64) -> int:
    """Where in a text's table a gram is, or the empty place it may have."""
    key = max(np.uint32(h), np.uint32(1))
    s = np.int64(((h * SPREAD) >> U64_32) * np.uint64(size) >> U64_32)
    while table[offset + s] != EMPTY and table[offset + s] != key:
        s = np.int64(s + 1 if s + 1 < size else 0)
    return int(s)


@kernel
def enter_seeds(hashes: U64, slots: I32, shift: np.uint64) -> None:
    """Fill the slots of `Seeds`, all -1 before."""
    last = slots.shape[0] - 1
    for g in range(hashes.shape[0]):
        s = np.int64((hashes[g] * SPREAD) >> shift)
        while slots[s] >= 0:
            s = (s + 1) & last
        slots[s] = g


@inlined
def seed_of(seeds: Seeds, h: np.uint64) -> int:
    """The number of a seed, -1 if it is none."""
    last = seeds.slots.shape[0] - 1
    s = np.int64((h * SPREAD) >> seeds.shift)
    while seeds.slots[s] >= 0 and seeds.hashes[seeds.slots[s]] != h:
        s = (s + 1) & last
    return int(seeds.slots[s])


@kernel
def enter_grams(
    words: U64,
    text_words: I64,
    seeds: Seeds,
    lengths: I64,
    gram: int,
    enough: int,
    offsets: I64,
    table: U32,
    n_grams: I64,
) -> None:
    """Fill the table of each text, all EMPTY before, with its windows of `gram` words.

    A gram within a window of `lengths[t]` words that is no seed is left out, unless it stands
    elsewhere in the text too, or fewer than `enough` are left.

    lengths: (n_texts,), words of a seed; a text with length 0 is left out.
    offsets: (n_texts + 1,), where in `table` each text's begins.
    n_grams: (n_texts,), out: distinct grams.
    """
    for t in range(lengths.shape[0]):
        n_grams[t] = 0
        length = lengths[t]
        if length == 0:
            continue
        begin, end = text_words[t], text_words[t + 1]
        size = offsets[t + 1] - offsets[t]
        for all_count in range(2):
            if n_grams[t] >= enough:
                break
            no_seed = begin - length  # the last window that is none
            for first in range(begin, end - gram + 1):
                if first + length <= end and seed_of(seeds, hash_of(words, first, length)) < 0:
                    no_seed = first
                if all_count == 0 and first + gram <= no_seed + length:
                    continue
                h = hash_of(words, first, gram)
                s = offsets[t] + slot_of(table, offsets[t], size, h)
                n_grams[t] += table[s] == EMPTY
                table[s] = max(np.uint32(h), np.uint32(1))


@inlined
def candidates(words: U64, probe: Probe, lasts: I64) -> np.int64:
    """Note which words end a window whose bits are set; return how many.

    Windows that begin in one document and end in the next are among them. No branch depends on
    a bit: the processor fetches many of them at once.
    """
    n = words.shape[0]
    weight = power(probe.shortest - 1)
    spare = gap_weight(probe.spaced)
    h = hash_of(words, 0, min(probe.shortest - 1, n))
    found = np.int64(0)
    for k in range(probe.shortest - 1, n):
        h = h * BASE + words[k]
        spread = (h - words[k - GAP] * spare) * SPREAD
        bits = bits_of(spread)
        lasts[found] = k
        found += np.int64(probe.bitmap[spread >> probe.shift] & bits == bits)
        h -= words[k - probe.shortest + 1] * weight
    return found


@inlined
def slide(words: U64, text: int, texts: Texts, room: Room) -> None:
    """Slide a stretch over the words near seeds of a text; note in `room.near` the best.

    Best is the one with most distinct grams of the text; of several the one that ends first.
    """
    start, stop = room.near[text, 0], room.near[text, 1]
    offset = texts.offsets[text]
    size = texts.offsets[text + 1] - offset
    grams = reach_of(texts.words[text]) - texts.gram + 1  # that a stretch has
    begin = start + texts.gram - 1
    distinct = 0
    for i in range(begin, stop):
        if i - grams >= begin:
            s = room.at[i - grams]
            if s >= 0:
                room.counts[s] -= 1
                distinct -= room.counts[s] == 0
        s = slot_of(texts.table, offset, size, hash_of(words, i - texts.gram + 1, texts.gram))
        if texts.table[offset + s] == EMPTY:
            room.at[i] = -1
            continue
        room.at[i] = s
        room.counts[s] += 1
        if room.counts[s] == 1:
            distinct += 1
            if distinct > room.near[text, 2]:
                room.near[text, 2] = distinct
                room.near[text, 3] = i
    for i in range(max(begin, stop - grams), stop):
        if room.at[i] >= 0:
            room.counts[room.at[i]] = 0


@inlined
def first_word(words: U64, text: int, texts: Texts, room: Room) -> int:
    """The first word of the shortest stretch with the best's last word and distinct grams."""
    offset = texts.offsets[text]
    size = texts.offsets[text + 1] - offset
    last = room.near[text, 3]
    distinct = 0
    i = last + 1
    while distinct < room.near[text, 2]:
        i -= 1
        s = slot_of(texts.table, offset, size, hash_of(words, i - texts.gram + 1, texts.gram))
        room.at[i] = s if texts.table[offset + s] != EMPTY else -1
        if room.at[i] >= 0:
            distinct += room.counts[s] == 0
            room.counts[s] = 1
    for k in range(i, last + 1):
        if room.at[k] >= 0:
            room.counts[room.at[k]] = 0
    return int(i - texts.gram + 1)


@inlined
def in_place(
    words: U64, begin: int, end: int, first: int, last: int, text: int, texts: Texts, room: Room
) -> int:
    """Twice the words of a text that stand in place around a stretch, less the words skipped.

    Text and document are laid side by side so that this is most (Smith and Waterman 1981): two
    words beside each other that are not the same cost nothing, one beside none costs 1.

    begin, end: words of the document.
    first, last: of the stretch.
    """
    reach = reach_of(texts.words[text])
    start, stop = max(last + 1 - reach, begin), min(first + reach, end)
    at = texts.begins[text]
    if at < 0 or stop - start >= room.scores.shape[0]:
        return 0
    most = 0
    for j in range(stop - start + 1):
        room.scores[j] = 0
    for word in texts.spelled[at : at + texts.words[text]]:
        before, left = 0, 0
        for j in range(start, stop):
            above = room.scores[j - start + 1]
            here = before + 2 * np.int64(word == np.uint32(words[j]))
            left = max(here, above - 1, left - 1)
            before = above
            room.scores[j - start + 1] = left
            most = max(most, left)
    return int(most)


@inlined
def close(
    words: U64,
    doc_words: I64,
    doc: int,
    n_touched: int,
    texts: Texts,
    least: Thresholds,
    room: Room,
    hits: I64,
    found: int,
) -> int:
    """Score the texts of which a document has a seed, and forget them."""
    begin, end = doc_words[doc], doc_words[doc + 1]
    for k in range(n_touched):
        t = room.touched[k]
        slide(words, t, texts, room)
        grams = texts.grams[t]
        threshold = least.short if grams < least.grams else least.middle
        threshold = least.full if grams >= least.more_grams else threshold
        share = room.near[t, 2] / grams
        if share >= threshold * least.worth:
            first, last = first_word(words, t, texts, room), room.near[t, 3]
            twice = in_place(words, begin, end, first, last, t, texts, room)
            likeness = max(share, twice / (2 * texts.words[t]) - least.chance)
            if likeness >= threshold * least.nearly:
                if found < hits.shape[0]:
                    hits[found, 0] = doc
                    hits[found, 1] = t
                    hits[found, 2] = first
                    hits[found, 3] = last
                    hits[found, 4] = room.near[t, 2]
                    hits[found, 5] = twice
                found += 1
        room.near[t, 1] = 0
    return found


@inlined
def meet(
    words: U64,
    begin: int,
    end: int,
    first: int,
    last: int,
    met: I32,
    texts: Texts,
    room: Room,
    n_touched: int,
) -> int:
    """Note the words near a seed, of each text that has it; return how many texts are touched.

    begin, end: words of the document.
    first, last: words of the seed; seeds of one text come in order.
    met: the texts.
    """
    for t in met:
        if texts.grams[t] == 0:
            continue
        reach = reach_of(texts.words[t])
        start, stop = max(last + 1 - reach, begin), min(first + reach, end)
        if room.near[t, 1] == 0:
            room.touched[n_touched] = t
            n_touched += 1
            room.near[t, 0] = start
            room.near[t, 2] = 0
        elif start > room.near[t, 1]:
            slide(words, int(np.int64(t)), texts, room)
            room.near[t, 0] = start
        room.near[t, 1] = stop
    return n_touched


@kernel
def find_stretches(
    words: U64,
    doc_words: I64,
    probe: Probe,
    seeds: Seeds,
    texts: Texts,
    least: Thresholds,
    room: Room,
    hits: I64,
    found: int,
) -> int:
    """Find the best stretch of each document and text that have a seed in common.

    doc_words: (n_docs + 1,), where in `words` each document begins.
    hits: (room, 6), out from row `found` on: document, text, first and last word of the
        stretch, distinct grams of the text that it has, as of `in_place`.
    Returns `found` and the number of stretches found, stored or not.
    """
    doc = 0
    n_touched = 0
    for last in room.lasts[: candidates(words, probe, room.lasts)]:
        if doc_words[doc + 1] <= last:
            found = close(words, doc_words, doc, n_touched, texts, least, room, hits, found)
            n_touched = 0
            while doc_words[doc + 1] <= last:
                doc += 1
        h = ZERO
        weight = ONE
        first = last + 1
        while first > max(last + 1 - probe.longest, doc_words[doc]):
            first -= 1
            if probe.spaced == 0 or first != last - GAP:
                h += words[first] * weight
            weight = weight * BASE
            if first > last + 1 - probe.shortest:
                continue
            seed = seed_of(seeds, h)
            if seed >= 0:
                begin, end = doc_words[doc], doc_words[doc + 1]
                met = seeds.texts[seeds.offsets[seed] : seeds.offsets[seed + 1]]
                n_touched = meet(words, begin, end, first, last, met, texts, room, n_touched)
    return int(close(words, doc_words, doc, n_touched, texts, least, room, hits, found))
