"""Where the CPU seconds of our own run go, step by step. Run: make profile

A whole run, every step in it, its works one by one under the profiler, after a small run
that compiles; then the command, whose further seconds are start-up, Prefect and its server.
MB/s are of all text that went in: a step behind a filter sees less of it. `--only near` tells how
fast signing, grouping and comparing are together.
"""

import argparse
import cProfile
import json
import os
import pstats
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.__main__ import prepared
from tests.bench.measure import WARM_MB, Bench
from tests.bench.tools.ours import command, recipe_data
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.stages import STAGES
from tokenmill.pipelines.prepare.recipe import make_recipe


def _source(stage: type) -> str:
    """The end of the path of a stage's file."""
    return stage.__module__.removeprefix("tokenmill.").replace(".", "/") + ".py"


FUNCTIONS = {  # step: the end of its function's file, its name
    "read": ("read/jsonl.py", "read_jsonl"),
    **{name: (_source(STEPS[name]), "__call__") for name in STAGES},
    "benchmark index": ("contamination/index.py", "build"),
    "overlap": ("contamination/found.py", "search"),
    "ignored n-grams": ("contamination/decontaminate.py", "find_ignored"),
    "cut": ("contamination/decontaminate.py", "__call__"),
    "digest": ("dedup/same/digest.py", "digests"),
    "exact duplicates": ("corpus/equal.py", "find_equal"),
    "sign": ("corpus/near.py", "key_columns"),
    "keys by range": ("corpus/spill.py", "spill_keys"),
    "buckets": ("corpus/buckets.py", "find_buckets"),
    "compare": ("corpus/stars.py", "find_alike"),
    "compare crowded": ("corpus/stars.py", "find_more"),
    "join edges": ("corpus/stars.py", "join_edges"),
    "who leaves": ("corpus/stars.py", "decide"),
    "tokenize": ("tokens/tokenize.py", "encode"),
    "plan": ("read/plan.py", "plan_inputs"),
    "report": ("report/sections.py", "write_report"),
    "its figures": ("report/summary.py", "summarize"),
}  # fmt: skip
NEAR = (
    "sign",
    "keys by range",
    "buckets",
    "compare",
    "compare crowded",
    "join edges",
    "who leaves",
)
WRITES = ("write_batch", "write_table", "fsync")
WITHIN = ("corpus/pairs.py", "corpus/verdicts.py")  # what they write is in their own figure


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m tests.bench.profile", description=__doc__)
    ask.add_argument("--mb", type=float, default=100, help="of text")
    ask.add_argument("--only", help="one step of a recipe instead of every one")
    args = ask.parse_args()
    bench = prepared(quick=False, repeats=1)
    os.environ["BENCH_TOKENIZER"] = str(bench.tokenizer)
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        scratch = Path(folder)
        chosen = [{args.only: {}}] if args.only else steps(bench)
        run(bench, chosen, WARM_MB, scratch / "warm")
        profiler, cpu_s = profiled(bench, chosen, args.mb, scratch / "run")
        whole_s = command_s(bench, chosen, args.mb, scratch)
    text = json.loads((bench.part(args.mb) / "info.json").read_text())["text_bytes"] / 1e6
    show(by_step(pstats.Stats(profiler)), text, cpu_s, whole_s)


def run(bench: Bench, chosen: list[dict[str, Any]], mb: float, out: Path) -> None:
    prepare(make_recipe(recipe_data(bench.part(mb), chosen), where="bench"), out, one_by_one)


def steps(bench: Bench) -> list[dict[str, Any]]:
    """Every step that a recipe can name."""
    items = str(bench.part(WARM_MB) / "benchmark.jsonl")
    wanted = [{"name": "items", "path": items, "fields": ["question"]}]
    overlap = {"decontaminate": {"benchmarks": wanted}}
    return [*({name: {}} for name in STAGES), {"exact": {}}, {"near": {}}, overlap]


def profiled(
    bench: Bench, chosen: list[dict[str, Any]], mb: float, out: Path
) -> tuple[cProfile.Profile, float]:
    """The profile of this thread, and the CPU seconds of all."""
    bench.part(mb)
    profiler, start = cProfile.Profile(time.thread_time), time.process_time()
    profiler.runcall(run, bench, chosen, mb, out)
    return profiler, time.process_time() - start


def command_s(bench: Bench, chosen: list[dict[str, Any]], mb: float, scratch: Path) -> float:
    """CPU seconds of the command over the same."""
    work = command(*chosen)(bench.part(mb), scratch)
    before = children_s()
    work()
    return children_s() - before


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_step(stats: pstats.Stats) -> dict[str, float]:
    """CPU seconds of each step, with all that it calls."""
    found = dict.fromkeys([*FUNCTIONS, "write"], 0.0)
    for (file, _, name), (_, _, _, cumulated, callers) in stats.stats.items():
        for step, (end, function) in FUNCTIONS.items():
            if name == function and file.endswith(end):
                found[step] += cumulated
        if any(write in name for write in WRITES):
            found["write"] += sum(
                used[3] for (where, *_), used in callers.items() if not where.endswith(WITHIN)
            )
    return found


def show(found: dict[str, float], text_mb: float, cpu_s: float, whole_s: float) -> None:
    print(f"{text_mb:.0f} MB of text, {cpu_s:.2f} CPU s, {text_mb / cpu_s:.1f} MB/s\n")
    print(f"{'step':24}{'CPU s':>9}{'share':>8}{'MB/s':>10}")
    rest = cpu_s - sum(found.values())
    for step, seconds in {**found, "the rest": rest}.items():
        rate = f"{text_mb / seconds:10.0f}" if seconds > 0 else f"{'-':>10}"
        print(f"{step:24}{seconds:9.3f}{seconds / cpu_s:8.1%}{rate}")
    near_s = sum(found[step] for step in NEAR)
    if near_s:
        print(f"near, all of it: {near_s:.3f} CPU s, {text_mb / near_s:.0f} MB/s")
    print(f"\nas a command: {whole_s:.2f} CPU s; start-up and Prefect {whole_s - cpu_s:.2f} CPU s")


if __name__ == "__main__":
    main()
