"""Measure speed against the field's tools. Run: make bench, or python -m tests.bench [STEP …]

All steps together write results.json and the table of tests/README.md; chosen ones are only shown,
or put in place of what the table has of them (--save), each with its day.
"""

import argparse
import fnmatch
import json
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tests.bench import corpus, environment
from tests.bench.cases import CASES, Case
from tests.bench.measure import ROOT, Bench, measured
from tests.bench.table import put_in, render
from tokenmill.pipelines.prepare.demo import END, VOCAB_SIZE

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "tests" / "README.md"
DATA = ROOT.parent / "shared" / "data"
FOLDER = ROOT / ".venv-bench"
OURS = ("datasets", "gigatoken", "isal", "numba", "numpy", "orjson", "pyarrow", "tokenizers",
        "xxhash")  # fmt: skip
QUICK_SHARE, QUICK_REPEATS = 0.1, 1
UNFAIR = (
    "Slow tools are given the first part of the text only; the megabytes are in"
    " `tests/bench/results.json`, with peak memory and start-up of each.",
    "Our kernels are compiled before the clock starts, as every tool is given a first,"
    " small input: the seconds are under `warm_s`.",
    "Which words a tool counts decides which documents its filters keep: see `counts`.",
)


def main() -> None:
    args = arguments()
    bench = prepared(args.data, args.folder, quick=args.quick, repeats=args.repeats)
    before = json.loads(RESULTS.read_text("utf-8")) if args.steps and args.save else None
    if before and (before["machine"], before["quick"]) != (machine(), args.quick):
        sys.exit(f"{RESULTS.name} is of another machine, or of quick runs; measure all steps, or"
                 " these without --save")  # fmt: skip
    chosen = [case for case in CASES if wanted(case, args.steps)]
    if not chosen:
        sys.exit(f"no step matches {args.steps}; steps are {', '.join(c.name for c in CASES)}")
    steps = [measured(bench, case, say) for case in chosen]
    results = described(bench, args, steps)
    if before:
        results["steps"] = merged(before["steps"], results["steps"])
    print(render(results))
    if not args.steps or args.save:
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        put_in(PAGE, results)


def merged(before: list[dict[str, Any]], steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps in the order of `CASES`: those measured now, the others as they were."""
    by_name = {step["name"]: step for step in (*before, *steps)}
    return [by_name[case.name] for case in CASES if case.name in by_name]


def arguments() -> argparse.Namespace:
    ask = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    ask.add_argument("steps", nargs="*", help="names or patterns of steps; none is all")
    ask.add_argument("--quick", action="store_true", default=bool(os.environ.get("BENCH_QUICK")),
                     help="a tenth of the text, once (BENCH_QUICK=1)")  # fmt: skip
    ask.add_argument("--data", type=Path, default=DATA, help="a folder with text/ and tokenizers/")
    ask.add_argument("--folder", type=Path, default=FOLDER,
                     help="environments, corpus, scratch")  # fmt: skip
    ask.add_argument("--repeats", type=int, help="of each tool and step")
    ask.add_argument("--save", action="store_true", help="write results for chosen steps too")
    ask.add_argument("--table", action="store_true", help="only render results.json again")
    args = ask.parse_args()
    if args.table:
        put_in(PAGE, json.loads(RESULTS.read_text("utf-8")))
        sys.exit(0)
    return args


def wanted(case: Case, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch.fnmatch(case.name, f"*{p}*") for p in patterns)


def prepared(
    data: Path = DATA, folder: Path = FOLDER, *, quick: bool, repeats: int | None
) -> Bench:
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    text = (data / "text").absolute()
    tokenizer = find_tokenizer(data.absolute(), folder, text)
    return Bench(
        folder=folder,
        data=text,
        tokenizer=tokenizer,
        eos=(END, Tokenizer.from_file(str(tokenizer)).token_to_id(END)),
        share=QUICK_SHARE if quick else 1.0,
        repeats=repeats or (QUICK_REPEATS if quick else 3),
    )


def find_tokenizer(data: Path, folder: Path, text: Path) -> Path:
    """gpt2's if it is at hand, else a byte-level one trained on the corpus."""
    given = data / "tokenizers" / "gpt2.json"
    made = folder / "tokenizer.json"
    if given.is_file():
        return given
    if not made.is_file():
        corpus.train(corpus.originals(text), VOCAB_SIZE, END).save(str(made))
    return made


def described(bench: Bench, args: argparse.Namespace, steps: list[dict[str, Any]]):
    real_mb = round(sum(len(text.encode()) for text in corpus.originals(bench.data)) / 1e6, 1)
    lists = sorted(p.stem for p in environment.LISTS.glob("*.txt"))
    return {
        "quick": args.quick,
        "repeats": bench.repeats,
        "machine": machine(),
        "corpus": {
            "documents": len(corpus.originals(bench.data)),
            "tokenizer": bench.tokenizer.stem,
            "more_text": bench.data.is_dir(),
        },
        "versions": {
            "tokenmill": {name: version(name) for name in OURS if installed(name)},
            **{name: environment.versions(name) for name in lists},
        },
        "unfair": list(UNFAIR),
        "steps": [{"date": date.today().isoformat(), "real_mb": real_mb, **step} for step in steps],
    }


def installed(name: str) -> bool:
    try:
        return bool(version(name))
    except ModuleNotFoundError:
        return False


def machine() -> dict[str, Any]:
    found = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    python = platform.python_version()
    return {"processor": found, "processors": os.cpu_count(), "python": python}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
