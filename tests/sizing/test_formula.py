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
from tokenmill.sizing.claims.formulas import reduced_flops_per_s
from tokenmill.sizing.formula import Formula, formula, of_node, product, quotient, total
from tokenmill.sizing.formulas import bandwidth, capacity, checkpoint, cost, supply
from tokenmill.sizing.formulas.training import docs_in
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
    share, job = of_node("share", "read", unit="bytes"), {"accelerators": 32.0, "per_node": 8.0}
    assert share(read=12e6, **job) == 3e6
    for given in (job, {"read": 12e6, "depth": 2.0, **job}):
        with pytest.raises(TypeError, match="share takes read, accelerators, per_node, got "):
            share(**given)


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
    """Formulas whose equation is no function's, in signs alone; each once, wherever imported."""
    every = [one for name in MODULES for one in vars(importlib.import_module(name)).values()]
    for one in dict.fromkeys(one for one in every if isinstance(one, Formula)):
        if one.said and not IN_WORDS.search(one.said.removeprefix("at most: ")):
            yield pytest.param(one, id=one.__name__)


@pytest.mark.parametrize("one", [*told_otherwise()])
def test_an_equation_that_was_written_amounts_to_what_its_function_does(one):
    text = re.sub(r"(?<=\d),(?=\d{3})", "", one.said.removeprefix("at most: "))
    text = text.replace(" x ", " * ").replace("^", "**")
    inputs = {name: 0.37 + 0.011 * at for at, name in enumerate(one.arguments)}
    assert one(**inputs) == pytest.approx(eval(text, {}, inputs))


@pytest.mark.parametrize(
    ("one", "inputs", "value"),
    [
        (capacity.docs_stage_bytes, {"measured_bytes": 5e9, "docs_ratio": 3}, 15e9),
        (capacity.node_dataset_bytes, {"dataset_bytes": 4e12, "node_share": 0.25}, 1e12),
        (capacity.kept_by_jobs_bytes, {"kept_bytes": 2e12, "jobs": 3}, 6e12),
        (supply.mean_write_bytes_per_s, {"bytes_per_day": 86.4e12}, 1e9),
        (supply.window_bytes, {"read_bytes_per_s": 2e9, "window_s": 600}, 1.2e12),
        (supply.staging_hours, {"staged_bytes": 36e12, "cold_bytes_per_s": 10e9}, 1),
        (supply.staged_bytes, {"dataset_bytes": 8e12, "share": 0.25}, 2e12),
        (
            bandwidth.wasted_bytes_per_read,
            {"read_ahead_bytes": 131_072, "read_aheads_per_read": 2.5},
            327_680,
        ),
        (
            cost.storage_usd_per_month,
            {"storage_bytes": 100e12, "usd_per_tb_month": 20},
            2000,
        ),
        (docs_in, {"docs": 10e6, "kept_frac": 0.25}, 40e6),
        (checkpoint.written_bytes, {"bytes_per_day": 2e12, "training_days": 3}, 6e12),
        (reduced_flops_per_s, {"in_bytes_per_s": 800e9, "element_bytes": 4}, 200e9),
    ],
    ids=lambda given: given.__name__ if isinstance(given, Formula) else "",
)
def test_what_is_declared_amounts_to_what_it_does_by_hand(one, inputs, value):
    assert one(**inputs) == pytest.approx(value)


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
