"""Sizing starts at once; each formula has an example, or is declared by its own name."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from tokenmill import sizing
from tokenmill.sizing.formula import Formula

MODULES = sorted(m.name for m in pkgutil.walk_packages(sizing.__path__, "tokenmill.sizing."))
FORMULAS = [m for m in MODULES if "sizing.formulas." in m or m.endswith("claims.formulas")]
HEAVY = {"numpy", "pyarrow", "prefect", "datasets", "numba", "pandas"}
LOAD_ALL = "import sys, {}; print('\\n'.join(sys.modules))".format(", ".join(MODULES))


def test_no_module_of_sizing_imports_what_is_slow_to_import():
    run = subprocess.run(
        [sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert {"tokenmill.sizing.sheet", "tokenmill.sizing.report.data", "pydantic"} <= loaded
    assert not HEAVY & loaded


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_has_a_doctest(name):
    finder = doctest.DocTestFinder()
    formulas = [
        v
        for v in vars(importlib.import_module(name)).values()
        if isinstance(v, Formula) and v.__module__ == name
    ]
    assert formulas
    for formula in formulas:
        assert any(t.examples for t in finder.find(formula)), formula.function


@pytest.mark.parametrize("name", FORMULAS)
def test_a_product_or_quotient_is_called_as_what_it_is_assigned_to(name):
    """By which sheets find the rows that it computed."""
    declared = {
        key: v.function.__name__
        for key, v in vars(importlib.import_module(name)).items()
        if isinstance(v, Formula) and v.takes is not None
    }
    assert declared == {key: key for key in declared}
