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
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from tokenmill.pipelines.estimate.drawn import F64, Drawn, coupled, exact, levels
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
