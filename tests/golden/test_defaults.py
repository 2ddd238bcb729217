"""What a recipe, a step and a plan mean where they say nothing, and what their settings may be: a
change is a change for users.

`python -m tests.golden.test_defaults` writes them anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.sizing.plan.plan import Plan

GOLDEN, LIMITS = (Path(__file__).with_name(f"{name}.json") for name in ("defaults", "limits"))
MODELS = {**{name: STEPS[name] for name in sorted(STEPS)}, "recipe": Recipe, "plan": Plan}


def defaults_of(model: type[BaseModel]) -> dict[str, Any]:
    """By key, those of sections too; keys without one are left out."""
    found = {
        name: field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
    }
    return {
        name: defaults_of(type(value)) if isinstance(value, BaseModel) else repr(value)
        for name, value in found.items()
        if value is not PydanticUndefined
    }


BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
          "minItems", "maxItems", "minProperties", "pattern", "enum", "const")  # fmt: skip


def limits_of(schema: Any, place: str = "") -> Iterator[str]:
    """What a JSON schema bounds, a line each, as ".max_words minimum 0"."""
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key in BOUNDS and not isinstance(value, dict):
            yield f"{place} {key} {value}"
        elif isinstance(value, dict | list) and key not in ("default", "examples", "required"):
            inner = isinstance(key, int) or key in ("properties", "$defs", "anyOf", "items")
            yield from limits_of(value, place if inner else f"{place}.{key}")


FOUND = {name: sorted(set(limits_of(of.model_json_schema()))) for name, of in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_limits_are_what_they_were(name):
    assert FOUND[name] == json.loads(LIMITS.read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize("name", MODELS)
def test_defaults_are_what_they_were(name):
    assert defaults_of(MODELS[name]) == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    made = {name: defaults_of(model) for name, model in MODELS.items()}
    LIMITS.write_text(json.dumps(FOUND, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    GOLDEN.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
