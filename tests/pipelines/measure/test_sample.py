"""Parts are drawn by a seed, of every stratum one at least, and within the budget."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.chosen import Choice, chance
from tokenmill.pipelines.measure.sample import bytes_of, draw, draw_sample
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.plan import plan_inputs


@given(
    sizes=st.lists(st.integers(1, 1_000), min_size=1, max_size=60),
    n_strata=st.integers(1, 5),
    share=st.floats(0.01, 1.0),
    seed=st.integers(0, 9),
)
def test_each_stratum_has_a_part_and_all_parts_are_drawn_of_a_budget_of_all(
    sizes, n_strata, share, seed
):
    part_bytes = np.array(sizes, np.float64)
    strata = np.sort(np.arange(len(sizes)) % n_strata)
    total = part_bytes.sum()
    drawn = draw(part_bytes, strata, budget_bytes=share * total, seed=seed)
    assert set(strata[drawn]) == set(strata)
    assert (drawn == draw(part_bytes, strata, budget_bytes=share * total, seed=seed)).all()
    assert draw(part_bytes, strata, budget_bytes=total, seed=seed).all()


def test_parts_of_a_stratum_are_drawn_alike_and_within_the_budget():
    strata, part_bytes = np.repeat([0, 1], [60, 40]), np.full(100, 5.0)
    hits = np.zeros(100)
    for seed in range(1_000):
        drawn = draw(part_bytes, strata, budget_bytes=100.0, seed=seed)
        assert part_bytes[drawn].sum() <= 100
        hits += drawn
    assert hits[:60].min() > 120
    assert hits[:60].max() < 260


def test_a_lone_part_of_several_gets_another():
    assert draw(np.ones(9), np.zeros(9, np.int64), budget_bytes=1e-3, seed=0).sum() == 2


def test_a_budget_is_a_share_or_bytes():
    assert bytes_of("--budget", 0.25, 400.0) == 100.0
    assert bytes_of("--budget", 1.0, 400.0) == 400.0
    assert bytes_of("--budget", 300.0, 400.0) == 300.0
    with pytest.raises(ConfigError, match="--budget 0: write bytes, or a share of them"):
        bytes_of("--budget", 0.0, 400.0)


def test_a_corpus_is_cut_into_parts_and_twenty_of_them_drawn(tmp_path):
    line = json.dumps({"text": "words " * 500}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * 4_000)
    (tmp_path / "small.jsonl").write_text(line)
    recipe = make_recipe(
        {"inputs": [{"path": str(tmp_path)}], "tokenizer": {"path": "tokenizer.json"}}, where="test"
    )
    plan = plan_inputs(recipe.inputs, recipe.shard_bytes)
    sample = draw_sample(recipe, plan, sample=0.2, seed=0)
    assert 25 <= len(sample.plan.shards) <= 27
    assert sample.strata.max() == 1
    assert 19 <= sample.drawn.sum() <= 21
    large = np.flatnonzero(sample.drawn[:-1])
    assert sample.checked == {int(large[0]), int(large[-1]), len(sample.drawn) - 1}
    assert sample.choice.share == pytest.approx(0.2)
    assert len(draw_sample(recipe, plan, sample=0.2, seed=0).plan.shards) == len(sample.plan.shards)
    assert (draw_sample(recipe, plan, sample=0.2, seed=1).drawn != sample.drawn).any()
    of_half = draw_sample(recipe, plan, sample=0.2, seed=0, budget=0.5)  # parts are smaller
    assert 40 <= len(of_half.plan.shards) <= 101
    assert of_half.read.sum() > 20
    assert 18 <= of_half.drawn.sum() <= 20
    assert (of_half.drawn <= of_half.read).all()


def test_more_is_seen_of_each_file_that_has_a_part_drawn(tmp_path):
    """Of files of few parts there is one stratum, and of one of them little is known by others."""
    for number in range(30):
        (tmp_path / f"{number}.jsonl").write_text((json.dumps({"text": "words " * 500}) + "\n") * 9)
    recipe = make_recipe(
        {"inputs": [{"path": str(tmp_path)}], "tokenizer": {"path": "tokenizer.json"}}, where="test"
    )
    sample = draw_sample(recipe, plan_inputs(recipe.inputs, recipe.shard_bytes), sample=0.2, seed=0)
    assert sample.strata.max() == 0
    assert sample.checked == set(np.flatnonzero(sample.drawn).tolist())
    assert len(sample.checked) == 20


def test_a_larger_sample_draws_as_much_of_the_parts_up_to_all_that_are_read(tmp_path):
    (tmp_path / "large.jsonl").write_text((json.dumps({"text": "words " * 500}) + "\n") * 4_000)
    recipe = make_recipe(
        {"inputs": [{"path": str(tmp_path)}], "tokenizer": {"path": "tokenizer.json"}}, where="test"
    )
    plan = plan_inputs(recipe.inputs, recipe.shard_bytes)
    draws = [draw_sample(recipe, plan, sample=s, seed=0) for s in (0.2, 0.9, 1.0)]
    assert [int(d.drawn.sum()) for d in draws] == [20, 22, len(draws[2].drawn)]
    of_half = draw_sample(recipe, plan, sample=1.0, seed=0, budget=0.5)
    assert np.array_equal(of_half.drawn, of_half.read)


@pytest.mark.parametrize(
    ("size", "chosen"),
    [(6_000_000, 6e6), (20_000_000, 20e6), (2_000_000_000, 32e6)],
)
def test_as_much_is_chosen_as_tells_enough_however_large_a_corpus_is(tmp_path, size, chosen):
    line = json.dumps({"text": "words " * 500}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * 1_000)
    os.truncate(tmp_path / "large.jsonl", size)  # what is behind is not read
    recipe = make_recipe(
        {"inputs": [{"path": str(tmp_path)}], "tokenizer": {"path": "tokenizer.json"}}, where="test"
    )
    plan = plan_inputs(recipe.inputs, recipe.shard_bytes)
    sample = draw_sample(recipe, plan, sample=None, seed=0)
    assert sample.choice.share * sample.part_bytes.sum() == pytest.approx(chosen)
    assert 19 <= sample.drawn.sum() <= 20


def test_all_are_chosen_where_those_wanted_and_the_share_of_the_text_are_half():
    sizes = np.full(400, 1_000, np.int64)
    for wanted, is_all in ((121, True), (119, False)):
        choice = Choice(0.2, wanted / sizes.sum(), 1e9, 0.2)
        chances = chance(sizes, choice, read_bytes=float(sizes.sum()))
        assert (chances == 1).all() == is_all
        assert chances.sum() == pytest.approx(400 if is_all else wanted)


def test_many_probes_are_drawn_of_short_documents_as_of_long_ones():
    sizes = np.random.default_rng(0).lognormal(7, 1.5, 20_000).astype(np.int64) + 1
    read = float(sizes.sum())
    few, many = (Choice(0.05, wanted / read, 1e9, 0.05) for wanted in (100, 2_000))
    by_bytes, chances = (chance(sizes, how, read_bytes=read) for how in (few, many))
    assert chances.min() == pytest.approx(2_000 / 20_000)
    assert np.array_equal(chances, np.maximum(by_bytes, chances.min()))
    assert by_bytes @ sizes / read == pytest.approx(0.05, rel=0.1)


def test_tokens_are_made_of_all_that_filters_leave_where_that_is_no_more_than_the_share():
    sizes, choice = np.full(500, 1_000, np.int64), Choice(0.2, 0.0, 1e9, 0.2)
    few = choice.of_tokens(5e5, read_bytes=2.5e6)
    assert (chance(sizes, few, read_bytes=2.5e6) == 1).all()
    half = choice.of_tokens(5e5, read_bytes=1.25e6)
    assert chance(sizes, half, read_bytes=1.25e6).sum() == pytest.approx(250)
    assert choice.of_tokens(9e5, read_bytes=5e5).share == choice.tokenized  # longer than it was


def test_documents_chosen_once_stand_for_all_where_some_are_chosen_again():
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(7, 1.5, 60_000).astype(np.int64) + 1
    once = np.clip(np.sqrt(sizes) / 150, 0.01, 1.0)
    choice, taken = Choice(0.1, 0.0, 1e9, 0.1), rng.random(len(sizes)) < once
    of_all = chance(sizes, choice, read_bytes=0.0)
    of_some = chance(sizes[taken], choice, read_bytes=0.0, of=1 / once[taken])
    assert of_some == pytest.approx(of_all[taken], rel=0.1)
