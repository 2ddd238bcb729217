"""A formula shows exactly the inputs it uses, and carries their intervals."""

import ast
import importlib
import inspect
import math
import pkgutil
import re
from functools import cache
from inspect import isfunction
from pathlib import Path

import pytest

from tokenmill import sizing
from tokenmill.sizing import formulas
from tokenmill.sizing.claims.claim import FOLDER
from tokenmill.sizing.formula import Formula, formula, product, quotient, total
from tokenmill.sizing.requirement import Input

OF_CLAIMS = "tokenmill.sizing.claims.formulas"
MODULES = sorted(
    m.name for m in pkgutil.iter_modules(formulas.__path__, "tokenmill.sizing.formulas.")
)


@formula(unit="m", source="school")
def volume(*, width, height, depth):
    """Of a box, over its depth."""
    return width * height / depth


def side(name, value, se=None, *, measured=True):
    return Input(
        name=name,
        value=value,
        unit="m",
        measured=measured,
        source="ruler",
        spread={} if se is None else {name: (value - 1.96 * se, value + 1.96 * se)},
    )


def test_a_requirement_says_how_it_came_about():
    inputs = (side("width", 3.0), side("height", 4.0), side("depth", 2.0))
    row = volume.requirement("the row", inputs)
    assert (row.name, row.value, row.unit) == ("the row", 6.0, "m")
    assert (row.formula, row.source) == ("width x height / depth", "school")
    assert row.inputs == inputs
    assert row.interval == (None, None)


def test_a_formula_is_called_as_the_function_that_it_was():
    assert volume(width=3.0, height=4.0, depth=2.0) == 6.0
    assert (volume.__name__, volume.__doc__) == ("volume", "Of a box, over its depth.")


def test_a_product_or_quotient_takes_its_arguments_and_no_other():
    area = product("area", "width", "height", unit="m2")
    depth = quotient("depth", "volume", ("width", "height"), unit="m")
    assert list(depth.arguments) == ["volume", "width", "height"]
    assert depth.equation == "volume / (width x height)"
    assert depth(volume=24.0, width=3.0, height=4.0) == 2.0
    for given in ({"width": 3.0}, {"width": 3.0, "height": 4.0, "depth": 2.0}):
        with pytest.raises(TypeError, match="area takes width, height, got width"):
            area(**given)


HOURS_PER_DAY = 24


@formula(unit="h")
def hours(*, days):
    """Of some days."""
    return math.ceil(math.sqrt(days) ** 2 * HOURS_PER_DAY)


@formula(unit="m")
def half(*, width):
    """Of a width, in two lines."""
    twice = 2 * width
    return twice / 4


def test_an_equation_is_what_the_function_returns():
    assert hours.equation == "sqrt(days) ^ 2 x 24, rounded up"
    assert total(unit="m").equation == "sum of its inputs"
    with pytest.raises(TypeError, match="half does more than return an expression"):
        half.equation  # noqa: B018


IN_WORDS = re.compile(r"\b(of|the|its|at|but|within|rounded|inputs|where|tiers|shards)\b")


def told_otherwise():
    """Formulas whose equation was written by hand, in signs alone."""
    for name in MODULES:
        for one in vars(importlib.import_module(name)).values():
            is_said = isinstance(one, Formula) and one.__module__ == name and one.said
            if is_said and not IN_WORDS.search(one.said.removeprefix("at most: ")):
                yield pytest.param(one, id=one.__name__)


@pytest.mark.parametrize("one", [*told_otherwise()])
def test_an_equation_that_was_written_amounts_to_what_its_function_does(one):
    text = re.sub(r"(?<=\d),(?=\d{3})", "", one.said.removeprefix("at most: "))
    text = text.replace(" x ", " * ").replace("^", "**")
    arguments = inspect.signature(one.function).parameters
    inputs = {name: 0.37 + 0.011 * at for at, name in enumerate(arguments)}
    assert one(**inputs) == pytest.approx(eval(text, {}, inputs))


def test_an_input_the_formula_does_not_use_is_an_error_and_so_is_a_missing_one():
    sides = [side("width", 3.0), side("height", 4.0)]
    with pytest.raises(TypeError, match="depth"):
        volume.requirement("row", sides)
    with pytest.raises(TypeError, match="breadth"):
        volume.requirement("row", [*sides, side("depth", 2.0), side("breadth", 2.0)])


def test_two_inputs_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="row: two inputs share a name among"):
        volume.requirement("row", [side("width", 3.0), side("width", 4.0)])


def test_an_interval_goes_from_row_to_row():
    row = volume.requirement(
        "v", [side("width", 3.0, 0.5), side("height", 4.0), side("depth", 2.0)]
    )
    assert row.interval == pytest.approx((6.0 - 1.96, 6.0 + 1.96))
    twice = formula(equation="2 v", unit="m", source="school")(lambda *, v: 2 * v)
    assert twice.requirement("t", [row.as_input("v")]).interval == pytest.approx((8.08, 15.92))


@cache
def uses():
    """The formulas that sizing names outside of their definitions, and those that claims call.

    Each as "module.function"; by `module.function` where a module is imported, by its own name
    where it is, or stands in the same module.
    """
    used = set()
    for path in Path(sizing.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place, names = path.stem, {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and "sizing.formulas." in str(node.module):
                of = node.module.rpartition(".")[2]
                names |= {name.name: f"{of}.{name.name}" for name in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add(f"{node.value.id}.{node.attr}")
            elif isinstance(node, ast.Name) and node.id in names:
                used.add(names[node.id])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                used.add(f"{place}.{node.func.id}")
    for path in FOLDER.glob("*.yaml"):
        used |= set(re.findall(r"call: (\w+\.\w+)", path.read_text(encoding="utf-8")))
    return used


@pytest.mark.parametrize("name", [*MODULES, OF_CLAIMS])
def test_no_formula_is_called_by_tests_alone(name):
    """It is a row of the sheet, recomputes a claim, or is called by one that does."""
    module = importlib.import_module(name)
    functions = {n for n, f in vars(module).items() if isinstance(f, Formula) or isfunction(f)}
    imported = {
        alias.name
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    place = "claims" if name == OF_CLAIMS else name.rpartition(".")[2]
    here = {f"{place}.{n}" for n in functions - imported}
    assert here - uses() == set()
