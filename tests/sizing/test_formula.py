"""A formula shows exactly the inputs it uses, and carries their intervals."""

import ast
import importlib
import pkgutil
import re
from functools import cache
from inspect import isfunction
from pathlib import Path

import pytest

from tokenmill import sizing
from tokenmill.sizing import formulas
from tokenmill.sizing.claims.claim import FOLDER
from tokenmill.sizing.formula import Formula
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.spread import ends

MODULES = sorted(
    m.name for m in pkgutil.iter_modules(formulas.__path__, "tokenmill.sizing.formulas.")
)


def volume(*, width, height, depth):
    return width * height / depth


VOLUME = Formula(function=volume, equation="width x height / depth", unit="m", source="school")


def side(name, value, se=None, *, measured=True):
    return Input(
        name=name,
        value=value,
        unit="m",
        measured=measured,
        source="ruler",
        spread={} if se is None else ends(name, value - 1.96 * se, value + 1.96 * se),
    )


def test_a_requirement_says_how_it_came_about():
    inputs = (side("width", 3.0), side("height", 4.0), side("depth", 2.0))
    row = VOLUME.requirement("the row", inputs)
    assert (row.name, row.value, row.unit) == ("the row", 6.0, "m")
    assert (row.formula, row.source) == ("width x height / depth", "school")
    assert row.inputs == inputs
    assert row.interval == (None, None)


def test_an_input_the_formula_does_not_use_is_an_error_and_so_is_a_missing_one():
    sides = [side("width", 3.0), side("height", 4.0)]
    with pytest.raises(TypeError, match="depth"):
        VOLUME.requirement("row", sides)
    with pytest.raises(TypeError, match="breadth"):
        VOLUME.requirement("row", [*sides, side("depth", 2.0), side("breadth", 2.0)])


def test_two_inputs_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="row: two inputs share a name among"):
        VOLUME.requirement("row", [side("width", 3.0), side("width", 4.0)])


def test_an_interval_goes_from_row_to_row():
    row = VOLUME.requirement(
        "v", [side("width", 3.0, 0.5), side("height", 4.0), side("depth", 2.0)]
    )
    assert row.interval == pytest.approx((6.0 - 1.96, 6.0 + 1.96))
    twice = Formula(function=lambda *, v: 2 * v, equation="2 v", unit="m", source="school")
    assert twice.requirement("t", [row.as_input("v")]).interval == pytest.approx((8.08, 15.92))


@cache
def used_names():
    """What sizing calls by name, the constants that it reads, and what claims call."""
    used = set()
    for path in Path(sizing.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                used.add(node.func.id)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used |= {node.id} if node.id.isupper() else set()
    for path in FOLDER.glob("*.yaml"):
        claimed = set(re.findall(r"call: (?:\w+\.)+(\w+)", path.read_text(encoding="utf-8")))
        used |= claimed | {name.upper() for name in claimed}  # its Formula tells the unit
    return used


@pytest.mark.parametrize("name", MODULES)
def test_no_formula_is_called_by_tests_alone(name):
    """It is a row of the sheet, recomputes a claim, or is called by one that does."""
    own = vars(importlib.import_module(name)).items()
    formulas = {n: f.function.__name__ for n, f in own if isinstance(f, Formula)}
    assert formulas.keys() - used_names() == set()
    functions = {n for n, f in own if isfunction(f) and f.__module__ == name}
    assert functions - used_names() - set(formulas.values()) == set()
