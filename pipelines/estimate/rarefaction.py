"""How unique documents come with the units that are read: the curve over all orders of reading.

    K units read, a cluster seen in m of them: in k of them at random by 1 - C(K-m, k) / C(K, k)

Summed over clusters that is what k units hold on average, with none of the noise of one order
(Hurlbert 1971; the sample-based rarefaction of Gotelli and Colwell 2001). It rises ever more
slowly, so its last step says how fast new documents come at most beyond what was read.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.estimate.drawn import F64, I64


@dataclass(frozen=True, kw_only=True)
class Rarefaction:
    """Clusters that were seen, or a sample of them.

    spans: (n,) int, units that each was seen in, 1 .. n_units.
    weights: (n,) >= 0, what each stands for: clusters like it, or the bytes of their documents.
    n_units: K, all that were read.
    """

    spans: I64
    weights: F64
    n_units: int

    def __post_init__(self) -> None:
        if len(self.spans) and not 1 <= self.spans.min() <= self.spans.max() <= self.n_units:
            raise ConfigError(
                f"a cluster was seen in {self.spans.min()} to {self.spans.max()} of"
                f" {self.n_units} units; give 1 to {self.n_units}"
            )

    def unique(self, units: I64) -> F64:
        """(k,) expected weight of the clusters of so many random units, each 0 .. K."""
        by_span = np.bincount(self.spans, self.weights, self.n_units + 1)
        spans = np.flatnonzero(by_span)
        at = np.asarray(units, np.int64)[:, None]
        return np.asarray((1 - self._missed(spans[None, :], at)) @ by_span[spans], np.float64)

    def _missed(self, spans: I64, units: I64) -> F64:
        """Chance that none of so many units has a cluster of such a span."""
        total = self.n_units
        left = total - spans
        possible = left >= units
        left, units = np.broadcast_arrays(np.where(possible, left, total), units)
        logs = (
            gammaln(left + 1)
            - gammaln(left - units + 1)
            - gammaln(total + 1)
            + gammaln(total - units + 1)
        )
        return np.where(possible, np.exp(np.minimum(logs, 0.0)), 0.0)

    @property
    def size(self) -> float:
        """As many clusters alike as these are worth: (sum of weights)^2 / sum of squares."""
        square = float((self.weights**2).sum())
        return float(self.weights.sum()) ** 2 / square if square else 0.0


def nested(n_units: int, most: int = 7) -> I64:
    """Numbers of units of nested subsets, rising to all of them, each about half of the next."""
    halves = np.ceil(n_units / 2.0 ** np.arange(most)).astype(np.int64)
    return np.unique(halves)
