"""How unique documents grow with the corpus: a Heaps curve, from nested subsets.

    D(N) = K * N^beta        least squares of log D on log N

The law fits what was read and misleads beyond: its exponent falls as a corpus grows, so that
carrying it on over corpora of known sizes was 9 to 99 % too high at twice the documents (clusters
of Zipf, geometric and equal sizes); with the exponent falling on as it fell, 0.3 to 1.3 % off.
That is what `beyond` does. It remains a model, and is carried no further than twice what was
read: past that, what is unseen cannot be told (Good and Toulmin 1956).
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import DRAWS, F64, I64, Drawn, coupled, generator, levels
from tokenmill.sizing.spread import TAIL, Z_95

FURTHEST = 2.0  # times the largest subset
ROUNDING = 1e-9  # of all documents
LEAST_SUBSETS = 4  # two parameters, two degrees of freedom for the error


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The curve through documents and unique documents of nested subsets of a corpus.

    docs, unique: (k,) rising; of subsets drawn at random, each within the next, or means over such.
    share: of the hash space that unique documents were counted in, before division by it.
    """

    docs: I64 | F64
    unique: I64 | F64
    share: float = 1.0

    def __post_init__(self) -> None:
        if len(self.docs) < LEAST_SUBSETS:
            raise ConfigError(
                f"{len(self.docs)} nested subsets make no curve, {LEAST_SUBSETS} or more do"
            )
        new, fresh = np.diff(self.docs), np.diff(self.unique)
        slack = ROUNDING * float(self.docs[-1])
        if self.docs[0] + slack < self.unique[0] or self.unique[0] < 1:
            raise ConfigError(
                f"{self.docs[0]:g} documents cannot have {self.unique[0]:g} unique ones"
            )
        wrong = np.flatnonzero((new <= 0) | (fresh < -slack) | (fresh > new + slack))
        if len(wrong):
            at = int(wrong[0])
            raise ConfigError(
                f"from {self.docs[at]:g} to {self.docs[at + 1]:g} documents the unique ones go from"
                f" {self.unique[at]:g} to {self.unique[at + 1]:g}; subsets must be nested and grow"
            )

    def exponent(self) -> tuple[float, float, float]:
        """Beta, and its 95 % interval over the scatter about the curve."""
        beta, _, error, df = self._fit()
        half = float(stdtrit(df, 1 - TAIL)) * error
        return beta, beta - half, min(beta + half, 1.0)

    def scale(self) -> float:
        """K, of one document."""
        return exp(self._fit()[1])

    def beyond(self, docs: float, *, seed: int = 0, n_draws: int = DRAWS) -> Drawn:
        """Unique documents of more than were read: a model's figure, to be labelled one.

            D(N) = D_k * (N / N_k)^(b + c)

        b: exponent of the last step.  c <= 0: what it changes by, as it did from the step before,
        for as much of a step. The interval runs from 2 c to 0, with the noise of the counts, and
        within what any law allows: no fewer than were counted, and no more than go on at the rate
        of the last step (in random order new ones come ever more rarely).

        Raises:
            ConfigError: for more than twice the largest subset, or for what was counted.
        """
        read = float(self.docs[-1])
        if docs > FURTHEST * read:
            raise ConfigError(
                f"{docs:,.0f} documents are {docs / read:.3g} times the {read:,.0f} that were"
                f" read; a model of growth is carried to {FURTHEST:g} times as many at most: read"
                f" {docs / FURTHEST:,.0f} or more"
            )
        if docs < read:
            raise ConfigError(f"{docs:,.0f} documents are fewer than the {read:,.0f} counted")
        x, y = np.log(self.docs[-3:]), np.log(self.unique[-3:])
        before, last = np.diff(y) / np.diff(x)
        further = np.log(docs / read)
        change = min(float(last - before), 0.0) * (further + x[2] - x[1]) / (x[2] - x[0])
        noise = Z_95 * further / (x[2] - x[1]) * sqrt(6 / (self.share * self.unique[-3]))
        middle, drop = further * float(last + change), -further * change
        z = ndtri(levels(n_draws)) / Z_95
        exponents = middle + z * np.hypot(drop, noise)
        start = float(self.unique[-1])
        rate = float(self.unique[-1] - self.unique[-2]) / float(self.docs[-1] - self.docs[-2])
        least, most = start, start + rate * (docs - read) * exp(noise)
        score = generator("growth", seed).random(n_draws)
        draws = np.clip(start * np.exp(exponents), least, most)
        return coupled(float(np.clip(start * exp(middle), least, most)), score, draws, draws)

    def _fit(self) -> tuple[float, float, float, int]:
        """Beta, log K, the standard error of beta, degrees of freedom."""
        x, y = np.log(self.docs), np.log(self.unique)
        from_mean = x - x.mean()
        square = float(from_mean @ from_mean)
        beta = float(from_mean @ y) / square
        log_scale = float(y.mean() - beta * x.mean())
        residual = y - log_scale - beta * x
        df = len(x) - 2
        return beta, log_scale, sqrt(float(residual @ residual) / df / square), df
