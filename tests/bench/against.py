"""What an increment costs beside running everything again.

    python -m tests.bench.against [--mb 300] [--new 10%] [--repeat 3]

Real text, repeated with words replaced as for `tests.bench.gigabyte`: three documents of a hundred
come again as they are, seven nearly so. The old part is run once, with an index. Then, in turn: the
new part against it, the new part alone, and both parts in one run; each in a process of its own.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.gigabyte import STEPS, apart, lines
from tests.conftest import SHARED_DATA

FIGURES = ("wall_s", "cpu_s", "works_s", "peak_gb", "read_gb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mb", type=float, default=300, help="of the old part")
    parser.add_argument("--new", type=float, default=0.1, help="as large, of the new part")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        old, new = parts(folder, int(options.mb * 1e6), options.new)
        first = prepare(folder, "old", [old], keep_index=True)
        found: dict[str, list[dict[str, Any]]] = {"against": [], "alone": [], "all": []}
        for _ in range(options.repeat):
            found["against"].append(prepare(folder, "new", [new], against=["old"]))
            found["alone"].append(prepare(folder, "alone", [new]))
            found["all"].append(prepare(folder, "all", [old, new]))
        for line in table(folder, first, found):
            sys.stdout.write(f"{line}\n")


def parts(folder: Path, size: int, share: float) -> tuple[Path, Path]:
    """The old and the new part of a corpus, as two files."""
    old, new = folder / "old.jsonl", folder / "new.jsonl"
    made = 0
    with old.open("w", encoding="utf-8") as a, new.open("w", encoding="utf-8") as b:
        for line in lines(int(size * (1 + share))):
            (a if made < size else b).write(line)
            made += len(line)
    return old, new


def prepare(
    folder: Path,
    name: str,
    inputs: Sequence[Path],
    *,
    against: Sequence[str] = (),
    keep_index: bool = False,
) -> dict[str, Any]:
    """What a run costs, made anew; only runs that others stand against stay."""
    recipe, out = folder / f"{name}.json", folder / name
    data = {
        "name": name,
        "inputs": [{"path": str(path), "source": "docs"} for path in inputs],
        "steps": STEPS,
        "tokenizer": {"path": str(SHARED_DATA / "tokenizers" / "gpt2.json")},
        "shard_bytes": "32MB",
        "against": [str(folder / run) for run in against],
        "run": {"keep_index": keep_index},
    }
    recipe.write_text(json.dumps(data))
    shutil.rmtree(out, ignore_errors=True)
    cost = apart(["prepare", str(recipe), "--out", str(out), "--json"])
    steps = json.loads((out / "report.json").read_text())["steps"]
    return {**cost, "works_s": sum(step["cpu_s"] for step in steps)}


def table(folder: Path, first: dict[str, Any], found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Medians of what each run cost, and what the increment kept beside the one run."""
    made = [
        "| run | wall, s | CPU, s | of it in works, s | peak memory, GB | read, GB |",
        "|---|---|---|---|---|---|",
        _row("the old part, once", [first]),
        _row("the new part against it", found["against"]),
        _row("the new part alone", found["alone"]),
        _row("both parts in one run", found["all"]),
    ]
    docs = {name: kept(folder / name) for name in ("old", "new", "alone", "all")}
    index = sum(path.stat().st_size for path in (folder / "old" / "index").iterdir())
    times = [
        _median(found["all"], of) / _median(found["against"], of) for of in ("cpu_s", "works_s")
    ]
    return [
        *made,
        "",
        f"both parts in one run take {times[0]:.1f}x the CPU time of the new part against the old,"
        f" {times[1]:.1f}x in works",
        f"documents kept: {docs['old']:,} + {docs['new']:,} against, {docs['all']:,} in one run,"
        f" {docs['alone']:,} of the new part alone",
        f"index: {index / 1e6:,.1f} MB, {index / docs['old']:,.0f} bytes a document",
    ]


def kept(out: Path) -> int:
    report = json.loads((out / "report.json").read_text())
    return int(report["measurement"]["total"]["docs"])


def _row(name: str, runs: Sequence[dict[str, Any]]) -> str:
    return f"| {name} | {' | '.join(f'{_median(runs, figure):.3g}' for figure in FIGURES)} |"


def _median(runs: Sequence[dict[str, Any]], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


if __name__ == "__main__":
    main()
