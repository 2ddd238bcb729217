"""Cases compared on a terminal: across where all have room, else down, in tables that fit."""

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tokenmill.sizing.comparison import Case, figures, tier_figures

WIDTH = 100  # columns of a terminal that tables keep to
BETWEEN = 2  # columns between two of a table
NAME, HEAD = 28, 14  # widths that the names of figures are broken to, before and above them
CELL = 24  # width that sentences about tiers are broken to

Columns: TypeAlias = dict[str, tuple[str, ...]]


class Grid(NamedTuple):
    """columns: as `flows.show.table` takes them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(cases: Sequence[Case]) -> list[Grid]:
    """The headline of each case: one table, or several where the figures need them."""
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
    for most in range(len(columns), 0, -1):
        parts = _chunks(columns, _even(len(columns), most))
        grids = [_grid({**settings, **part}) for part in parts]
        if all(_width(grid) <= WIDTH for grid in grids):
            break
    return grids


def _chunks(columns: Columns, size: int) -> list[Columns]:
    names = list(columns)
    return [
        {name: columns[name] for name in names[at : at + size]} for at in range(0, len(names), size)
    ]


def _even(n: int, most: int) -> int:
    """How many of `n` columns each table gets, at most `most`, so that the last has its share."""
    return math.ceil(n / math.ceil(n / most))


def _grid(columns: Columns) -> Grid:
    return Grid(tuple(columns), tuple(zip(*columns.values(), strict=True)))


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
