"""Kernels that lay the letters of an item's text beside those of a document.

UTF-8 bytes --> one byte a letter --> the best local alignment --> its share of the text
"""

import numpy as np

from tokenmill.dedup.kernels._jit import F64, I32, I64, U8, U32, inlined, kernel
from tokenmill.dedup.kernels.gram_words import NON_ASCII, Chars
from tokenmill.dedup.kernels.table import n_less
from tokenmill.dedup.kernels.utf8 import BLANK, decode, place


@inlined
def spell(data: U8, start: int, stop: int, chars: Chars, out: U8) -> int:
    """Write a byte for each letter, digit or sign of words, in lower case; how many there are.

    The byte is of the code point's lower ones: of one script, hardly two letters have the same.
    Where there is no more room, they are counted only.
    """
    i, n = start, 0
    while i < stop:
        cp, size = decode(data, i, stop, BLANK)
        at = place(chars.pages, cp)
        if chars.kinds[at] < NON_ASCII:
            cp = np.uint32(cp + chars.lower_delta[at])
            if n < out.shape[0]:
                out[n] = (cp ^ cp >> np.uint32(8)) & np.uint32(0xFF)
            n += 1
        i += size
    return n


@kernel
def spell_texts(
    data: U8, offsets: I64, chars: Chars, most: I64, letters: U8, letter_offsets: I64
) -> None:
    """Spell texts, one behind the other; of one with too many letters none.

    offsets: (n_texts + 1,) bytes of `data`.
    most: (n_texts,) letters.
    letters: (>= bytes,), out.
    letter_offsets: (n_texts + 1,), out: where in `letters` each text's begin.
    """
    k = 0
    letter_offsets[0] = 0
    for t in range(offsets.shape[0] - 1):
        n = spell(data, offsets[t], offsets[t + 1], chars, letters[k:])
        k += n if n <= most[t] else 0
        letter_offsets[t + 1] = k


@kernel
def align_letters(
    data: U8,
    starts: I64,
    stops: I64,
    texts: I64,
    letters: U8,
    letter_offsets: I64,
    chars: Chars,
    room: U8,
    scores: I32,
    shares: F64,
) -> None:
    """Share of each text's letters that stand in place in a span, less what is between them.

    Text and span are laid side by side so that this is most (Smith and Waterman 1981): two letters
    beside each other that are not the same cost one, and so does one beside none.

    starts, stops: (n_spans,) bytes of `data`.
    texts: (n_spans,), the text that each is laid beside.
    letters, letter_offsets: of `spell_texts`; a text without letters has the share 0.
    room, scores: scratch; a span with more letters than `room` has the share 0, and `scores` has
        room for one more.
    shares: (n_spans,), out.
    """
    for s in range(starts.shape[0]):
        shares[s] = 0.0
        begin, end = letter_offsets[texts[s]], letter_offsets[texts[s] + 1]
        if begin == end:
            continue
        n = spell(data, starts[s], stops[s], chars, room)
        if n > room.shape[0]:
            continue
        most = np.int32(0)
        for j in range(n + 1):
            scores[j] = 0
        for i in range(begin, end):
            before, left = np.int32(0), np.int32(0)
            for j in range(n):
                above = scores[j + 1]
                here = before + np.int32(1 if letters[i] == room[j] else -1)
                left = max(here, np.int32(max(above, left) - 1), np.int32(0))
                before = above
                scores[j + 1] = left
                most = max(most, left)
        shares[s] = most / (end - begin)


@kernel
def own_shares(
    data: U8,
    starts: I64,
    stops: I64,
    texts: I64,
    grams: U32,
    offsets: I64,
    sizes: I64,
    widths: I64,
    chars: Chars,
    room: U8,
    at: I32,
    counts: I32,
    shares: F64,
) -> None:
    """Share of each text's own windows of letters that stand together in a span.

    starts, stops: (n_spans,) bytes of `data`.
    texts: (n_spans,), the text whose windows are looked for in each.
    grams, offsets: those of text t are `grams[offsets[t]:offsets[t + 1]]`, ascending: letters as
        `spell` has them, the first in the lowest byte.
    sizes: (n_texts,) letters of a window, 4 at most.
    widths: (n_texts,) letters among which they stand together, a window at least.
    room, at, counts: scratch, for the letters of a span and the windows of a text.
    shares: (n_spans,), out; of a text without windows 0.
    """
    for s in range(starts.shape[0]):
        t = texts[s]
        own = grams[offsets[t] : offsets[t + 1]]
        size, width = sizes[t], widths[t]
        counts[: own.shape[0]] = 0
        code, distinct, most = np.uint32(0), 0, 0
        for j in range(spell(data, starts[s], stops[s], chars, room)):
            code = np.uint32(code >> np.uint32(8) | np.uint32(room[j]) << np.uint32(8 * size - 8))
            g = n_less(own, code)
            is_own = j + 1 >= size and g < own.shape[0] and own[g] == code
            at[j] = g if is_own else -1
            if is_own:
                distinct += counts[g] == 0
                counts[g] += 1
                most = max(most, distinct)
            gone = at[j + size - width] if j + size >= width else -1
            if gone >= 0:  # the next window of the width is without it
                counts[gone] -= 1
                distinct -= counts[gone] == 0
        shares[s] = most / max(own.shape[0], 1)
