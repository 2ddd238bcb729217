"""Parameters of flows: what their types make of them, and what is told of those that are wrong."""

import re
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
    "size", ["3GB", "4GiB", "256 MB", "1.5TB", "4096", 4096, "", "3 GBs", "GB", 0, -1, 1.5, None]
)
def test_a_form_lets_through_the_sizes_that_a_recipe_may_have(server, size):
    """By the schema that Prefect's server holds parameters to."""
    from prefect.utilities.callables import parameter_schema
    from prefect.utilities.schema_tools.validation import is_valid

    from tokenmill.flows.prepare import prepare_flow

    schema = parameter_schema(prepare_flow.fn).model_dump_for_openapi()
    for run in ({"memory_budget": size}, {"slurm": {"memory": size}}):
        try:
            RunOptions.model_validate(run)
            taken = True
        except ValueError:
            taken = False
        values = {"recipe": "c4", "out": "/data/run", "run": run}
        assert is_valid(values, schema) == taken


def test_a_form_shows_choices_units_and_examples(server):
    """Of every flow: what is one of some words, bytes, or time that is written."""
    from tokenmill.flows.serve import deployments

    shown = {}
    for d in deployments(None, cron=None, interval_s=None):
        schema = d._parameter_openapi_schema
        shown |= schema.properties
        for section in schema.definitions.values():
            shown |= section["properties"]
    assert shown["runner"]["enum"] == ["auto", "threads", "processes", "dask", "slurm", "array"]
    assert shown["order"]["anyOf"][0]["enum"] == ["sequential", "chunked", "random", "mmap"]
    for setting in (shown["memory"], shown["memory_budget"]["anyOf"][0], shown["scratch_bytes"]):
        assert setting["examples"] == ["3GB", "4GiB"]
    assert [RunOptions(slurm={"walltime": t}) for t in shown["walltime"]["examples"]]
    assert "04:00:00" in shown["walltime"]["examples"]
    for name in ("sample", "budget", "grow_to", "plan", "recipe", "changes", "settings"):
        assert re.search("`|name of", shown[name]["description"]), name
    seconds = {name for name, setting in shown.items() if "econds" in name}
    assert seconds == {"task_seconds", "seconds"}  # the unit stands in the name


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
            "f: run: address tcp://a:1 is of a Dask scheduler, and runner is 'auto';",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_place_and_the_way_out(checked, values, told):
    with pytest.raises(ConfigError) as e:
        checked(prepare, values, "f")
    assert str(e.value).startswith(told)
    assert "\n" not in str(e.value)
