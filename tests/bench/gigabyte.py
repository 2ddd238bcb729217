"""Whole runs of large corpora beside what `tokenmill measure` predicts of them, and what a terabyte
would take by them.

    python -m tests.bench.gigabyte [--gb 0.5 2 10] [--folder DIR]

The corpus is one file of JSON Lines: the real text of ../shared/data, over and over, each time
with words replaced; three documents of a hundred come again as they are, seven nearly so. Each
command has a process of its own, and what it reads is not in the page cache. Bytes read are those
of system calls; digests of what is written, and starting Python, read too: about as much as is
said of a corpus of a thousandth. `disk` is the most that the run directory had, looked at twice a
second; `alone` is the share of CPU seconds in steps of one work, for which all workers wait.

A terabyte is told from two sizes at least, of the CPU seconds of `prepare` beyond those of the
thousandth, by two models between which it may lie: those a byte of the larger two remain, or they
go on to grow, or to fall, as by a power of the size through all sizes. No run was made of it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.corpus import documents, shared
from tests.conftest import SHARED_DATA
from tokenmill.flows import cli

STEPS = ["normalize", {"gopher_quality": {"min_stop_words": None}}, "exact", "near"]
LOOK_EVERY_S = 0.5
FIGURES = ("wall_s", "cpu_s", "peak_gb", "read_gb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gb", type=float, nargs="+", default=[1.0])
    parser.add_argument("--folder", type=Path, help="where the corpus stays; else it goes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command:
        sys.stderr.write(json.dumps(cost(options.command)) + "\n")
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder, cpu_s = options.folder or Path(scratch), dict[float, float]()
        for gb in (min(options.gb) / 1000, *sorted(options.gb)):
            recipe = corpus(folder / f"{gb:g}GB", int(gb * 1e9))
            shown, cpu_s[gb] = table(recipe, Path(scratch) / f"{gb:g}")
            told("", f"{gb:g} GB", "", *shown)
        fixed = cpu_s.pop(min(cpu_s))
        made = {gb: seconds - fixed for gb, seconds in cpu_s.items()}
        if len(made) > 1:
            told("", *extrapolated(made))


def told(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def extrapolated(cpu_s: dict[float, float]) -> list[str]:
    """CPU hours of larger corpora, by the CPU seconds of some sizes in GB.

    >>> extrapolated({1: 30.0, 2: 50.0, 4: 90.0})[-2]
    '| 1 TB | 5.6 | 2.0 |'
    """
    sizes = list(cpu_s)
    (a, b), power = sizes[-2:], float(np.polyfit(np.log(sizes), np.log(list(cpu_s.values())), 1)[0])
    per_gb, last = (cpu_s[b] - cpu_s[a]) / (b - a), cpu_s[b]
    rows = ["| corpus | CPU hours, as the last bytes | as by a power |", "|---|---|---|"]
    for tb in (1, 100):
        plain, grown = last + (tb * 1000 - b) * per_gb, last * (tb * 1000 / b) ** power
        rows.append(f"| {tb} TB | {plain / 3600:,.1f} | {grown / 3600:,.1f} |")
    return [f"{per_gb:.1f} CPU s a GB; a power of {power:.2f} of the size", "", *rows]


def corpus(folder: Path, size: int) -> Path:
    """The recipe of a corpus of about so many bytes; made, if it is not there."""
    recipe, docs = folder / "recipe.json", folder / "docs.jsonl"
    if not recipe.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with docs.open("w", encoding="utf-8") as file:
            for line in lines(size):
                file.write(line)
        data = {
            "name": "gigabyte",
            "inputs": [{"path": str(docs)}],
            "steps": STEPS,
            "tokenizer": {"path": str(SHARED_DATA / "tokenizers" / "gpt2.json")},
        }
        recipe.write_text(json.dumps(data))
    return recipe


def lines(size: int) -> Iterator[str]:
    made = 0
    for number, text in enumerate(documents(tuple(shared(SHARED_DATA / "text")))):
        if made >= size:
            return
        line = json.dumps({"id": str(number), "text": text}) + "\n"
        made += len(line)
        yield line


def table(recipe: Path, out: Path) -> tuple[list[str], float]:
    """A line for each command, and what was predicted beside what was made; CPU s of the run."""
    out.mkdir()
    estimate, run = str(out / "estimate.json"), str(out / "run")
    made = [
        "| command | wall, s | CPU, s | peak memory, GB | read, GB |",
        "|---|---|---|---|---|",
    ]
    for name, more in (("measure", ["--out", estimate]), ("prepare", ["--out", run])):
        forget(recipe.parent / "docs.jsonl")
        with disk_of(Path(run)) as most:
            found = apart([name, str(recipe), *more, "--json"])
        made.append(f"| {name} | {' | '.join(f'{found[figure]:.3g}' for figure in FIGURES)} |")
    rows = json.loads(Path(run, "report.json").read_text())
    in_steps = sum(step["cpu_s"] for step in rows["steps"])
    alone = sum(step["cpu_s"] for step in rows["steps"] if step["works"] == 1)
    made += ["", f"{in_steps:.4g} CPU s in steps of the run, {alone / in_steps:.2%} alone"]
    made += [f"disk {most[0] / 1e9:.3g} GB"]
    again = ["prepare", str(recipe), "--out", run, "--estimate", estimate]
    compared = subprocess.run(
        [sys.executable, "-m", "tokenmill.flows.cli", *again],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [*made, "", compared.stdout], found["cpu_s"]


@contextmanager
def disk_of(folder: Path) -> Iterator[list[int]]:
    """The most bytes that a folder has while the block lasts, about."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_EVERY_S):
            with suppress(OSError):  # something has gone meanwhile
                most[0] = max(most[0], sum(path.lstat().st_size for path in folder.rglob("*")))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        ended.set()
        watching.join()


def apart(command: Sequence[str]) -> dict[str, Any]:
    """What a command costs in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.bench.gigabyte", *command],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return dict(json.loads(ended.stderr.splitlines()[-1]))


def cost(command: Sequence[str]) -> dict[str, float]:
    """Of this process alone: a Prefect server that it starts is another one."""
    started = time.perf_counter()
    code = cli.main(command)
    if code:
        raise SystemExit(code)
    used = resource.getrusage(resource.RUSAGE_SELF)
    read = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {
        "wall_s": time.perf_counter() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_gb": used.ru_maxrss * 1024 / 1e9,
        "read_gb": int(read["rchar"]) / 1e9,
    }


def forget(path: Path) -> None:
    """Take a file out of the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
