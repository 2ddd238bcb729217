"""What a claim's expression amounts to: calls of sizing.formulas, cells of sizing.tables."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tokenmill.sizing.claims.claim import Call, Expression, Text
from tokenmill.sizing.claims.quantity import Quantity, Unit, parse_quantity, unit_of
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


def amount(expression: Expression) -> Quantity:
    """Value and unit of a call or a cell; a bare number has the unit "".

    Raises:
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
    """A function and the unit of its result, which a formula tells.

    dotted: "module.function" of sizing.formulas, or as `PLACES` has it.
    """
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
