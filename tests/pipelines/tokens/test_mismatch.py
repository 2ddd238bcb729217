"""A real difference between the libraries, met in the middle of a run."""

import json

import numpy as np
import pyarrow as pa
import pytest
import yaml
from datasets import load_from_disk

from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.tokens import tokenize
from tokenmill.pipelines.tokens.reference import open_reference

# Two vowel signs of Unicode 16 that compose to a third character in the one library alone.
PAIR = "\U0001611e\U0001611e"


@pytest.fixture
def recipe_path(composing_path, tmp_path):
    texts = ["plain text", "more of it", f"new {PAIR} letters", "the end"]
    for i, part in enumerate((texts, ["nothing new here"])):
        lines = [json.dumps({"id": f"{i}-{k}", "text": text}) for k, text in enumerate(part)]
        (tmp_path / f"docs-{i}.jsonl").write_text("\n".join(lines))
    path = tmp_path / "recipe.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "new letters",
                "inputs": [{"path": str(tmp_path / "docs-*.jsonl"), "source": "docs"}],
                "steps": [],
                "tokenizer": {"path": str(composing_path), "eos": False},
            }
        )
    )
    return path


def run(recipe_path, composing_path):
    report = prepare(load_recipe(recipe_path), recipe_path.parent / "run", one_by_one)
    rows = list(load_from_disk(str(recipe_path.parent / "run" / "dataset")))
    texts = ["plain text", "more of it", f"new {PAIR} letters", "the end", "nothing new here"]
    expected = open_reference(str(composing_path)).encode(texts)
    assert [row["input_ids"] for row in rows] == expected
    return report["tokenizer"]


def test_the_guard_sends_such_a_document_to_the_reference(recipe_path, composing_path):
    made = run(recipe_path, composing_path)
    assert list(made["docs_by_engine"].values()) == [4, 1]
    assert made["mismatches"] == []


def test_without_the_guard_the_check_has_the_shard_encoded_exactly(
    recipe_path, composing_path, monkeypatch
):
    monkeypatch.setattr(tokenize, "risky", lambda text, **_: np.zeros(len(text), np.bool_))
    made = run(recipe_path, composing_path)
    fast, exact = sorted(made["docs_by_engine"])
    assert fast.startswith("gigatoken")
    assert made["docs_by_engine"] == {fast: 1, exact: 4}
    (mismatch,) = made["mismatches"]
    assert mismatch["key"] == "00000-of-00002"
    assert "make other ids of 'new" in mismatch["message"]


def test_what_is_not_checked_is_encoded_fast_as_it_comes(recipe_path, composing_path, monkeypatch):
    monkeypatch.setattr(tokenize, "risky", lambda text, **_: np.zeros(len(text), np.bool_))
    engine = load_recipe(recipe_path).tokenizing().engine()
    plain, new = pa.array(["plain text", "more of it"]), pa.array([f"new {PAIR} letters"])
    for checked in (True, False):
        made = engine.encode(plain, checked=checked)
        expected = [i for ids in engine.reference.encode(plain.to_pylist()) for i in ids]
        assert made.ids.tolist() == expected
    with pytest.raises(tokenize.MismatchError, match="make other ids of 'new"):
        engine.encode(new)
    (expected,) = engine.reference.encode(new.to_pylist())
    assert engine.encode(new, checked=False).ids.tolist() != expected
