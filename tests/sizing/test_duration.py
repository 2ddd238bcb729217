"""Lengths of time are read in any unit, and what is none is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.duration import SECONDS, parse_seconds
from tokenmill.sizing.units import UnitError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("600", 600),
        ("90 s", 90),
        ("10 min", 600),
        ("10 minutes", 600),
        ("30min", 1800),
        ("1h", 3600),
        ("1 hour", 3600),
        ("2 days", 172_800),
        ("1.5 d", 129_600),
        ("5 ms", 0.005),
        (" 1_000 s ", 1000),
    ],
)
def test_durations(text, seconds):
    assert parse_seconds(text) == seconds


@given(st.decimals(0, 10**6, places=3), st.sampled_from(sorted(SECONDS)))
def test_a_duration_is_its_figure_times_its_unit(figure, unit):
    assert parse_seconds(f"{figure} {unit}") == pytest.approx(float(figure) * SECONDS[unit])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-1h", "is negative"),
        ("1 M", "is not"),
        ("1:30", "is not"),
        ("", "is not"),
        ("h", "is not"),
    ],
)
def test_what_is_no_duration(text, what):
    with pytest.raises(UnitError, match=f"{what}.*; accepted: 10 min, 1h, 90 s, 2 days"):
        parse_seconds(text)
