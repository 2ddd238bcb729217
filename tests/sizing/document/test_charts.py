"""Charts: right lengths, nothing cut off, all text escaped, for any number of bars."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import (
    Bar,
    Series,
    Stack,
    bars,
    histogram,
    stacked,
    waterfall,
)
from tokenmill.sizing.document.svg import WIDTH, Axis

AXIS = Axis("documents", lambda n: f"{n:,.0f}")
labels = st.text(max_size=60)
counts = st.integers(0, 10**15)
some_bars = st.lists(st.builds(Bar, labels, counts), max_size=45)


def parsed(svg):
    """The drawing as XML: (rectangles but those of a legend, texts by class)."""
    root = ElementTree.fromstring(svg)
    return root, [
        (r.get("class"), float(r.get("x")), float(r.get("width"))) for r in root.iter("rect")
    ]


def texts(root, css):
    return ["".join(t.itertext()) for t in root.iter("text") if t.get("class") == css]


def inside(root):
    """All rectangles lie in the drawing, and the values at their ends."""
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width == WIDTH
    for r in root.iter("rect"):
        x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert w >= 0
        assert h >= 0
        assert x + w <= width + 0.2
        assert y + h <= height
    for t in root.iter("text"):
        if t.get("class") == "value":
            assert float(t.get("x")) + 7 * len(t.text) <= width


@given(some_bars)
def test_bars_of_any_number_and_name_stay_inside(data):
    root, _ = parsed(bars("k", "title", AXIS, data))
    inside(root)
    assert len(texts(root, "value")) == min(len(data), charts.MOST_BARS)


@given(st.lists(st.integers(0, 10**12), max_size=48))
def test_histograms_stay_inside(data):
    root, drawn = parsed(histogram("k", "title", AXIS, data, "bytes"))
    inside(root)
    held = [k for k, n in enumerate(data) if n]
    assert len(drawn) == (held[-1] - held[0] + 1 if held else 0)


@given(counts, st.lists(st.builds(Bar, labels, st.integers(0, 1000)), max_size=30))
def test_waterfalls_stay_inside(start, changes):
    start += sum(bar.value for bar in changes)
    root, _ = parsed(waterfall("k", "title", AXIS, Bar("in", start), changes, "out"))
    inside(root)
    left = start - sum(bar.value for bar in changes)
    assert texts(root, "value")[-1] == f"{left:,}"


def test_bars_are_sorted_and_as_long_as_their_values():
    root, drawn = parsed(
        bars("k", "t", AXIS, [Bar("a", 25), Bar("b", 100), Bar("c", 0), Bar("d", 50)])
    )
    assert texts(root, "label") == ["b", "d", "a", "c"]
    assert texts(root, "value") == ["100", "50", "25", "0"]
    widths = [width for _, _, width in drawn]
    assert widths == pytest.approx([widths[0], widths[0] / 2, widths[0] / 4], abs=0.11)


def test_one_document_among_millions_is_seen():
    _, drawn = parsed(bars("k", "t", AXIS, [Bar("a", 10**7), Bar("b", 1)]))
    assert [width >= 1.5 for _, _, width in drawn] == [True, True]


def test_bars_beyond_the_most_are_added_up():
    data = [Bar(str(i), 1000 - i) for i in range(35)]
    root, _ = parsed(bars("k", "t", AXIS, data))
    assert texts(root, "label")[-2:] == ["28", "6 others together"]
    assert texts(root, "value")[-1] == f"{sum(1000 - i for i in range(29, 35)):,}"


@pytest.mark.parametrize("data", [[], [Bar("a", 0)], [Bar("a", 0), Bar("b", 0)], [Bar("a", 5)]])
def test_few_bars_and_zeros_are_drawn(data):
    root, drawn = parsed(bars("k", "t", AXIS, data))
    assert len(drawn) == sum(bar.value > 0 for bar in data)
    assert texts(root, "label") == [bar.label for bar in data]


def test_a_waterfall_goes_from_the_first_amount_to_what_is_left():
    changes = [Bar("f", 40, "gone"), Bar("new", -20), Bar("g", 30, "failed")]
    root, drawn = parsed(waterfall("k", "t", AXIS, Bar("in", 100), changes, "out"))
    assert texts(root, "value") == ["100", "\u221240", "+20", "\u221230", "50"]
    assert [kind for kind, _, _ in drawn] == ["main", "gone", "main", "failed", "main"]
    start = [x for _, x, _ in drawn]
    end = [x + width for _, x, width in drawn]
    scale = (end[0] - start[0]) / 100
    ends = [
        ((a - start[0]) / scale, (b - start[0]) / scale) for a, b in zip(start, end, strict=True)
    ]
    expected = [(0, 100), (60, 100), (60, 80), (50, 80), (0, 50)]
    for got, wanted in zip(ends, expected, strict=True):
        assert got == pytest.approx(wanted, abs=0.2)


def test_parts_of_a_stack_follow_one_another():
    series = (Series("kept", "main"), Series("gone", "gone"))
    root, drawn = parsed(
        stacked("k", "t", AXIS, series, [Stack("a", (60, 40)), Stack("b", (100, 0))])
    )
    kept, gone, whole = drawn[2:]  # behind the legend's two
    assert kept[1] + kept[2] == pytest.approx(gone[1], abs=0.11)
    assert kept[2] / gone[2] == pytest.approx(1.5, abs=0.01)
    assert kept[2] + gone[2] == pytest.approx(whole[2], abs=0.21)
    assert texts(root, "value") == ["60", "100"]


def test_a_part_below_zero_takes_no_room():
    series = (Series("kept", "main"), Series("gone", "gone"))
    _, drawn = parsed(stacked("k", "t", AXIS, series, [Stack("a", (60, -5))]))
    assert len(drawn) == 3


def test_bins_are_named_by_their_powers_of_two():
    root, drawn = parsed(histogram("k", "t", AXIS, [3, 0, 5, 0, 0], "bytes"))
    assert len(drawn) == 3
    desc = root.find("desc").text
    assert desc == "empty: 3; 1 B to under 2 B: 0; 2 B to under 4 B: 5"
    assert [t for t in texts(root, "tick") if t.endswith("B")] == ["0 B", "1 B", "2 B", "4 B"]


def test_bins_may_be_of_anything():
    names = ["", "low", "middle", "high"]
    drawn = histogram("k", "t", AXIS, [1, 2, 3], "shape", edge=names.__getitem__, first="under low")
    root, _ = parsed(drawn)
    assert root.find("desc").text == (
        "under low: 1; low to under middle: 2; middle to under high: 3"
    )


@example([0, 0, 3], 0.5)
@given(st.lists(st.integers(0, 9), min_size=9, max_size=9), st.floats(0, 8.5))
def test_a_limit_is_drawn_at_its_place_also_before_the_first_bin(data, at):
    drawn = histogram("k", "t", AXIS, data, "share", edge=str, limit=(at, "least"))
    root, bins = parsed(drawn)
    inside(root)
    limits = [line for line in root.iter("line") if line.get("class") == "flag"]
    assert len(limits) == bool(bins)
    if bins:
        held = [k for k, n in enumerate(data) if n]
        facts = root.find("desc").text.split("; ")  # of each bin, and of the limit
        assert len(facts) == held[-1] - min(int(at), held[0]) + 2
        assert "least" in texts(root, "tick")
        assert root.find("desc").text.endswith("; least")


@given(st.integers(1, 10**12))
def test_figures_below_the_axis_keep_apart(value):
    wordy = Axis("bytes", lambda n: f"{n:,.0f} of all bytes")
    root, _ = parsed(bars("k", "t", wordy, [Bar("a rather long name for a bar", value)]))
    ticks = [t for t in root.iter("text") if t.get("class") == "tick"]
    at = [(float(t.get("x")), 6 * len(t.text)) for t in ticks]
    for (x1, width1), (x2, width2) in pairwise(at):
        assert x1 + width1 / 2 <= x2 - width2 / 2


def test_a_chart_is_described_in_words():
    root, _ = parsed(bars("why", "Why", AXIS, [Bar("a", 1)]))
    assert root.get("aria-labelledby") == "why-title"
    assert [(e.tag, e.get("id"), e.text) for e in list(root)[:2]] == [
        ("title", "why-title", "Why"),
        ("desc", "why-desc", "a: 1"),
    ]
    empty, _ = parsed(bars("why", "Why", AXIS, []))
    assert empty.find("desc").text == "nothing to show"


def test_a_long_label_is_cut_and_kept_whole_in_a_tooltip():
    label = "crawl/" + "x" * 80 + "/part-00017"
    root, _ = parsed(bars("k", "t", AXIS, [Bar(label, 1)]))
    found = next(t for t in root.iter("text") if t.get("class") == "label")
    assert found.find("title").text == label
    assert found.find("title").tail.startswith("crawl/x")
    assert found.find("title").tail.endswith("…xx/part-00017")


@given(counts)
def test_ticks_are_few_round_and_none_beyond(most):
    ticks = charts.ticks_to(most)
    assert ticks[0] == 0
    assert ticks[-1] <= most
    assert len(ticks) <= 5
    assert most < 1 or len(ticks) >= 2
