"""Coverage of what is put together: near duplicates, tokens in the end."""

from collections.abc import Iterator

import numpy as np

from tests.bench.intervals import DRAWN
from tests.bench.simulated import F64, Row, clusters, covered, lengths, probe_copies
from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.joint import Step, predict
from tokenmill.pipelines.measure.unique import bracket, unique_frac
from tokenmill.pipelines.measure.weights import LocalSample

OPEN = 300  # documents of a cluster that is not followed to its end
ALIKE = 0.5  # of its cluster, what a document is like itself
FILES = 300
READ = 0.2  # of the files, those that are tokenized


def bracket_rows(reps: int, truths: tuple[float, ...]) -> Iterator[Row]:
    """Near duplicates between two readings, where large clusters are not followed to their ends.

    What a run leaves is a document of each cluster, 1 / copies of each probe; were it to miss
    pairs, it would leave more, at most what pairs alone say.
    """
    for truth in truths:
        for n in (1_000, 10_000):
            rng = np.random.default_rng([n, int(truth * 100), 3])
            facts = probe_copies(rng, truth, (1, 2_000_000))[0]
            alike = 1 + rng.binomial((facts - 1).astype(np.int64), ALIKE)
            readings = {"clusters": (1 / facts).mean(), "pairs": (1 / alike).mean()}
            made = []
            for seed in range(reps):
                at = rng.integers(0, len(facts), n)
                whole = np.where(facts[at] > OPEN, len(facts), facts[at]).astype(np.int64)
                few, many = (
                    unique_frac(1 / counts, np.ones(n), seed=seed, n_draws=DRAWN)
                    for counts in (alike[at], whole)
                )
                made.append(bracket(few, many).limits())
            for name, fact in readings.items():
                yield f"bracket, truth by {name}", f"{fact:.3f}", f"{n}", *covered(fact, made)


class Documents:
    """Documents in files, some of them copies of others anywhere; of a file, tokens are alike."""

    def __init__(self, rng: np.random.Generator, truth: float) -> None:
        sizes = np.minimum(clusters(rng, truth, 8_000), 2_000)
        self.cluster = np.repeat(np.arange(len(sizes)), sizes)
        rng.shuffle(self.cluster)
        n = len(self.cluster)
        self.copies = sizes[self.cluster].astype(np.float64)
        chance = rng.lognormal(0, 0.7, FILES)
        self.file = np.sort(rng.choice(FILES, n, p=chance / chance.sum()))
        tokens = lengths(rng, sizes.astype(np.float64))[self.cluster]
        of_first = np.zeros(len(sizes), np.int64)
        of_first[self.cluster[::-1]] = np.arange(n)[::-1]
        per_token = np.exp(rng.normal(1.4, 0.15, FILES))[self.file[of_first]][self.cluster]
        self.tokens = np.maximum(tokens, 1)
        self.text_bytes = self.tokens * per_token
        self.left = of_first
        self.fact = float(self.tokens[of_first].sum())

    def predicted(self, rng: np.random.Generator, n_probes: int, seed: int) -> tuple[float, float]:
        """The limits of tokens, by the steps that `tokenmill measure` takes."""
        n = len(self.tokens)
        probes = np.sort(rng.choice(n, n_probes, replace=False))
        copies, text_bytes = self.copies[probes], self.text_bytes[probes]
        found = unique_frac(1 / copies, weights_of(text_bytes), chances=n_probes / n, seed=seed)
        weight = n / n_probes / copies
        whole = np.bincount(self.file[probes], weight * text_bytes, FILES)
        tokens = np.bincount(self.file[probes], weight * self.tokens[probes], FILES)
        drawn = np.zeros(FILES, np.bool_)
        drawn[rng.choice(FILES, int(READ * FILES), replace=False)] = True
        drawn &= whole > 0
        read = whole[drawn] * n_probes / n  # probes are a part of what is in a file
        local = LocalSample(
            strata=np.zeros(int(drawn.sum()), np.int64),
            strata_bytes=np.array([whole.sum()]),
            cluster_bytes=whole[drawn],
            read_bytes=read,
            docs=np.ones(int(drawn.sum()), np.int64),
            sums={"text_bytes": whole[drawn], "tokens": tokens[drawn]},
            seed=seed,
        )
        unique = Step(name="exact", kept_text_frac=found)
        made = predict(
            [unique],
            shard_bytes=[1.0],
            docs=exact(n),
            text_bytes=exact(float(self.text_bytes.sum())),
            text_bytes_per_token=local.ratio("text_bytes", "tokens"),
            stored_bytes_per_token=exact(2.0),
            cores=1,
        )
        return made.tokens.limits()


def weights_of(text_bytes: F64) -> F64:
    return np.maximum(text_bytes, 1)


def chain_rows(reps: int, truths: tuple[float, ...]) -> Iterator[Row]:
    """Tokens of a corpus without its duplicates; widths are shares of the truth."""
    for truth in truths:
        rng = np.random.default_rng([int(truth * 100), 4])
        documents = Documents(rng, truth)
        fact = documents.fact
        for n in (600, 5_000):
            made = [documents.predicted(rng, n, seed) for seed in range(reps)]
            hit, half = covered(fact, made)
            yield "whole chain, tokens", f"{fact:.3g}", f"{n}", hit, half / fact
