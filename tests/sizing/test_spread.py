"""Intervals survive formulas: through several ways, unlike ends, and joint draws."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.figure import carried, interval

DRAWS = 20_000


def product(*, a, b):
    return a * b


def test_without_a_spread_there_is_no_interval():
    assert interval(3.0, {}) == (None, None)
    assert carried(product, {"a": 2.0, "b": 3.0}, {"a": {}, "b": {}}) == {}


def test_a_quantity_that_reaches_a_value_by_two_ways_is_counted_once():
    tokens = {"tokens": (8.0, 14.0)}
    text = carried(product, {"a": 10.0, "b": 4.0}, {"a": tokens})
    ids = carried(product, {"a": 10.0, "b": 2.0}, {"a": tokens})
    both = carried(lambda *, a, b: a + b, {"a": 40.0, "b": 20.0}, {"a": text, "b": ids})
    assert interval(60.0, both) == (48.0, 84.0)


def test_what_cancels_leaves_no_interval():
    tokens = {"tokens": (8.0, 14.0)}
    text = carried(product, {"a": 10.0, "b": 4.0}, {"a": tokens})
    ratio = carried(lambda *, a, b: a / b, {"a": 40.0, "b": 10.0}, {"a": text, "b": tokens})
    assert interval(4.0, ratio) == (4.0, 4.0)


def test_a_falling_function_turns_the_ends_round():
    rate = carried(lambda *, a: 100.0 / a, {"a": 10.0}, {"a": {"a": (5.0, 20.0)}})
    assert interval(10.0, rate) == (5.0, 20.0)


def test_of_joint_draws_the_middle_95_percent_are_taken():
    draws = tuple(float(i) for i in range(1001))
    assert interval(500.0, {"sample": draws}) == (25.0, 975.0)
    shuffled = random.Random(3).sample(draws, len(draws))
    assert interval(500.0, {"sample": tuple(shuffled)}) == (25.0, 975.0)


def test_joint_draws_stay_together():
    a, b = tuple(float(i) for i in range(100)), tuple(float(99 - i) for i in range(100))
    both = carried(lambda *, a, b: a + b, {"a": 49.5, "b": 49.5}, {"a": {"s": a}, "b": {"s": b}})
    assert set(both["s"]) == {99.0}


def test_draws_of_unlike_number_under_one_name_are_refused():
    with pytest.raises(ValueError, match="'s' has 50 scenarios here, 60 there"):
        carried(product, {"a": 1.0, "b": 1.0}, {"a": {"s": (1.0,) * 50}, "b": {"s": (1.0,) * 60}})


@given(st.floats(1, 100), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_a_value_lies_in_its_interval(value, below, above):
    spread = {"x": (value * (1 - below), value * (1 + above))}
    low, high = interval(value**2, carried(lambda *, x: x**2, {"x": value}, {"x": spread}))
    assert low <= value**2 <= high
    assert math.isclose(high, (value * (1 + above)) ** 2)


@pytest.mark.parametrize(
    ("function", "points"),
    [
        (lambda *, x, y, z: x * y / z, {"x": (3.0, 0.1), "y": (4.0, 0.2), "z": (2.0, 0.05)}),
        (lambda *, x, y, z: x + y * z, {"x": (9.0, 0.9), "y": (2.0, 0.2), "z": (3.0, 0.1)}),
        (
            lambda *, x, y, z: math.sqrt(2 * x * y) + z,
            {"x": (8.0, 0.8), "y": (9.0, 0.5), "z": (1, 0.1)},
        ),
    ],
)
def test_intervals_are_those_of_monte_carlo(function, points):
    values = {name: value for name, (value, _) in points.items()}
    spreads = {
        name: {name: (value - 1.96 * se, value + 1.96 * se)} for name, (value, se) in points.items()
    }
    low, high = interval(function(**values), carried(function, values, spreads))
    gauss = random.Random(1).gauss
    made = sorted(
        function(**{n: gauss(v, se) for n, (v, se) in points.items()}) for _ in range(DRAWS)
    )
    width = made[int(0.975 * DRAWS)] - made[int(0.025 * DRAWS)]
    assert math.isclose(low, made[int(0.025 * DRAWS)], abs_tol=0.04 * width)
    assert math.isclose(high, made[int(0.975 * DRAWS)], abs_tol=0.04 * width)


def test_what_no_scenario_takes_below_nothing_is_not_told_below_it():
    assert interval(10.0, {"a": (1.0, 11.0), "b": (1.0, 11.0)})[0] == 0.0
    assert interval(10.0, {"a": (-1.0, 11.0), "b": (1.0, 11.0)})[0] == -1.0
