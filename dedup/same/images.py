"""Images that look alike: a perceptual hash of 64 bits finds candidates, a small picture tells.

    brightness of 32 x 32 cells ── DCT ── hash          │ differ in few bits
    brightness of 16 x 16, colours and what is opaque of 8 x 8 ── look │ and show the same

An image of too little structure has no hash: its bits would be noise.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import F64, I64, U8, U32, U64, Bools, power_of_two, read_only
from tokenmill.dedup.kernels import images as kernels

HASH_BITS = 64
DISTANCE = 4  # bits of two hashes that differ at most, unless told
MOST_DISTANCE = 15  # more bands have less than 4 bits, and nearly all pairs meet in one
HASHED_SIDE, LOW = 32, 8  # cells on a side; of their DCT the lowest frequencies
LOOK_BYTES, PICTURE_BYTES = kernels.LOOK_BYTES, kernels.PICTURE_BYTES
LEAST_SPREAD = 4.0  # standard deviation of 32 x 32 cells: less is a plain image
# a bit is set by a coefficient as far above the median, in root mean squares of all: without it
# the bits of clip art, of which half the coefficients are nought, were those of the encoder
MARGIN = 0.2
MOST_COMPARED = 1024  # looks for each image, at most
MOST_PLACES = 1 << 22  # of a band


# (LOW, HASHED_SIDE) of the DCT, as `scipy.fft.dct` of type 2 has it without scaling
COSINES = 2 * np.cos(
    np.pi * np.arange(LOW)[:, None] * (2 * np.arange(HASHED_SIDE) + 1) / (2 * HASHED_SIDE)
)


def has_structure(brightness: F64) -> bool:
    """Whether an image has enough to be told from others. brightness: (32, 32), 0 to 255."""
    return bool(brightness.std() >= LEAST_SPREAD)


def hash_of(brightness: F64, *, margin: float = MARGIN) -> int:
    """Hash an image by its lowest frequencies, the lowest as the highest bit.

    brightness: (32, 32), 0 to 255.
    margin: 0 are the bits of pHash, `imagehash.phash`.
    """
    low = COSINES @ brightness @ COSINES.T
    above = np.median(low) + margin * np.sqrt(np.square(low.ravel()[1:]).mean())
    return int.from_bytes(np.packbits(low > above).tobytes(), "big")


def look_of(brightness: F64, colours: F64, alpha: F64) -> U8:
    """(LOOK_BYTES,) what an image shows.

    brightness, alpha: (32, 32), 0 to 255.  colours: (32, 32, 2) Cb and Cr, 0 to 255.
    """
    coarse = _cells(colours, kernels.COARSE)
    parts = _cells(brightness, kernels.SIDE), coarse[..., 0], coarse[..., 1]
    every = [*parts, _cells(alpha, kernels.COARSE)]
    rounded = np.concatenate([part.ravel() for part in every]).round()
    made: U8 = np.clip(rounded, 0, 255).astype(np.uint8)
    return made


def _cells(values: F64, side: int) -> F64:
    """(side, side, …) means of (32, 32, …)."""
    n = HASHED_SIDE // side
    means: F64 = values.reshape(side, n, side, n, *values.shape[2:]).mean(axis=(1, 3))
    return means


class Band(NamedTuple):
    """Some bits of a hash: `width` of them, above the lowest `shift`."""

    shift: int
    width: int


def bands(distance: int) -> list[Band]:
    """One band more than bits may differ: two hashes that near have the same bits in one of them.

    >>> [band.width for band in bands(4)]
    [12, 13, 13, 13, 13]
    """
    n = distance + 1
    ends = [HASH_BITS * k // n for k in range(n + 1)]
    return [Band(lo, hi - lo) for lo, hi in pairwise(ends)]


class Stars(NamedTuple):
    """Which images leave for one that stays.

    of: (n,) its own number for one that stays, else that of the one it is likest to.
    bits: (n,) in which the hashes of the two differ.  given_up: how many stay though they were not
    compared with all that might be near.
    """

    of: I64
    bits: U32
    given_up: int


def stars(
    hashes: U64, looks: U8, kinds: U8, distance: int, *, most_compared: int = MOST_COMPARED
) -> Stars:
    """Decide in order: an image leaves if, and only if, an earlier one that stays is near it.

    Near are two of a kind of whose hashes no more than `distance` bits differ, and whose looks
    are alike, where the one may be any view of its image if the other is the image as it is.

    hashes: (n, n_views), the image as it is first; n * n_views is below 2**31.
    looks: (n, n_views, LOOK_BYTES).  kinds: (n,).  distance: 0 to MOST_DISTANCE, or ValueError.
    most_compared: looks for each image, at most; of one that comes to more the rest is unseen.
    """
    if not 0 <= distance <= MOST_DISTANCE:
        raise ValueError(f"distance must be 0 to {MOST_DISTANCE} bits, got {distance}")
    cut, (n, n_views) = bands(distance), hashes.shape
    places = min(power_of_two(n * n_views), MOST_PLACES)
    of, bits = np.empty(n, np.int64), np.empty(n, np.uint32)
    seen = read_only(hashes), read_only(looks), read_only(kinds)
    shifts = np.array([band.shift for band in cut], np.uint64)
    masks = np.array([(1 << band.width) - 1 for band in cut], np.uint64)
    limits = np.uint64(64 - (places.bit_length() - 1)), np.uint64(distance), most_compared
    heads = np.full((len(cut), places), -1, np.int32)
    links = np.empty((n * n_views, len(cut)), np.int32)
    given_up = kernels.stars(*seen, shifts, masks, *limits, heads, links, of, bits)
    return Stars(of, bits, int(given_up))


def pictures(keys: U64, kinds: U8, hashes: U64, looks: U8) -> U8:
    """(n, PICTURE_BYTES) images, each as one row.

    keys: (n, 2) of who it is; zeros are unknown.  kinds: (n,); 0 has neither hash nor look.
    hashes: (n,).  looks: (n, LOOK_BYTES).
    """
    parts = keys.view(np.uint8), kinds[:, None], hashes[:, None].view(np.uint8), looks
    made: U8 = np.concatenate(parts, axis=1)
    return made


def same_pictures(pictures: U8, starts: I64, left: I64, right: I64, distance: int) -> Bools:
    """(n_pairs,) whether each picture of one document is equal to, or near, one of the other.

    Two without pictures have the same.

    pictures: (n, PICTURE_BYTES).  starts: (n_docs + 1,) where those of each document begin.
    left, right: (n_pairs,) documents.  distance: bits of the hashes that may differ.
    """
    same = np.empty(len(left), np.uint8)
    who = np.ascontiguousarray(pictures[: starts[-1], : kernels.KEY_BYTES]).view(np.uint64)
    order = np.lexsort((*who.T, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    places = read_only(order), read_only(starts), read_only(left), read_only(right)
    kernels.same_pictures(read_only(pictures), *places, np.uint64(distance), same)
    return same.view(np.bool_)
