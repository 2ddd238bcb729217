"""Settings of the command line in place of a recipe's own."""

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
        ("steps.nea.rows", "a step 'nea' that is not in the recipe; did you mean 'near'?"),
        ("steps.pii.email", "its steps are exact, near, c4"),
    ],
)
def test_what_is_not_there(key, message):
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        overridden(RECIPE, key, 1, where="r.yaml")
