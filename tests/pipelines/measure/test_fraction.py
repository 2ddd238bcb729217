import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tests.strategies import examples
from tokenmill.pipelines.measure.chosen import moments, ratio_of
from tokenmill.pipelines.measure.drawn import Undrawn, fraction, missed_sums, t_ratio
from tokenmill.pipelines.measure.unique import unique_frac

SCORE = np.random.default_rng(0).random(400)


@given(st.integers(1, 60), st.data())
def test_of_units_that_are_0_or_1_the_limits_are_clopper_and_pearsons(n, data):
    k = data.draw(st.integers(0, n))
    p = k / n
    drawn = fraction(p, p * (1 - p) / (n + 1), undrawn=Undrawn(1, n), score=SCORE)
    low, high = reference.clopper_pearson(k, n, 0.025)
    assert drawn.limits() == pytest.approx((low, high), abs=2e-5)


@example(value=0.03125, variance=0.0, n=79_015_304, a=1.0)
@given(
    value=st.just(0.0) | st.floats(1e-9, 1),
    variance=st.floats(0, 10),
    n=st.integers(1, 10**9),
    a=st.floats(0.01, 1),
)
def test_limits_stay_inside_0_and_1_hold_the_value_and_are_apart(value, variance, n, a):
    drawn = fraction(value, variance, undrawn=Undrawn(a, n), score=SCORE[:80])
    low, high = drawn.limits()
    assert 0 <= low <= value <= high <= 1
    assert low < high
    assert np.isfinite(drawn.draws).all()


@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_a_population_that_was_all_looked_at_has_no_error(value):
    assert fraction(value, 0.0, undrawn=None, score=SCORE).limits() == (value, value)


def test_a_share_that_was_seen_is_nought_in_no_draw():
    assert fraction(1e-9, 0.25, undrawn=Undrawn(1, 1), score=SCORE).draws.min() > 0


def test_the_factor_of_student_is_large_for_few_and_1_for_many():
    assert t_ratio(1) == pytest.approx(12.706 / 1.96, rel=1e-4)
    assert t_ratio(10**9) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("chance", [1e-9, 0.2, 0.95])
def test_units_alike_that_were_not_drawn_are_as_many_as_an_exponential_number(chance):
    n, drawn = 1_000, np.random.default_rng(0).exponential(-1 / np.log1p(-chance), 400_000)
    weights = np.full(n, 1 / chance)
    made = Undrawn.of_sums(
        weights.sum(),
        (1 - chance) * (weights**2).sum(),
        *missed_sums(weights, np.full(n, chance)),
    )
    assert made.a == pytest.approx(1)
    assert made.b == pytest.approx(n / chance / drawn.mean(), rel=0.01)


def test_of_units_unlike_those_seldom_drawn_tell_what_was_not():
    """Of as many of .5 and of .99: what is missed is drawn of either as often as it is missed."""
    chances = np.repeat([0.5, 0.99], 500)
    weights, rng = 1 / chances, np.random.default_rng(0)
    made = Undrawn.of_sums(
        weights.sum(), ((1 - chances) * weights**2).sum(), *missed_sums(weights, chances)
    )
    missed = (1 - chances) * weights
    of = rng.choice(1_000, 400_000, p=missed / missed.sum())
    times = chances[of] * rng.exponential(-1 / np.log1p(-chances[of]))
    typical = (missed @ weights) / missed.sum()
    scale = times.var() / times.mean()
    assert made.a == pytest.approx(times.mean() / scale, rel=0.02)
    assert made.b == pytest.approx(weights.sum() / typical / scale, rel=0.02)


def test_where_all_was_drawn_nothing_was_not():
    assert Undrawn.of_sums(3.0, 0.0, *missed_sums(np.ones(3), np.ones(3))) is None


CHANCES = [(0.45, 0.98), (0.1, 0.9), (0.5, 0.5), (0.95, 0.95)]


# each number and each chance once
@pytest.mark.long_but("0.45-0.98-1", "0.1-0.9-2", "0.5-0.5-5", "0.95-0.95-400")
@pytest.mark.parametrize("bad", [1, 2, 5, 400])
@pytest.mark.parametrize(("rare", "often"), CHANCES)
def test_a_few_odd_documents_are_in_the_interval_where_most_are_drawn(bad, rare, often):
    n, seeds, told = 4_000, examples(400, 40), {"chosen": 0, "probes": 0}
    chances = np.where(np.arange(n) < n // 5, rare, often)
    passes = np.ones(n)
    passes[: 2 * bad : 2] = 0  # of those that are seldom drawn
    for seed in range(seeds):
        at = np.random.default_rng(seed).random(n) < chances
        sums = moments("s docs", np.ones(at.sum()), passes[at], chances[at])
        found = {
            "chosen": ratio_of("s docs", sums, seed),
            "probes": unique_frac(passes[at], 1 / chances[at], chances=chances[at], seed=seed),
        }
        for name, drawn in found.items():
            low, high = drawn.limits()
            told[name] += low <= passes.mean() <= high
            assert (high - low) * n < 3 * (1 + bad**0.5) / rare
    least = 0.95 * seeds - 2 * (0.95 * 0.05 * seeds) ** 0.5  # by chance
    assert min(told.values()) >= least, told
