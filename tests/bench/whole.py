"""`tokenmill prepare` beside its works alone: wall and CPU seconds, and their ratios.

    python -m tests.bench.whole [--mb 0.2 200] [--times 5] [--folder DIR]

The corpus is that of `tests.bench.gigabyte`. Works alone are the same run by two threads of a
process that has imported, without a command, without Prefect; both are made in turn, each in a
process of its own, behind one of each that is not counted, which compiles the kernels: no other may
do so. The command's CPU seconds are those of all its processes.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.gigabyte import corpus, told
from tokenmill.flows.executing import in_groups
from tokenmill.flows.pools.pool import ThreadPool
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe

WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mb", type=float, nargs="+", default=[0.2, 200])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the corpus stays; else it goes")
    parser.add_argument("--works", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.works:
        told(" ".join(map(str, works(*options.works))))
        return
    told("| MB | command, wall s | works, wall s | ratio | command, CPU s | works, CPU s |")
    told("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["NUMBA_CACHE_DIR"] = f"{scratch}/kernels"
        for mb in options.mb:
            recipe = corpus((options.folder or Path(scratch)) / f"{mb:g}MB", int(mb * 1e6))
            row(mb, recipe, Path(scratch), options.times)


def row(mb: float, recipe: Path, scratch: Path, times: int) -> None:
    """The medians of both, and of the ratios of each pair."""
    pairs, compiled = [], 0
    for number in range(times + 1):
        out = scratch / f"{mb:g}-{number}"
        pairs.append((command(recipe, out), alone(recipe, out.with_suffix(".works"))))
        compiled = compiled or n_compiled()
    if n_compiled() > compiled:
        raise SystemExit("a kernel was compiled again")
    (wall, cpu), (works_wall, works_cpu) = (
        [statistics.median(pair[i][j] for pair in pairs[1:]) for j in (0, 1)] for i in (0, 1)
    )
    ratio = statistics.median(whole[0] / works[0] for whole, works in pairs[1:])
    told(f"| {mb:g} | {wall:.2f} | {works_wall:.2f} | {ratio:.2f} | {cpu:.2f} | {works_cpu:.2f} |")


def command(recipe: Path, out: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the command."""
    asked = ["prepare", str(recipe), "--out", str(out), "--workers", str(WORKERS), "--json"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tokenmill.flows.cli", *asked],
        env={k: v for k, v in os.environ.items() if k != "PREFECT_API_URL"},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the command ended with {status}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def alone(recipe: Path, out: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the works, in a process of their own."""
    asked = ["-m", "tests.bench.whole", "--works", str(recipe), str(out)]
    ended = subprocess.run([sys.executable, *asked], check=True, stdout=subprocess.PIPE, text=True)
    wall, cpu = map(float, ended.stdout.split())
    return wall, cpu


def works(recipe: str, out: str) -> tuple[float, float]:
    """Of a run in this process, its planning included."""
    asked = load_recipe(Path(recipe))
    wall, cpu = time.perf_counter(), time.process_time()
    run_recipe(asked, Path(out), in_groups(ThreadPool(WORKERS), task_seconds=60))
    return time.perf_counter() - wall, time.process_time() - cpu


def n_compiled() -> int:
    return len(list(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")))


if __name__ == "__main__":
    main()
