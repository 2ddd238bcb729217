"""The unique fraction by probe and scan: what is left when all copies but one are removed.

    n documents drawn ── one scan counts their copies m ── mean of 1 / m

A document with m copies is drawn m times as often as one without and counts 1 / m, so the mean is
unbiased whatever the sizes (Horvitz and Thompson 1952), where the duplicates among the drawn
documents themselves say next to nothing: at rate p, a pair of copies is seen once in 1 / p^2.
"""

from dataclasses import dataclass, field

import numpy as np

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.estimate.drawn import DRAWS, F64, I64, Drawn, coupled, generator
from tokenmill.pipelines.estimate.fraction import fraction, t_ratio

BLOCK = 64  # draws made at once: 5 MB for 10,000 probes


@dataclass(frozen=True, kw_only=True)
class Probes:
    """Documents drawn at random, and what the scan found of each.

    copies: (n,) int, documents of the corpus with the probe's key, itself among them.
    clusters: (n,) int, what each was drawn with (a row group), or None where each was drawn alone.
    corpus_docs: documents that they were drawn from without replacement, or None where unknown.
    seed: of the draws; what is estimated from the same probes with one seed is drawn jointly.
    """

    copies: I64
    clusters: I64 | None = None
    corpus_docs: int | None = None
    seed: int = 0
    n_draws: int = DRAWS
    units: I64 = field(init=False, repr=False)

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
        units = np.arange(n) if self.clusters is None else _dense(self.clusters)
        object.__setattr__(self, "units", units)

    def unique_frac(
        self, weights: F64 | None = None, kept: F64 | None = None, *, of_kept: bool = False
    ) -> Drawn:
        """Unique fraction of documents, or of what `weights` counts, as tokens.

            sum(weight * kept / copies) / sum(weight [* kept])

        weights: (n,) over 0, tokens or bytes of each probe; divided by its chance of being drawn
            where those differ. Tokens are told best by probes drawn by their bytes.
        kept: (n,) in [0, 1], what filters leave of the probe; copies then counts kept ones only.
        of_kept: as a fraction of what the filters keep, not of all.

        Raises:
            ConfigError: the weights are no weights, or no probe was kept.
        """
        n = len(self.copies)
        weight = np.ones(n) if weights is None else np.asarray(weights, np.float64)
        left = np.ones(n) if kept is None else np.asarray(kept, np.float64)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ConfigError("weights of probes must be finite and >= 0, not all 0")
        whole = weight * left if of_kept else weight
        if not whole.any():
            raise ConfigError(f"the filters keep none of {n} probes; draw more with --probes")
        return self._ratio(weight * left / self.copies, whole)

    def kept_frac(self, kept: F64, weights: F64 | None = None) -> Drawn:
        """What filters keep, copies and all; drawn jointly with `unique_frac`."""
        weight = np.ones(len(self.copies)) if weights is None else np.asarray(weights, np.float64)
        return self._ratio(weight * kept, weight)

    def _ratio(self, part: F64, whole: F64) -> Drawn:
        value = float(min(part.sum() / whole.sum(), 1.0))
        residual = np.bincount(self.units, part - value * whole)
        relative = float((residual**2).sum()) / float(whole.sum()) ** 2
        m = len(residual)
        if self.clusters is None:
            # of Dirichlet weights, as fraction's limits have; a few heavy units are few units
            variance = relative * m / (m + 1) * (t_ratio(_alike(whole) - 1) / t_ratio(m - 1)) ** 2
        elif m > 1:
            variance = relative * m / (m - 1) * t_ratio(m - 1) ** 2
        else:
            variance = 0.25  # one cluster says nothing of another, so anything may be
        typical = float((whole**2).sum() / whole.sum())  # where a token drawn at random stands
        n = len(part)
        return fraction(
            value,
            variance,
            unseen=typical / (whole.sum() + typical),
            score=self._scores(part, whole),
            unread=1.0 if self.corpus_docs is None else 1 - n / self.corpus_docs,
        )

    def _scores(self, part: F64, whole: F64) -> F64:
        """(n_draws,): the ratio with units weighted at random (Bayesian bootstrap, Rubin 1981)."""
        parts, wholes = np.bincount(self.units, part), np.bincount(self.units, whole)
        rng = generator("probes", self.seed)
        scores = []
        for start in range(0, self.n_draws, BLOCK):
            rows = min(BLOCK, self.n_draws - start)
            drawn = rng.standard_exponential((rows, len(parts)))
            scores.append(drawn @ parts / np.maximum(drawn @ wholes, np.finfo(float).tiny))
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
    """As many units of one weight as these are worth, as the variance of a variance has it.

    Without it 95 % intervals of tokens, log-normal with sigma 1.2, covered 92.3 %.
    """
    squares = weights**2
    return float(squares.sum()) ** 2 / float((squares**2).sum())


def _dense(labels: I64) -> I64:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
