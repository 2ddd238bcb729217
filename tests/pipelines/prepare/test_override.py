"""Settings of the command line in place of a recipe's own."""

import re

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import overridden

RECIPE = {"name": "a", "output": {"seq_len": 8}, "steps": ["exact", {"near": {"rows": 8}}, "c4"]}


@pytest.mark.parametrize(
    ("key", "value", "changed"),
    [
        ("name", "b", {"name": "b"}),
        ("output.dtype", "int32", {"output": {"seq_len": 8, "dtype": "int32"}}),
        ("run.workers", 2, {"run": {"workers": 2}}),
        ("steps", [], {"steps": []}),
        ("steps.near.rows", 9, {"steps": ["exact", {"near": {"rows": 9}}, "c4"]}),
        ("steps.near", {}, {"steps": ["exact", {"near": {}}, "c4"]}),
        (
            "steps.exact.digest",
            "xxh3",
            {"steps": [{"exact": {"digest": "xxh3"}}, *RECIPE["steps"][1:]]},
        ),
    ],
)
def test_one_setting_is_another(key, value, changed):
    assert overridden(RECIPE, key, value, where="r.yaml") == {**RECIPE, **changed}
    assert RECIPE["steps"][1] == {"near": {"rows": 8}}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("name.a", "r.yaml: --set cannot reach into 'name': it is not a mapping"),
        ("steps.nea.rows", "steps.nea, which is not in the recipe; did you mean 'near'?; there"),
        ("steps.pii.email", "; there are: steps[0] exact, steps[1] near, steps[2] c4"),
        ("steps[3].rows", "--set names steps.3, which is not in the recipe; there are: steps[0] "),
        ("against.old.text", "--set cannot reach into 'old': it is not a mapping"),
        ("inputs[0].text", "inputs.0, which is not in the recipe; there are: none"),
    ],
)
def test_what_is_not_there(key, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        overridden({**RECIPE, "inputs": [], "against": ["old"]}, key, 1, where="r.yaml")


@pytest.mark.parametrize("alone", ["a.jsonl", {"path": "a.jsonl"}])
def test_a_second_input_of_one_is_not_there(alone):
    message = "inputs.1, which is not in the recipe; there are: inputs[0] a.jsonl"
    with pytest.raises(ConfigError, match=re.escape(message)):
        overridden({"inputs": alone}, "inputs[1].text", "b", where="r.yaml")


WEB, BOOKS = {"path": "w.jsonl", "source": "web"}, "b.parquet"
TWICE = [{"length": {"column": "a"}}, {"length": {"column": "b"}}, "exact", "exact"]
ITEMS = {"benchmarks": [{"name": "gsm8k", "path": "g.jsonl"}]}


@pytest.mark.parametrize(
    ("key", "data", "changed"),
    [
        ("steps[1].rows", RECIPE["steps"], ["exact", {"near": {"rows": 9}}, "c4"]),
        ("steps.1.rows", RECIPE["steps"], ["exact", {"near": {"rows": 9}}, "c4"]),
        ("steps[2]", RECIPE["steps"], ["exact", {"near": {"rows": 8}}, 9]),
        ("steps[3].digest", TWICE, [*TWICE[:3], {"exact": {"digest": 9}}]),
        (
            "steps.length:b.min",
            TWICE,
            [TWICE[0], {"length": {"column": "b", "min": 9}}, *TWICE[2:]],
        ),
        ("inputs[1].text", [WEB, BOOKS], [WEB, {"path": BOOKS, "text": 9}]),
        ("inputs.web.text", [WEB, BOOKS], [{**WEB, "text": 9}, BOOKS]),
        ("inputs[0].text", BOOKS, [{"path": BOOKS, "text": 9}]),
        ("inputs[0].text", WEB, [{**WEB, "text": 9}]),
        ("inputs.text", WEB, {**WEB, "text": 9}),
        (
            "steps.decontaminate.benchmarks.gsm8k.path",
            [{"decontaminate": ITEMS}],
            [{"decontaminate": {"benchmarks": [{"name": "gsm8k", "path": 9}]}}],
        ),
        ("against[0]", ["old"], [9]),
    ],
)
def test_an_entry_of_a_list_is_reached_by_its_place_or_its_name(key, data, changed):
    of = key.replace("[", ".").partition(".")[0]
    assert overridden({of: data}, key, 9, where="r.yaml") == {of: changed}


def test_a_name_that_stands_twice_is_none():
    with pytest.raises(ConfigError, match=r"steps.exact, which stands there several times; there"):
        overridden({"steps": TWICE}, "steps.exact.digest", "xxh3", where="r.yaml")
