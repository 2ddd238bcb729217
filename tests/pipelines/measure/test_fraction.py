import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.measure.drawn import fraction, t_ratio

SCORE = np.random.default_rng(0).random(400)


@given(st.integers(1, 60), st.data())
def test_of_units_that_are_0_or_1_the_limits_are_clopper_and_pearsons(n, data):
    k = data.draw(st.integers(0, n))
    p = k / n
    drawn = fraction(p, p * (1 - p) / (n + 1), unseen=1 / (n + 1), score=SCORE)
    low, high = reference.clopper_pearson(k, n, 0.025)
    assert drawn.limits() == pytest.approx((low, high), abs=2e-5)


@example(value=0.03125, variance=0.0, n=79_015_304, unread=1.0)
@given(
    value=st.just(0.0) | st.floats(1e-9, 1),
    variance=st.floats(0, 10),
    n=st.integers(1, 10**9),
    unread=st.floats(0.01, 1),
)
def test_limits_stay_inside_0_and_1_hold_the_value_and_are_apart(value, variance, n, unread):
    drawn = fraction(value, variance, unseen=1 / (n + 1), score=SCORE[:80], unread=unread)
    low, high = drawn.limits()
    assert 0 <= low <= value <= high <= 1
    assert low < high
    assert np.isfinite(drawn.draws).all()


@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_a_population_that_was_all_looked_at_has_no_error(value):
    assert fraction(value, 0.1, unseen=0.1, score=SCORE, unread=0.0).limits() == (value, value)
    assert fraction(value, 0.0, unseen=0.0, score=SCORE).limits() == (value, value)


def test_a_share_that_was_seen_is_nought_in_no_draw():
    assert fraction(1e-9, 0.25, unseen=0.5, score=SCORE).draws.min() > 0


def test_the_factor_of_student_is_large_for_few_and_1_for_many():
    assert t_ratio(1) == pytest.approx(12.706 / 1.96, rel=1e-4)
    assert t_ratio(10**9) == pytest.approx(1, abs=1e-4)
