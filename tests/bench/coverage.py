"""How often the 95 % intervals of an estimate hold the truth, and how wide they are.

    python -m tests.bench.coverage [--reps 500]

Corpora are simulated, so the truth is known: cluster sizes of a Zipf distribution, cut at 100,000
documents, with the exponent that makes the unique fraction what it is to be. Prints one table for
each kind of estimate; those we use come first, others to compare with after.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tests.bench.coverage_joint import bracket_rows, chain_rows
from tests.bench.intervals import DRAWN, METHODS, Method
from tests.bench.simulated import (
    LARGEST,
    Row,
    clusters,
    covered,
    exponent,
    lengths,
    probe_copies,
    typical_length,
)
from tokenmill.pipelines.measure.drawn import Drawn
from tokenmill.pipelines.measure.unique import distinct, unique_frac
from tokenmill.pipelines.measure.unseen import Growth
from tokenmill.pipelines.measure.weights import LocalSample

F64 = npt.NDArray[np.float64]

TRUTHS = (0.05, 0.3, 0.73)
PROBES = (100, 1_000, 10_000)
GIANT = 1_000  # documents of a cluster that a hash sample counts apart


def unique_rows(
    reps: int, methods: dict[str, Method], truths: tuple[float, ...], sizes: tuple[int, ...]
) -> Iterator[Row]:
    """Probes: documents drawn one by one, weights alike."""
    for truth in truths:
        for n in sizes:
            copies = probe_copies(np.random.default_rng([n, int(truth * 100)]), truth, (reps, n))
            for name, method in methods.items():
                made = [method(row, seed) for seed, row in enumerate(copies)]
                yield name, f"{truth:g}", f"{n}", *covered(truth, made)


def token_rows(reps: int, truths: tuple[float, ...], sizes: tuple[int, ...]) -> Iterator[Row]:
    """Probes weighted by tokens: log-normal lengths, copies shorter than what has none."""
    for truth in truths:
        for n in sizes:
            rng = np.random.default_rng([n, int(truth * 100), 1])
            many = np.arange(1, LARGEST + 1.0)
            tokens = many ** (1 - exponent(truth)) * typical_length(many)
            fact = float((tokens / many).sum() / tokens.sum())
            made = []
            for seed, row in enumerate(probe_copies(rng, truth, (reps, n))):
                told = unique_frac(1 / row, lengths(rng, row), seed=seed, n_draws=DRAWN)
                made.append(told.limits())
            yield "ours, tokens", f"{fact:.3f}", f"{n}", *covered(fact, made)


def hash_rows(reps: int, truths: tuple[float, ...]) -> Iterator[Row]:
    """A share of the keys of one corpus of 50,000 clusters, over and over."""
    for truth in truths:
        rng = np.random.default_rng(int(truth * 100))
        sizes = clusters(rng, truth, 50_000)
        docs, fact = int(sizes.sum()), len(sizes) / sizes.sum()
        giant = sizes > GIANT
        for share in (0.001, 0.01, 0.1):
            counted, ratios, bare = [], [], []
            for seed in range(reps):
                kept = rng.random(len(sizes)) < share
                own, apart = sizes[kept & ~giant], sizes[giant]
                told = distinct(own, apart, share=share, docs=docs, seed=seed, n_draws=DRAWN)
                counted.append((told * (1 / docs)).limits())
                ratios.append(linearised(own, apart, docs, share))
                bare.append(linearised(sizes[kept], sizes[:0], docs, share))
            where = f"p = {share:g}"
            yield "hash space, count", f"{fact:.3f}", where, *covered(fact, counted)
            yield "hash space, ratio", f"{fact:.3f}", where, *covered(fact, ratios)
            yield "hash space, ratio, giants left in", f"{fact:.3f}", where, *covered(fact, bare)


def linearised(
    sizes: npt.NDArray[np.int64], giants: npt.NDArray[np.int64], docs: int, share: float
) -> tuple[float, float]:
    """Distinct keys over documents of those kept, for all documents but the giants'."""
    k, n = len(sizes), int(sizes.sum())
    ratio, rest = k / n, docs - int(giants.sum())
    residual = 1 - ratio * sizes
    half = 1.96 * float(np.sqrt((1 - share) * (residual**2).sum())) / n
    ends = np.array([ratio - half, ratio + half]) * rest + len(giants)
    return float(ends[0] / docs), float(ends[1] / docs)


