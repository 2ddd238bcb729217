"""What `tokenmill measure` takes of the CPU of the run that it predicts, and of its own bound.

    python -m tests.bench.measure_cost RECIPE [--runs 5]

    measure - start  against  1.1 * bare + share * (run - start - bare)

`bare` is what no prediction of duplicates goes without: reading all, the edits before keys, and the
keys as the run makes them, by as many threads as it has, with nothing written. `share` is that of
the text which goes through the filters; less of it is tokenized, and the bound by that share is
told too. `start` is the same command with the first MB of the text. Each has a process of its own,
in turn, and is the median of the runs: CPU seconds of that process, a Prefect server apart.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import yaml

from tests.bench.gigabyte import apart
from tokenmill.dedup.arrays import text_buffers
from tokenmill.dedup.kernels._jit import F64
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.measure.chosen import chance
from tokenmill.pipelines.measure.job import MeasureJob, Measuring
from tokenmill.pipelines.measure.run import sample_of
from tokenmill.pipelines.measure.scan import _together
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import Recipe, load_recipe

START_BYTES = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        bare(load_recipe(given.bare))  # compiles and loads
        print(json.dumps(bare(load_recipe(given.recipe))))
        return
    with tempfile.TemporaryDirectory() as folder:
        tell(given.recipe, Path(folder), given.runs)


def bare(recipe: Recipe) -> tuple[float, float, float]:
    """CPU seconds of reading, edits and keys of all; the shares that filters see, and of tokens."""
    measuring = Measuring(recipe=recipe)
    sample = sample_of(measuring, plan_run(recipe))
    job = MeasureJob(out=Path(), recipe=recipe, identity="", measuring=measuring)
    finders = job.first_pass.finders
    schema = key_schema(finders)

    def of_part(part: SourceShard) -> F64:
        """(3,) bytes of text that is read, that filters may see, and that is tokenized."""
        sums = np.zeros(3)
        for batches in _together(batch.documents for batch in recipe.read(part, "")):
            lengths = []
            for documents in batches:
                for stage in job.counted_stages:
                    documents = stage(documents).kept  # type: ignore[operator]
                document_keys(documents, finders, schema, source=part.source)
                lengths.append(text_buffers(documents["text"]).lengths)
            sizes = np.concatenate(lengths)
            total = float(sizes.sum())
            few = sample.choice.of_tokens(total, read_bytes=total)
            chances = [chance(sizes, of, read_bytes=total) for of in (sample.choice, few)]
            sums += [total, *(float(of @ sizes) for of in chances)]
        return sums

    began = time.process_time()
    with ThreadPoolExecutor(recipe.run.n_workers) as pool:
        read, chosen, tokenized = sum(pool.map(of_part, sample.plan.shards), np.zeros(3))
    return time.process_time() - began, chosen / read, tokenized / read


def first_text(recipe: Recipe) -> Iterator[str]:
    """The first documents."""
    size = 0
    for part in plan_run(recipe).shards:
        for batch in recipe.read(part, ""):
            for text in batch.documents["text"].to_pylist():
                yield text
                size += len(text)
                if size > START_BYTES:
                    return


def tell(path: Path, folder: Path, runs: int) -> None:
    small = folder / "small.yaml"
    lines = [json.dumps({"text": text}) + "\n" for text in first_text(load_recipe(path))]
    (folder / "docs.jsonl").write_text("".join(lines))
    data = yaml.safe_load(path.read_text()) | {"inputs": [{"path": str(folder / "docs.jsonl")}]}
    small.write_text(yaml.safe_dump(data))
    made: dict[str, list[float]] = defaultdict(list)
    for number in range(runs):
        for name in ("measure", "prepare"):
            for of, recipe in (("start", small), ("all", path)):
                out = folder / f"{number}-{name}-{of}"
                cost = apart([name, str(recipe), "--out", str(out), "--json"])
                made[f"{name} {of}"].append(cost["cpu_s"])
        command = [sys.executable, "-m", "tests.bench.measure_cost", str(path), "--bare"]
        ended = subprocess.run([*command, str(small)], check=True, stdout=subprocess.PIPE)
        seconds, *shares = json.loads(ended.stdout)
        made["bare"].append(seconds)
    cpu = {name: statistics.median(values) for name, values in made.items()}
    ratios = [m / p for m, p in zip(made["measure all"], made["prepare all"], strict=True)]
    rest = cpu["prepare all"] - cpu["prepare start"] - cpu["bare"]
    rows = {
        "measure, start-up apart": cpu["measure all"] - cpu["measure start"],
        "reading, edits and keys of all": cpu["bare"],
        **{f"1.1 times that, {s:.1%} of the rest": 1.1 * cpu["bare"] + s * rest for s in shares},
        "start-up of measure": cpu["measure start"],
        "measure": cpu["measure all"],
        "run": cpu["prepare all"],
    }
    print("| what | CPU s |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value:.2f} |")
    shown = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    print(f"\nmeasure over the run: median {statistics.median(ratios):.3f} ({shown})")


if __name__ == "__main__":
    main()
