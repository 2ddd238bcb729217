"""Keys that count documents, in place of those that a run keeps."""

import json

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus, to_json
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.read import objects


def groups(column):
    """(n,) of each row the first one with the same key."""
    keys = column.to_pylist()
    return [keys.index(key) for key in keys]


@pytest.mark.parametrize("step", [ExactDedup(), ExactDedup(digest="xxh3"), NearDedup()], ids=repr)
@given(texts=st.lists(st.sampled_from(["", "a", "a ", "b", "five words of a text", "é"])))
def test_keys_that_count_are_equal_where_those_of_the_run_are(step, texts):
    columns = {
        "doc_id": np.arange(len(texts), dtype=np.uint64),
        "text": pa.array(texts, pa.large_string()),
    }
    batch = pa.record_batch(columns)
    assert step.counting().key_fields() == step.key_fields()
    for own, counting in zip(
        step.key_columns(batch, ""), step.counting().key_columns(batch, ""), strict=True
    ):
        assert counting.type == own.type
        assert groups(counting) == groups(own)


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def measured(recipe_path, folder, digest):
    steps = ["normalize", {"gopher_quality": {"min_words": 60}}, {"exact": {"digest": digest}}]
    data = {**yaml.safe_load(recipe_path.read_text()), "steps": [*steps, "near"]}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    measuring = Measuring(recipe=load_recipe(path), sample=0.3, probes=200)
    return measure_corpus(measuring, folder / "estimate.json", one_by_one)


def test_the_time_of_the_runs_own_keys_is_told(recipe_path, tmp_path):
    """Of some documents; only where others count."""
    for digest, is_told in (("md5", True), ("xxh3", False)):
        parts = measured(recipe_path, tmp_path, digest).finished.parts.values()
        own = [name for part in parts for name in part.facts.seconds if name.startswith("keys ")]
        assert set(own) == ({"keys exact"} if is_told else set())


def figures(outcome):
    """But those of time, and of batches, which are others."""
    estimate = to_json(outcome.estimate)
    parts = ("tokens", "docs", "text_bytes", "text_bytes_per_token")
    told = {name: estimate["corpus"][name] for name in parts}
    return {**told, "kept_frac": estimate["kept_frac"], "unique_frac": estimate["unique_frac"]}


def test_it_does_not_matter_in_how_many_batches_documents_are_read(
    recipe_path, tmp_path, monkeypatch
):
    of_one = figures(measured(recipe_path, tmp_path, "md5"))
    monkeypatch.setattr(objects, "BATCH_DOCS", 7)
    of_many = figures(measured(recipe_path, tmp_path, "md5"))
    assert json.dumps(of_many) == json.dumps(of_one)
