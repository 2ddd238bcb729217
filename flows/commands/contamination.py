"""`tokenmill contamination`: which benchmark items a corpus holds, and in which documents."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from rich.text import Text

from tokenmill.dedup.overlap.index import MAX_NGRAM
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.flows.asked import ask_check, check_of
from tokenmill.flows.commands.shared import result_of, run_settings, server_ahead
from tokenmill.flows.exits import NO, PARTIAL
from tokenmill.flows.show import as_json, beside, of_page, printable, show
from tokenmill.flows.troubles import MOST_FAILURES, alike, bounded, exit_code, failures
from tokenmill.pipelines.contamination.check import DOCUMENT, Check, ContaminationJob
from tokenmill.pipelines.contamination.copies import Copies
from tokenmill.pipelines.contamination.index import Folds
from tokenmill.pipelines.contamination.model import Report
from tokenmill.pipelines.contamination.paraphrases import Paraphrasing
from tokenmill.pipelines.contamination.report import unsearched
from tokenmill.pipelines.contamination.report_found import (
    PAGE_ONLY,
    found_in_short,
    found_sections,
    items_table,
    warnings,
)
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.read.plan import texts_from, unlike
from tokenmill.pipelines.read.readers import passed_over
from tokenmill.sizing.document import section
from tokenmill.sizing.document.section import count
from tokenmill.sizing.errors import nearest
from tokenmill.sizing.units import format_bytes, parse_fraction

MOST_FILES = 10  # of a benchmark, named
OTHER_NAMES = {"accents": ["marks"], "diacritics": ["marks"], "homoglyphs": ["confusables"]}
# what --fail-on-hit may end with 1 for, and of each the count of items; without --fail-on
# FOUND_KINDS
FAIL_KINDS = {
    "dirty": "found_items",
    "widespread": "widespread",
    "edited": "edited",
    "context": "context_found",
    "part": "some",
    "only-context": "only_context",
    "untestable": "untestable",
    "paraphrase": "paraphrased",
}
FOUND_KINDS = ("dirty", "widespread", "edited", "context")
MOST_ROWS = 5
# tables of the page that are shown, by their sections
SHOWN = {
    "benchmarks": slice(1, None),  # the first stands above, without columns
    **dict.fromkeys(("documents", "sources", "contexts"), slice(None)),
}
# of each kind of examples
MOST_SHOWN = {"examples": 3, "widespread": 2, "edited": 2, "paraphrases": 2}


def run(args: argparse.Namespace) -> int:
    """Look for benchmark items in a corpus, and show what was found."""
    if args.fail_on is not None and not args.fail_on_hit:
        raise ConfigError(
            f"--fail-on {args.fail_on}: says which hits --fail-on-hit is for; give both"
        )
    kinds = _kinds(args.fail_on)
    if "paraphrase" in kinds and args.paraphrases == "none":
        raise ConfigError("--fail-on paraphrase: none is looked for; give --paraphrases on too")
    asked = ask_check(parse_check(args), args.out)
    if not args.json:
        before = [*several_files(asked.job), *unlike(texts_from(asked.plan))]
        failed = alike((f.path, f.message) for f in asked.plan.failed)
        before += bounded([f"cannot be read: {told}" for told in failed], DOCUMENT)
        sys.stderr.writelines(f"{line}\n" for line in before)
    shown = {"corpus": args.paths, "benchmarks": args.benchmark, "text_column": args.text_column}
    report = asked.report
    if report is None:
        for name in ("ngram", "most_docs", "folding"):
            shown[name] = getattr(asked.what.matching, name)
        names = ("verdict", "copies", "paraphrases", "run")
        shown |= {name: getattr(asked.what, name) for name in names}
        with server_ahead() as server:
            from tokenmill.flows.doing.contamination import check_corpus

            found = result_of(
                *("check-contamination", asked, lambda: check_corpus(asked), shown),
                quiet=args.json,
                server=server,
            )
        report = Report.model_validate(found)
    if args.json:
        as_json(report.to_json())
    else:
        show_report(report, asked.out)
    if args.fail_on_hit and has_hit(report, kinds):
        return NO
    return PARTIAL if report.documents.failed else exit_code(report)


def several_files(job: ContaminationJob) -> list[str]:
    """A line for each benchmark that is read from more than one file: perhaps it should not be."""
    benchmarks = zip(job.check.matching.benchmarks, job.benchmark_files, strict=True)
    return [
        f"benchmark {benchmark.name!r}: {len(files)} files of {benchmark.path}:"
        f" {', '.join(files[:MOST_FILES])}{', …' if len(files) > MOST_FILES else ''}"
        for benchmark, files in benchmarks
        if len(files) > 1
    ]


def has_hit(report: Report, kinds: Sequence[str]) -> bool:
    """Whether any item of any benchmark is of one of these kinds, keys of `FAIL_KINDS`."""
    return any(report.total(FAIL_KINDS[kind]) for kind in kinds)


def _kinds(text: str | None) -> Sequence[str]:
    """None is `FOUND_KINDS`."""
    kinds = FOUND_KINDS if text is None else [kind.strip() for kind in text.split(",")]
    if unknown := [kind for kind in kinds if kind not in FAIL_KINDS]:
        near, known = nearest(unknown[0], FAIL_KINDS, most=1), f"some of {', '.join(FAIL_KINDS)}"
        raise _unknown(f"--fail-on {unknown[0]!r}: no such kind", near, known)
    return kinds


def _unknown(what: str, near: Sequence[str], known: str) -> ConfigError:
    """What to say of a word that is none of those that an option takes."""
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ConfigError(f"{what}; {hint}write {known} with commas between them")


def parse_check(args: argparse.Namespace) -> Check:
    """What the command line asks for; ConfigError names the option and the way out."""
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
        paraphrases=_paraphrases(args.paraphrases),
        verdict=_verdict(args.verdict),
        text_column=args.text_column,
        exclude=args.exclude,
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


def _paraphrases(text: str) -> Paraphrasing | None:
    if text in ("none", "on"):
        return Paraphrasing() if text == "on" else None
    with contextlib.suppress(ValueError):
        return Paraphrasing(score=float(text))
    raise ConfigError(f"--paraphrases {text!r}: write on, a score above 0, or none")


def _verdict(text: str) -> float | Literal["gpt3"]:
    if text == "gpt3":
        return "gpt3"
    with contextlib.suppress(ValueError):
        share = parse_fraction(text)
        if 0 < share <= 1:
            return share
    raise ConfigError(f"--verdict {text!r}: write a share above 0, up to 1 (100%), or gpt3")


def _folds(text: str | None) -> Folds:
    """None is the default of `Folds`."""
    if text is None:
        return Folds()
    if text in ("all", "none"):
        return Folds(**dict.fromkeys(FOLDINGS, text == "all"))
    names = {name.strip() for name in text.split(",")}
    if unknown := sorted(names - set(FOLDINGS)):
        near = OTHER_NAMES.get(unknown[0]) or nearest(unknown[0], FOLDINGS, most=1)
        known = f"all, none, or some of {', '.join(FOLDINGS)}"
        raise _unknown(f"--folding {unknown[0]!r}: no such folding", near, known)
    return Folds(**{name: name in names for name in FOLDINGS})


def show_report(report: Report, out: Path) -> None:
    """Print what was found, in the order a reader asks."""
    read, folder = count(report.documents.read, "document"), out.absolute()
    first, *others = found_in_short(report, read)
    *page, ignored = found_sections(report, MOST_ROWS)
    show(
        [
            f"{read}, {format_bytes(report.documents.text_bytes)} of text,"
            f" searched for {count(report.total('items'), 'item')}",
            first,
            *(Text(line, style="bold red") for line in unsearched(report)),
            *others,
        ],
        items_table(report, "items of benchmarks", PAGE_ONLY),
        *of_page(page, SHOWN),
        *ignored.blocks,
        *map(beside, examples(page)),
        [
            *_troubles(report),
            *(f"{k:<9} {folder / report.files[k]}" for k in ("report", "items", "overlaps")),
        ],
    )


def examples(page: Sequence[section.Section]) -> Iterator[section.Comparison]:
    """Those of the page, of each kind some, the first of each benchmark first."""
    for part in page:
        rows = [block.rows for block in part.blocks if isinstance(block, section.Comparisons)]
        in_turn = [row for turn in zip_longest(*rows) for row in turn if row is not None]
        yield from in_turn[: MOST_SHOWN.get(part.key, 0)]


def _troubles(report: Report) -> list[str | Text]:
    """What failed, in red, between warnings and what was not read."""
    lost = failures(report)
    first = report.documents.first_failed or {}
    for cause, n in report.documents.failed.items():
        told = f", the first: {first[cause]}" if cause in first else ""
        lost.append(f"{count(n, 'document')} failed as {cause}{told}")
    lines = [f"warning: {line}" for line in warnings(report)][:MOST_FAILURES]
    red = [Text(printable(line), style="bold red") for line in bounded(lost, DOCUMENT)]
    return [*lines, *red, *passed_over(report.inputs.skipped, MOST_FILES)]
