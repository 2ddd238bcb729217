"""A figure of a measurement is a number, an interval, or joint draws."""

import pytest
from pydantic import TypeAdapter, ValidationError

from tokenmill.sizing.figure import AnyFigure, Figure

READ = TypeAdapter(AnyFigure).validate_python
DRAWS = [float(i) for i in range(1, 101)]


def test_a_number_is_an_exact_figure():
    assert READ(3) == READ({"value": 3.0}) == Figure(value=3.0)
    assert READ(3).limits() == (None, None)
    assert READ(3).spread("tokens", "sample") == {}


def test_an_interval_and_draws_say_what_they_are_of():
    ends = READ({"value": 3.0, "low": 2.0, "high": 5.0})
    assert ends.spread("tokens", "sample") == {"tokens": (2.0, 5.0)}
    assert ends.limits() == (2.0, 5.0)
    drawn = READ({"value": 50.0, "draws": DRAWS})
    assert drawn.spread("tokens", "sample") == {"sample": tuple(DRAWS)}
    assert drawn.limits() == pytest.approx((3.475, 97.525))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"value": 3, "low": 2}, "low and high go together"),
        ({"value": 3, "low": 4, "high": 5}, "value 3 is not between low 4 and high 5"),
        ({"value": 3, "low": 1, "high": 2}, "value 3 is not between low 1 and high 2"),
        ({"value": 3, "draws": [1.0, 2.0]}, "2 draws make no interval, 40 or more do"),
        (-1, "greater than or equal to 0"),
        (float("nan"), "finite"),
        (True, "valid"),
        ("3", "valid"),
        ({"value": 3, "mean": 3}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_no_figure(data, message):
    with pytest.raises(ValidationError, match=message):
        READ(data)


def test_bounds_are_limits_but_no_spread():
    bounded = READ({"value": 50.0, "draws": DRAWS, "bounds": [1.0, 90.0]})
    assert bounded.limits() == (1.0, 90.0)
    assert bounded.spread("tokens", "sample") == {"sample": tuple(DRAWS)}
    assert READ({"value": 3.0, "bounds": [1.0, 4.0]}).spread("tokens", "sample") == {}
    assert READ(TypeAdapter(Figure).dump_python(bounded)) == bounded
    with pytest.raises(ValidationError, match="value 3 is not within its bounds"):
        READ({"value": 3.0, "bounds": [4.0, 5.0]})
