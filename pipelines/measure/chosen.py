"""Documents that go through all steps, chosen of those that are read, and what they tell.

    documents ── chance c: as the root of their bytes ── chosen ── stages ── weight 1 / c ── sums

Of what a stage takes and leaves, the sums of a few products are enough for a ratio and its variance
(Horvitz and Thompson 1952; chosen apart from one another), and for what was not seen:

    kept = sum(y / c) / sum(x / c)      variance = sum((1 - c) / c^2 * (y - kept * x)^2) / sum^2
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tokenmill.dedup.arrays import F64, I64, U64, Bools
from tokenmill.pipelines.measure.drawn import (
    DRAWS,
    Drawn,
    Undrawn,
    coupled,
    exact,
    fraction,
    generator,
    levels,
    missed_sums,
)

LEAST_DOCS = 16  # of a batch that are chosen
ALMOST_ALL = 0.5  # so that of a corpus of a few documents more than are probed nothing is guessed
ODD = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # of splitmix64


class Choice(NamedTuple):
    """How documents are chosen, that go through all steps.

    share: of the text that is read, about what they have.  docs_per_byte: so many at least.
    longest: bytes; longer ones are all taken.
    tokenized: share of the text of which tokens are made: of those chosen, or of fewer.
    """

    share: float
    docs_per_byte: float
    longest: float
    tokenized: float

    def of_tokens(self, text_bytes: float, *, read_bytes: float) -> "Choice":
        """How documents are chosen, of those that come to the end, of which tokens are made.

        text_bytes: that come to it.  read_bytes: where these come from: filters that leave little
        leave none of it out.
        """
        share = self.tokenized * max(read_bytes / max(text_bytes, 1.0), 1.0)
        return self._replace(share=share, docs_per_byte=0.0)


def chance(text_bytes: I64, choice: Choice, *, read_bytes: float, of: F64 | float = 1.0) -> F64:
    """(n,) chance of each document of a batch to be chosen: as the root of its bytes.

    What documents tell of tokens goes with their bytes, and so does what they cost. Those chosen
    have about the share of the bytes; as many as are to be probed are chosen at least, which tell
    of documents, short ones as often as long: all, where these and that share together are half.
    The longest are taken for certain, as a few of them may be half of all text.

    read_bytes: of the batch as it was read, what left since among it.
    of: (n,) documents that each stands for, where these were chosen already.
    """
    of = np.broadcast_to(of, len(text_bytes))
    n = float(of.sum())
    probes = read_bytes * choice.docs_per_byte
    wanted = max(probes, LEAST_DOCS)
    many = max(probes + n * choice.share, wanted) if probes else wanted
    if choice.share >= 1 or many >= n * ALMOST_ALL:
        return np.ones(len(text_bytes))
    long = text_bytes > choice.longest
    roots = np.sqrt(np.maximum(text_bytes, 1))
    others = np.where(long, 0.0, roots) * of
    level = choice.share * float(of[~long] @ text_bytes[~long])
    level /= max(float(others @ text_bytes), 1.0)
    level = max(level, LEAST_DOCS / max(float(others.sum()), 1.0))
    return np.where(long, 1.0, np.clip(level * roots, wanted / n, 1.0))


def chosen(doc_ids: U64, chances: F64, seed: int) -> Bools:
    """(n,) which of some documents are tokenized; by their ids, so that all processes agree."""
    with np.errstate(over="ignore"):
        mixed = (doc_ids + np.uint64(seed + 1) * ODD[1]) * ODD[0]
        mixed = (mixed ^ (mixed >> np.uint64(31))) * ODD[1]
    bits = (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(11)
    return np.asarray(bits.astype(np.float64) * 2.0**-53 < chances, np.bool_)


MOMENTS = ("in", "out", "in in", "in out", "out out", "missed", "missed once", "missed twice")


def moments(name: str, x: F64, y: F64, chances: F64) -> dict[str, float]:
    """Sums over some documents chosen, under the names that `ratio_of` knows.

    name: of what.  x, y: (n,) what went in of each, and what goes on.
    """
    weights, open_ended = 1 / chances, (1 - chances) / chances**2
    products = (weights * x, weights * y, *(open_ended * z for z in (x * x, x * y, y * y)))
    sums = [*(float(p.sum()) for p in products), *missed_sums(weights * x, chances)]
    return {f"{name} {m}": value for m, value in zip(MOMENTS, sums, strict=True)}


def ratio_of(name: str, sums: Mapping[str, float], seed: int) -> Drawn:
    """What goes on, as a share of what went in, or as so many times it; 0 where nothing did.

    seed: of the draws, which what is told of one stage has in common.
    """
    x, y, xx, xy, yy, *missed = (sums.get(f"{name} {m}", 0.0) for m in MOMENTS)
    value = y / x if x else 0.0
    variance = max(yy - 2 * value * xy + value**2 * xx, 0.0) / max(x, 1.0) ** 2
    undrawn = Undrawn.of_sums(x, xx, *missed)
    if undrawn is None:
        return exact(value)
    score = generator(f"chosen {name.rsplit(' ', 1)[0]}", seed).random(DRAWS)
    if yy <= xx and value <= 1:
        return fraction(value, variance, undrawn=undrawn, score=score)
    quantiles = value * np.exp(ndtri(levels(DRAWS)) * variance**0.5 / max(value, 1e-300))
    return coupled(value, score, quantiles, quantiles)
