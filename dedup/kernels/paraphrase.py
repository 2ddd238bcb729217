"""Kernels that find the words of an item's text near one another in a document, in any order.

letters of words --> stems --> terms of the items' texts --> anchors near one another
    --> the window of words with most weight of the text's terms
"""

from typing import NamedTuple

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U64, inlined, kernel
from tokenmill.dedup.kernels.table import FINAL, SPREAD, slice_key
from tokenmill.dedup.kernels.u64 import EIGHT, FOUR, ONE, THREE, TWO, U64_32, ZERO

MOST_ANCHORS = 8  # of a text: its heaviest terms. Three must stand together.
STEM_CHARS = np.uint64(6)  # of a word, that it is compared by
HANGUL_CHARS = np.uint64(2)  # of a Korean word: a root of two syllables, and what is put to it
ZERO_DIGIT, NINE_DIGIT = np.uint8(0x30), np.uint8(0x39)
ASCII_END = np.uint8(0x80)
SMALL_D, SMALL_E, SMALL_G, SMALL_I, SMALL_N, SMALL_S = np.frombuffer(b"degins", np.uint8)
NUMBER = TWO
HANGUL, HANGUL_END = np.uint64(0xAC00), np.uint64(0xD7A4)
# where scripts without spaces lie: Thai and Lao with Tibetan, Myanmar, Khmer, then all of East Asia
THAI, THAI_END = np.uint64(0x0E00), np.uint64(0x10A0)
KHMER, KHMER_END = np.uint64(0x1780), np.uint64(0x1800)
EAST_ASIA = np.uint64(0x2E80)


class Terms(NamedTuple):
    """Stems of the items' texts, in an open-addressing table; several may be one term.

    hashes: (power of two,) of stems, 0 where empty.
    terms: as long, the term of each.
    shift: 64 less the bits that number slots.
    """

    hashes: U64
    terms: I32
    shift: np.uint64


class Texts(NamedTuple):
    """What is looked for of each text.

    words: (n_texts,) words of the text.
    offsets: (n_texts + 1,); the terms of text t are `terms[offsets[t]:offsets[t + 1]]`.
    terms, weights, numbers: (n,) each term of each text once, what it weighs, 1 of a number.
    least: (n_texts,) weight from which on a window counts.
    """

    words: I64
    offsets: I64
    terms: I32
    weights: I64
    numbers: U8
    least: I64


class Posts(NamedTuple):
    """Which texts have each term as an anchor.

    offsets: (n_terms + 1,); those of a term are `texts[offsets[term]:offsets[term + 1]]`.
    slots, reach: as long as `texts`, which anchor of the text it is, and `reach_of` the text.
    """

    offsets: I64
    texts: I32
    slots: I32
    reach: I32


class Room(NamedTuple):
    """Scratch.

    terms: (>= n_words,).
    lasts: (n_texts, 3), of `met_last`.
    near: (n_texts, 4) zeros: words known to be near anchors of a text, from and to, the most
        weight of a window so far, its last word. To is 0 where there are none as yet.
    touched: (n_texts,).
    places: (n_terms,) zeros; of a term of the text at hand, 1 and its place among those.
    counts: (>= terms of a text,) zeros.
    """

    terms: I32
    lasts: I64
    near: I64
    touched: I64
    places: I32
    counts: I64


@inlined
def code_point(letters: U8, at: np.uint64) -> np.uint64:
    """A character that is not ASCII, of the letters of `gram_words.spell_words`."""
    high = np.uint64(letters[at] & np.uint8(0x7F)) << np.uint64(16)
    return high | np.uint64(letters[at + ONE]) << EIGHT | np.uint64(letters[at + TWO])


@inlined
def is_alone(cp: np.uint64) -> bool:
    """Whether words of the script are characters or clusters."""
    east = cp >= EAST_ASIA and not (HANGUL <= cp < HANGUL_END)
    return bool(THAI <= cp < THAI_END or KHMER <= cp < KHMER_END or east)


@inlined
def ends_with(letters: U8, end: np.uint64, last: np.uint8, before: np.uint8) -> bool:
    return bool(letters[end - ONE] == last and letters[end - TWO] == before)


