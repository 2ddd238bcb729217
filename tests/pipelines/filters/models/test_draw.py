"""Draws that depend on ids and a seed alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import quality as reference
from tokenmill.pipelines.filters.models.quality_model import kept_share, uniform

MANY = pa.array([f"shard-{i // 100}.jsonl#{i % 100}" for i in range(20_000)])


@given(st.lists(st.text(max_size=20), max_size=10), st.sampled_from(["quality", "holdout"]))
def test_draws_match_the_reference(ids, purpose):
    want = [reference.uniform(i, purpose, 3) for i in ids]
    assert uniform(pa.array(ids, pa.string()), purpose, 3).tolist() == want


def test_draws_are_even():
    drawn = uniform(MANY, "quality", 0)
    counts, _ = np.histogram(drawn, 20, (0, 1))
    # chi-square of 19 degrees of freedom: over 43.8 once in 1,000
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8


@pytest.mark.parametrize("other", [("quality", 1), ("holdout", 0)])
def test_other_seeds_and_purposes_draw_independently(other):
    one, two = uniform(MANY, "quality", 0), uniform(MANY, *other)
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(len(MANY))


def test_the_order_of_documents_and_where_they_are_cut_count_for_nothing():
    whole = uniform(MANY, "quality", 0)
    assert np.array_equal(uniform(MANY.slice(7000, 500), "quality", 0), whole[7000:7500])
    backward = pa.array(MANY.to_pylist()[::-1])
    assert np.array_equal(uniform(backward, "quality", 0), whole[::-1])


@pytest.mark.parametrize(("score", "alpha"), [(0.0, 9), (0.5, 9), (0.9, 9), (0.3, 1), (1.0, 9)])
def test_shares_are_those_of_numpys_pareto(score, alpha):
    n = 400_000
    drawn = np.random.default_rng(1).pareto(alpha, n)
    p = kept_share(np.array([score]), alpha)[0]
    assert abs(np.mean(drawn > 1 - score) - p) <= 4 * np.sqrt(p * (1 - p) / n) + 1e-12


@given(st.floats(0, 1), st.floats(0.1, 50), st.integers(0, 2**53 - 1))
def test_keeping_by_share_is_keeping_by_a_draw_from_the_distribution(score, alpha, n):
    u = n / 2**53
    drawn = reference.pareto(u, alpha)
    share = kept_share(np.array([score]), alpha)[0]
    if abs(u - share) > 1e-9 * share:
        assert (u < share) == (drawn > 1 - score)
