"""95 % intervals of the mean of 1 / m over probes: ours, and others to compare with."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtrit

from tokenmill.pipelines.measure.unique import unique_frac

F64 = npt.NDArray[np.float64]
Method = Callable[[F64, int], tuple[float, float]]  # copies of each probe, a seed

RESAMPLES = 200
DRAWN = 41  # limits do not hang on them: quantiles are computed, draws only ordered


def ours(copies: F64, seed: int) -> tuple[float, float]:
    return unique_frac(1 / copies, np.ones(len(copies)), seed=seed, n_draws=DRAWN).limits()


def normal(copies: F64, seed: int) -> tuple[float, float]:
    """Mean +- 1.96 standard errors."""
    x = 1 / copies
    half = 1.96 * x.std(ddof=1) / len(x) ** 0.5
    return x.mean() - half, x.mean() + half


def binomial(copies: F64, seed: int) -> tuple[float, float]:
    """Clopper and Pearson of the sum of 1/m, as if each were 0 or 1."""
    total, n = (1 / copies).sum(), len(copies)
    most = 1.0 if total >= n else float(betaincinv(total + 1, n - total, 0.975))
    return float(betaincinv(total, n - total + 1, 0.025)), most


def wilson(copies: F64, seed: int) -> tuple[float, float]:
    """Score interval with as many units as the variance says."""
    x = 1 / copies
    p, n = x.mean(), len(x)
    t = stdtrit(n - 1, 0.975)
    units = n * p * (1 - p) / max(x.var(ddof=1), 1e-12)
    middle, half = p + t**2 / (2 * units), t * np.sqrt(p * (1 - p) / units + (t / units) ** 2 / 4)
    return (middle - half) / (1 + t**2 / units), (middle + half) / (1 + t**2 / units)


def bernstein(copies: F64, seed: int) -> tuple[float, float]:
    """Empirical Bernstein (Maurer and Pontil 2009)."""
    x = 1 / copies
    log = np.log(4 / 0.05)
    half = np.sqrt(2 * x.var(ddof=1) * log / len(x)) + 7 * log / (3 * (len(x) - 1))
    return x.mean() - half, x.mean() + half


def anderson(copies: F64, seed: int) -> tuple[float, float]:
    """From a band around the distribution function (Anderson 1969, with the DKW constant)."""
    x, n = np.sort(1 / copies), len(copies)
    band = np.sqrt(np.log(2 / 0.05) / (2 * n))
    below = np.arange(n + 1) / n
    gaps = np.diff(np.concatenate([[0], x, [1]]))
    high = ((1 - np.maximum(below - band, 0)) * gaps).sum()
    return ((1 - np.minimum(below + band, 1)) * gaps).sum(), high


def bootstrap_t(copies: F64, seed: int) -> tuple[float, float]:
    values, counts = np.unique(1 / copies, return_counts=True)
    n = len(copies)
    rng = np.random.default_rng(seed)
    share = rng.multinomial(n, counts / n, RESAMPLES) / n
    means, squares = share @ values, share @ values**2
    errors = np.sqrt(np.maximum(squares - means**2, 1e-15) / n)
    mean, error = counts @ values / n, (1 / copies).std(ddof=1) / n**0.5
    low, high = np.quantile((means - mean) / errors, [0.025, 0.975])
    return mean - high * error, mean - low * error


METHODS: dict[str, Method] = {
    "ours": ours,
    "bootstrap-t": bootstrap_t,
    "normal": normal,
    "wilson": wilson,
    "binomial": binomial,
    "anderson": anderson,
    "bernstein": bernstein,
}
