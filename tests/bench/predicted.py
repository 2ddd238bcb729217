"""How often the 95 % interval of each predicted figure holds what the run then makes.

    python -m tests.bench.predicted [--seeds 200] [--probes 10000 600]

On the real text of ../shared/data: Django's and etcd's documentation in several versions, web
pages, WikiText-2. At most a fifth of the bytes is tokenized. With 10,000 probes every document of
this small corpus is one; with 600 a fifth of them are, as in a large one. All parts are read and
tokenized once, and each seed then looks at those that it draws, as `tokenmill measure` would have.
CPU hours are here of less than a second, and one run's are held against all seeds.
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conftest import SHARED_DATA
from tests.running import one_by_one, prepare
from tokenmill.pipelines.measure.compare import Compared, compare
from tokenmill.pipelines.measure.copies import count_copies
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import estimate_of, opened, phases, predict_from
from tokenmill.pipelines.measure.sample import DEFAULT_SAMPLE, draw_sample
from tokenmill.pipelines.prepare.prepare import plan_run, run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe, make_recipe
from tokenmill.pipelines.runs.drive import drive

GOPHER = {"gopher_quality": {"min_stop_words": None}}
STEPS = {
    "filters, then duplicates": ["normalize", GOPHER, "exact", "near"],
    "a filter behind duplicates": ["normalize", "exact", "near", GOPHER],
}
ENOUGH = 0.93


def recipe_of(steps: list[Any]) -> Recipe:
    text = SHARED_DATA / "text"
    inputs = [
        {"path": str(text / "docs_django_5.1_5.2.jsonl.gz"), "source": "django"},
        {"path": str(text / "docs_etcd.jsonl.gz"), "source": "etcd"},
        {"path": str(text / "c4_sample_wimbd/**/*.json.gz"), "source": "c4", "format": "jsonl"},
        {"path": str(text / "wikitext2/**/*.txt"), "source": "wikitext"},
    ]
    tokenizer = {"path": str(SHARED_DATA / "tokenizers" / "gpt2.json")}
    run = {"keep_intermediates": True, "workers": 1}
    data = {"inputs": inputs, "steps": steps, "tokenizer": tokenizer, "run": run}
    return make_recipe(data, where="bench")


def compared(recipe: Recipe, probes: int, seeds: int, folder: Path) -> Iterator[list[Compared]]:
    """For each seed, what it predicts beside what the run made."""
    prepare(recipe, folder / "first", one_by_one)  # which compiles and loads for both
    report = run_recipe(recipe, folder / "run", one_by_one)
    plan, everything = plan_run(recipe), Measuring(recipe=recipe, sample=1.0, probes=probes)
    sample = draw_sample(recipe, plan, sample=1.0, seed=0)
    with opened(everything, folder / "estimate.json", sample.plan) as job:
        finished = drive(job, phases(job, sample), one_by_one)
        keys = tuple(part.key for part in sample.plan.shards)
        for seed in range(seeds):
            drawn = draw_sample(recipe, plan, sample=DEFAULT_SAMPLE, seed=seed)
            assert drawn.drawn_frac <= DEFAULT_SAMPLE
            its = replace(job, measuring=everything.model_copy(update={"seed": seed}))
            count_copies(its, keys)
            predicted = predict_from(its, plan, drawn, finished)
            yield compare(estimate_of(its, drawn, finished, predicted), report)


def table(recipe: Recipe, probes: int, seeds: int) -> list[str]:
    """A line for each figure that is no count: how often it was held, half-widths, error."""
    held, half, off = defaultdict(int), defaultdict(list), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for rows in compared(recipe, probes, seeds, Path(folder)):
            for name, predicted, actual, is_held in rows:
                low, high = (predicted.value if e is None else e for e in predicted.limits())
                held[name] += is_held
                half[name].append((high - low) / 2 / predicted.value if predicted.value else 0.0)
                off[name].append(predicted.value / actual - 1 if actual else 0.0)
    exact = [name for name in held if held[name] == seeds and max(half[name]) == 0]
    lines = ["| figure | held | mean half-width | widest | mean error |", "|---|---|---|---|---|"]
    for name, n in held.items():
        if name not in exact:
            mark = "" if n >= ENOUGH * seeds else " !"
            mean, error = sum(half[name]) / seeds, sum(off[name]) / seeds
            widest = max(half[name])
            lines.append(
                f"| {name} | {n / seeds:.1%}{mark} | {mean:.2%} | {widest:.2%} | {error:+.2%} |"
            )
    return [*lines, "", f"exact: {', '.join(exact)}"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--probes", type=int, nargs="+", default=[10_000, 600])
    given = parser.parse_args()
    for name, steps in STEPS.items():
        for probes in given.probes:
            print(f"\n{name}, {probes:,} probes, {given.seeds} seeds\n")
            print("\n".join(table(recipe_of(steps), probes, given.seeds)), flush=True)


if __name__ == "__main__":
    main()
