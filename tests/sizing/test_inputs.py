"""What a sheet is made from: plans by path or name, corpora beside them, and their mistakes."""

import json

import pytest

from tests.sizing.corpora import estimate, report
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.inputs import find_plan, size


@pytest.fixture
def folder(tmp_path):
    """A plan and corpora in a folder of their own, away from where it is read."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text(json.dumps(report()))
    (tmp_path / "estimate.json").write_text(json.dumps(estimate()))
    return tmp_path


def plan(folder, text):
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_a_corpus_lies_relative_to_its_plan(folder):
    sheet = size(plan(folder, "corpus: {path: run}"))
    assert sheet.measurements["corpus"].name == "docs"
    assert size(plan(folder, "corpus: {path: estimate.json}"))["corpus tokens"].value == 2e12


def test_a_corpus_named_beside_the_plan_takes_the_place_of_its_own(folder):
    sheet = size(plan(folder, "corpus: {path: nothing}"), corpus=folder / "estimate.json")
    assert sheet.measurements["corpus"].name == "crawl"


def test_every_source_has_its_corpus(folder):
    text = "sources: [{name: a, path: run}, {name: b, path: estimate.json}, {name: c, tokens: 1T}]"
    sheet = size(plan(folder, text))
    assert {key: m.name for key, m in sheet.measurements.items()} == {"a": "docs", "b": "crawl"}
    with pytest.raises(PlanError, match="name its path in one of a, b, c"):
        size(plan(folder, text), corpus=folder / "run")


def test_settings_can_be_changed(folder):
    path = plan(folder, "model: {params: 8B}")
    assert size(path, changes={"model.params": "70B"})["one checkpoint"].value == 980e9


def test_a_file_comes_before_an_example_of_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "llama-8b-1024-h100").write_text("model: {params: 1B}")
    assert find_plan("llama-8b-1024-h100").read_text() == "model: {params: 1B}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("llama-8b-1024-h200", "did you mean 'llama-8b-1024-h100'?"),
        ("plan.yml", "examples: image-text-8b-1024-h100, llama-405b-16384-h100, llama-8b"),
    ],
)
def test_a_plan_that_is_not_there(name, hint):
    with pytest.raises(PlanError, match="no such plan file, and no example") as e:
        find_plan(name)
    assert hint in str(e.value)
