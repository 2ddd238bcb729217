"""How often the interval of bytes a token holds that of a corpus, whose documents are chosen as
`tokenmill measure` chooses them: many samples of tokens that are made once.

    python -m tests.bench.chosen_documents NAME=PATH[,PATH…] … [--seeds 500] [--share 0.2 0.05]

All documents are taken, without filters and copies as they are. Limits are those of `measure`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.bench.predicted import recipe_of
from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.measure.chosen import Choice, chance
from tokenmill.pipelines.measure.job import MeasureJob, Measuring
from tokenmill.pipelines.measure.sample import LONGEST_FRAC
from tokenmill.pipelines.measure.scan import text_tokens
from tokenmill.pipelines.measure.scanned import of_documents
from tokenmill.pipelines.prepare.prepare import plan_run

F64 = npt.NDArray[np.float64]


def told(paths: Sequence[str], shares: Sequence[float]) -> tuple[F64, F64, list[F64]]:
    """(n,) bytes and tokens of all documents with any, and the chance of each by share."""
    recipe = recipe_of(paths, ["normalize"])
    job = MeasureJob(out=Path(), recipe=recipe, identity="", measuring=Measuring(recipe=recipe))
    batches = [b.documents for part in plan_run(recipe).shards for b in recipe.read(part, "")]
    sizes = [text_buffers(batch["text"]).lengths.astype(np.int64) for batch in batches]
    tokens = np.concatenate([text_tokens(job, batch) for batch in batches])
    size = np.concatenate(sizes)
    total, there = float(size.sum()), (tokens > 0) & (size > 0)
    chances = []
    for share in shares:
        how = Choice(share, 0.0, total * LONGEST_FRAC, share)
        some = [chance(size, how, read_bytes=float(size.sum())) for size in sizes]
        chances.append(np.concatenate(some)[there])
    return size[there].astype(np.float64), tokens[there].astype(np.float64), chances


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--share", type=float, nargs="+", default=[0.2, 0.05])
    given = parser.parse_args()
    print("| corpus | share | documents | chosen | held | width | standard error |")
    print("|---|---|---|---|---|---|---|")
    for name, paths in (corpus.split("=", 1) for corpus in given.corpora):
        size, tokens, chances = told(paths.split(","), given.share)
        truth = size.sum() / tokens.sum()
        for share, chance_of in zip(given.share, chances, strict=True):
            rng, made = np.random.default_rng(1), []
            for seed in range(given.seeds):
                at = np.flatnonzero(rng.random(len(size)) < chance_of)
                sums = {"text_bytes": size[at], "tokens": tokens[at]}
                sums = {what: values / chance_of[at] for what, values in sums.items()}
                found = of_documents(sums, chance_of[at], at.astype(np.uint64), seed)
                ratio = found.ratio("text_bytes", "tokens")
                low, high = ratio.limits()
                made.append((low <= truth <= high, (high - low) / truth, ratio.value / truth - 1))
            held, width, off = np.array(made).T
            cells = (f"{held.mean():.0%}", f"{width.mean():.2%}", f"{off.std():.2%}")
            print(f"| {name} | {share} | {len(size):,} | {len(at):,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
