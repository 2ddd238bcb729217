"""Local quantities: what a document tells of itself, from clusters of documents that were read.

    source (stratum) ── files, shards or row groups (clusters) ── documents read of each

Bytes of all inputs are known, so a total is bytes times a ratio, source by source. Documents of
one file are alike, so the interval rests on how the clusters differ (ultimate clusters: Cochran,
Sampling Techniques (1977), sections 6.11 and 11.7), with Student's t for the few there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaincinv, stdtrit

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import (
    DRAWS,
    Drawn,
    Undrawn,
    alike,
    coupled,
    fraction,
    generator,
    levels,
    missed_sums,
    t_ratio,
)

WIDEST = 20.0  # log of the widest factor either way; e^20 is "not known"
NONE = 1e-200  # what is divided by where there is nothing: no product overflows


@dataclass(frozen=True, kw_only=True)
class LocalSample:
    """Clusters that were read, drawn at random within each stratum.

    strata: (m,) int, 0 .. n_strata - 1.  strata_bytes: (n_strata,) of all inputs, read or not.
    cluster_bytes: (m,) of each cluster, whole.
    read_bytes: (m,) of its documents that were looked at, over 0; less than the cluster's where
        documents were drawn within.
    docs: (m,) documents looked at.
    sums: of what is measured, over the documents looked at, by name: (m,) each.
    seed: of the draws; all quantities of one sample are drawn jointly.
    """

    strata: I64
    strata_bytes: F64
    cluster_bytes: F64
    read_bytes: F64
    docs: I64
    sums: Mapping[str, F64]
    seed: int = 0
    n_draws: int = DRAWS

    def __post_init__(self) -> None:
        if len(self.strata) == 1 and self._unread().any():
            raise ConfigError(
                "1 cluster was read of several, which says nothing of how they differ; read 2 or"
                " more (a larger --probes, --sample or --budget)"
            )

    @cached_property
    def weights(self) -> F64:
        """(m,): what a sum over the documents looked at counts for in all of the stratum."""
        scale = self.cluster_bytes / self.read_bytes
        read = np.bincount(self.strata, scale * self.read_bytes, len(self.strata_bytes))
        weights: F64 = scale * (self.strata_bytes / np.where(read > 0, read, 1.0))[self.strata]
        return weights

    def total(self, name: str) -> Drawn:
        """Of all inputs."""
        value = float(self.weights @ self.sums[name])
        return self._positive(value, self.residuals(self.sums[name]))

    def ratio(self, name: str, per: str) -> Drawn:
        """Total of one over total of another, as bytes per token.

        ConfigError: of the other there is none.
        """
        part, whole = self._totals(name, per)
        value = part / whole
        residual = self.residuals(self.sums[name] - value * self.sums[per])
        return self._positive(value, residual / whole)

    def extremes(self, name: str, per: str) -> tuple[float, float]:
        """The least and the most that a cluster has of one by the other."""
        each = self.sums[name] / np.maximum(self.sums[per], 1.0)
        return float(each.min()), float(each.max())

    def fraction(self, name: str, of: str, *, is_alone: bool = False) -> Drawn:
        """A part over its whole, in [0, 1], as documents kept over documents.

        is_alone: nothing else is drawn with it, so that the order of its draws is any.

        Where no document read, or every one, is in the part, its limits are those of as many
        documents drawn one by one: clusters that do not differ say nothing of how they might.
        """
        part, whole = self._totals(name, of)
        value = min(part / whole, 1.0)
        residual = self.residuals(self.sums[name] - value * self.sums[of]) / whole
        squares = residual**2
        variance = float(squares.sum()) * t_ratio(self._df(squares)) ** 2
        return fraction(
            value,
            variance,
            undrawn=Undrawn(1.0, float(self.docs.sum())) if self._unread().any() else None,
            score=levels(self.n_draws) if is_alone else self._multipliers @ residual,
        )

    def _totals(self, name: str, per: str) -> tuple[float, float]:
        whole = float(self.weights @ self.sums[per])
        if whole == 0:
            raise ConfigError(f"{name} per {per}: the documents read have no {per}; read more")
        return float(self.weights @ self.sums[name]), whole

    def _positive(self, value: float, residual: F64) -> Drawn:
        """A quantity over 0, its draws Student's t on the log scale, in the sample's order."""
        squares = residual**2
        if value == 0 or not squares.any():
            return Drawn(value, np.full(self.n_draws, value))
        error = float(np.sqrt(squares.sum())) / value
        quantiles = stdtrit(self._df(squares), levels(self.n_draws)) * error
        draws = value * np.exp(np.clip(quantiles, -WIDEST, WIDEST))
        return coupled(value, self._multipliers @ residual, draws, draws)

    def residuals(self, sums: F64) -> F64:
        """(m,): what each cluster adds to the total's error; squares sum to its variance.

            r = made - size * (made / size of the others of its stratum)
            variance = (n - 1) / n * sum of r^2

        The jackknife: with a cluster compared to a ratio that it has part in, as linearisation
        does, few clusters of unequal size seem to differ less than they do. One that is alone in
        its stratum is compared with all clusters of the others (collapsed strata: Cochran,
        section 5A.12), which overstates the variance by what the strata differ.
        """
        n = len(self.strata_bytes)
        total = self.weights * sums
        size = self.weights * self.read_bytes  # bytes that the cluster stands for
        count = np.bincount(self.strata, minlength=n)
        alone = (count == 1)[self.strata]
        others = np.where(alone, len(total), count[self.strata]) - 1
        made_of, size_of = (
            np.where(alone, x.sum(), np.bincount(self.strata, x, minlength=n)[self.strata]) - x
            for x in (total, size)
        )
        residual: F64 = total - size * made_of / np.where(others > 0, size_of, 1.0)
        scale: F64 = others / (others + 1) * self._unread()[self.strata]
        return residual * np.sqrt(scale)

    def _unread(self) -> F64:
        """(n_strata,) share of each stratum's bytes in clusters not read (Cochran, section 2.6).

        1 where clusters were read in part: then reading them all would not make it exact.
        """
        n = len(self.strata_bytes)
        read = np.bincount(self.strata, self.cluster_bytes, minlength=n)
        partly = np.bincount(self.strata, self.read_bytes < self.cluster_bytes, minlength=n) > 0
        share = np.clip(1 - read / np.maximum(self.strata_bytes, 1), 0.0, 1.0)
        return np.where(partly, 1.0, share)

    def _df(self, squares: F64) -> float:
        """Degrees of freedom: as many as clusters that matter, less one for each group.

        (sum of e^2)^2 / sum of e^4 is the number of clusters where all matter alike, and 1 where
        one of them is all the error: a heavy tail leaves few.
        """
        total = float(squares.sum())
        if total == 0:
            return 1.0
        matter = alike(squares)
        count = np.bincount(self.strata)
        by_group = np.bincount(
            np.where(count == 1, 0, np.arange(len(count)) + 1)[self.strata], squares
        )
        groups = total**2 / float((by_group**2).sum())
        return max(matter - groups, 1.0)

    @cached_property
    def _multipliers(self) -> F64:
        """(n_draws, m) standard normal, the same for every quantity of the sample."""
        rng = generator("local", self.seed)
        return rng.standard_normal((self.n_draws, len(self.strata)))


@dataclass(frozen=True, kw_only=True)
class DocumentSample(LocalSample):
    """Documents chosen apart from one another, each by a chance of its own; sums have its weight.

        variance of a total = sum over the documents of (1 - chance) * (sums / chance)^2

    chances: (m,).

    Source: Horvitz and Thompson (1952). A small document tells of many and is rarely chosen, a
    large one often: one share of bytes for all, as of clusters, makes the interval too narrow.
    """

    chances: F64

    def ratio(self, name: str, per: str) -> Drawn:
        """As of clusters; its draws are what the documents chosen may stand for.

        One that was chosen by a chance of c was there, and a geometric number beside it that were
        not: 1 / c in the mean, of the variance above. Where one odd document is most of the error
        Student's t knows a single degree of freedom, and nothing of that chance. Nothing at all
        is known of an odd one that was missed, so that each limit supposes one more of those not
        chosen (`Undrawn`), which is as odd as the oddest that was.
        """
        part, whole = self._totals(name, per)
        value, open_ended = part / whole, self.chances < 1
        if value == 0 or not open_ended.any():
            return Drawn(value, np.full(self.n_draws, value))
        chances, rng = self.chances[open_ended], generator("local", self.seed)
        times = rng.geometric(chances, (self.n_draws, len(chances))) * chances - 1.0
        parts, wholes = (
            total + times @ self.sums[what][open_ended]
            for what, total in ((name, part), (per, whole))
        )
        size, ends = self.sums["text_bytes"], []
        all_bytes, squares = float(size.sum()), float((1 - self.chances) @ size**2)
        undrawn = Undrawn.of_sums(all_bytes, squares, *missed_sums(size, self.chances))
        share = np.zeros(self.n_draws)
        if undrawn is not None:
            share = betaincinv(*undrawn, rng.permutation(levels(self.n_draws)))
        each = self.sums[name] / np.maximum(self.sums[per], NONE)
        each = np.where(size >= min(1.0, size.max()), each, value)  # not of empty ones
        for odd in (each.argmin(), each.argmax()):
            times_it = all_bytes * share / (1 - share) / size[odd]
            with_it = parts + times_it * self.sums[name][odd]
            ends.append(np.sort(with_it / (wholes + times_it * self.sums[per][odd])))
        draws = coupled(value, parts / wholes, *ends).draws
        off = np.log(draws / value) * t_ratio(len(chances) - 1)
        return Drawn(value, value * np.exp(np.clip(off, -WIDEST, WIDEST)))

    def residuals(self, sums: F64) -> F64:
        return np.asarray(sums * np.sqrt(1 - self.chances), np.float64)

    def _unread(self) -> F64:
        return np.asarray(1 - self.chances.min(keepdims=True, initial=1.0))
