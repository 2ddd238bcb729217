"""An estimated quantity: its value, and what it is in each joint draw of the sample."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tokenmill.sizing.figure import Figure
from tokenmill.sizing.spread import TAIL

F64: TypeAlias = npt.NDArray[np.float64]
I64: TypeAlias = npt.NDArray[np.int64]

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

    __radd__ = __add__
    __rmul__ = __mul__

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
