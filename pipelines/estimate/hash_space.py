"""The unique fraction from a share of all keys, when each document is read but not kept.

    all documents ── key ── h(key) < p * 2^64 ? ── sizes of the clusters kept, all of them whole
                       └── in more than m* documents ── counted exactly, apart

A share of the keys, unlike a share of the documents, keeps clusters whole (coordinated sampling;
FracMinHash). So the number of keys kept is binomial, exactly, however heavy the tail of the
sizes, where the documents of the keys kept are not: one cluster more or less may be half of them.

Cost: every document is read and its key computed, or its key column alone is read where there is
one (a digest, a URL): the bytes of a full scan of keys. In memory: p * distinct keys * 16 B, and
the giants. It saves the memory of all keys, not the reading; a part of the files tells only of
that part (see growth).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import btdtrib

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.estimate.drawn import (
    DRAWS,
    F64,
    I64,
    Drawn,
    coupled,
    exact,
    generator,
    levels,
)
from tokenmill.pipelines.estimate.fraction import fraction


@dataclass(frozen=True, kw_only=True)
class HashSample:
    """The clusters whose key falls in a share of the hash space, and the giant ones.

    sizes: (k,) int, documents of each key kept, giants left out.
    share: p in (0, 1], of the hash space that was kept.
    docs: of the corpus, all counted.
    giants: (g,) int, documents of each key that was counted apart.
    """

    sizes: I64
    share: float
    docs: int
    giants: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    seed: int = 0
    n_draws: int = DRAWS

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"share {self.share:g} of the hash space is not in (0, 1]")
        if self.docs < 1:
            raise ConfigError("the corpus has no documents; nothing to estimate")
        found = int(self.sizes.sum() + self.giants.sum())
        if found > self.docs:
            raise ConfigError(
                f"{found} documents have sampled keys, the corpus has {self.docs}; a giant was"
                " left among the sampled keys, or documents were not all counted"
            )

    def distinct(self) -> Drawn:
        """Distinct keys of the corpus: those kept / p, and the giants.

        Its limits are those of a binomial count, exact; no fewer than were seen and no more than
        there are documents.
        """
        kept, giants = len(self.sizes), len(self.giants)
        if self.share == 1:
            return exact(kept + giants, self.n_draws)
        at = levels(self.n_draws)
        low = trials_low(kept, self.share, at)
        high = trials_high(kept, self.share, at)
        score = generator("hash space", self.seed).random(self.n_draws)
        draws = coupled(0.0, score, low, high).draws
        unseen = self.docs - int(self.giants.sum() + self.sizes.sum())  # at most a new key each
        value = min(kept / self.share, kept + unseen)
        return Drawn(value + giants, np.clip(draws, kept, kept + unseen) + giants)

    def unique_frac(self) -> Drawn:
        """Distinct keys over documents."""
        return self.distinct() * (1 / self.docs)

    def unique_weight_frac(self, weights: F64, giant_weights: F64, total: float) -> Drawn:
        """What one copy of each key weighs, as its tokens, over `total`, what all documents do.

        weights, giant_weights: of each key kept and of each giant; a mean where copies differ.
        The sum over the keys kept / p, its variance (1 - p) / p^2 * sum(weight^2) (Horvitz and
        Thompson 1952): a tail of long documents widens it, one of large clusters does not.
        """
        apart = float(giant_weights.sum())
        found = float(weights.sum()) / self.share + apart
        if not 0 < apart + float(weights.sum()) <= total:
            raise ConfigError(
                f"unique keys weigh {found:g} of {total:g}; give weights over 0 of all"
            )
        variance = (1 - self.share) / self.share**2 * float((weights**2).sum()) / total**2
        typical = float((weights**2).sum()) / max(float(weights.sum()), 1.0) / self.share / total
        return fraction(
            min(found / total, 1.0),
            variance,
            unseen=typical / (1 + typical) if self.share < 1 else 0.0,
            score=generator("hash space", self.seed).random(self.n_draws),
            unread=0.0 if self.share == 1 else 1.0,
        )


def trials_low(kept: int, share: float, at: F64) -> F64:
    """Numbers of trials of which `kept` or more succeed with chance `at`, each with `share`."""
    if kept == 0:
        return np.zeros_like(at)
    return np.asarray(kept - 1 + btdtrib(kept, at, share), np.float64)


def trials_high(kept: int, share: float, at: F64) -> F64:
    """Numbers of trials of which more than `kept` succeed with chance `at`."""
    return np.asarray(kept + btdtrib(kept + 1, at, share), np.float64)
