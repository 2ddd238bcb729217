"""Charts on a logarithmic axis: marks where their values are, nothing cut off, all escaped."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.sizing.document.charts import Curve, Dots, Flag, curves, dots
from tokenmill.sizing.document.svg import WIDTH, Axis, width_of
from tokenmill.sizing.units import format_rate

AXIS = Axis("bytes/s", format_rate)
SERIES = ("reads", "writes")
labels = st.text(max_size=60)
rates = st.floats(1.0, 1e17)
some_rows = st.lists(
    st.builds(Dots, labels, st.tuples(st.none() | rates, st.none() | rates)), max_size=25
)
some_flags = st.lists(st.builds(Flag, st.text(max_size=30), rates), max_size=4)


def circles(root):
    """Centres of the circles but the legend's."""
    return [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle")][1:]


def inside(root):
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width == WIDTH
    for c in root.iter("circle"):
        assert 0 <= float(c.get("cx")) - 5 <= float(c.get("cx")) + 5 <= width
        assert 0 <= float(c.get("cy")) <= height
    for r in root.iter("rect"):
        x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for one in root.iter("line"):
        for end in ("x1", "x2"):
            assert 0 <= float(one.get(end)) <= width


@given(st.lists(st.builds(Flag, st.text("abc ", min_size=1, max_size=20), rates), max_size=4))
def test_no_line_crosses_the_name_of_a_flag(flags):
    """Where a flag near the right end was named left of its line, lines of others went through."""
    root = ElementTree.fromstring(dots("k", "t", AXIS, SERIES, [], flags))
    lines = [one for one in root.iter("line") if one.get("class") == "flag"]
    names = [one for one in root.iter("text") if one.get("class") == "name"]
    assert len(names) == len(flags)
    for name in names:
        begin, y = float(name.get("x")), float(name.get("y"))
        assert name.get("text-anchor") == "start"
        end = begin + width_of(name.text or "")
        for one in lines:
            above = float(one.get("y1")) < y - 9  # it goes on through this row
            assert not (above and begin < float(one.get("x1")) < end)


@given(some_rows, some_flags)
def test_marks_of_any_value_and_name_stay_inside(rows, flags):
    root = ElementTree.fromstring(dots("k", "title", AXIS, SERIES, rows, flags))
    inside(root)
    assert len(circles(root)) == sum(row.values[0] is not None for row in rows)


def test_marks_stand_at_the_logarithm_of_their_values():
    rows = [Dots(str(n), (10.0**n, 10.0 ** (n + 1))) for n in (6, 8, 9)]
    root = ElementTree.fromstring(dots("k", "t", AXIS, SERIES, rows, [Flag("x", 1e7)]))
    (a, _), (b, _), (c, _) = circles(root)
    assert b - a == pytest.approx(2 * (c - b), abs=0.3)
    squares = [r for r in root.iter("rect") if r.get("class") == "open"][1:]
    middles = [float(r.get("x")) + float(r.get("width")) / 2 for r in squares]
    assert middles[0] - a == pytest.approx(c - b, abs=0.3)
    (flag,) = [one for one in root.iter("line") if one.get("class") == "flag"]
    assert float(flag.get("x1")) == pytest.approx(middles[0], abs=0.2)


def test_a_chart_of_marks_is_told_in_words():
    rows = [Dots("a", (1e9, None)), Dots("b", (None, None)), Dots("c", (2e9, 3e9))]
    root = ElementTree.fromstring(dots("k", "t", AXIS, SERIES, rows, [Flag("needed 5 GB/s", 5e9)]))
    assert root.find("desc").text == (
        "needed 5 GB/s; a: reads 1 GB/s; b: not known; c: reads 2 GB/s, writes 3 GB/s"
    )


@given(st.lists(rates, min_size=1, max_size=4))
def test_no_line_crosses_a_name_that_stands_right_of_its_own(values):
    flags = [Flag(f"flag {i}", v) for i, v in enumerate(values)]
    root = ElementTree.fromstring(dots("k", "t", AXIS, SERIES, [], flags))
    lines = [
        (float(one.get("x1")), float(one.get("y1")))
        for one in root.iter("line")
        if one.get("class") == "flag"
    ]
    names = [t for t in root.iter("text") if t.get("class") == "name"]
    assert len(lines) == len(names) == len(values)
    for name in names:
        if name.get("text-anchor") == "start":
            x, y = float(name.get("x")), float(name.get("y"))
            assert not [at for at, top in lines if at > x and top < y - 11]


TICKS = [10.0**k for k in range(12)]
UP = Axis("lost", lambda v: f"{v:g} %")


@given(
    st.lists(
        st.tuples(st.floats(1, 1e10), st.floats(0, 100)), max_size=30, unique_by=lambda p: p[0]
    ),
    some_flags,
)
def test_curves_stay_inside(points, flags):
    data = [Curve("c", tuple(sorted(points)))]
    root = ElementTree.fromstring(curves("k", "t", (AXIS, UP), TICKS, data, flags))
    inside(root)
    _, _, width, height = map(float, root.get("viewBox").split())
    for one in root.iter("polyline"):
        for pair in one.get("points").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_a_curve_rises_with_its_values_over_the_logarithm():
    data = [Curve("c", tuple((10.0**k, 10.0 * k) for k in range(1, 6)))]
    root = ElementTree.fromstring(curves("k", "t", (AXIS, UP), TICKS, data, [Flag("f", 1e3)]))
    (line,) = root.iter("polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    steps = [(b[0] - a[0], a[1] - b[1]) for a, b in pairwise(points)]
    assert all(dx == pytest.approx(steps[0][0], abs=0.2) and dx > 0 for dx, _ in steps)
    assert all(dy == pytest.approx(steps[0][1], abs=0.2) and dy > 0 for _, dy in steps)
    (flag,) = [one for one in root.iter("line") if one.get("class") == "flag"]
    assert float(flag.get("x1")) == pytest.approx(points[2][0], abs=0.1)
    assert math.isclose(points[2][1] - points[4][1], 2 * steps[0][1], abs_tol=0.3)


def test_a_flag_out_of_range_is_left_out():
    data = [Curve("c", ((10.0, 1.0), (100.0, 2.0)))]
    root = ElementTree.fromstring(curves("k", "t", (AXIS, UP), TICKS, data, [Flag("far", 1e9)]))
    assert not [one for one in root.iter("line") if one.get("class") == "flag"]
