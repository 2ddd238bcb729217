"""`tokenmill steps`: what every step takes, without a look into the code."""

import json
import re

import pytest

from tokenmill.flows.cli import main
from tokenmill.flows.commands.steps import sections
from tokenmill.pipelines.core.step import STEPS


def test_all_steps_are_listed(capsys):
    assert main(["steps", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    docs = (step.__doc__.replace("None", "null") for step in STEPS.values())  # as YAML has it
    firsts = (doc.partition("\n\n")[0] for doc in docs)
    assert told == dict(zip(STEPS, (" ".join(first.split()) for first in firsts), strict=True))
    assert all(len(text) > 20 for text in told.values())
    assert main(["steps"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{name} " in shown for name in STEPS)


def test_sections_of_a_recipe_are_those_with_settings():
    named = {"inputs", "tokenizer", "images", "html", "mix", "output", "limits", "run"}
    assert sections().keys() == named


@pytest.mark.parametrize("name", [*STEPS, *sections()])
def test_each_shows_all_of_its_settings(name, capsys):
    fields = {**sections(), **STEPS}[name].model_fields
    assert main(["steps", name]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{key} " in shown for key in fields)
    assert not re.search(r"\bNone\b", shown)
    assert main(["steps", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["defaults"].keys() == fields.keys()
    assert [key for key in told["defaults"] if not re.search(rf"\b{key}\b", told["text"])] == []


def test_defaults_and_what_must_be_given(capsys):
    assert main(["steps", "quality"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "model needed rule" in shown
    assert "alpha 9.0" in shown


def test_a_name_that_is_nearly_right(capsys):
    assert main(["steps", "gopher_qualty"]) == 2
    assert "no step 'gopher_qualty'; did you mean 'gopher_quality'" in capsys.readouterr().err
    assert main(["steps", "xyz"]) == 2
    told = capsys.readouterr().err
    assert "names: tokenmill steps; one of your own: TOKENMILL_PLUGINS names its module" in told
