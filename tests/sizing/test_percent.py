"""Fractions in percent are a hundredth of what stands before the sign."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.percent import parse_fraction
from tokenmill.sizing.units import UnitError


@given(st.decimals(0, 1000, places=3), st.sampled_from(["%", " %"]))
def test_percent_and_plain_are_the_same_fraction(figure, sign):
    assert parse_fraction(f"{figure}{sign}") == float(figure) / 100
    assert parse_fraction(str(figure)) == float(figure)


@pytest.mark.parametrize(
    ("text", "what"),
    [("-4%", "is negative"), ("4 %%", "is not"), ("", "is not"), ("1/3", "is not")],
)
def test_what_is_no_fraction(text, what):
    with pytest.raises(UnitError, match=f"{what}.*; accepted: 40%, 0.4"):
        parse_fraction(text)
