"""A tornado: bars to where the figure goes, nothing cut off, nothing told by colour alone."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sizing.document.test_curves import inside
from tokenmill.sizing.document.charts import Swing, swings
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes

AXIS = Axis("bytes", format_bytes)
amounts = st.floats(1.0, 1e17)
some = st.lists(st.builds(Swing, st.text(max_size=60), st.text(max_size=60), amounts, amounts))


def drawn(base, *data):
    return ElementTree.fromstring(swings("key", "a title", AXIS, base, data))


def bars(root, css):
    """From where to where, the legend's aside."""
    found = [r for r in root.iter("rect") if r.get("class") == css][1:]
    return [(float(r.get("x")), float(r.get("x")) + float(r.get("width"))) for r in found]


@given(base=amounts, data=some)
def test_whatever_is_drawn_is_inside_and_told(base, data):
    root = drawn(base, *data)
    inside(root)
    told = root.find("desc").text
    assert told.startswith(f"this plan {format_bytes(base)}")
    assert told.count(" to ") >= len(data)


def test_bars_go_from_the_figure_as_it_is_to_either_end():
    root = drawn(100e9, Swing("a", "1 to 3", 50e9, 200e9), Swing("b", "2 to 4", 125e9, 75e9))
    (base,) = [float(one.get("x1")) for one in root.iter("line")]
    (a_low, b_low), (a_high, b_high) = bars(root, "main"), bars(root, "open")
    assert (a_low[1], b_low[0]) == pytest.approx((base, base), abs=0.2)
    assert (a_high[0], b_high[1]) == pytest.approx((base, base), abs=0.2)
    assert a_high[1] - base == pytest.approx(2 * (base - a_low[0]), abs=0.5)
    assert b_low[1] - base == pytest.approx(base - b_high[0], abs=0.5)
    shown = [t.text for t in root.iter("text")]
    assert [t for t in shown if t in ("50 GB", "200 GB", "125 GB", "75 GB")] == [
        *("50 GB", "200 GB"),
        *("75 GB", "125 GB"),
    ]


def test_an_input_that_moves_the_figure_one_way_has_one_end_told():
    root = drawn(100e9, Swing("a", "1 to 3", 100e9, 150e9))
    assert bars(root, "main") == []
    assert len(bars(root, "open")) == 1
    shown = [t.text for t in root.iter("text")]
    assert shown.count("150 GB") == 1
    assert "100 GB" not in shown
