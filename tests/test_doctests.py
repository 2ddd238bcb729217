"""The examples in the product's docstrings hold, each of them."""

import doctest
import importlib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(("tokenmill", *path.relative_to(PROJECT).with_suffix("").parts))
    for top in ("dedup", "flows", "pipelines", "sizing")
    for path in (PROJECT / top).rglob("*.py")
    if b">>> " in path.read_bytes()
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_hold(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted
    assert not found.failed
