"""Systems that others built, and plans of users: a sheet's figures beside those published."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import yaml
from pydantic import Field

from tokenmill.sizing.claims.quantity import parse_quantity, show_in, unit_of
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.strict import Strict
from tokenmill.sizing.tables import DATA, LOADER, Share

FILE = DATA / "systems.yaml"
UNPUBLISHED = "not published"  # how a reason begins that names the input that is missing


class SystemFigure(Strict):
    """row: of the sheet.  published: as the document prints it; None of a plan of a user.

    within: of it, that the sheet's figure is to be; our choice.  why: of the difference.
    at_most: it is published as a bound, which the sheet's figure is to keep.
    """

    row: str
    published: str | None = None
    within: Share | None = None
    at_most: bool = False
    why: str


class System(Strict):
    """plan: as a user would write it.  source: of the published figures."""

    name: str
    source: str
    plan: dict[str, Any]
    figures: Annotated[tuple[SystemFigure, ...], Field(strict=False, min_length=1)]


@dataclass(frozen=True, kw_only=True)
class SystemVerdict:
    """One figure of a system.

    predicted: of the sheet, in the unit of the published one.  interval: 95 %, in words.
    ratio: predicted over published.  verdict: "within"; "apart", where the reason names what was
    not published; "differs", which is a mistake of ours; "" where nothing was published.
    """

    system: str
    source: str
    row: str
    predicted: str
    interval: str
    published: str
    ratio: float | None
    verdict: str
    why: str


@cache
def systems() -> tuple[System, ...]:
    """Every one that ships."""
    data = yaml.load(FILE.read_text(encoding="utf-8"), Loader=LOADER)
    return tuple(System.model_validate(one) for one in data["systems"])


def check_systems() -> tuple[SystemVerdict, ...]:
    """Every figure of every system."""
    return tuple(verdict for system in systems() for verdict in check_system(system))


def check_system(system: System) -> tuple[SystemVerdict, ...]:
    """The figures of one; its plan's sheet is made once."""
    sheet = requirement_sheet(Plan.model_validate(system.plan), {})
    return tuple(_compared(system, figure, sheet[figure.row]) for figure in system.figures)


def _compared(system: System, figure: SystemFigure, row: Any) -> SystemVerdict:
    predicted, ratio, verdict = row.shown, None, ""
    if figure.published is not None:
        published, own = parse_quantity(figure.published), unit_of(row.unit)
        if published.unit.base != own.base:
            raise ValueError(f"{system.name}: {figure.published!r} is no {row.unit}")
        value = row.value * own.factor
        predicted, ratio = show_in(value, published.unit), value / published.value
        near = figure.within is not None and abs(ratio - 1) <= figure.within
        near = near or (figure.at_most and ratio <= 1)
        told = figure.why.startswith(UNPUBLISHED)
        verdict = "within" if near else "apart" if told else "differs"
    return SystemVerdict(
        system=system.name,
        source=system.source,
        row=figure.row,
        predicted=predicted,
        interval=row.between,
        published=f"{'under ' if figure.at_most else ''}{figure.published or ''}",
        ratio=ratio,
        verdict=verdict,
        why=figure.why,
    )
