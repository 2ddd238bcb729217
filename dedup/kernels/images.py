"""Images that look alike: candidates by hashes that differ in few bits, told by what they show."""

from math import sqrt

import numpy as np

from tokenmill.dedup.kernels._jit import I32, I64, U8, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import eight, n_bits

SIDE, COARSE = 16, 8  # cells on a side: of brightness; of each colour, and of what is opaque
CELLS, COLOURS = SIDE * SIDE, COARSE * COARSE
LOOK_BYTES = CELLS + 3 * COLOURS
# a picture, as sets of them are compared: who it is, 0 unknown; its kind, 0 without a hash; hash
KEY_BYTES, HASH_BYTES = 16, 8
KIND = KEY_BYTES  # where it begins
HASH = np.uint64(KIND + 1)
LOOK = KIND + 1 + HASH_BYTES  # the rest
PICTURE_BYTES = LOOK + LOOK_BYTES
# The limits were set on photos, clip art, icons, flags and screenshots, where images of two kinds
# come to hashes that near: `python -m tests.bench.near_images` shows what they do.
MOST_APART = 0.35  # of brightness in a cell, in standard deviations of the image
SHIFTED = 0.15  # of the differences around a cell: what a crop by 2 % moves it
MOST_GAIN = 1.5  # contrast of one, in those of the other
MOST_COLOUR = 20.0  # of Cb and Cr in a cell
MOST_ALPHA = 48  # of what is opaque in a cell
GREY, COLOURFUL = 1.0, 2.0  # a grey copy has less of colour than the one, its original the other
GREY_GAIN, GREY_APART = 1.1, 8.0  # and the same brightness
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio, odd


@inlined
def mean_of(look: U8) -> float:
    total = np.int64(0)
    for cell in range(CELLS):
        total += np.int64(look[cell])
    return total / CELLS


@inlined
def spread_of(look: U8) -> float:
    """Standard deviation of brightness."""
    total = np.int64(0)
    squares = np.int64(0)
    for cell in range(CELLS):
        value = np.int64(look[cell])
        total += value
        squares += value * value
    return sqrt(float(squares * CELLS - total * total)) / CELLS


@inlined
def colour_of(look: U8) -> float:
    """Mean distance of Cb and Cr from grey."""
    total = np.int64(0)
    for at in range(CELLS, CELLS + 2 * COLOURS):
        total += abs(np.int64(look[at]) - 128)
    return total / (2 * COLOURS)


@inlined
def same_colours(a: U8, b: U8) -> bool:
    for at in range(CELLS, CELLS + COLOURS):
        blue = abs(np.int64(a[at]) - np.int64(b[at]))
        red = abs(np.int64(a[at + COLOURS]) - np.int64(b[at + COLOURS]))
        if blue + red > 2 * MOST_COLOUR:
            return False
    return True


@inlined
def same_outline(a: U8, b: U8) -> bool:
    """Whether the same is opaque; anything is like an image that is opaque throughout."""
    apart = np.int64(0)
    least_a = np.int64(255)
    least_b = np.int64(255)
    for at in range(CELLS + 2 * COLOURS, LOOK_BYTES):
        x = np.int64(a[at])
        y = np.int64(b[at])
        apart = max(apart, abs(x - y))
        least_a = min(least_a, x)
        least_b = min(least_b, y)
    return bool(least_a == 255 or least_b == 255 or apart <= MOST_ALPHA)


@inlined
def around(look: U8, row: int, column: int) -> np.int64:
    """The greatest difference of brightness among a cell and those beside it."""
    least = np.int64(255)
    most = np.int64(0)
    for r in range(max(row - 1, 0), min(row + 2, SIDE)):
        for c in range(max(column - 1, 0), min(column + 2, SIDE)):
            value = np.int64(look[r * SIDE + c])
            least = min(least, value)
            most = max(most, value)
    return most - least


@kernel
def alike(a: U8, b: U8) -> bool:
    """Whether two looks are of one picture. a, b: (LOOK_BYTES,)."""
    spread_a = spread_of(a)
    spread_b = spread_of(b)
    if spread_a == 0.0 or spread_b == 0.0:
        return False
    gain = max(spread_a / spread_b, spread_b / spread_a)
    mean_a = mean_of(a)
    mean_b = mean_of(b)
    colour_a = colour_of(a)
    colour_b = colour_of(b)
    if min(colour_a, colour_b) < GREY and max(colour_a, colour_b) >= COLOURFUL:
        if gain > GREY_GAIN or abs(mean_a - mean_b) > GREY_APART:
            return False
    elif gain > MOST_GAIN or not same_colours(a, b):
        return False
    if not same_outline(a, b):
        return False
    for row in range(SIDE):
        for column in range(SIDE):
            x = (a[row * SIDE + column] - mean_a) / spread_a
            y = (b[row * SIDE + column] - mean_b) / spread_b
            apart = abs(x - y)
            if apart > MOST_APART:
                moved = min(around(a, row, column) / spread_a, around(b, row, column) / spread_b)
                if apart - SHIFTED * moved > MOST_APART:
                    return False
    return True


