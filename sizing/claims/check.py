"""Whether this package reproduces what documents say, or can say why not.

What a claim's expression amounts to is a call of sizing.formulas or a cell of sizing.tables.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from tokenmill.sizing.claims.claim import (
    TOLERANCES,
    Call,
    Claim,
    Expression,
    Figure,
    Text,
    Tolerance,
    claims,
)
from tokenmill.sizing.claims.quantity import Quantity, Unit, parse_quantity, show_in, unit_of
from tokenmill.sizing.formula import Formula
from tokenmill.sizing.tables import ACCELERATORS, ACCESS, RECIPES, TIERS, WORKLOADS, Row
from tokenmill.sizing.units import UnitError

# how calls name the places of functions that are none of sizing.formulas
PLACES = {"claims": "sizing.claims.formulas", "sizing.redundancy": "sizing.redundancy"}
TABLES: Mapping[str, Callable[[str], Row]] = {
    "accelerators": ACCELERATORS.find,
    "tiers": TIERS.find,
    "recipes": RECIPES.find,
    "access": ACCESS.find,
    "workloads": WORKLOADS.find,
}
# how the name of an argument, or of a column, ends -> its unit; the longest that fits
ENDINGS: Mapping[str, str | None] = {
    "_bits_per_s": "b/s",
    "_bytes_per_s": "B/s",
    "flops_per_s": "FLOP/s",
    "_bytes": "B",
    "bytes_per_param": "bytes/parameter",
    "_frac": "fraction",
    "_days": "days",
    "_hours": "hours",
    "_s": "s",
    "_per_s": None,
}
Verdict: TypeAlias = Literal["agrees", "worked out", "explained", "differs"]


def amount(expression: Expression) -> Quantity:
    """Value and unit of a call or a cell; a bare number has the unit "".

    AttributeError: there is no such function or column.
    UnitError: an input has another unit than its argument.
    """
    if isinstance(expression, Call):
        function, unit = _called(expression.call)
        inputs = {name: _argument(name, given) for name, given in expression.inputs.items()}
        return Quantity(function(**inputs) * unit.factor, unit, 0.0)
    if isinstance(expression, tuple):
        return _cell(*expression)
    if isinstance(expression, str):
        return parse_quantity(expression)
    if isinstance(expression, Text):
        raise UnitError(f"{expression.text!r} is no number")
    return Quantity(float(expression), unit_of(""), 0.0)


def unverified_cells(expression: Expression) -> Iterator[str]:
    """The cells that went in and were not found in their source, as "row: column"."""
    if isinstance(expression, Call):
        for given in expression.inputs.values():
            yield from unverified_cells(given)
    elif isinstance(expression, tuple):
        table, name, column = expression
        row = TABLES[table](name)
        # the sum of the parts was read where the parts were
        cell = "parts" if column == "bytes_per_param" else column.partition(".")[0]
        if not row.verified(cell):
            yield f"{row.name}: {column}"


def _called(dotted: str) -> tuple[Callable[..., float], Unit]:
    """The function of a name in sizing.formulas, or `PLACES`, and the unit of its result."""
    name, _, function = dotted.rpartition(".")
    path = PLACES.get(name, f"sizing.formulas.{name}")
    called = getattr(importlib.import_module(f"tokenmill.{path}"), function)
    return called, unit_of(called.unit if isinstance(called, Formula) else "")


def _argument(name: str, given: Expression) -> Any:
    """The value of an argument in its own unit, which the end of its name tells."""
    if isinstance(given, Text):
        return given.text
    quantity = amount(given)
    wanted = _unit_of_name(name)
    if wanted is None or quantity.unit.name == "":
        return quantity.value
    if wanted.base != quantity.unit.base:
        raise UnitError(f"{name} is in {wanted.base}, got {given!r} in {quantity.unit.base}")
    return quantity.value / wanted.factor


def _cell(table: str, row: str, column: str) -> Quantity:
    column, _, key = column.partition(".")
    value = getattr(TABLES[table](row), column)
    unit = _unit_of_name(column) or unit_of("")
    number = float(value[key] if key else value)
    return Quantity(number * unit.factor, unit, 0.0)


def _unit_of_name(name: str) -> Unit | None:
    fits = [ending for ending in ENDINGS if f"_{name}".endswith(ending)]
    name_of_unit = ENDINGS[max(fits, key=len)] if fits else None
    return None if name_of_unit is None else unit_of(name_of_unit)


@dataclass(frozen=True, kw_only=True)
class FigureVerdict:
    """of: what it is of, "" where a claim has one figure.  ratio: computed over published."""

    of: str
    published: str
    computed: str
    ratio: float
    within: bool


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """verdict: agrees, each figure that the document prints within its tolerance;
    worked out, likewise, but some are not printed and follow from those that are;
    explained, the document contradicts itself and the cause, or its size, is reproduced;
    differs, a bug of ours.

    why: of a contradiction, or of a difference; a note where all agree.
    reconciled: figures with the inputs that explain a contradiction.
    unverified: cells of tables that went in and were not found in their source.
    """

    id: str
    document: str
    claim: str
    verdict: Verdict
    figures: tuple[FigureVerdict, ...]
    reconciled: tuple[FigureVerdict, ...] = ()
    why: str = ""
    unverified: tuple[str, ...] = ()


@cache
def check_all() -> tuple[ClaimVerdict, ...]:
    """The verdict on every claim that ships."""
    return tuple(check(claim) for claim in claims())


def check(claim: Claim) -> ClaimVerdict:
    """Compute a claim's figures, and those that reconcile it where it contradicts itself."""
    figures = _compare(claim.figures, claim.tolerance)
    against = claim.contradiction
    reconciled = () if against is None else _compare(against.figures, claim.tolerance)
    verdict, why = _judged(claim, figures, reconciled)
    return ClaimVerdict(
        id=claim.id,
        document=claim.document,
        claim=claim.claim,
        verdict=verdict,
        figures=figures,
        reconciled=reconciled,
        why=why,
        unverified=_unverified(claim),
    )


