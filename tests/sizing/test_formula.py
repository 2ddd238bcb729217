"""A formula shows exactly the inputs it uses, and carries their intervals."""

import pytest

from sizing.formula import Formula
from sizing.requirement import Input
from sizing.spread import of_error


def volume(*, width, height, depth):
    return width * height / depth


VOLUME = Formula(function=volume, equation="width x height / depth", unit="m", source="school")


def side(name, value, se=None, *, measured=True):
    return Input(
        name=name,
        value=value,
        unit="m",
        measured=measured,
        source="ruler",
        spread=of_error(name, value, se),
    )


def test_a_requirement_says_how_it_came_about():
    inputs = (side("width", 3.0), side("height", 4.0), side("depth", 2.0))
    row = VOLUME.requirement("the row", inputs)
    assert (row.name, row.value, row.unit) == ("the row", 6.0, "m")
    assert (row.formula, row.source) == ("width x height / depth", "school")
    assert row.inputs == inputs
    assert row.interval == (None, None)


def test_an_input_the_formula_does_not_use_is_an_error_and_so_is_a_missing_one():
    sides = [side("width", 3.0), side("height", 4.0)]
    with pytest.raises(TypeError, match="depth"):
        VOLUME.requirement("row", sides)
    with pytest.raises(TypeError, match="breadth"):
        VOLUME.requirement("row", [*sides, side("depth", 2.0), side("breadth", 2.0)])


def test_two_inputs_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="row: two inputs share a name among"):
        VOLUME.requirement("row", [side("width", 3.0), side("width", 4.0)])


def test_an_interval_goes_from_row_to_row():
    row = VOLUME.requirement(
        "v", [side("width", 3.0, 0.5), side("height", 4.0), side("depth", 2.0)]
    )
    assert row.interval == pytest.approx((6.0 - 1.96, 6.0 + 1.96))
    twice = Formula(function=lambda *, v: 2 * v, equation="2 v", unit="m", source="school")
    assert twice.requirement("t", [row.as_input("v")]).interval == pytest.approx((8.08, 15.92))
