"""How often the 95 % interval of each predicted figure holds what the run then makes, how wide
it is, and what `measure` takes of the run's CPU: corpus x recipe x seeds.

    python -m tests.bench.predicted --repositories FOLDER [--out FOLDER] [--seeds 50] [ROW …]
    python -m tests.bench.predicted NAME=PATH[,PATH…] --recipe RECIPE

The rows of the page are those of `ROWS`, of corpora that `tests.bench.measured` makes of clones in
FOLDER; one whose clone is not there is skipped, with a line. What each seed told is kept in --out,
by the version of `measure`: whoever ends the command may give it again. Each seed is a `tokenmill
measure` of its own. CPU seconds are of this process, in which nothing is left to compile; of
`measure` the median over seeds. `--full` has all figures.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.bench.measured import MissingError, written
from tests.conftest import SHARED_DATA
from tests.running import one_by_one
from tokenmill.pipelines.measure.compare import Compared, compare
from tokenmill.pipelines.measure.job import MEASURE_VERSION, Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe, make_recipe
from tokenmill.pipelines.prepare.report.model import Report

GSM8K = SHARED_DATA / "bench" / "gsm8k" / "test.jsonl"
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
    "README's own": [
        {"normalize": {"unicode": "nfc"}},
        *("c4", "gopher_quality", "gopher_repetition", {"exact": {"digest": "md5"}}, "near"),
        {"decontaminate": {"benchmarks": [{"name": "gsm8k", "path": str(GSM8K)}]}},
    ],
}
# Of the page: corpora, each a source, and recipe.
WEB, ANY, C4, BEHIND, OWN = STEPS
FURTHER = ("versions", "web", "news", "unequal", "languages")
ROWS: dict[str, tuple[tuple[str, ...], str]] = {
    "versions": (("versions",), WEB),
    "web": (("web",), WEB),
    "news": (("news",), WEB),
    "unequal": (("unequal",), WEB),
    "scripts": (("scripts",), ANY),
    "mixed": (("versions", "scripts", "news"), WEB),
    "languages": (("languages",), WEB),
    **{f"{name}, gopher behind": ((name,), BEHIND) for name in FURTHER},
    **{f"{name}, c4": ((name,), C4) for name in FURTHER},
    # of languages it leaves next to nothing, of which `measure` may say that it tells nothing
    **{f"{name}, README's own": ((name,), OWN) for name in FURTHER if name != "languages"},
}
SHOWN = {
    "unique fraction": "unique",
    "tokens": "tokens",
    "stored in 10-filtered": "10-filtered",
    "disk after removed": "disk",
}
HEADS = ("corpus", "text", "seeds", *SHOWN.values(), "all figures", "lowest", "CPU")


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


class Told(NamedTuple):
    """One seed: each figure, and CPU over that of the run."""

    figures: list[dict[str, Any]]
    cpu: float


def told_of(recipe: Recipe, kept: Path, seeds: int, probes: int) -> list[Told]:
    """All seeds; those that a file has are taken from it, others are added to it."""
    made = kept.read_text("utf-8").splitlines() if kept.exists() else []
    found = [Told(**json.loads(line)) for line in made[:seeds]]
    if len(found) == seeds:
        return found
    with tempfile.TemporaryDirectory() as folder, kept.open("a", encoding="utf-8") as file:
        run = kept.with_suffix(".run")
        if not run.exists():
            report, run_s = run_and_cpu(recipe, Path(folder))
            run.write_text(json.dumps([report.model_dump_json(), run_s]), "utf-8")
        as_json, run_s = json.loads(run.read_text("utf-8"))
        report = Report.model_validate_json(as_json)
        for seed in range(len(found), seeds):
            rows, took = compared(recipe, report, probes, seed, Path(folder))
            found.append(Told([row.to_json() for row in rows], took / run_s))
            print(json.dumps(found[-1]._asdict()), file=file, flush=True)
    return found


class Tally:
    """Of each figure: how often it was held, full widths and errors as shares of the truth."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.held: dict[str, list[bool]] = defaultdict(list)
        self.width: dict[str, list[float]] = defaultdict(list)
        self.off: dict[str, list[float]] = defaultdict(list)
        self.actual: dict[str, float] = {}
        self.cpu = float(np.median([one.cpu for one in told]))
        for row in (row for one in told for row in one.figures):
            name, actual = row["figure"], row["actual"]
            low, high = (row["predicted"] if row[e] is None else row[e] for e in ("low", "high"))
            self.held[name].append(row["held"])
            self.width[name].append((high - low) / actual if actual else 0.0)
            self.off[name].append(row["predicted"] / actual - 1 if actual else 0.0)
            self.actual[name] = actual

    def cell(self, name: str) -> str:
        if name not in self.held:
            return ""
        if max(self.width[name]) == 0:
            return "counted" if all(self.held[name]) else f"{np.mean(self.held[name]):.0%}, 0 %"
        width = 100 * float(np.mean(self.width[name]))
        return f"{np.mean(self.held[name]):.0%}, {width:.{0 if width >= 10 else 1}f} %"

    def shares(self) -> dict[str, float]:
        """How often those were held that are no counts; of time left out."""
        told = [n for n in self.held if max(self.width[n]) > 0 and "hours" not in n]
        return {name: float(np.mean(self.held[name])) for name in told}

    def row(self, name: str, seeds: int) -> str:
        shares = self.shares() or {"": 1.0}
        lowest = min(shares, key=lambda figure: shares[figure])
        text = f"{self.actual['text bytes in'] / 1e6:,.0f} MB"
        cells = [self.cell(figure) for figure in SHOWN]
        pooled = f"{np.mean(list(shares.values())):.1%}"
        worst = f"{shares[lowest]:.0%} {lowest}"
        return " | ".join(
            ["", name, text, str(seeds), *cells, pooled, worst, f"{self.cpu:.2f}", ""]
        )

    def lines(self) -> Iterator[str]:
        for name in self.held:
            yield f"    {name}: {self.cell(name)}, {np.mean(self.off[name]):+.1%}"


def asked(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Recipe]]:
    """Each row: its name, and the recipe of its corpora."""
    own = dict(row.split("=", 1) for row in given.rows if "=" in row)
    for name, paths in own.items():
        for recipe in [given.recipe] if given.recipe else STEPS:
            yield f"{name}, {recipe}", recipe_of(paths.split(","), STEPS[recipe])
    if own:
        return
    for name in given.rows or ROWS:
        corpora, recipe = ROWS[name]
        try:
            paths = [str(written(c, given.repositories, folder)) for c in corpora]
        except MissingError as e:
            print(f"{name}: skipped, {e}", flush=True)
            continue
        yield name, recipe_of(paths, STEPS[recipe])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"NAME=PATH, or of {list(ROWS)}")
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--probes", type=int, default=10_000)
    parser.add_argument("--recipe", choices=STEPS, help="of NAME=PATH, one of them alone")
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    if given.repositories is None and not all("=" in row for row in given.rows or [""]):
        parser.error("--repositories FOLDER, of clones that the corpora are made of; or NAME=PATH")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}", flush=True)
        for name, recipe in asked(given, folder):
            kept = folder / f"{name}, version {MEASURE_VERSION}.told"
            tally = Tally(told_of(recipe, kept, given.seeds, given.probes))
            print(tally.row(name, given.seeds).strip(), flush=True)
            if given.full:
                print("\n".join(tally.lines()), flush=True)


if __name__ == "__main__":
    main()
