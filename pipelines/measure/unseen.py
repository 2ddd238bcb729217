"""Documents that were not read: how many of them are new, which no sample of documents tells.

    units read, and in how many of them each cluster was seen ── curve of unique documents
        at least    none is new
        at most     new ones come as fast as with the last unit: the curve rises ever more slowly
        a model     up to twice what was read, the curve is carried on (`Growth.beyond`)

With less than half of the documents read, or fewer than five units, a model has nothing to go by,
and the figure spans the two bounds. The curve is over all orders of reading:

    K units read, a cluster seen in m of them: in k of them at random by 1 - C(K-m, k) / C(K, k)

Summed over clusters that is what k units hold on average, with none of the noise of one order
(Hurlbert 1971; the sample-based rarefaction of Gotelli and Colwell 2001). A Heaps law fits it,

    D(N) = K * N^beta        least squares of log D on log N

and misleads beyond: its exponent falls as a corpus grows, so that carrying it on over corpora of
known sizes was 9 to 99 % too high at twice the documents (clusters of Zipf, geometric and equal
sizes); with the exponent falling on as it fell, 0.3 to 1.3 % off. That is what `beyond` does. It
remains a model, and is carried no further than twice what was read: past that, what is unseen
cannot be told (Good and Toulmin 1956).
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from scipy.special import gammaln, ndtri, stdtrit

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import DRAWS, Drawn, alike, coupled, exact, generator, levels
from tokenmill.pipelines.measure.weights import LocalSample
from tokenmill.sizing.figure import TAIL, Z_95

FURTHEST = 2.0  # times the largest subset
MOST_SUBSETS = 7
CURVE_UNITS = 5  # that have 4 subsets: two parameters, two degrees of freedom for the error


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The curve through documents and unique documents of nested subsets of a corpus.

    docs, unique: (k,) rising; of subsets drawn at random, each within the next, or means over such.
    share: of the hash space that unique documents were counted in, before division by it.
    """

    docs: I64 | F64
    unique: I64 | F64
    share: float = 1.0

    def exponent(self) -> tuple[float, float, float]:
        """Beta, and its 95 % interval over the scatter about the curve."""
        beta, _, error, df = self._fit()
        half = float(stdtrit(df, 1 - TAIL)) * error
        return beta, beta - half, min(beta + half, 1.0)

    def scale(self) -> float:
        """K, of one document."""
        return exp(self._fit()[1])

    def beyond(self, docs: float, *, seed: int = 0) -> Drawn:
        """Unique documents of more than were read: a model's figure, to be labelled one.

            D(N) = D_k * (N / N_k)^(b + c)

        b: exponent of the last step.  c <= 0: what it changes by, as it did from the step before,
        for as much of a step. The interval runs from 2 c to 0, with the noise of the counts, and
        within what any law allows: no fewer than were counted, and no more than go on at the rate
        of the last step (in random order new ones come ever more rarely).

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
        z = ndtri(levels(DRAWS)) / Z_95
        exponents = middle + z * np.hypot(drop, noise)
        start = float(self.unique[-1])
        rate = float(self.unique[-1] - self.unique[-2]) / float(self.docs[-1] - self.docs[-2])
        least, most = start, start + rate * (docs - read) * exp(noise)
        score = generator("growth", seed).random(DRAWS)
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


def rarefied(spans: I64, weights: F64, n_units: int, units: I64) -> F64:
    """(k,) expected weight of the clusters that so many random units hold, of K that were read.

    spans: (n,) units that each cluster was seen in, 1 .. K.
    weights: (n,) >= 0, what each stands for: clusters like it, or the bytes of their documents.
    n_units: K.  units: (k,) each 0 .. K.
    """
    by_span = np.bincount(spans, weights, n_units + 1)
    there = np.flatnonzero(by_span)
    at = units[:, None]
    left = n_units - there[None, :]
    possible = left >= at
    left, at = np.broadcast_arrays(np.where(possible, left, n_units), at)
    logs = (
        gammaln(left + 1)
        - gammaln(left - at + 1)
        - gammaln(n_units + 1)
        + gammaln(n_units - at + 1)
    )
    missed = np.where(possible, np.exp(np.minimum(logs, 0.0)), 0.0)  # by all of the units
    return np.asarray((1 - missed) @ by_span[there], np.float64)


def nested(n_units: int) -> I64:
    """Numbers of units of nested subsets, rising to all of them, each about half of the next."""
    halves = np.ceil(n_units / 2.0 ** np.arange(MOST_SUBSETS)).astype(np.int64)
    return np.unique(halves)


SLACK = 1.05  # parts are never quite half of the bytes
LEAST_UNITS = 2
Z_ONE_SIDED = 1.6449  # of the normal distribution at 0.95
LEAST = 1e-6  # of the lower bound: what was seen is not nought
ENDLESS = 1e12  # times as many units as there are: of those to come, none was read


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Clusters that were seen, or a sample of them.

    left: (n,) what one document of each leaves, for all that it stands for.
    spans: (n,) units read that hold one of its documents.  units: (n,) number of one of these.
    whole: (n_units,) what there was to leave of each unit, in the measure of `left`.
    looked_at: (n_units,) clusters or probes of each.
    """

    left: F64
    spans: I64
    units: I64
    whole: F64
    looked_at: F64

    @property
    def new(self) -> F64:
        """(n_units,) what is left that no other unit holds."""
        alone = np.where(self.spans == 1, self.left, 0.0)
        return np.bincount(self.units, alone, len(self.whole)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """What is left of all inputs, from what is left of those that were read.

    strata: (n_units,) int, of the units read.  unit_bytes: (n_units,) of each, over 0.
    strata_bytes: (n_strata,) of all inputs.
    docs: that were read, among which duplicates are looked for.
    """

    strata: I64
    unit_bytes: F64
    strata_bytes: F64
    docs: int
    seed: int = 0

    def is_modelled(self, times: Drawn) -> bool:
        """A model tells what was not read; else there are bounds alone.

        times: documents of all inputs, as so many times those read.
        """
        return len(self.strata) >= CURVE_UNITS and times.value <= FURTHEST * SLACK

    def left(self, of_read: Drawn, seen: Seen, times: Drawn, *, modelled: bool) -> Drawn:
        """The share that is left of all.

        of_read: the share that is left of what was read.  times: all, in the measure of `seen`.
        """
        least = of_read / times
        more = self._rate(seen, times) * (times - 1.0)
        most = ((of_read + more) / times).within(most=1.0)
        growth = self.growth(seen) if modelled else None
        if growth is None:
            return self._between(least, most)
        return (least * self._times(growth, seen, times)).within(least, most)

    def grown(self, of_read: Drawn, seen: Seen, times: Drawn) -> Drawn | None:
        """Unique documents of so many times what was read, by the model.

        ConfigError: see `Growth.beyond`.
        """
        growth = self.growth(seen)
        if growth is None:
            return None
        growth.beyond(float(growth.docs[-1]) * times.value)
        return of_read * self.docs * self._times(growth, seen, times)

    def growth(self, seen: Seen) -> Growth | None:
        """The curve through nested subsets of units; None where there are too few of them.

        Its documents are those read; its unique ones are in their measure, as shares of them.
        """
        whole, docs = float(seen.whole.sum()), float(self.docs)
        if len(self.strata) < CURVE_UNITS or not whole or not seen.left.any():
            return None
        units = nested(len(self.strata))
        read = docs * units / len(self.strata)
        unique = rarefied(seen.spans, seen.left, len(self.strata), units) * (docs / whole)
        steps = np.diff(unique, prepend=0.0)
        # where the first document of a cluster is longer than the others, one more may be more
        # than one: only how they grow is asked for then
        unique *= min(1.0, float((np.diff(read, prepend=0.0)[steps > 0] / steps[steps > 0]).min()))
        if unique[0] < 1:
            return None
        return Growth(
            docs=read, unique=unique, share=min(alike(seen.left) / float(unique[-1]), 1.0)
        )

    def _times(self, growth: Growth, seen: Seen, times: Drawn) -> Drawn:
        """Unique documents of so many times what was read, as so many times those of that."""
        read = float(growth.docs[-1])
        further = min(times.value, FURTHEST)
        if further <= 1:
            return exact(1.0)
        model = growth.beyond(read * further, seed=self.seed)
        ends = model * (1 / float(growth.unique[-1]))
        rate = self._rate(seen, times)
        off = rate / rate.value if rate.value else exact(1.0)
        off = off * ((times - 1.0) / (further - 1))
        return Drawn(
            float(ends.value ** ((times.value - 1) / (further - 1))),
            np.exp(np.log(ends.draws) * np.maximum(off.draws, 0.0)),
        )

    def _rate(self, seen: Seen, times: Drawn) -> Drawn:
        """What is new of the last unit read, as a share of it: so much of the next at most.

        The units to come differ from one another as those read do.
        """
        if len(self.strata) < LEAST_UNITS:
            return exact(1.0)
        sums = {"new": np.minimum(seen.new, seen.whole), "all": seen.whole}
        sample = LocalSample(
            strata=self.strata,
            strata_bytes=self.strata_bytes * ENDLESS,
            cluster_bytes=self.unit_bytes,
            read_bytes=self.unit_bytes,
            docs=np.maximum(seen.looked_at, 1).astype(np.int64),
            sums=sums,
            seed=self.seed,
        ).fraction("new", "all")
        further = max(times.value - 1, 1e-9)
        wider = np.sqrt((further + 1) / further)
        off = (sample.draws - sample.value) * wider
        return Drawn(sample.value, np.clip(sample.value + off, 0.0, 1.0))

    def _between(self, least: Drawn, most: Drawn) -> Drawn:
        """Anything between the bounds: half of the draws at either, of all quantities the same.

        Half as many draws at an end leave one-sided 95 % there; further out it is 97.5 %.
        """
        high = generator("unseen", self.seed).permutation(DRAWS) % 2 == 1
        ends = [b.value + (b.draws - b.value) * Z_95 / Z_ONE_SIDED for b in (least, most)]
        draws = np.where(high, np.maximum(*ends), ends[0])
        value = (least.value + most.value) / 2
        return Drawn(value, np.clip(draws, LEAST * least.value, 1.0))