@inlined
def same_picture(a: U8, b: U8, distance: np.uint64) -> bool:
    """Whether two pictures are equal or near. a, b: (PICTURE_BYTES,)."""
    known = False
    equal = True
    for at in range(KEY_BYTES):
        known = known or a[at] != 0
        equal = equal and a[at] == b[at]
    if known and equal:
        return True
    if a[KIND] == 0 or a[KIND] != b[KIND]:
        return False
    apart = n_bits(eight(a, HASH) ^ eight(b, HASH))
    return bool(apart <= distance and alike(a[LOOK:], b[LOOK:]))


@inlined
def all_have(pictures: U8, a: I64, b: I64, distance: np.uint64) -> bool:
    """Whether each of the pictures `a` is the same as one of `b`.

    Each is looked for from where the one before was found: of equal ones in one order all are
    found in one pass.
    """
    j = 0
    for i in a:
        tried = 0
        while tried < b.shape[0] and not same_picture(pictures[i], pictures[b[j]], distance):
            j = (j + 1) % b.shape[0]
            tried += 1
        if tried == b.shape[0]:
            return False
    return True


@kernel
def same_pictures(
    pictures: U8, order: I64, starts: I64, left: I64, right: I64, distance: np.uint64, same: U8
) -> None:
    """Say of each pair of documents whether each picture of one is the same as one of the other.

    pictures: (n, PICTURE_BYTES).  order: (n,) those of each document, by who they are.
    starts: (n_docs + 1,) where in `order` those of each begin.
    left, right: (n_pairs,) documents.  same: (n_pairs,).
    """
    for pair in range(left.shape[0]):
        a = order[starts[left[pair]] : starts[left[pair] + 1]]
        b = order[starts[right[pair]] : starts[right[pair] + 1]]
        same[pair] = all_have(pictures, a, b, distance) and all_have(pictures, b, a, distance)


@inlined
def slot_of(h: np.uint64, shift: np.uint64, mask: np.uint64, spare: np.uint64) -> np.int64:
    return np.int64((((h >> shift) & mask) * SPREAD) >> spare)


@inlined
def met(differ: np.uint64, shifts: U64, masks: U64, band: int) -> bool:
    """Whether two hashes have the same bits in one of the bands before."""
    for b in range(band):
        if (differ >> shifts[b]) & masks[b] == 0:
            return True
    return False


@kernel
def stars(
    hashes: U64,
    looks: U8,
    kinds: U8,
    shifts: U64,
    masks: U64,
    spare: np.uint64,
    distance: np.uint64,
    most_compared: int,
    heads: I32,
    links: I32,
    of: I64,
    bits: U32,
) -> int:
    """Say of each image, in order, for which earlier one that stays it leaves; who were given up.

    hashes: (n, n_views).  looks: (n, n_views, LOOK_BYTES).  kinds: (n,); two of different kinds
    are not alike.  shifts, masks: (n_bands,) of the bits of a hash.  spare: 64 less the bits of a
    place in heads.  heads: (n_bands, n_places), -1.  links: (n * n_views, n_bands).
    of: (n,) its own number for one that stays.  bits: (n,) in which the two hashes differ.

    Those that stay are in lists, one for each band and place, the latest first. An image as it is
    is held against all views of others, a view of it against others as they are. One that comes
    to more than `most_compared` looks is given up: it stays, unless one of these was near.
    """
    n_views = hashes.shape[1]
    given_up = 0
    for i in range(hashes.shape[0]):
        best = -1
        best_bits = distance + np.uint64(1)
        compared = 0
        for v in range(n_views):
            for band in range(shifts.shape[0]):
                entry = heads[band, slot_of(hashes[i, v], shifts[band], masks[band], spare)]
                while entry >= 0 and compared <= most_compared:
                    other = entry // n_views
                    w = entry % n_views
                    if (v == 0 or w == 0) and kinds[i] == kinds[other]:
                        apart = n_bits(hashes[i, v] ^ hashes[other, w])
                        nearer = apart < best_bits or (apart == best_bits and other < best)
                        if (
                            apart <= distance
                            and nearer
                            and not met(hashes[i, v] ^ hashes[other, w], shifts, masks, band)
                        ):
                            compared += 1
                            if alike(looks[i, v], looks[other, w]):
                                best = other
                                best_bits = apart
                    entry = links[entry, band]
        if best >= 0:
            of[i] = best
            bits[i] = best_bits
            continue
        given_up += compared > most_compared
        of[i] = i
        bits[i] = 0
        for v in range(n_views):
            for band in range(shifts.shape[0]):
                place = slot_of(hashes[i, v], shifts[band], masks[band], spare)
                links[i * n_views + v, band] = heads[band, place]
                heads[band, place] = i * n_views + v
    return given_up
