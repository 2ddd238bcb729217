"""`tokenmill contamination`: which benchmark items a corpus holds, and in which documents."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any, Literal

from dedup.fold import FOLDINGS
from dedup.ngram_index import MAX_NGRAM
from flows.cli import NO
from flows.contamination_tables import show_report
from flows.progress import watching
from flows.server import embedded_server
from flows.settings import run_settings
from flows.show import as_json
from flows.troubles import exit_code
from pipelines.benchmark.known import read_known
from pipelines.benchmark.spec import FORM, parse_benchmark
from pipelines.contamination.copies import Copies
from pipelines.contamination.job import Check, ContaminationJob
from pipelines.contamination.matching import Folds, Matching
from pipelines.contamination.run import finished_report, opened, plan_check
from pipelines.errors import ConfigError
from pipelines.run_options import RunOptions
from pipelines.shard import Input
from sizing.nearest import nearest
from sizing.percent import parse_fraction

MOST_FILES = 10  # of a benchmark, named
OTHER_NAMES = {"accents": ["marks"], "diacritics": ["marks"], "homoglyphs": ["confusables"]}


def run(args: argparse.Namespace) -> int:
    """Look for benchmark items in a corpus, and show what was found."""
    check, out = parse_check(args), Path(args.out)
    report = check_with_progress(check, out, quiet=args.json)
    if args.json:
        as_json(report)
    else:
        show_report(report, out)
    return NO if args.fail_on_hit and has_hit(report) else exit_code(report)


def check_with_progress(check: Check, out: Path, *, quiet: bool) -> dict[str, Any]:
    """Run the flow against the user's Prefect server, or against one of its own."""
    with opened(check, out, plan_check(check)) as job:
        if not quiet:
            sys.stderr.writelines(f"{line}\n" for line in several_files(job))
        found = finished_report(job)  # this, and the user's mistakes, before a server is started
    if found is not None:
        return found
    with watching(quiet=quiet), embedded_server():
        from flows.contamination import contamination_flow  # Prefect reads its settings then

        return contamination_flow(check, out)


def several_files(job: ContaminationJob) -> list[str]:
    """A line for each benchmark that is read from more than one file: perhaps it should not be."""
    benchmarks = zip(job.check.matching.benchmarks, job.benchmark_files, strict=True)
    return [
        f"benchmark {benchmark.name!r}: {len(files)} files of {benchmark.path}:"
        f" {', '.join(files[:MOST_FILES])}{', …' if len(files) > MOST_FILES else ''}"
        for benchmark, files in benchmarks
        if len(files) > 1
    ]


def has_hit(report: dict[str, Any]) -> bool:
    """Whether any item of any benchmark stands in the corpus, perhaps edited or all over it."""
    kinds = ("dirty", "found_whole", "edited", "widespread")
    return any(b[kind] for b in report["benchmarks"] for kind in kinds)


def parse_check(args: argparse.Namespace) -> Check:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    if not args.benchmark:
        names = ", ".join(known.name for known in read_known())
        raise ConfigError(
            f"no --benchmark; write --benchmark {FORM}, or the name alone of one that is read"
            f" from the hub: {names}"
        )
    benchmarks = tuple(parse_benchmark(spec) for spec in args.benchmark)
    names = [benchmark.name for benchmark in benchmarks]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--benchmark {name!r} stands twice; give each its own name")
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"--workers {args.workers}: must be 1 at least")
    matching = Matching(
        benchmarks=benchmarks,
        ngram=_ngram(args.ngram),
        folding=_folds(args.folding),
        most_docs=_most_docs(args.most_docs),
    )
    inputs = tuple(Input(path=path, text=args.text_column) for path in args.paths)
    copies = _copies(args.containment)
    run = {key.removeprefix("run."): value for key, value in run_settings(args).items()}
    return Check(inputs=inputs, matching=matching, copies=copies, run=RunOptions(**run))


def _ngram(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if text.isdecimal() and 1 <= int(text) <= MAX_NGRAM:
        return int(text)
    raise ConfigError(f"--ngram {text!r}: write a number of words, 1 to {MAX_NGRAM}, or auto")


def _most_docs(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isdecimal() and int(text)):
        raise ConfigError(
            f"--most-docs {text!r}: write a number of documents, 1 at least; none is no limit"
        )
    return int(text)


def _copies(text: str) -> Copies | None:
    """Short texts are held to the default of `Copies` at least."""
    if text == "none":
        return None
    with contextlib.suppress(ValueError):
        least = Copies(threshold=parse_fraction(text))
        short = max(least.threshold, least.short_threshold)
        return least.model_copy(update={"short_threshold": short})
    raise ConfigError(f"--containment {text!r}: write a share above 0, up to 1 (100%), or none")


def _folds(text: str | None) -> Folds:
    """None is the default of `Folds`."""
    if text is None:
        return Folds()
    if text in ("all", "none"):
        return Folds(**dict.fromkeys(FOLDINGS, text == "all"))
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - set(FOLDINGS))
    if unknown:
        near = OTHER_NAMES.get(unknown[0]) or nearest(unknown[0], FOLDINGS, most=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"--folding {unknown[0]!r}: no such folding; {hint}write all, none, or some of"
            f" {', '.join(FOLDINGS)} with commas between them"
        )
    return Folds(**{name: name in names for name in FOLDINGS})
