"""What would change the capacity and the reads most: each input varied alone, the five that do."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

from pydantic import ValidationError

from tokenmill.sizing.document.section import NONE, Table, table
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.requirement import Input, leaves
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections.jobs import FIRST
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.units import format_quantity

CAPTION = "What would change it most"
OF_JOBS = f"{CAPTION}, of the plan's own settings"  # those that jobs state are not varied
MOVED = ("raw capacity", "read bandwidth, whole job")
MOST, STEP = 5, 0.2  # inputs that are shown; by how much one without an interval is varied
# what hardware and formats are, of which no fifth more can be had
GIVEN = ("corpus.token_width_bytes", "cluster.dense_flops_per_s", "cluster.per_node")
LEAST = 1e-3  # of a figure, that an input must move it by


@dataclass(frozen=True, kw_only=True)
class Moved:
    """An input, and what each of `MOVED` is at its low and its high end; None: as before.

    ends: of the input, in words.  most: the largest share by which a figure moves.
    fair: share of a move that counts where whole numbers are further apart than a fifth.
    """

    name: str
    ends: str
    figures: tuple[tuple[float, float] | None, ...]
    most: float
    fair: float = 1.0


def tornado(sheet: Sheet) -> tuple[Moved, ...]:
    """The inputs that move most, the greatest first."""
    return moved_by(sheet)[:MOST]


def most_of(sheet: Sheet, name: str) -> tuple[tuple[Moved, tuple[float, float]], ...]:
    """Those that move one of the figures most, the greatest first, and its ends."""
    at, base = MOVED.index(name), sheet[name].value
    found = [(m, pair) for m in moved_by(sheet) if (pair := m.figures[at]) is not None]
    moving = [one for one in found if not _same(sheet, name, one[1])]
    moving.sort(key=lambda one: -one[0].fair * max(abs(end - base) for end in one[1]))
    return tuple(moving[:MOST])


@lru_cache(maxsize=1)  # the terminal, the page and the text show the same
def moved_by(sheet: Sheet) -> tuple[Moved, ...]:
    """What each input moves, the greatest first.

    An input is varied within its interval, and by a fifth where it has none; a share stays one.
    """
    found: dict[str, Input] = {}
    for given in (i for name in MOVED for i in leaves(sheet[name], sheet.rows)):
        if given.key and (given.key not in GIVEN or given.spread):
            found.setdefault(given.key, given)
    if sheet.jobs:  # what a job alone states is no setting of the plan
        own = {i.key: i for row in sheet.jobs[FIRST][1] for i in row.inputs}
        found = {key: own[key] for key in found if key in own}
    made = [*_drawn(sheet), *(m for i in found.values() if (m := _varied(sheet, i)) is not None)]
    return tuple(sorted(made, key=lambda moved: -moved.most * moved.fair))


def _drawn(sheet: Sheet) -> Iterator[Moved]:
    """What was measured with an interval moves figures as their spread tells."""
    stated = {i.key for row in sheet for i in row.inputs if i.key and i.spread}
    for quantity in dict.fromkeys(q for name in MOVED for q in sheet[name].spread):
        if quantity not in stated:
            ends = tuple(
                (min(spread[quantity]), max(spread[quantity])) if quantity in spread else None
                for spread in (sheet[name].spread for name in MOVED)
            )
            yield _moved(sheet, quantity, "95 % interval", ends)


def _varied(sheet: Sheet, given: Input) -> Moved | None:
    """None where a figure cannot be had with another value, as of a number of versions."""
    low, high = given.interval
    if low is None or high is None:
        low, high = given.value * (1 - STEP), given.value * (1 + STEP)
    if given.unit == "fraction":
        high = min(1.0, high)
    key, fair = given.key or "", 1.0
    if isinstance(sheet.plan.value(key), int):
        low, high = round(low), round(high)
        if given.interval == (None, None):
            low, high = min(low, given.value - 1), max(high, given.value + 1)
        low, high = float(max(1, low)), float(max(1, high))
        moved = max(given.value - low, high - given.value)
        if given.interval == (None, None) and moved:
            fair = min(1.0, STEP * given.value / moved)
    try:
        plans = [_set(sheet.plan, key.split("."), value) for value in (low, high)]
        measured = {name: one.without_intervals() for name, one in sheet.measurements.items()}
        sheets = [requirement_sheet(plan, measured) for plan in plans]
    except (PlanError, ValidationError, TypeError):
        return None
    ends = tuple((sheets[0][name].value, sheets[1][name].value) for name in MOVED)
    return replace(_moved(sheet, key, _between(low, high, given.unit), ends), fair=fair)


def _between(low: float, high: float, unit: str) -> str:
    """Both ends, the words that both end with told once: "6.4 to 9.6 billion parameters"."""
    first, last = (format_quantity(end, unit).split(" ") for end in (low, high))
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first[:0:-1], last[:0:-1], strict=False))
    shared = len(list(alike))
    return " ".join((*first[: len(first) - shared], "to", *last))


def _moved(
    sheet: Sheet, name: str, told: str, ends: tuple[tuple[float, float] | None, ...]
) -> Moved:
    shares = [
        max(abs(end / sheet[row].value - 1) for end in pair)
        for row, pair in zip(MOVED, ends, strict=True)
        if pair is not None
    ]
    return Moved(name=name, ends=told, figures=ends, most=max(shares, default=0.0))


def _set(section: Any, steps: list[str], value: float) -> Any:
    name, *rest = steps
    if isinstance(section, tuple):
        return tuple(_set(s, rest, value) if s.name == name else s for s in section)
    if rest:
        return section.model_copy(update={name: _set(getattr(section, name), rest, value)})
    old = getattr(section, name)
    if isinstance(old, str):
        raise TypeError(f"{name} is {old!r}, no number")
    whole = isinstance(old, int) and not isinstance(old, bool)
    return section.model_copy(update={name: max(1, round(value)) if whole else value})


def tornado_table(sheet: Sheet) -> Table | None:
    """The five, with the figures at both ends; None where nothing moves."""
    rows = []
    for moved in tornado(sheet):
        if moved.most < LEAST:
            continue
        cells = [
            NONE
            if pair is None or _same(sheet, name, pair)
            else " to ".join(format_quantity(end, sheet[name].unit) for end in pair)
            for name, pair in zip(MOVED, moved.figures, strict=True)
        ]
        rows.append((moved.name, moved.ends, *cells))
    caption = OF_JOBS if sheet.jobs else CAPTION
    return table(caption, ("input", ">varied", *(f">{n}" for n in MOVED)), rows) if rows else None


def _same(sheet: Sheet, name: str, pair: tuple[float, float]) -> bool:
    return all(abs(end / sheet[name].value - 1) < LEAST for end in pair)
