"""The unique fraction by probe and scan: what is left when all copies but one are removed.

    n documents drawn ── one scan counts their copies m ── mean of 1 / m

A document with m copies is drawn m times as often as one without and counts 1 / m, so the mean is
unbiased whatever the sizes (Horvitz and Thompson 1952), where the duplicates among the drawn
documents themselves say next to nothing: at rate p, a pair of copies is seen once in 1 / p^2.

The unique fraction from a share of all keys, when each document is read but not kept.

    all documents ── key ── h(key) < p * 2^64 ? ── sizes of the clusters kept, all of them whole
                       └── in more than m* documents ── counted exactly, apart

A share of the keys, unlike a share of the documents, keeps clusters whole (coordinated sampling;
FracMinHash). So the number of keys kept is binomial, exactly, however heavy the tail of the
sizes, where the documents of the keys kept are not: one cluster more or less may be half of them.

Cost: every document is read and its key computed, or its key column alone is read where there is
one (a digest, a URL): the bytes of a full scan of keys. In memory: p * distinct keys * 16 B, and
the giants. It saves the memory of all keys, not the reading; a part of the files tells only of
that part (see unseen).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import btdtrib

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import (
    DRAWS,
    Drawn,
    coupled,
    exact,
    fraction,
    generator,
    levels,
    t_ratio,
)

BLOCK = 64  # draws made at once: 5 MB for 10,000 probes


@dataclass(frozen=True, kw_only=True)
class Probes:
    """Documents drawn at random, and what the scan found of each.

    copies: (n,) int, documents of the corpus with the probe's key, itself among them.
    corpus_docs: documents that they were drawn from without replacement, or None where unknown.
    seed: of the draws; what is estimated from the same probes with one seed is drawn jointly.
    """

    copies: I64
    corpus_docs: int | None = None
    seed: int = 0
    n_draws: int = DRAWS

    def __post_init__(self) -> None:
        n = len(self.copies)
        if n == 0:
            raise ConfigError("no document was probed; the corpus is empty, or --probes is 0")
        if self.copies.min() < 1:
            at = int(self.copies.argmin())
            raise ConfigError(
                f"probe {at} has {self.copies[at]} copies; the scan missed it: a probe is found"
                " at least once, itself"
            )
        if self.corpus_docs is not None and self.corpus_docs < n:
            raise ConfigError(f"{n} probes of {self.corpus_docs} documents; draw each once")

    def unique_frac(self, weights: F64 | None = None, kept: F64 | None = None) -> Drawn:
        """Unique fraction of documents, or of what `weights` counts, as tokens.

            sum(weight * kept / copies) / sum(weight)

        weights: (n,) over 0, tokens or bytes of each probe; divided by its chance of being drawn
            where those differ. Tokens are told best by probes drawn by their bytes.
        kept: (n,) in [0, 1], what filters leave of the probe; copies then counts kept ones only.

        Raises:
            ConfigError: the weights are no weights.
        """
        n = len(self.copies)
        weight = np.ones(n) if weights is None else np.asarray(weights, np.float64)
        left = np.ones(n) if kept is None else np.asarray(kept, np.float64)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ConfigError("weights of probes must be finite and >= 0, not all 0")
        return self._ratio(weight * left / self.copies, weight)

    def _ratio(self, part: F64, whole: F64) -> Drawn:
        value, n = float(min(part.sum() / whole.sum(), 1.0)), len(part)
        residual = part - value * whole
        relative = float((residual**2).sum()) / float(whole.sum()) ** 2
        # of Dirichlet weights, as fraction's limits have; a few heavy probes are few probes
        variance = relative * n / (n + 1) * (t_ratio(_alike(whole) - 1) / t_ratio(n - 1)) ** 2
        typical = float((whole**2).sum() / whole.sum())  # where a token drawn at random stands
        return fraction(
            value,
            variance,
            unseen=typical / (whole.sum() + typical),
            score=self._scores(part, whole),
            unread=1.0 if self.corpus_docs is None else 1 - n / self.corpus_docs,
        )

    def _scores(self, part: F64, whole: F64) -> F64:
        """(n_draws,): the ratio with probes weighted at random (Bayesian bootstrap, Rubin 1981)."""
        rng = generator("probes", self.seed)
        scores = []
        for start in range(0, self.n_draws, BLOCK):
            rows = min(BLOCK, self.n_draws - start)
            drawn = rng.standard_exponential((rows, len(part)))
            scores.append(drawn @ part / np.maximum(drawn @ whole, np.finfo(float).tiny))
        return np.concatenate(scores)


def bracket(pairwise: Drawn, closure: Drawn) -> Drawn:
    """The unique fraction with near duplicates counted as copies, between its two readings.

    pairwise: copies are the documents similar to the probe itself: leaves at least as much as
        the other (sum of 1 / (degree + 1) >= number of components).
    closure: copies are all that is joined to it by a chain of similar documents: what clustering
        removes if it finds every pair.

    The interval runs from closure's low end to pairwise's high end; the value lies midway.
    """
    value = (pairwise.value + closure.value) / 2
    low = np.sort(np.minimum(pairwise.draws, closure.draws))
    high = np.sort(np.maximum(pairwise.draws, closure.draws))
    return coupled(value, pairwise.draws + closure.draws, low, high)


def _alike(weights: F64) -> float:
    """As many probes of one weight as these are worth, as the variance of a variance has it.

    Without it 95 % intervals of tokens, log-normal with sigma 1.2, covered 92.3 %.
    """
    squares = weights**2
    return float(squares.sum()) ** 2 / float((squares**2).sum())


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
        counted = int(self.sizes.sum() + self.giants.sum())
        if counted > self.docs:
            raise ConfigError(
                f"{counted} documents have sampled keys, the corpus has {self.docs}; a giant was"
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
        unique_weight = float(weights.sum()) / self.share + apart
        if not 0 < apart + float(weights.sum()) <= total:
            raise ConfigError(
                f"unique keys weigh {unique_weight:g} of {total:g}; give weights over 0 of all"
            )
        variance = (1 - self.share) / self.share**2 * float((weights**2).sum()) / total**2
        typical = float((weights**2).sum()) / max(float(weights.sum()), 1.0) / self.share / total
        return fraction(
            min(unique_weight / total, 1.0),
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