@inlined
def without_ending(letters: U8, start: np.uint64, end: np.uint64) -> np.uint64:
    """Where an English word ends without -s, and then without -ing, -ed or -e."""
    if end - start > THREE and letters[end - ONE] == SMALL_S and letters[end - TWO] != SMALL_S:
        end -= ONE
    is_long = end - start > THREE + TWO and letters[end - THREE] == SMALL_I
    if is_long and ends_with(letters, end, SMALL_G, SMALL_N):
        return end - THREE
    if end - start > FOUR and ends_with(letters, end, SMALL_D, SMALL_E):
        return end - TWO
    return end - ONE if end - start > THREE and letters[end - ONE] == SMALL_E else end


@inlined
def stem_end(letters: U8, start: np.uint64, end: np.uint64) -> np.uint64:
    """Where the stem of the word letters[start:end] ends; a number is its own."""
    if ZERO_DIGIT <= letters[start] <= NINE_DIGIT:
        return end
    at = start
    while at < end and letters[at] < ASCII_END:
        at += ONE
    if at == end:
        return min(without_ending(letters, start, end), start + STEM_CHARS)
    chars = STEM_CHARS
    if letters[start] >= ASCII_END:
        cp = code_point(letters, start)
        chars = HANGUL_CHARS if HANGUL <= cp < HANGUL_END else STEM_CHARS
    at = start
    while at < end and chars > ZERO:
        at += ONE if letters[at] < ASCII_END else THREE
        chars -= ONE
    return min(at, end)


@kernel
def hash_stems(letters: U8, ends: I64, doc_words: I64, hashes: U64) -> None:
    """Hash the stem of each word: its first characters, without an ending.

    A word of a script without spaces is taken with the one before it, if that is such a one too.

    letters, ends, doc_words: of `gram_words.spell_words`; eight more letters can be read behind
        the last word.
    hashes: (n_words,), out; none is 0, and those of numbers have the bit NUMBER.
    """
    for d in range(doc_words.shape[0] - 1):
        before = ZERO
        for n in range(doc_words[d], doc_words[d + 1]):
            start = np.uint64(0 if n == 0 else ends[n - 1])
            end = np.uint64(ends[n])
            own = slice_key(letters, start, stem_end(letters, start, end)) & ~NUMBER
            if ZERO_DIGIT <= letters[start] <= NINE_DIGIT:
                own |= NUMBER
            hashes[n] = own
            if letters[start] >= ASCII_END and is_alone(code_point(letters, start)):
                if before != ZERO:
                    hashes[n] = (((before ^ (before >> U64_32)) * FINAL + own) | ONE) & ~NUMBER
                before = own
            else:
                before = ZERO


@kernel
def enter_terms(hashes: U64, of_hashes: I32, table: U64, terms: I32, shift: np.uint64) -> None:
    """Fill the table of `Terms`, all 0 before."""
    last = table.shape[0] - 1
    for g in range(hashes.shape[0]):
        s = np.int64((hashes[g] * SPREAD) >> shift)
        while table[s] != ZERO:
            s = (s + 1) & last
        table[s] = hashes[g]
        terms[s] = of_hashes[g]


@kernel
def look_up(hashes: U64, known: Terms, terms: I32) -> None:
    """terms: (n_words,), out: the term of each stem, -1 of others."""
    last = known.hashes.shape[0] - 1
    for n in range(hashes.shape[0]):
        s = np.int64((hashes[n] * SPREAD) >> known.shift)
        while known.hashes[s] != hashes[n] and known.hashes[s] != ZERO:
            s = (s + 1) & last
        terms[n] = known.terms[s] if known.hashes[s] != ZERO else -1


