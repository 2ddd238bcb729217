"""`tokenmill size`: what storage a corpus and a cluster ask for. Imports no Arrow, no Prefect."""

import argparse
import math
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rich.table import Table
from rich.text import Text

from tokenmill.flows.exits import OK
from tokenmill.flows.sheets import write_sheet, write_texts
from tokenmill.flows.show import as_json, filled, show, table
from tokenmill.pipelines.core.places import folder_here, is_remote
from tokenmill.sizing.billing import bills
from tokenmill.sizing.comparison import (
    Case,
    compare,
    comparison_json,
    comparison_markdown,
    figures,
    listed,
    parse_variation,
    tier_figures,
    warned,
)
from tokenmill.sizing.report.data import rests_on, sheet_json
from tokenmill.sizing.report.notes import by_image_tokens, chosen_wait, notes
from tokenmill.sizing.report.outline import FIRST, about, answer, first_rows, prepared
from tokenmill.sizing.report.tiers import (
    COSTS_WORDS,
    TIERS,
    bill_table,
    legend,
    remarks,
    tier_table,
)
from tokenmill.sizing.report.tornado import tornado_table
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.requirements import example_names, size
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.verdict import judge

WIDTH = 100  # columns of a terminal that tables keep to
BETWEEN = 2  # columns between two of a table
NAME, HEAD = 28, 14  # widths that the names of figures are broken to, before and above them
CELL = 24  # width that sentences about tiers are broken to
NO_PLAN = (
    "No plan is given, so the model, the cluster and the storage are defaults, not yours: state"
    " them in a file, as model: {params: 8B} and cluster: {count: 64} (keys: sizing/README.md), and"
    " name it: tokenmill size plan.yaml; or name one that ships, as "
)
UNVERIFIED = "* rests on figures that no document was found for; see the sheet"

Columns: TypeAlias = dict[str, tuple[str, ...]]


def run(args: argparse.Namespace) -> int:
    """Size storage from a plan, and from what was measured where a corpus is named."""
    with _corpus(args.corpus) as corpus:
        return _run(args, corpus)


def _corpus(name: str | None) -> AbstractContextManager[Path | None]:
    """The measurement that is named, which may lie on an object store."""
    if name is None or not is_remote(name):
        return nullcontext(None if name is None else Path(name))
    from tokenmill.pipelines.storage.mirror import fetched  # imports Arrow

    return fetched(name, "report.json")


def _run(args: argparse.Namespace, corpus: Path | None) -> int:
    if args.vary:
        return _compare(args, corpus)
    sheet = size(args.plan, corpus=corpus)
    written = [] if args.out is None else write_sheet(folder_here(args.out), sheet)
    if args.json:
        as_json(sheet_json(sheet))
        return OK
    verdicts = judge(sheet)
    tiers, costs = tier_table(verdicts, TIERS), bill_table(bills(sheet, verdicts))
    tables = [(s.title, s.rows) for s in sheet.sections] if args.all else []
    show(
        _unplanned(args),
        [about(sheet), answer(sheet)],
        requirements_table(FIRST, first_rows(sheet), sheet),
        prepared(sheet),
        by_image_tokens(sheet),
        tornado_table(sheet),
        *notes(sheet),
        *map(warning, sheet.warnings),
        filled(table(TIERS, [c.name for c in tiers.columns], tiers.rows)),
        [*legend(tiers), *remarks(verdicts)] if tiers.rows else [],
        costs,
        COSTS_WORDS if costs else None,
        *(requirements_table(title, rows, sheet) for title, rows in tables),
        [
            UNVERIFIED,
            _where(
                written, "--out FOLDER writes the whole sheet, with formulas, inputs and sources"
            ),
        ],
    )
    return OK


def _unplanned(args: argparse.Namespace) -> str | None:
    return None if args.plan is not None else f"{NO_PLAN}{', '.join(example_names())}"


