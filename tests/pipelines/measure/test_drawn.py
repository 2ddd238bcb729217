import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.measure.drawn import Drawn, around, coupled, exact, generator, levels
from tokenmill.sizing.figure import Figure


def test_what_is_uncertain_in_both_cancels_in_the_ratio():
    tokens = Drawn(100.0, np.linspace(50, 150, 400))
    stored = tokens * 2.5
    assert (stored / tokens).limits() == pytest.approx((2.5, 2.5))
    assert (stored + tokens).value == 350
    assert np.array_equal((2 * tokens).draws, tokens.draws * 2)
    assert sum([tokens, tokens], exact(0)).value == 200


def test_a_figure_has_the_same_interval_as_its_draws():
    drawn = Drawn(3.0, np.random.default_rng(0).gamma(3.0, size=400))
    figure = drawn.figure()
    assert figure.limits() == pytest.approx(drawn.limits())
    assert Figure.model_validate_json(figure.model_dump_json()) == figure
    assert json.loads(figure.model_dump_json())["value"] == 3.0


def test_what_was_counted_is_a_figure_without_draws():
    assert exact(7).figure() == Figure(value=7.0)


@given(st.integers(41, 2_000))
def test_percentiles_of_draws_at_the_levels_are_the_quantiles(n_draws):
    low, high = np.quantile(levels(n_draws), [0.025, 0.975])
    assert low == pytest.approx(0.025, abs=1e-12)
    assert high == pytest.approx(1 - low)


def test_two_kinds_of_samples_with_one_seed_are_drawn_apart():
    probes = generator("probes", 0).standard_exponential(2_000)
    local = generator("local", 0).standard_normal(2_000)
    assert abs(np.corrcoef(probes, local)[0, 1]) < 0.1
    assert np.array_equal(generator("local", 0).standard_normal(2_000), local)


def test_draws_keep_the_order_of_their_scores():
    score = np.array([0.3, 0.1, 0.4, 0.2])
    drawn = coupled(2.5, score, np.array([1.0, 2, 8, 9]), np.array([0.0, 0, 3, 4]))
    assert drawn.draws.tolist() == [3, 1, 4, 2]


@pytest.mark.parametrize("value", [1e-4, 0.3, 1.0])
def test_what_lies_around_a_value_is_as_often_below_it_as_above(value):
    drawn = around(1e-6, value, 1.0, order=3)
    low, high = drawn.limits()
    assert np.median(drawn.draws) == pytest.approx(value, rel=0.05)
    assert low == pytest.approx(1e-6, rel=0.2)
    assert high == pytest.approx(1.0, rel=0.05)
    assert drawn.draws.max() <= 1.0
