"""Limits of a fraction that was estimated from a sample: inside [0, 1], never of no width.

A lower limit is that of a sample with one more unit of which the worst is supposed, 0; an upper
limit supposes 1 of it:

    low side  (1 - B) F         high side  (1 - B) F + B
    F   the estimate, with its variance
    B   the unseen unit's share of the weight, Beta(1, n) of n units

each taken as the Beta distribution of its mean and variance. For n units of 0 or 1 that is the
interval of Clopper and Pearson (1934) to the digit; for others it is close to Gaffke's (2005; see
Learned-Miller and Thomas, arXiv:1905.06208), and with the variance of clusters to that of Korn and
Graubard (1998) for surveys. Its coverage: `python -m tests.bench.coverage`.

Keys that stand in very many documents, found in one walk and little memory (Misra-Gries).

    counts of keys ── add ── at most `room` counters: the largest stay, all less the next largest

A key of more than n / (room + 1) of n documents is among the counters, whatever the order; each
counter is too low by that many at most. Two summaries add up to one with the same promise
(Agarwal et al. 2012, Mergeable Summaries), so files are summed up apart. How often a key found
truly stands there a second walk tells.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

from tokenmill.pipelines.measure.drawn import F64, I64, Drawn, coupled, exact, levels
from tokenmill.sizing.spread import TAIL, Z_95

LEAST = 1e-6  # of the value: a share that was seen is not nought
FLATTEST = 1e-2  # the sum of a Beta's parameters below which it is as good as 0 or 1


def fraction(
    value: float, variance: float, *, unseen: float, score: F64, unread: float = 1.0
) -> Drawn:
    """A fraction with its draws.

    value: the estimate, in [0, 1].  variance: of it, over samples.
    unseen: share of the weight that one more unit has on average, 1 / (n + 1) of n alike.
    score: (n_draws,), what each draw of the sample would say.
    unread: share of the population not looked at; with none left the estimate is exact.
    """
    if unread == 0 or (variance == 0 and unseen == 0):
        return exact(value, len(score))
    at = levels(len(score))
    low = lower_quantiles(value, variance, unseen, at)
    high = 1 - lower_quantiles(1 - value, variance, unseen, 1 - at)
    shrink = unread**0.5  # of the standard error: the correction for finite populations
    low, high = value + (low - value) * shrink, value + (high - value) * shrink
    draws = coupled(value, score, low, high)
    return Drawn(value, np.clip(draws.draws, value * LEAST, 1.0))


def lower_quantiles(value: float, variance: float, unseen: float, at: F64) -> F64:
    """Quantiles, at levels `at`, of the estimate with 0 for the unseen unit."""
    if value == 0:
        return np.zeros_like(at)
    share_variance = unseen**2 * (1 - unseen) / (1 + unseen)  # of Beta(1, n), unseen = 1 / (n + 1)
    mean = (1 - unseen) * value
    spread = (1 - unseen) ** 2 * variance + share_variance * (variance + value**2)
    concentration = max(mean * (1 - mean) / spread - 1, FLATTEST)
    a, b = mean * concentration, (1 - mean) * concentration
    quantiles = np.asarray(betaincinv(a, b, at), np.float64)
    # of some 1e8 units alike its inverse fails; there a Beta is normal to all digits that count
    normal = np.clip(mean + spread**0.5 * ndtri(at), 0.0, 1.0)
    quantiles = np.where(np.isfinite(quantiles), quantiles, normal)
    if unseen == 0:
        return quantiles
    alike = value * at ** (unseen / (1 - unseen))  # where all units are so: value * Beta(n, 1)
    return np.minimum(quantiles, alike)


def t_ratio(df: float) -> float:
    """How much wider than the normal's 95 % interval that of Student's t is."""
    return float(stdtrit(max(df, 1.0), 1 - TAIL)) / Z_95


U64 = npt.NDArray[np.uint64]


class Heavy(NamedTuple):
    """A summary of `docs` documents.

    keys: (n,) uint64, ascending, n <= room.  counts: (n,) over 0, of each at least so many.
    """

    keys: U64
    counts: I64
    docs: int
    room: int

    def add(self, keys: U64) -> "Heavy":
        """With more documents, one key each."""
        unique, counts = np.unique(keys, return_counts=True)
        return self._with(unique, counts.astype(np.int64), len(keys))

    def merge(self, other: "Heavy") -> "Heavy":
        """Of the documents of both."""
        return self._with(other.keys, other.counts, other.docs)

    def over(self, docs: float) -> U64:
        """Ascending keys that may stand in more than so many documents: all that do, and more.

        All that do only where docs >= self.docs / (room + 1).
        """
        error = self.docs // (self.room + 1)
        return self.keys[self.counts + error > docs]

    def _with(self, keys: U64, counts: I64, docs: int) -> "Heavy":
        together, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        summed = np.bincount(place, np.concatenate([self.counts, counts]), len(together))
        found = summed.astype(np.int64)
        if len(together) > self.room:
            found = found - np.partition(found, -self.room - 1)[-self.room - 1]
        left = found > 0
        return Heavy(together[left], found[left], self.docs + docs, self.room)


def heavy(room: int, summaries: Iterable[Heavy] = ()) -> Heavy:
    """A summary of no document, or of all those of others, with so many counters."""
    made = Heavy(np.zeros(0, np.uint64), np.zeros(0, np.int64), 0, room)
    for other in summaries:
        made = made.merge(other)
    return made
