"""An estimated quantity: its value, and what it is in each joint draw of the sample.

Limits of a fraction are inside [0, 1], and of no width only where next to nothing is left to draw.
A lower limit is that of a sample with one more unit of which the worst is supposed, 0; an upper
limit supposes 1 of it:

    low side  (1 - B) F         high side  (1 - B) F + B
    F   the estimate, with its variance
    B   that unit's share of the weight, Beta(1, n) of n units drawn of many; see Undrawn

each taken as the Beta distribution of its mean and variance. For n units of 0 or 1 that is the
interval of Clopper and Pearson (1934) to the digit; for others it is close to Gaffke's (2005; see
Learned-Miller and Thomas, arXiv:1905.06208), and with the variance of clusters to that of Korn and
Graubard (1998) for surveys. Its coverage: `python -m tests.bench.coverage`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from tokenmill.dedup.arrays import F64
from tokenmill.sizing.figure import TAIL, Z_95, Figure

DRAWS = 400  # ten fall outside on either side of a 95 % interval


@dataclass(frozen=True, eq=False)
class Drawn:
    """A value, and (n_draws,) float64 of what it is in each draw.

    Draw i of all quantities of one estimate belongs together, so arithmetic goes draw by draw,
    and what is uncertain in both of two quantities cancels in their ratio.
    """

    value: float
    draws: F64

    def __mul__(self, other: "Drawn | float") -> "Drawn":
        """A number is taken as exact; so it is in the other operations."""
        other = _drawn(other, len(self.draws))
        return Drawn(self.value * other.value, self.draws * other.draws)

    def __truediv__(self, other: "Drawn | float") -> "Drawn":
        """The divisor is over 0 in every draw."""
        other = _drawn(other, len(self.draws))
        return Drawn(self.value / other.value, self.draws / other.draws)

    def __add__(self, other: "Drawn | float") -> "Drawn":
        other = _drawn(other, len(self.draws))
        return Drawn(self.value + other.value, self.draws + other.draws)

    def __sub__(self, other: "Drawn | float") -> "Drawn":
        return self + other * -1.0

    __radd__ = __add__
    __rmul__ = __mul__

    def within(self, least: "Drawn | float" = -inf, most: "Drawn | float" = inf) -> "Drawn":
        """No less than one quantity, and no more than another."""
        low, high = (_drawn(end, len(self.draws)) for end in (least, most))
        value = min(max(self.value, low.value), high.value)
        return Drawn(value, np.clip(self.draws, low.draws, high.draws))

    def each(self, change: Callable[[F64], F64]) -> "Drawn":
        """A function of it, which takes and gives arrays."""
        value = float(change(np.array([self.value]))[0])
        return Drawn(value, np.asarray(change(self.draws), np.float64))

    def limits(self) -> tuple[float, float]:
        """The 95 % interval; it holds the value."""
        low, high = np.quantile(self.draws, [TAIL, 1 - TAIL])
        return min(float(low), self.value), max(float(high), self.value)

    def figure(self) -> Figure:
        """As sizing reads it; without draws where it is exact."""
        if (self.draws == self.value).all():
            return Figure(value=self.value)
        return Figure(value=self.value, draws=tuple(self.draws.tolist()))


def exact(value: float, n_draws: int = DRAWS) -> Drawn:
    """A quantity that was counted."""
    return Drawn(float(value), np.full(n_draws, value, np.float64))


def levels(n_draws: int) -> F64:
    """(n_draws,) levels at which a quantile function gives draws, in order.

    The 2.5th and the 97.5th percentile of such draws are the quantiles at 0.025 and 0.975; the
    ends stop half a draw short of 0 and 1, where most quantile functions have nothing to say.
    """
    evenly: F64 = np.arange(n_draws) / (n_draws - 1)
    return np.clip(evenly, 0.5 / n_draws, 1 - 0.5 / n_draws)


def generator(kind: str, seed: int) -> np.random.Generator:
    """Random numbers for the draws of one kind of sample: two kinds with one seed share none."""
    return np.random.default_rng([seed, *kind.encode()])


def coupled(value: float, score: F64, low: F64, high: F64) -> Drawn:
    """Draws with the lower half of quantiles `low`, the upper of `high`, in the order of `score`.

    score: (n_draws,), what each draw of the sample would say.
    low, high: (n_draws,), rising: quantiles of a lower and of an upper limit at `levels`.
    """
    half = len(score) // 2
    draws = np.empty_like(low)
    draws[np.argsort(score, kind="stable")] = np.concatenate([low[:half], high[half:]])
    return Drawn(value, draws)


def _drawn(other: Drawn | float, n_draws: int) -> Drawn:
    return other if isinstance(other, Drawn) else exact(other, n_draws)


def between(least: float, most: float, *, order: int, value: float | None = None) -> Drawn:
    """What lies anywhere between two numbers, the ends of its 95 % interval, by their logs alike.

    order: a number of its own for each that is drawn apart from others.
    value: midway, if not given.
    """
    if least == most:
        return exact(least)
    beyond = (log(most) - log(least)) * TAIL / (1 - 2 * TAIL)
    logs = np.linspace(log(least) - beyond, log(most) + beyond, DRAWS)
    draws = np.exp(np.random.default_rng(order).permutation(logs))
    return Drawn((least * most) ** 0.5 if value is None else value, draws)


def around(least: float, value: float, most: float, *, order: int) -> Drawn:
    """As `between`, as often below the value as above it."""
    ends = np.log([least, value, most])
    logs = np.interp(np.linspace(0.0, 1.0, DRAWS), [TAIL, 0.5, 1 - TAIL], ends)
    return Drawn(value, np.exp(np.random.default_rng(order).permutation(logs)))


LEAST = 1e-6  # of the value: a share that was seen is not nought
LEAST_CHANCE, MOST_CHANCE = 1e-12, 1 - 2.0**-53  # as good as 0 and 1
FLATTEST = 1e-2  # the sum of a Beta's parameters below which it is as good as 0 or 1


class Undrawn(NamedTuple):
    """Beta(a, b): share of the weight that units have which were not drawn, where one is supposed.

    Of units alike, drawn by a chance c, those missed before one is drawn are a geometric number:
    an exponential one of mean 1 / -ln(1 - c), rounded down. That itself is taken, so that limits
    reach as far as those of whole units do: Beta(1, n) with c near 0, and next to nothing with c
    near 1. Where chances differ they are among those that the least likely stand for.
    """

    a: float
    b: float

    @classmethod
    def of_sums(
        cls, whole: float, squares: float, missed: float, once: float, twice: float
    ) -> "Undrawn | None":
        """None where all units were drawn for certain.

        Sums over the units drawn, of W, their weight by their chance: whole, of W; squares, of
        (1 - c) W^2; and what `missed_sums` tells.
        """
        if not squares:
            return None
        typical, mean = squares / missed, once / missed
        variance = twice / missed - mean**2
        return cls(mean**2 / variance, whole * mean / (typical * variance))


def missed_sums(weights: F64, chances: F64) -> tuple[float, float, float]:
    """Sums of (1 - c) W, and of it times the mean of what is missed and times that of its square.

    weights: (n,) W, by their chances.  chances: (n,) c. What is missed is in units of 1 / c.
    """
    c = np.clip(chances, LEAST_CHANCE, MOST_CHANCE)
    missed, mean = (1 - chances) * weights, c / -np.log1p(-c)
    return float(missed.sum()), float(missed @ mean), float(missed @ (2 * mean**2))


def fraction(value: float, variance: float, *, undrawn: Undrawn | None, score: F64) -> Drawn:
    """A fraction with its draws.

    value: the estimate, in [0, 1].  variance: of it, over samples.
    undrawn: the share of one more unit; None where there is none.
    score: (n_draws,), what each draw of the sample would say.
    """
    if variance == 0 and undrawn is None:
        return exact(value, len(score))
    at = levels(len(score))
    low = lower_quantiles(value, variance, undrawn, at)
    high = 1 - lower_quantiles(1 - value, variance, undrawn, 1 - at)
    draws = coupled(value, score, low, high)
    return Drawn(value, np.clip(draws.draws, value * LEAST, 1.0))


def lower_quantiles(value: float, variance: float, undrawn: Undrawn | None, at: F64) -> F64:
    """Quantiles, at levels `at`, of the estimate with 0 for one more unit."""
    if value == 0:
        return np.zeros_like(at)
    share = share_variance = 0.0
    if undrawn is not None:
        total = sum(undrawn)
        share = undrawn.a / total
        share_variance = share * (1 - share) / (total + 1)
    mean = (1 - share) * value
    spread = (1 - share) ** 2 * variance + share_variance * (variance + value**2)
    concentration = max(mean * (1 - mean) / spread - 1, FLATTEST)
    a, b = mean * concentration, (1 - mean) * concentration
    quantiles = np.asarray(betaincinv(a, b, at), np.float64)
    # of some 1e8 units alike its inverse fails; there a Beta is normal to all digits that count
    normal = np.clip(mean + spread**0.5 * ndtri(at), 0.0, 1.0)
    quantiles = np.where(np.isfinite(quantiles), quantiles, normal)
    if undrawn is None:
        return quantiles
    alike = value * (1 - betaincinv(undrawn.a, undrawn.b, 1 - at))  # where all units are so
    return np.asarray(np.fmin(quantiles, alike), np.float64)


def alike(weights: F64) -> float:
    """As many units of one weight as these are worth: (sum of weights)^2 / sum of squares."""
    return float(weights.sum()) ** 2 / float((weights**2).sum())


def t_ratio(df: float) -> float:
    """How much wider than the normal's 95 % interval that of Student's t is."""
    return float(stdtrit(max(df, 1.0), 1 - TAIL)) / Z_95
