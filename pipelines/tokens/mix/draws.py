"""What chance decides of a document: how often it stands in the dataset, and where.

    id, seed ── xxh3 ── the state of a SplitMix64 generator ─┬─ 1st number: its draw, d in [0, 1)
                                                             └─ 2nd, 3rd, …: places of its copies

Copies of a document stand at d, d + 1, d + 2, … on a line of which each epoch covers a stretch as
long as the weight: epoch e has those in [e * weight, (e + 1) * weight). So it has each document
`weight` times on average; all epochs together have `floor` or `ceil` of `epochs * weight` copies,
of weight 0.25 one in four epochs; and a greater weight, or more epochs, keep what fewer had.

All of it is arithmetic on 64-bit integers: no machine rounds otherwise. Documents of one id have
one draw; ids that are of their file alone had better hold its name.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from tokenmill.dedup.arrays import F64, I64, U64

BITS = 32  # of a draw, and of a weight behind the point
ONE = 1 << BITS
KEY_BITS = 64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the step of SplitMix64
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Copies(NamedTuple):
    """Copies of documents, in the order of these and by number.

    rows: (n_copies,) int64, which document.  keys: (n_copies,) uint64, by which they are put in
    order: those of an epoch are less than those of the next.  counts: (n_docs,) uint64.
    """

    rows: I64
    keys: U64
    counts: U64


def states(ids: pa.Array, *, seed: int) -> U64:
    """(n,) where the generator of each document begins. ids: (n,) strings."""
    drawn = [xxhash.xxh3_64_intdigest(i.encode(), seed=seed) for i in ids.to_pylist()]
    return np.array(drawn, np.uint64)


def number(state: U64, nth: U64 | int) -> U64:
    """(n,) the n-th number of each generator, from 1.

    Source: Steele, Lea and Flood 2014, Fast Splittable Pseudorandom Number Generators; the
    constants are those of java.util.SplittableRandom.
    """
    z = state + np.asarray(nth, np.uint64) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    made: U64 = z ^ (z >> np.uint64(31))
    return made


def draws(state: U64) -> U64:
    """(n,) the draw of each document, in 2**-32."""
    return number(state, 1) >> np.uint64(KEY_BITS - BITS)


def fixed(weight: float | F64) -> U64:
    """Weights in 2**-32."""
    return np.round(np.multiply(weight, ONE)).astype(np.uint64)


def copies(draw: U64, places: U64, *, weight: float | F64, epochs: int) -> Copies:
    """The copies of documents in all epochs.

    draw: (n,) of `draws`.  places: (n,) states from which the places of copies are drawn.
    weight: of all, or (n,) of each.
    """
    step = np.broadcast_to(fixed(weight), draw.shape)
    counts = (np.uint64(epochs) * step + np.uint64(ONE - 1) - draw) >> np.uint64(BITS)
    rows = np.repeat(np.arange(len(draw)), counts.astype(np.int64))
    first = np.cumsum(counts) - counts
    nth = np.arange(len(rows), dtype=np.uint64) - first[rows]
    drawn = number(places[rows], nth + np.uint64(2))
    if epochs == 1:
        return Copies(rows, drawn, counts)
    epoch = (draw[rows] + (nth << np.uint64(BITS))) // np.maximum(step, 1)[rows]
    length = np.uint64((1 << KEY_BITS) // epochs)
    return Copies(rows, epoch * length + drawn // np.uint64(epochs), counts)
