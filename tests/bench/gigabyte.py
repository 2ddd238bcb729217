"""What `tokenmill measure` takes of a large corpus, against the run it predicts.

    python -m tests.bench.gigabyte [--gb 1] [--folder DIR]

The corpus is one file of JSON Lines: the real text of ../shared/data, over and over, each time
with words replaced; three documents of a hundred come again as they are, seven nearly so. Each
command has a process of its own, and what it reads is not in the page cache. Bytes read are those
of system calls; digests of what is written, and starting Python, read too: about as much as is
said of a corpus of a thousandth.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.corpus import documents, shared
from tests.conftest import SHARED_DATA
from tokenmill.flows import cli

STEPS = ["normalize", {"gopher_quality": {"min_stop_words": None}}, "exact", "near"]
FIGURES = ("wall_s", "cpu_s", "peak_gb", "read_gb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="where the corpus stays; else it goes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command:
        sys.stderr.write(json.dumps(cost(options.command)) + "\n")
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        for name, gb in (("a thousandth", options.gb / 1000), ("all", options.gb)):
            recipe = corpus(folder / f"{gb:g}GB", int(gb * 1e9))
            sys.stdout.write(f"\n{name} of {options.gb:g} GB\n\n")
            sys.stdout.write("\n".join(table(recipe, Path(scratch) / name)) + "\n")
            sys.stdout.flush()


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


def table(recipe: Path, out: Path) -> list[str]:
    """A line for each command, and what was predicted beside what was made."""
    out.mkdir()
    estimate, run = str(out / "estimate.json"), str(out / "run")
    made = [
        "| command | wall, s | CPU, s | peak memory, GB | read, GB |",
        "|---|---|---|---|---|",
    ]
    for name, more in (("measure", ["--out", estimate]), ("prepare", ["--out", run])):
        forget(recipe.parent / "docs.jsonl")
        found = apart([name, str(recipe), *more, "--json"])
        made.append(f"| {name} | {' | '.join(f'{found[figure]:.3g}' for figure in FIGURES)} |")
    rows = json.loads(Path(run, "report.json").read_text())
    made += ["", f"{sum(step['cpu_s'] for step in rows['steps']):.4g} CPU s in steps of the run"]
    again = ["prepare", str(recipe), "--out", run, "--estimate", estimate]
    told = subprocess.run(
        [sys.executable, "-m", "tokenmill.flows.cli", *again],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [*made, "", told.stdout]


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
