"""How often the 95 % interval of each predicted figure holds what the run then makes, how wide
it is, and what `measure` takes of the run's CPU: corpus x recipe x seeds.

    python -m tests.bench.predicted [NAME=PATH[,PATH…] …] [--seeds 50] [--probes 10000] [--full]

Without corpora it takes the text of ../shared/data. Each seed is a `tokenmill measure` of its own.
CPU seconds are of this process, in which nothing is left to compile; of `measure` the median over
seeds. `--full` has all figures.
"""

import argparse
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import SHARED_DATA
from tests.running import one_by_one
from tokenmill.pipelines.measure.compare import Compared, compare
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe, make_recipe
from tokenmill.pipelines.prepare.report.model import Report

GOPHER: dict[str, Any] = {"gopher_quality": {"min_stop_words": None}}
STEPS: dict[str, list[Any]] = {
    "gopher, exact, near": ["normalize", GOPHER, "gopher_repetition", "exact", "near"],
    "gopher of any script, exact, near": [
        "normalize",
        {"gopher_quality": {"min_stop_words": None, "words": "scripts"}},
        {"gopher_repetition": {"words": "scripts"}},
        "exact",
        "near",
    ],
    "c4, exact, near": ["normalize", "c4", "exact", "near"],
    "exact, near, gopher": ["normalize", "exact", "near", GOPHER],
}
SHARED = {
    "documentation": ("docs_django_5.1_5.2.jsonl.gz", "docs_etcd.jsonl.gz"),
    "web": ("c4_sample_wimbd/**/*.json.gz",),
}
SHOWN = {
    "unique fraction": "unique",
    "tokens": "tokens",
    "stored in 10-filtered": "10-filtered",
    "disk after removed": "disk",
}
HEADS = ("corpus", "text", "recipe", *SHOWN.values(), "all figures", "CPU")


def recipe_of(paths: Sequence[str], steps: list[Any]) -> Recipe:
    """Each path is a source."""
    inputs = [
        {"path": path, "source": f"source-{n}", **({"format": "jsonl"} if ".json" in path else {})}
        for n, path in enumerate(paths)
    ]
    tokenizer = {"path": str(SHARED_DATA / "tokenizers" / "gpt2.json")}
    run = {"keep_intermediates": True, "workers": 1}
    data = {"inputs": inputs, "steps": steps, "tokenizer": tokenizer, "run": run}
    return make_recipe(data, where="bench")


def run_and_cpu(recipe: Recipe, folder: Path) -> tuple[Report, float]:
    """A run, and CPU seconds of its second turn: what is compiled and loaded counts for none."""
    for turn in ("warm", "run"):
        started = time.process_time()
        report = run_recipe(recipe, folder / turn, one_by_one)
        took = time.process_time() - started
        shutil.rmtree(folder / turn)
    return report, took


def compared(
    recipe: Recipe, report: Report, probes: int, seed: int, folder: Path
) -> tuple[list[Compared], float]:
    """What a seed predicts beside what the run made; CPU seconds of predicting it."""
    measuring = Measuring(recipe=recipe, probes=probes, seed=seed)
    started = time.process_time()
    outcome = measure_corpus(measuring, folder / "estimate.json", one_by_one)
    return compare(outcome.estimate, report), time.process_time() - started


class Tally:
    """Of each figure: how often it was held, full widths and errors as shares of the truth."""

    def __init__(self) -> None:
        self.held: dict[str, list[bool]] = defaultdict(list)
        self.width: dict[str, list[float]] = defaultdict(list)
        self.off: dict[str, list[float]] = defaultdict(list)
        self.actual: dict[str, float] = {}

    def add(self, rows: Sequence[Compared]) -> None:
        for name, predicted, actual, is_held in rows:
            low, high = (predicted.value if e is None else e for e in predicted.limits())
            self.held[name].append(is_held)
            self.width[name].append((high - low) / actual if actual else 0.0)
            self.off[name].append(predicted.value / actual - 1 if actual else 0.0)
            self.actual[name] = actual

    def cell(self, name: str) -> str:
        if name not in self.held:
            return ""
        return f"{np.mean(self.held[name]):.0%}, {np.mean(self.width[name]):.1%}"

    def pooled(self) -> float:
        """Share held of the figures that are no counts; those of time left out."""
        told = [n for n in self.held if max(self.width[n]) > 0 and "hours" not in n]
        return float(np.mean([np.mean(self.held[name]) for name in told])) if told else 1.0

    def lines(self) -> Iterator[str]:
        for name in self.held:
            yield f"    {name}: {self.cell(name)}, {np.mean(self.off[name]):+.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--probes", type=int, default=10_000)
    parser.add_argument("--recipe", choices=STEPS, help="one of them alone")
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    corpora = {n: tuple(p.split(",")) for n, p in (c.split("=", 1) for c in given.corpora)}
    if not corpora:
        corpora = {n: tuple(str(SHARED_DATA / "text" / p) for p in of) for n, of in SHARED.items()}
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}", flush=True)
    for name, paths in corpora.items():
        for recipe, steps in STEPS.items():
            if given.recipe not in (None, recipe):
                continue
            with tempfile.TemporaryDirectory() as folder:
                tally, made, cpu = Tally(), recipe_of(paths, steps), list[float]()
                report, run_s = run_and_cpu(made, Path(folder))
                for seed in range(given.seeds):
                    rows, took = compared(made, report, given.probes, seed, Path(folder))
                    tally.add(rows)
                    cpu.append(took / run_s)
            cells = [tally.cell(figure) for figure in SHOWN]
            text = f"{tally.actual['text bytes in'] / 1e6:,.1f} MB"
            shown = [name, text, recipe, *cells, f"{tally.pooled():.0%}", f"{np.median(cpu):.2f}"]
            print(f"| {' | '.join(shown)} |", flush=True)
            if given.full:
                print("\n".join(tally.lines()), flush=True)


if __name__ == "__main__":
    main()