def requirements_table(title: str, of: Sequence[Requirement], sheet: Sheet) -> Table | None:
    """Rows of the sheet; without a column of intervals where there are none."""
    columns = ["", ">value", "95 % interval", "rests on"]
    mark = (", unverified", " *")
    cells = [
        [row.name, row.shown, row.between, rests_on(row, sheet.rows).replace(*mark)] for row in of
    ]
    if not any(cell[2] for cell in cells):
        for line in (columns, *cells):
            del line[2]
    return filled(table(title, columns, cells))


def warning(sentence: str) -> Text:
    return Text.assemble(("warning: ", "bold yellow"), sentence)


def _where(written: Sequence[Path], otherwise: str) -> str:
    return "\n".join(map(str, written)) or otherwise


def _compare(args: argparse.Namespace, corpus: Path | None) -> int:
    cases = compare(args.plan, [parse_variation(text) for text in args.vary], corpus=corpus)
    data, written = comparison_json(cases), []
    if args.out is not None:
        texts = {"comparison.md": comparison_markdown(cases), "comparison.json": data}
        written = write_texts(folder_here(args.out), texts)
    if args.json:
        as_json(data)
        return OK
    grids = (*side_by_side(cases), *tiers_side_by_side(cases))
    show(
        _unplanned(args),
        *(table("", grid.columns, grid.rows) for grid in grids),
        chosen_wait(cases[0].sheet, f", with {listed(cases[0].changes)}"),
        *map(warning, warned(cases)),
        _where(written, "--out FOLDER writes the comparison, with intervals"),
    )
    return OK


class Grid(NamedTuple):
    """columns: as `flows.show.table` takes them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(cases: Sequence[Case]) -> list[Grid]:
    """The headline of each case: across where all have room, else down, in tables that fit."""
    return _fitted(cases, figures(cases), ">")


def tiers_side_by_side(cases: Sequence[Case]) -> list[Grid]:
    """What to buy of each tier in each case, laid out as the headline is."""
    tiers = tier_figures([case.sheet for case in cases])
    broken = {
        name: tuple(textwrap.fill(cell, CELL) for cell in cells) for name, cells in tiers.items()
    }
    return _fitted(cases, broken, "")


def _fitted(cases: Sequence[Case], rows: Columns, mark: str) -> list[Grid]:
    """mark: ">" aligns the cells to the right."""
    across = _across(cases, rows, mark)
    return [across] if _width(across) <= WIDTH else _down(cases, rows, mark)


def _across(cases: Sequence[Case], of: Columns, mark: str) -> Grid:
    """A column for each case; its settings are the head."""
    keys = list(cases[0].changes)
    heads = ["\n".join(case.changes.values()) for case in cases]
    rows = tuple((textwrap.fill(name, NAME), *values) for name, values in of.items())
    return Grid(("\n".join(keys), *(f"{mark}{head}" for head in heads)), rows)


def _down(cases: Sequence[Case], of: Columns, mark: str) -> list[Grid]:
    """A row for each case, in as few tables as the figures need; its settings begin each."""
    settings = {key: tuple(c.changes[key] for c in cases) for key in cases[0].changes}
    columns = {
        f"{mark}{textwrap.fill(name, max(HEAD, *map(_broad, values)))}": values
        for name, values in of.items()
    }
    items, n = list(columns.items()), len(columns)
    for n_tables in range(1, n + 1):
        size = math.ceil(n / n_tables)  # of each table, so that the last has its share
        parts = [settings | dict(items[at : at + size]) for at in range(0, n, size)]
        grids = [Grid(tuple(p), tuple(zip(*p.values(), strict=True))) for p in parts]
        if all(_width(grid) <= WIDTH for grid in grids):
            break
    return grids


def _width(grid: Grid) -> int:
    lines = [grid.columns, *grid.rows]
    widest = [
        max(_broad(cell.removeprefix(">")) for cell in column)
        for column in zip(*lines, strict=True)
    ]
    return sum(widest) + BETWEEN * (len(widest) - 1)


def _broad(cell: str) -> int:
    """Columns that a cell of several lines takes."""
    return max(map(len, cell.split("\n")))
