"""`tokenmill contamination`: which benchmark items a corpus holds, and in which documents."""

import argparse
import contextlib
import sys
from typing import Literal

from tokenmill.dedup.fold import FOLDINGS
from tokenmill.dedup.ngram_index import MAX_NGRAM
from tokenmill.flows.asked import ask_check, check_of
from tokenmill.flows.commands.shared import result_of, run_settings
from tokenmill.flows.contamination_tables import show_report
from tokenmill.flows.exits import NO
from tokenmill.flows.show import as_json
from tokenmill.flows.troubles import exit_code
from tokenmill.pipelines.contamination.check import Check, ContaminationJob
from tokenmill.pipelines.contamination.copies import Copies
from tokenmill.pipelines.contamination.index import Folds
from tokenmill.pipelines.contamination.model import Report
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.sizing.nearest import nearest
from tokenmill.sizing.percent import parse_fraction

MOST_FILES = 10  # of a benchmark, named
OTHER_NAMES = {"accents": ["marks"], "diacritics": ["marks"], "homoglyphs": ["confusables"]}


def run(args: argparse.Namespace) -> int:
    """Look for benchmark items in a corpus, and show what was found."""
    asked = ask_check(parse_check(args), args.out)
    if not args.json:
        sys.stderr.writelines(f"{line}\n" for line in several_files(asked.job))
    shown = {"corpus": args.paths, "benchmarks": args.benchmark, "text_column": args.text_column}
    report = asked.report
    if report is None:
        for name in ("ngram", "most_docs", "folding"):
            shown[name] = getattr(asked.what.matching, name)
        shown |= {"copies": asked.what.copies, "run": asked.what.run}
        report = Report.model_validate(result_of("contamination", asked, shown, quiet=args.json))
    if args.json:
        as_json(report.to_json())
    else:
        show_report(report, asked.out)
    return NO if args.fail_on_hit and has_hit(report) else exit_code(report)


def several_files(job: ContaminationJob) -> list[str]:
    """A line for each benchmark that is read from more than one file: perhaps it should not be."""
    benchmarks = zip(job.check.matching.benchmarks, job.benchmark_files, strict=True)
    return [
        f"benchmark {benchmark.name!r}: {len(files)} files of {benchmark.path}:"
        f" {', '.join(files[:MOST_FILES])}{', …' if len(files) > MOST_FILES else ''}"
        for benchmark, files in benchmarks
        if len(files) > 1
    ]


def has_hit(report: Report) -> bool:
    """Whether any item of any benchmark stands in the corpus, perhaps edited or all over it."""
    return any(report.total(kind) for kind in ("found_items", "edited", "widespread"))


def parse_check(args: argparse.Namespace) -> Check:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"--workers {args.workers}: must be 1 at least")
    run = {key.removeprefix("run."): value for key, value in run_settings(args).items()}
    matching = {
        "ngram": _ngram(args.ngram),
        "folding": _folds(args.folding),
        "most_docs": _most_docs(args.most_docs),
    }
    return check_of(
        args.paths,
        args.benchmark,
        matching,
        copies=_copies(args.containment),
        text_column=args.text_column,
        run=RunOptions(**run),
    )


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
