"""Run cases: a process for each tool and repetition, the tools of a step taking turns."""

import json
import os
import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import corpus, environment
from tests.bench.cases import TOOLS, Case, Entry
from tests.bench.image_shards import image_shards

ROOT = Path(__file__).parent.parent.parent
WORKER = Path(__file__).with_name("worker.py")
WARM_MB = 0.5
LEAST_MB = 2.0  # under it a fast tool is done before the clock has ticked often enough
TIMEOUT_S = 1200
SHOWN_ERROR = 300
FOLDERS = re.compile(r"(?<![\w/])/(?:[^\s/'\"]+/)*")  # where things lie here is nobody's business
ONE_THREAD = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
QUIET = {
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "DAFT_PROGRESS_BAR": "0",
    "NO_ALBUMENTATIONS_UPDATE": "1",
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where things lie and how long to measure.

    folder: environments, corpus and scratch space.  data: more real text, if it is there.
    share: of each tool's megabytes.  repeats: of each tool and step.
    """

    folder: Path
    data: Path
    tokenizer: Path
    eos: tuple[str, int]
    share: float
    repeats: int

    def part(self, mb: float) -> Path:
        return corpus.part(self.folder / "corpus", mb, self.data)

    def mb(self, entry: Entry) -> float:
        return min(entry.mb, max(entry.mb * self.share, LEAST_MB))


def measured(bench: Bench, case: Case, say: Callable[[str], None]) -> dict[str, Any]:
    """All tools of a step: A B C, A B C, A B C.

    Returns a row for each tool; one that failed has its reason in the place of figures.
    """
    costs: list[list[dict[str, Any]]] = [[] for _ in case.entries]
    failed: dict[int, str] = {}
    for turn in range(bench.repeats):
        for i, entry in enumerate(case.entries):
            if i in failed:
                continue
            try:
                costs[i].append(once(bench, entry))
            except (environment.InstallError, ToolError) as e:
                failed[i] = FOLDERS.sub("", str(e))[:SHOWN_ERROR]
            outcome = failed.get(i) or f"{costs[i][-1]['cpu_s']:.2f} CPU s"
            say(f"{case.name}: {entry.label}, {turn + 1} of {bench.repeats}: {outcome}")
    rows = [
        {"tool": e.label, "unfair": e.unfair, **({"failed": failed[i]} if i in failed else {})}
        for i, e in enumerate(case.entries)
    ]
    for i, row in enumerate(rows):
        if i not in failed:
            row |= figures(bench.part(bench.mb(case.entries[i])), case, costs[i])
    rows = with_ratios(rows, docs=case.docs)
    return {"name": case.name, "title": case.title, "unit": case.unit, "rows": rows}


class ToolError(Exception):
    """A tool ended with an error; the message is the last it said."""


def once(bench: Bench, entry: Entry) -> dict[str, Any]:
    """One repetition of one tool, in a process of its own, on one processor."""
    python = environment.python(entry.environment, bench.folder)
    scratch = bench.folder / "scratch"
    scratch.mkdir(exist_ok=True)
    given = {
        "tool": str(TOOLS / f"{entry.tool}.py"),
        "step": entry.step,
        "warm": str(bench.part(WARM_MB)),
        "part": str(bench.part(bench.mb(entry))),
        "scratch": str(scratch),
        "root": str(ROOT) if entry.environment is None else "",
        "core": _core(),
    }
    command = [python, str(WORKER), json.dumps(given)]
    surroundings = _surroundings(bench)
    if entry.step.startswith("images"):
        surroundings["BENCH_IMAGES"] = str(image_shards(bench.folder, bench.data))
    try:
        ended = subprocess.run(
            command, env=surroundings, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"not done after {TIMEOUT_S} s") from None
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines() or ["killed"]
        raise ToolError(said[-1])
    cost: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return cost


def figures(part: Path, case: Case, costs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of what the repetitions of one tool cost; the repetitions themselves beside them.

    A tool that was not given the whole part, or another text, says so in its counts.
    """
    of_part = json.loads((part / "info.json").read_text())["text_bytes"]
    text_mb = costs[-1]["counts"].get("text_bytes", of_part) / 1e6
    middle = {key: statistics.median(c[key] for c in costs) for key in costs[0] if key != "counts"}
    counts = costs[-1]["counts"]
    speed = 1e6 * middle["cpu_s"] / counts["docs"] if case.docs else text_mb / middle["cpu_s"]
    return {
        "mb": round(text_mb, 2),
        "speed": _significant(speed),
        "cpu_s": [round(c["cpu_s"], 4) for c in costs],
        "wall_s": [round(c["wall_s"], 4) for c in costs],
        "peak_mb": round(middle["peak_mb"]),
        "before_mb": round(middle["before_mb"]),
        "import_s": round(middle["import_s"], 2),
        "warm_s": round(middle["warm_s"], 2),
        "counts": counts,
    }


def with_ratios(rows: list[dict[str, Any]], *, docs: bool) -> list[dict[str, Any]]:
    """Say of each peer how many times as long it takes as we do: above 1 we are faster."""
    first = rows[0]
    for row in rows[1:]:
        if "speed" in row and "speed" in first:
            slower, faster = (row, first) if docs else (first, row)
            row["ratio"] = _significant(slower["speed"] / faster["speed"])
    return rows


def _significant(x: float) -> float:
    return float(f"{x:.3g}")


def _core() -> int | None:
    """The last processor this process may use: the first are the busiest."""
    try:
        return max(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return None


def _surroundings(bench: Bench) -> dict[str, str]:
    end, end_id = bench.eos
    return {
        **os.environ,
        **QUIET,
        **dict.fromkeys(ONE_THREAD, "1"),
        "BENCH_DATA": str(bench.data),
        "HF_HOME": str(bench.folder / "scratch" / "hf"),
        "BENCH_TOKENIZER": str(bench.tokenizer),
        "BENCH_EOS": end,
        "BENCH_EOS_ID": str(end_id),
    }
