"""`tokenmill size`: what storage a corpus and a cluster ask for. Imports no Arrow, no Prefect."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tokenmill.flows.cli import OK
from tokenmill.flows.sheet_files import as_text, write_sheet, write_texts
from tokenmill.flows.show import as_json, console, table
from tokenmill.flows.side_by_side import side_by_side, tiers_side_by_side
from tokenmill.pipelines.core.places import folder_here, is_remote
from tokenmill.sizing.comparison import (
    compare,
    comparison_json,
    comparison_markdown,
    parse_variation,
    warned,
)
from tokenmill.sizing.report.data import rests_on, sheet_json
from tokenmill.sizing.report.notes import notes
from tokenmill.sizing.report.outline import FIRST, about, interval, shown
from tokenmill.sizing.report.tiers import TIERS, legend, remarks, tier_table
from tokenmill.sizing.requirement import Requirement, by_name
from tokenmill.sizing.requirements import headline, size
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.verdict import judge


def run(args: argparse.Namespace) -> int:
    """Size storage from a plan, and from what was measured where a corpus is named."""
    with _corpus(args.corpus) as corpus:
        return _run(args, corpus)


@contextmanager
def _corpus(name: str | None) -> Iterator[Path | None]:
    """The measurement that is named, which may lie on an object store."""
    if name is None or not is_remote(name):
        yield None if name is None else Path(name)
        return
    from tokenmill.pipelines.storage.mirror import fetched  # imports Arrow

    with fetched(name, "report.json") as path:
        yield path


def _run(args: argparse.Namespace, corpus: Path | None) -> int:
    if args.vary:
        return _compare(args, corpus)
    sheet = size(args.plan, corpus=corpus)
    written = [] if args.out is None else write_sheet(folder_here(args.out), sheet)
    if args.json:
        as_json(sheet_json(sheet))
        return OK
    show = console()
    show.print(Text(about(sheet)))
    _section(show, FIRST, headline(sheet), sheet)
    show.print()
    for sentence in notes(sheet):
        show.print(Text(f"{sentence}\n"))
    for sentence in sheet.warnings:
        _warn(show, sentence)
    _tiers(show, sheet)
    if args.all:
        for section in sheet.sections:
            _section(show, section.title, section.rows, sheet)
    show.print("\n* rests on figures that no document was found for; see the sheet")
    _where(show, written, "--out FOLDER writes the whole sheet, with formulas, inputs and sources")
    return OK


def _section(show: Console, title: str, of: Sequence[Requirement], sheet: Sheet) -> None:
    """Rows of the sheet; without a column of intervals where there are none."""
    rows, columns = by_name(sheet), ["", ">value", "95 % interval", "rests on"]
    cells = [[row.name, shown(row), interval(row), _basis(row, rows)] for row in of]
    if not any(cell[2] for cell in cells):
        for line in (columns, *cells):
            del line[2]
    if cells:
        show.print()
        show.print(table(title, columns, cells))


def _basis(row: Requirement, rows: Mapping[str, Requirement]) -> str:
    """What a row rests on, "unverified" told by an asterisk."""
    return rests_on(row, rows).replace(", unverified", " *")


def _warn(show: Console, sentence: str) -> None:
    show.print(Text.assemble(("warning: ", "bold yellow"), f"{sentence}\n"))


def _tiers(show: Console, sheet: Sheet) -> None:
    verdicts = judge(sheet)
    made = tier_table(verdicts, TIERS)
    if made.rows:
        show.print(table(TIERS, [c.name for c in made.columns], made.rows))
        show.print()
        for sentence in (*legend(made), *remarks(verdicts)):
            show.print(Text(sentence))


def _where(show: Console, written: Sequence[Path], otherwise: str) -> None:
    show.print("\n".join(str(path) for path in written) if written else otherwise)


def _compare(args: argparse.Namespace, corpus: Path | None) -> int:
    cases = compare(args.plan, [parse_variation(text) for text in args.vary], corpus=corpus)
    data, written = comparison_json(cases), []
    if args.out is not None:
        texts = {"comparison.md": comparison_markdown(cases), "comparison.json": as_text(data)}
        written = write_texts(folder_here(args.out), texts)
    if args.json:
        as_json(data)
        return OK
    show = console()
    for grid in (*side_by_side(cases), *tiers_side_by_side(cases)):
        show.print(table("", grid.columns, grid.rows))
        show.print()
    for sentence in warned(cases):
        _warn(show, sentence)
    _where(show, written, "--out FOLDER writes the comparison, with intervals")
    return OK