def _judged(
    claim: Claim, figures: tuple[FigureVerdict, ...], reconciled: tuple[FigureVerdict, ...]
) -> tuple[Verdict, str]:
    """The verdict, and why."""
    against, off = claim.contradiction, [f for f in figures if not f.within]
    if against is None:
        if off:
            return "differs", f"off by {off[0].ratio - 1:+.1%}"
        return "worked out" if claim.worked_out else "agrees", claim.note or ""
    if not off:
        return "differs", f"agrees, but was told apart: {against.why}"
    if failed := [f for f in reconciled if not f.within]:
        ratio = failed[0].ratio - 1
        return "differs", f"no longer explained, off by {ratio:+.1%}: {against.why}"
    if against.ratio is not None and not _near(off[0].ratio, against.ratio, TOLERANCES["exact"]):
        return "differs", f"off by {off[0].ratio:.4g}, not {against.ratio:.4g}: {against.why}"
    return "explained", against.why


def _unverified(claim: Claim) -> tuple[str, ...]:
    explaining = () if claim.contradiction is None else claim.contradiction.figures
    figures = (*claim.figures, *explaining)
    cells = (cell for figure in figures for cell in unverified_cells(figure.expression))
    return tuple(dict.fromkeys(cells))


def _compare(figures: Iterable[Figure], tolerance: Tolerance) -> tuple[FigureVerdict, ...]:
    return tuple(_figure(figure, figure.tolerance or tolerance) for figure in figures)


def _figure(figure: Figure, tolerance: Tolerance) -> FigureVerdict:
    """How what is computed compares with what was published."""
    published = parse_quantity(figure.published)
    computed = amount(figure.expression)
    if published.unit.base != computed.unit.base:
        raise UnitError(
            f"{figure.published!r} is in {published.unit.base}, computed in {computed.unit.base}"
        )
    if tolerance == "printed":
        within = abs(computed.value - published.value) <= published.step * (1 + 1e-9)
    else:
        within = _near(computed.value, published.value, TOLERANCES[tolerance])
    return FigureVerdict(
        of=figure.of or "",
        published=figure.published,
        computed=show_in(computed.value, published.unit),
        ratio=computed.value / published.value,
        within=within,
    )


def _near(value: float, wanted: float, tolerance: float) -> bool:
    return abs(value - wanted) <= tolerance * abs(wanted)
