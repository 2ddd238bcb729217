"""Parameters of flows: what their types make of them, and what is told of those that are wrong."""

from typing import Any

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions


@pytest.fixture
def checked(server):  # Prefect imported before it would start a server of its own in later tests
    from tokenmill.flows.prefect.flow_run import checked

    return checked


def prepare(recipe: str | dict[str, Any], n: int = 3, run: RunOptions | None = None) -> None:
    """As a flow has them."""


def test_what_a_form_sends_becomes_what_the_function_takes(checked):
    assert checked(prepare, {"recipe": "c4"}, "f") == {"recipe": "c4", "n": 3, "run": None}
    made = checked(prepare, {"recipe": {"name": "x"}, "run": {"workers": 2}}, "f")
    assert made["recipe"] == {"name": "x"}
    assert made["run"] == RunOptions(workers=2)
    assert made["run"].model_fields_set == {"workers"}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "f: recipe: missing; field required"),
        ({"recipe": "c4", "n": "many"}, "f: n: Input should be a valid integer"),
        ({"recipe": "c4", "m": 1}, "f: unknown key 'm'; known keys: recipe, n, run"),
        (
            {"recipe": "c4", "run": {"worker": 1}},
            "f: run: unknown key 'worker'; did you mean 'workers'?",
        ),
        (
            {"recipe": "c4", "run": {"slurm": {"core": 1}}},
            "f: run.slurm: unknown key 'core'; did you mean 'cores'?",
        ),
        (
            {"recipe": "c4", "run": {"address": "tcp://a:1"}},
            "f: run: address tcp://a:1 is of a Dask scheduler, and runner is 'threads';",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_place_and_the_way_out(checked, values, told):
    with pytest.raises(ConfigError) as e:
        checked(prepare, values, "f")
    assert str(e.value).startswith(told)
    assert "\n" not in str(e.value)
