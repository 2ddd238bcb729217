"""What a recipe, a step and a plan mean where they say nothing: a change is a change for users.

`python -m tests.golden.test_defaults` writes them anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.sizing.plan.plan import Plan

GOLDEN = Path(__file__).with_name("defaults.json")
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


@pytest.mark.parametrize("name", MODELS)
def test_defaults_are_what_they_were(name):
    assert defaults_of(MODELS[name]) == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    made = {name: defaults_of(model) for name, model in MODELS.items()}
    GOLDEN.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