@inlined
def reach_of(words: int) -> int:
    """Words of a window in which a text of so many is looked for."""
    return int(words + words // 2 + 4)


@inlined
def mark(text: int, texts: Texts, room: Room) -> None:
    """Note in `room.places` where each term of a text is among those of the text."""
    begin = texts.offsets[text]
    for k in range(begin, texts.offsets[text + 1]):
        room.places[texts.terms[k]] = k - begin + 1


@inlined
def clear(text: int, texts: Texts, room: Room) -> None:
    """Undo `mark`, and what was counted."""
    begin, stop = texts.offsets[text], texts.offsets[text + 1]
    room.counts[: stop - begin] = 0
    for k in range(begin, stop):
        room.places[texts.terms[k]] = 0


@inlined
def weigh(text: int, texts: Texts, room: Room) -> None:
    """Slide a window over the words near anchors of a text; note in `room.near` the best.

    Best is the one with most weight of distinct terms; of several the one that ends first.
    """
    mark(text, texts, room)
    begin, start = texts.offsets[text], room.near[text, 0]
    reach = reach_of(texts.words[text])
    weight = np.int64(0)
    for i in range(start, room.near[text, 1]):
        if i - reach >= start and room.terms[i - reach] >= 0:
            p = room.places[room.terms[i - reach]] - 1
            if p >= 0:
                room.counts[p] -= 1
                weight -= texts.weights[begin + p] * (room.counts[p] == 0)
        p = room.places[room.terms[i]] - 1 if room.terms[i] >= 0 else -1
        if p < 0:
            continue
        room.counts[p] += 1
        weight += texts.weights[begin + p] * (room.counts[p] == 1)
        if weight > room.near[text, 2]:
            room.near[text, 2] = weight
            room.near[text, 3] = i
    clear(text, texts, room)


@inlined
def note(text: int, texts: Texts, room: Room, hit: I64) -> None:
    """Fill in a hit but for its document: the shortest window with the best's last word."""
    mark(text, texts, room)
    begin = texts.offsets[text]
    hit[1], hit[3], hit[4] = text, room.near[text, 3], room.near[text, 2]
    hit[5] = hit[6] = 0
    weight = np.int64(0)
    i = hit[3] + 1
    while weight < hit[4]:
        i -= 1
        p = room.places[room.terms[i]] - 1 if room.terms[i] >= 0 else -1
        if p >= 0 and room.counts[p] == 0:
            room.counts[p] = 1
            weight += texts.weights[begin + p]
            hit[5] += texts.weights[begin + p] * texts.numbers[begin + p]
            hit[6] += texts.numbers[begin + p]
    hit[2] = i
    clear(text, texts, room)


@inlined
def close(doc: int, n_near: int, texts: Texts, room: Room, hits: I64, found: int) -> int:
    """Weigh the texts of which a document has anchors together, and forget them."""
    for k in range(n_near):
        t = room.touched[k]
        weigh(t, texts, room)
        if room.near[t, 2] >= texts.least[t]:
            if found < hits.shape[0]:
                hits[found, 0] = doc
                note(t, texts, room, hits[found])
            found += 1
        room.near[t, 1] = 0
        room.near[t, 2] = 0
    return found


@inlined
def met_last(i: int, begin: int, slot: int, reach: int, lasts: I64) -> bool:
    """Note that an anchor stands at word i; whether with two others within reach before it.

    lasts: the three anchors met last, the last one first: word * MOST_ANCHORS + anchor.
    """
    here = i * MOST_ANCHORS + slot
    first, second = lasts[0], lasts[1]
    lasts[0] = here
    if first % MOST_ANCHORS != slot:
        lasts[1] = first
        if second % MOST_ANCHORS != slot:
            lasts[2] = second
    return bool(lasts[2] >= max(i + 1 - reach, begin) * MOST_ANCHORS)


@inlined
def extend(i: int, begin: int, end: int, text: int, texts: Texts, room: Room, n_near: int) -> int:
    """Note that anchors of a text stand together before word i of a document."""
    reach = reach_of(texts.words[text])
    start, stop = max(i + 1 - reach, begin), min(i + reach, end)
    if room.near[text, 1] == 0:
        room.near[text, 0] = start
        room.touched[n_near] = text
        n_near += 1
    elif start > room.near[text, 1]:
        weigh(int(np.int64(text)), texts, room)
        room.near[text, 0] = start
    room.near[text, 1] = stop
    return n_near


@kernel
def find_windows(doc_words: I64, texts: Texts, posts: Posts, room: Room, hits: I64) -> int:
    """Find the best window of each document and text whose anchors stand together in it.

    doc_words: (n_docs + 1,), where in `room.terms` each document begins.
    hits: (room, 7), out: document, text, first and last word of the window,
        weight of the text's terms that it has, the numbers' part of it, how many numbers.
    Returns the number of windows found, stored or not.
    """
    found = 0
    room.lasts[:] = -1
    for d in range(doc_words.shape[0] - 1):
        n_near = 0
        begin, end = doc_words[d], doc_words[d + 1]
        for i in range(begin, end):
            term = room.terms[i]
            if term < 0:
                continue
            for k in range(posts.offsets[term], posts.offsets[term + 1]):
                t = posts.texts[k]
                if met_last(i, begin, posts.slots[k], posts.reach[k], room.lasts[t]):
                    n_near = extend(i, begin, end, t, texts, room, n_near)
        found = close(d, n_near, texts, room, hits, found)
    return int(found)
