"""How often the interval of the unique fraction holds the truth when not all inputs are read.

    python -m tests.bench.partial [--reps 300]

Corpora of 200 parts are simulated, so the truth is known: cluster sizes of a Zipf distribution,
cut at 5,000 documents, whose exponent gives the unique fraction. Copies lie anywhere ("spread"),
in a tenth of the parts, another one for each cluster ("near by"), or parts are of two kinds, with
copies twice as often in the one as in the other ("two kinds"). Parts are drawn at random; what is
known of them is told by a share of the hash space, as for `exact`, or by probes, as for `near`.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tests.bench.coverage import TRUTHS, clusters
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.unique import distinct, unique_frac
from tokenmill.pipelines.measure.unseen import Seen, Unseen

I64 = npt.NDArray[np.int64]

PARTS, CLUSTERS, LARGEST = 200, 20_000, 5_000
BUDGETS = (0.6, 0.5, 0.3, 0.05)
LAYOUTS = ("spread", "near by", "two kinds")
TOLD_BY = {"all keys": 1.0, "keys, p = 1/16": 1 / 16, "2,000 probes": None}
N_PROBES = 2_000


class Corpus(NamedTuple):
    """key, part: (n_docs,) of each document."""

    key: I64
    part: I64

    @property
    def unique_frac(self) -> float:
        return len(np.unique(self.key)) / len(self.key)


class Row(NamedTuple):
    """How often the truth was held.

    truth: unique fraction of the corpora, about.  by: what the figure rests on.
    half_width: mean, of the unique fraction.
    """

    told_by: str
    layout: str
    truth: float
    budget: float
    by: str
    held: float
    half_width: float
    mean_error: float


def made_corpus(rng: np.random.Generator, truth: float, layout: str) -> Corpus:
    sizes = np.minimum(clusters(rng, truth, CLUSTERS), LARGEST)
    key = np.repeat(np.arange(CLUSTERS), sizes)
    part = rng.integers(0, PARTS, len(key))
    if layout == "near by":
        home = rng.integers(0, PARTS, CLUSTERS)[key]
        part = (home + rng.integers(0, PARTS // 10, len(key))) % PARTS
    if layout == "two kinds":
        half = PARTS // 2
        part = part // 2 + np.where(
            rng.random(len(key)) < np.where(sizes[key] > 1, 2, 1) / 3, half, 0
        )
    return Corpus(key, part)


def told(corpus: Corpus, budget: float, share: float | None, seed: int) -> tuple[Drawn, bool]:
    """The unique fraction of the corpus from a random share of its parts; whether by a model."""
    rng = np.random.default_rng([seed, 7])
    units = np.sort(rng.choice(PARTS, round(budget * PARTS), replace=False))
    read = np.isin(corpus.part, units)
    key, unit = corpus.key[read], np.searchsorted(units, corpus.part[read])
    n, docs = len(key), np.bincount(unit, minlength=len(units)).astype(np.float64)
    unseen = Unseen(
        strata=np.zeros(len(units), np.int64),
        unit_bytes=np.ones(len(units)),
        strata_bytes=np.array([float(PARTS)]),
        docs=n,
        seed=seed,
    )
    found, place, copies = np.unique(key, return_inverse=True, return_counts=True)
    pairs = np.unique(place * len(units) + unit)
    spans = np.bincount(pairs // len(units), minlength=len(found))
    if share is None:
        at = rng.choice(n, min(N_PROBES, n), replace=False)
        mine = copies[place[at]]
        of_read = unique_frac(1 / mine, np.ones(len(at)), chances=len(at) / n, seed=seed)
        scale, spans, its_unit = n / len(at), spans[place[at]], unit[at]
        whole, left = np.bincount(its_unit, minlength=len(units)) * scale, scale / mine
    else:
        kept = rng.random(len(found)) < share
        own, giants = copies[kept], np.zeros(0, np.int64)
        of_read = distinct(own, giants, share=share, docs=n, seed=seed) * (1 / n)
        one = np.zeros(len(found), np.int64)
        one[place] = unit
        spans, its_unit, whole = spans[kept], one[kept], docs
        left = np.full(len(spans), 1 / share)
    seen = Seen(
        left=left,
        spans=spans,
        units=its_unit,
        whole=np.asarray(whole, np.float64),
        looked_at=np.bincount(its_unit, minlength=len(units)).astype(np.float64),
    )
    times = exact(len(corpus.key) / n)
    modelled = unseen.is_modelled(times)
    return unseen.left(of_read, seen, times, modelled=modelled), modelled


def rows(
    reps: int,
    budgets: tuple[float, ...] = BUDGETS,
    told_by: tuple[str, ...] = tuple(TOLD_BY),
    layouts: tuple[str, ...] = LAYOUTS,
) -> Iterator[Row]:
    for layout, truth in product(layouts, TRUTHS):
        held: dict[tuple[str, float, bool], list[tuple[bool, float, float]]] = {}
        for seed in range(reps):
            corpus = made_corpus(np.random.default_rng([seed, int(truth * 100)]), truth, layout)
            fact = corpus.unique_frac
            for name, budget in product(told_by, budgets):
                drawn, modelled = told(corpus, budget, TOLD_BY[name], seed)
                low, high = drawn.limits()
                one = (low <= fact <= high, (high - low) / 2, drawn.value / fact - 1)
                held.setdefault((name, budget, modelled), []).append(one)
        for (name, budget, modelled), told_of in held.items():
            hit, half, error = np.mean(told_of, axis=0).tolist()
            by = "model" if modelled else "bounds"
            yield Row(name, layout, truth, budget, by, hit, half, error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reps", type=int, default=300)
    reps = parser.parse_args().reps
    print("| told by | copies | truth | read | by | held | mean half-width | mean error |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows(reps):
        print(
            f"| {row.told_by} | {row.layout} | {row.truth:g} | {row.budget:.0%} | {row.by} |"
            f" {row.held:.1%} | {row.half_width:.4f} | {row.mean_error:+.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
