"""Documents as sets of shingle hashes, by which their Jaccard similarity is known exactly.

    shingle hashes as they come --sort, each once--> sets ──┬── what two share
                                                            └── packed, to be kept

A set of n of the 2**32 hashes takes about log2(2**32 / n) + 2 bits for each as it is kept
(Elias-Fano), 25 of 500, where plain hashes take 32. Similarities are compared in integers: what is
as alike as a decimal says, 0.7, is so to the last shingle.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64, U32, power_of_two, read_only
from tokenmill.dedup.kernels import sets as kernels
from tokenmill.dedup.text.shingle import Shingles

DECIMALS = 9  # of a similarity, at most: with more, sums of 64 bits would not hold


class Packed(NamedTuple):
    """Sets as they are kept, `words[offsets[i]:offsets[i + 1]]`; sizes: hashes of each."""

    words: U32
    offsets: I64
    sizes: I64


def distinct(found: Shingles) -> Shingles:
    """The shingles of each document, ascending and each once."""
    lengths = np.diff(found.offsets)
    return gathered(lengths, [(*found, np.arange(len(lengths)))])


def gathered(lengths: I64, lists: Iterable[tuple[U32, Any, I64]]) -> Shingles:
    """The sets of documents that lie in several places, as `distinct`.

    lengths: (n_docs,) shingles of each.  lists: shingles, where those of each document begin and
        the last ones end, and (n,) which documents are meant, in the order of `lengths`.
    """
    hashes, offsets = np.empty(int(lengths.sum()), np.uint32), np.zeros(len(lengths) + 1, np.int64)
    counts = np.empty(power_of_two(int(lengths.max(initial=0))), np.uint32)
    at = 0
    for values, begins, docs in lists:
        here = offsets[at : at + len(docs) + 1]
        wide = read_only(begins.astype(np.int64, copy=False))  # one signature
        kernels.distinct(read_only(values), wide, read_only(docs), counts, hashes, here)
        at += len(docs)
    return Shingles(hashes[: offsets[-1]], offsets)


def pack(sets: Shingles) -> Packed:
    """Pack sets, whose hashes ascend."""
    sizes = np.diff(sets.offsets)
    offsets = np.empty(len(sets.offsets), np.int64)
    kernels.pack_sizes(read_only(sizes), offsets)
    words = np.zeros(int(offsets[-1]), np.uint32)
    kernels.pack(read_only(sets.hashes), read_only(sets.offsets), words, offsets)
    return Packed(words, offsets, sizes)


def unpack(packed: Packed) -> Shingles:
    """The sets, their hashes ascending."""
    offsets = np.concatenate(([0], np.cumsum(packed.sizes))).astype(np.int64)
    hashes = np.empty(int(offsets[-1]), np.uint32)
    words, sizes = read_only(packed.words), read_only(packed.sizes)
    kernels.unpack(words, read_only(packed.offsets), sizes, hashes)
    return Shingles(hashes, offsets)


class Ratio(NamedTuple):
    """A least similarity, p / q, of the decimal that was written.

    >>> Ratio.of(0.7), Ratio.of(1.0), Ratio.of(0.0)
    (Ratio(p=7, q=10), Ratio(p=1, q=1), Ratio(p=0, q=1))
    """

    p: int
    q: int

    @classmethod
    def of(cls, similarity: float) -> "Ratio":
        """The shortest decimal that is this float; ValueError: it has more than DECIMALS digits."""
        decimal = Decimal(repr(similarity))
        exponent = decimal.as_tuple().exponent
        if isinstance(exponent, int) and -exponent > DECIMALS:
            raise ValueError(f"{similarity} has more than {DECIMALS} digits behind the point")
        return cls(*decimal.as_integer_ratio())

    def least_shared(self, n: I64) -> I64:
        """(n_pairs,) hashes that two sets of (n_pairs,) `n` together share, if they are alike.

        >>> Ratio.of(0.7).least_shared(np.array([17, 16, 18])).tolist()
        [7, 7, 8]
        """
        least: I64 = (n * self.p + (self.p + self.q - 1)) // (self.p + self.q)
        return least


def shared(sets: Shingles, left: I64, right: I64, least: I64) -> I64:
    """(n_pairs,) how many hashes two sets share; -1 where these are fewer than `least`."""
    made = np.empty((3, kernels.TABLE), np.uint32)
    return _of_pairs(kernels.shared, (sets.hashes, sets.offsets), left, right, least, made)


def equal_slots(signatures: U32, left: I64, right: I64, least: I64) -> I64:
    """As `shared`, of the slots of (n, num_perm) signatures."""
    return _of_pairs(kernels.equal_slots, (signatures,), left, right, least)


def _of_pairs(kernel, of, left: I64, right: I64, least: I64, *made) -> I64:  # type: ignore[no-untyped-def]
    out = np.empty(len(left), np.int64)
    kernel(*map(read_only, (*of, left, right, least)), out, *made)
    return out
