import base64
import json

import numpy as np
import pytest

from tests.pipelines.conftest import train
from tests.running import one_by_one
from tokenmill.pipelines.core.shard import Plan, SourceShard
from tokenmill.pipelines.measure.beside import set_down
from tokenmill.pipelines.measure.drawn import between
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import measure_corpus
from tokenmill.pipelines.measure.scratch import blocks_of
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.stream import BLOCK_BYTES


def test_what_lies_between_two_numbers_has_them_as_its_interval():
    found = between(2.0, 200.0, order=0)
    assert found.value == pytest.approx(20)
    assert found.limits() == pytest.approx((2, 200), rel=1e-5)
    assert between(2.0, 200.0, order=0, value=3.0).value == 3
    assert between(7.0, 7.0, order=0).figure().draws == ()


def test_two_that_are_drawn_apart_do_not_go_together():
    one, other = (np.log(between(1.0, 9.0, order=order).draws) for order in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_documents_as_long_as_a_block_have_batches_of_their_own():
    shard = SourceShard(
        key="0", ordinal=0, input=0, source="", format="jsonl", paths=("a",), names=("a",),
        bytes=30 * BLOCK_BYTES - 1,
    )  # fmt: skip
    plan = Plan(shards=(shard,))
    assert blocks_of(plan, 0.0) == (1, 0.5, pytest.approx(30**0.5), 60.0)
    assert blocks_of(plan, 40.0) == (1, 0.5, 40.0, 70.0)
    assert blocks_of(Plan(shards=(shard, shard)), 3.0) == (2, 1.0, pytest.approx(120**0.5), 120.0)


def test_batches_are_counted_as_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tokenmill.pipelines.read.stream.BLOCK_BYTES", 1 << 12)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "word " * n}) + "\n" for n in [1_000] * 9 + [9]))
    data = {"inputs": [{"path": str(path)}], "tokenizer": {"path": str(train(tmp_path))}}
    recipe = make_recipe(data, where="test")
    found = measure_corpus(Measuring(recipe=recipe, sample=0.2), tmp_path / "e.json", one_by_one)
    (part,) = found.finished.parts.values()
    n = sum(1 for _ in recipe.read(found.sample.plan.shards[0], ""))
    assert part.facts.sums["batches"] == n > 5


def test_as_much_is_seen_side_by_side_of_what_filters_leave_where_all_went_through_them(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tokenmill.pipelines.measure.scan.MOST_BESIDE", 10_000)
    stays = "This is a sentence of some words that ends with the end. " * 10
    rows = [{"text": f"{n} " + ("short", stays)[n % 20 == 0]} for n in range(2_000)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"inputs": [{"path": str(path)}], "tokenizer": {"path": str(train(tmp_path))}}
    recipe = make_recipe(data | {"steps": ["gopher_quality", "exact"]}, where="test")
    found = measure_corpus(Measuring(recipe=recipe), tmp_path / "e.json", one_by_one)
    (part,) = found.finished.parts.values()
    assert 9_000 < part.facts.sums["beside_bytes"] <= 10_000


def test_long_documents_are_seen_side_by_side_as_often_as_their_bytes_are(tmp_path, monkeypatch):
    """Of 90 kB that lz4 leaves as they are, half of the text, among pages of 2 kB."""
    monkeypatch.setattr("tokenmill.pipelines.measure.scan.MOST_BESIDE", 1 << 16)
    rng = np.random.default_rng(0)
    texts = [f"{n} words come again in a page. " * 65 for n in range(450)]
    for at in range(0, 450, 45):
        texts[at] = base64.b64encode(rng.bytes(67_500)).decode()
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    data = {"inputs": [{"path": str(path)}], "tokenizer": {"path": str(train(tmp_path))}}
    recipe = make_recipe(data | {"steps": ["exact"]}, where="test")
    told = []
    for seed in range(4):
        measuring = Measuring(recipe=recipe, seed=seed)
        found = measure_corpus(measuring, tmp_path / "e.json", one_by_one)
        told.append(found.predicted.prediction.stored_bytes["10-filtered"].value)
    (shard,) = plan_run(recipe).shards
    made = sum(set_down(read.documents, is_piece=False) for read in recipe.read(shard, ""))
    assert np.mean(told) == pytest.approx(made, rel=0.2)


def test_a_file_of_which_what_changes_texts_leaves_nothing_is_measured(tmp_path):
    stays = "This is a sentence of some words that ends with the end. " * 10
    inputs = []
    for name, text in ("a", stays), ("b", "nothing here\n"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": f"{n} {text}"}) + "\n" for n in range(50)))
        inputs.append({"path": str(path)})
    data = {"inputs": inputs, "tokenizer": {"path": str(train(tmp_path))}}
    recipe = make_recipe(data | {"steps": ["c4", "exact", "near"]}, where="test")
    found = measure_corpus(Measuring(recipe=recipe), tmp_path / "e.json", one_by_one)
    assert [found.predicted.prediction.docs[n].value for n in ("c4", "exact")] == [50, 50]
    assert not found.finished.failures
