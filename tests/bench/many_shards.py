"""What a run of many shards asks of the process that drives it, and of the file system.

    python -m tests.bench.many_shards 1000 2000 4000             # runs of so many tiny files
    python -m tests.bench.many_shards --simulated 100000 400000  # what drives a run, alone

Of real runs: planning and a rerun of the finished run, by the clock and in CPU seconds, the highest
resident memory of `tokenmill prepare`, and files of the run directory a shard at the most. Of
simulated ones: all phases, packs, report and manifest as in a run, but each work is a receipt like
that of a work of a real run of two shards, and is done in no time. Each is a process of its own.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml

from tests.pipelines.conftest import train
from tests.running import one_by_one
from tokenmill.pipelines.core.shard import Plan, numbered
from tokenmill.pipelines.prepare.prepare import finished_report, opened, plan_run, run_recipe
from tokenmill.pipelines.prepare.recipe import Recipe, load_recipe
from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Job, Outcome, Phase, Work, attempt

DOCS, WORDS = 4, 20  # of a file; of a document
LOOK_EVERY_S = 0.5
SET_DOWN = "rows"  # the one work that is done, for it is told of all shards


def main() -> None:
    options = arguments()
    if options.alone:
        said = (simulated if options.simulated else real)(options.shards[0], options.alone)
        sys.stdout.write(json.dumps(said))
        return
    for n in options.shards:
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            words = ["--simulated"] * options.simulated + ["--alone", folder, str(n)]
            command = [sys.executable, "-m", "tests.bench.many_shards", *words]
            ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        told = ", ".join(f"{k} {v:,.3g}" for k, v in json.loads(ended.stdout).items())
        sys.stdout.write(f"{n:,} shards: {told}\n")
        sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shards", type=int, nargs="+")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--scratch", type=Path, help="where to make the runs")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def recipe_in(folder: Path, n: int) -> Path:
    """Write so many files of tiny documents, one in ten of them a copy, and a recipe."""
    draw, seen = random.Random(1), []
    vocabulary = [f"word{i:x}" for i in range(3000)]
    (folder / "in").mkdir()
    for i in range(n):
        texts = [" ".join(draw.choices(vocabulary, k=WORDS)) for _ in range(DOCS)]
        texts[0] = draw.choice(seen) if seen and draw.random() < 0.1 * DOCS else texts[0]
        seen = [*seen[-999:], texts[1]]
        lines = (json.dumps({"text": text}) + "\n" for text in texts)
        (folder / "in" / f"{i:06d}.jsonl").write_text("".join(lines))
    recipe = {
        "name": "many shards",
        "inputs": [{"path": str(folder / "in" / "*.jsonl")}],
        "steps": ["exact"],
        "tokenizer": {"path": str(train(folder))},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    return folder / "recipe.yaml"


@contextmanager
def timed(name: str, told: dict[str, float]) -> Iterator[None]:
    """Take down seconds by the clock, and of CPU with those of child processes."""
    wall, cpu = time.perf_counter(), cpu_s()
    yield
    told[f"{name} s"] = time.perf_counter() - wall
    told[f"{name} CPU s"] = cpu_s() - cpu


def cpu_s() -> float:
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


# runs as they are


def real(n: int, folder: Path) -> dict[str, float]:
    path, out, told = recipe_in(folder, n), folder / "run", {}
    recipe = load_recipe(path)
    with timed("planning", told):
        assert len(plan_run(recipe).shards) == n
    told["planning CPU ms a shard"] = told["planning CPU s"] / n * 1000
    command = [str(Path(sys.executable).with_name("tokenmill")), "prepare", str(path)]
    command += ["--out", str(out), "--json", "--workers", "2"]
    most, ended = [0], threading.Event()
    watching = threading.Thread(target=_watch, args=(out, most, ended))
    watching.start()
    with timed("run", told):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    ended.set()
    watching.join()
    told["memory GB"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    told["files a shard"] = most[0] / n
    with timed("rerun", told):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return told


def _watch(out: Path, most: list[int], ended: threading.Event) -> None:
    while not ended.wait(LOOK_EVERY_S):
        most[0] = max(most[0], sum(len(files) for _, _, files in os.walk(out)))


# what drives them


def simulated(n: int, folder: Path) -> dict[str, float]:
    recipe, told = load_recipe(recipe_in(folder, 2)), {}
    plan = plan_run(recipe)
    made = receipts_of_two(recipe, folder / "two", plan)
    one = plan.shards[0]
    shards = (replace(one, paths=(f"{folder}/in/{i:06d}.jsonl",)) for i in range(n))
    file = plan.files[0]
    files = tuple(file._replace(path=f"{folder}/in/{i:06d}.jsonl") for i in range(n))
    many = replace(plan, shards=numbered(list(shards), first=0), files=files)
    with timed("driving", told):
        run_recipe(recipe, folder / "many", Simulated(made), many)
    told["driving CPU ms a shard"] = told["driving CPU s"] / n * 1000
    with timed("told as finished", told), opened(recipe, folder / "many", many) as job:
        finished_report(job)
    told["memory GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return told


def receipts_of_two(recipe: Recipe, out: Path, plan: Plan) -> dict[str, Receipt]:
    """A receipt of each step of a run of two shards."""
    made: dict[str, Receipt] = {}

    def execute(job: Job, phase: Phase) -> list[Outcome]:
        outcomes = one_by_one(job, phase)
        made.update({o.work.step: o.receipt for o in outcomes if o.receipt is not None})
        return list(outcomes)

    run_recipe(recipe, out, execute, plan)
    assert list(receipts_of(out, "pass-0"))
    return made


class Simulated:
    def __init__(self, made: dict[str, Receipt]) -> None:
        self._made = made

    def __call__(self, job: Job, phase: Phase) -> list[Outcome]:
        outcomes = []
        for work in phase.works:
            is_done = work.step.startswith(SET_DOWN)
            outcomes.append(attempt(job, work) if is_done else self._outcome(work))
            phase.told(outcomes[-1])
        return outcomes

    def _outcome(self, work: Work) -> Outcome:
        like = self._made[work.step]
        files = tuple((n.replace(like.key, work.key), size, d) for n, size, d in like.files)
        receipt = replace(like, key=work.key, inputs=work.inputs, files=files)
        return Outcome(work=work, receipt=receipt, fresh=True)


if __name__ == "__main__":
    main()