def local_rows(reps: int, counts: tuple[int, ...]) -> Iterator[Row]:
    """Some files of each source, drawn alike; widths are shares of the truth."""
    for count in counts:
        rng = np.random.default_rng(count)
        files = Files(rng)
        made: dict[str, list[tuple[float, float]]] = {}
        for seed in range(reps):
            for name, drawn in files.sampled(rng, count, seed).items():
                made.setdefault(name, []).append(drawn.limits())
        for name, intervals in made.items():
            fact = files.facts[name]
            hit, half = covered(fact, intervals)
            yield f"local, {name}", f"{fact:.3g}", f"2 x {count} files", hit, half / fact


class Files:
    """Documents of 2 sources in 300 files each, files and documents log-normal in size.

    Lengths, bytes per token and the share that a filter keeps differ from file to file.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.strata = np.repeat([0, 1], 300)
        docs = np.maximum(rng.lognormal(4, 1, 600), 1).astype(np.int64)
        file = np.repeat(np.arange(600), docs)
        level = rng.normal(0, 0.5, 600) + self.strata
        size = np.maximum(rng.lognormal(6 + level[file], 1.2), 1)
        per_token = np.exp(rng.normal(1.4 + 0.2 * self.strata, 0.1))[file]
        tokens = size / per_token / np.exp(rng.normal(0, 0.1, len(size)))
        chance = 1 / (1 + np.exp(-rng.normal(1, 1, 600)))
        kept = rng.random(len(file)) < chance[file]
        self.docs = docs
        self.sums = {
            "bytes": np.bincount(file, size),
            "docs": docs.astype(np.float64),
            "tokens": np.bincount(file, tokens),
            "kept docs": np.bincount(file, kept),
            "kept tokens": np.bincount(file, tokens * kept),
        }
        whole = {name: float(sums.sum()) for name, sums in self.sums.items()}
        self.facts = {
            "tokens": whole["tokens"],
            "docs": whole["docs"],
            "bytes per token": whole["bytes"] / whole["tokens"],
            "kept docs": whole["kept docs"] / whole["docs"],
            "kept tokens": whole["kept tokens"] / whole["tokens"],
        }

    def sampled(self, rng: np.random.Generator, count: int, seed: int) -> dict[str, Drawn]:
        size = self.sums["bytes"]
        at = np.concatenate([first + rng.choice(300, count, replace=False) for first in (0, 300)])
        sample = LocalSample(
            strata=self.strata[at],
            strata_bytes=np.bincount(self.strata, size),
            cluster_bytes=size[at],
            read_bytes=size[at],
            docs=self.docs[at],
            sums={name: sums[at] for name, sums in self.sums.items()},
            seed=seed,
            n_draws=DRAWN,
        )
        return {
            "tokens": sample.total("tokens"),
            "docs": sample.total("docs"),
            "bytes per token": sample.ratio("bytes", "tokens"),
            "kept docs": sample.fraction("kept docs", "docs"),
            "kept tokens": sample.fraction("kept tokens", "tokens"),
        }


def growth_rows(reps: int) -> Iterator[Row]:
    """Seven nested subsets, doubling; the next doubling foretold."""
    for truth in TRUTHS:
        hits, halves = [], []
        for seed in range(reps):
            rng = np.random.default_rng([seed, int(truth * 100)])
            keys = np.repeat(np.arange(20_000), np.minimum(clusters(rng, truth, 20_000), 5_000))
            rng.shuffle(keys)
            first = np.zeros(len(keys), bool)
            first[np.unique(keys, return_index=True)[1]] = True
            unique = np.cumsum(first)
            docs = len(keys) // 2 ** np.arange(7, 0, -1)
            drawn = Growth(docs=docs, unique=unique[docs - 1]).beyond(2 * docs[-1], seed=seed)
            low, high = drawn.limits()
            fact = unique[2 * docs[-1] - 1]
            hits.append(low <= fact <= high)
            halves.append((high - low) / 2 / fact)
        yield "growth to twice", f"{truth:g}", "7 subsets", float(np.mean(hits)), np.mean(halves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reps", type=int, default=500)
    reps = parser.parse_args().reps
    print("| estimate | truth | sample | coverage | mean half-width |\n|---|---|---|---|---|")
    for rows in (
        unique_rows(reps, METHODS, TRUTHS, PROBES),
        token_rows(reps, TRUTHS, PROBES),
        hash_rows(reps, TRUTHS),
        local_rows(reps, (5, 20, 60)),
        growth_rows(reps // 5),
        bracket_rows(reps, TRUTHS),
        chain_rows(reps, TRUTHS),
    ):
        for name, truth, sample, hit, half in rows:
            print(f"| {name} | {truth} | {sample} | {hit:.1%} | {half:.4g} |", flush=True)


if __name__ == "__main__":
    main()
