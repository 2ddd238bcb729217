"""A formula shows exactly the inputs it uses, and carries their errors."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.formula import Formula, standard_error
from sizing.requirement import Input


def volume(*, width, height, depth):
    return width * height / depth


VOLUME = Formula(function=volume, equation="width x height / depth", unit="m", source="school")


def side(name, value, se=None, *, measured=True):
    return Input(name=name, value=value, unit="m", measured=measured, source="ruler", se=se)


def test_a_requirement_says_how_it_came_about():
    inputs = (side("width", 3.0), side("height", 4.0), side("depth", 2.0))
    row = VOLUME.requirement("the row", inputs)
    assert (row.name, row.value, row.unit) == ("the row", 6.0, "m")
    assert (row.formula, row.source) == ("width x height / depth", "school")
    assert row.inputs == inputs
    assert row.se is None


def test_an_input_the_formula_does_not_use_is_an_error_and_so_is_a_missing_one():
    sides = [side("width", 3.0), side("height", 4.0)]
    with pytest.raises(TypeError, match="depth"):
        VOLUME.requirement("row", sides)
    with pytest.raises(TypeError, match="breadth"):
        VOLUME.requirement("row", [*sides, side("depth", 2.0), side("breadth", 2.0)])


def test_two_inputs_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="row: two inputs share a name among"):
        VOLUME.requirement("row", [side("width", 3.0), side("width", 4.0)])


@given(st.floats(0.1, 1e3), st.floats(0.1, 1e3), st.floats(0.0, 1.0))
def test_of_a_linear_input_the_relative_error_is_kept(width, height, relative_se):
    inputs = [side("width", width, relative_se * width), side("height", height), side("depth", 1.0)]
    se = standard_error(volume, inputs)
    assert math.isclose(se, relative_se * width * height, rel_tol=1e-9, abs_tol=1e-9)


def test_errors_of_several_inputs_add_as_in_monte_carlo():
    inputs = [side("width", 3.0, 0.1), side("height", 4.0, 0.2), side("depth", 2.0, 0.05)]
    draw = random.Random(1).gauss
    made = [volume(**{i.name: draw(i.value, i.se) for i in inputs}) for _ in range(20_000)]
    # the standard error of a standard deviation is sd / sqrt(2 n): 0.5 %
    assert math.isclose(standard_error(volume, inputs), statistics.stdev(made), rel_tol=0.02)
