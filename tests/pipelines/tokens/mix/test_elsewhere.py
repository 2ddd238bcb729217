"""Mixing where it is not alone: on an object store, and beside a prediction."""

import json

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.pipelines.measure.compare import NO_TEXT, NOT_MIXED, compare, load_estimate
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.tokens.mix import phases


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = write_corpus(tmp_path_factory.mktemp("corpus"), steps=["exact"], shard_bytes="300kB")
    data = yaml.safe_load(path.read_text())
    data["inputs"][0]["weight"] = 1.5
    data["steps"] = [{"length": {"action": "annotate"}}, *data["steps"]]
    data["output"] = {"shuffle": True, "shard_bytes": "100kB", "text": "parquet"}
    path.write_text(yaml.safe_dump(data))
    return load_recipe(path)


@pytest.fixture(scope="module", autouse=True)
def small():
    """Buckets small enough for there to be several, in several files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "BUCKET_BYTES", 1 << 16)
        patch.setattr(phases, "BLOCK_BYTES", 1 << 17)
        yield


@pytest.fixture(scope="module")
def here(recipe, tmp_path_factory):
    """A run in a folder of this machine, and its report."""
    out = tmp_path_factory.mktemp("here") / "run"
    return out, prepare(recipe, out, one_by_one)


def test_on_an_object_store_the_dataset_is_the_same(recipe, here, reached_s3, tmp_path):
    reached_s3.client().create_bucket(Bucket="mixed")
    prepare(recipe, "s3://mixed/run", one_by_one)
    there = reached_s3.download("mixed", "run/", tmp_path / "run")
    paths = [p for f in ("dataset", "text", "removed") for p in sorted((here[0] / f).rglob("*.*"))]
    assert len(paths) > 4
    for path in paths:
        found = there / path.relative_to(here[0])
        assert found.read_bytes() == path.read_bytes(), path.name
    assert not [key for key in reached_s3.keys("mixed") if "91-mix" in key]


def test_a_prediction_says_that_it_leaves_the_mixture_out(recipe, here, tmp_path):
    path = tmp_path / "estimate.json"
    outcome = measure_corpus(Measuring(recipe=recipe, sample=0.5), path, one_by_one)
    for what in ("the mixture", "kept text"):
        assert any(r.startswith(f"{what} is not predicted") for r in outcome.predicted.remarks)
    assert outcome.estimate.not_predicted == ["mix", "output.text"]
    rows = {
        row.name: row
        for row in compare(load_estimate(path, recipe), Report.model_validate(here[1]))
    }
    assert rows["tokens"].actual == here[1]["measurement"]["total"]["tokens"]
    assert rows["stored bytes per token"].actual < 3
    assert not [name for name in rows if name.startswith((*NOT_MIXED, *NO_TEXT))]
    assert json.loads(path.read_text())["corpus"]["tokens"]
