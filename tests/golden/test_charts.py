"""Charts of each kind, element by element: a changed place is a reviewed diff of charts.html.

`python -m tests.golden.test_charts` draws them anew; the file opens in a browser.
"""

from pathlib import Path

from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar, Curve, Dots, Flag, Series, Stack, Swing
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes, format_quantity, format_rate

GOLDEN = Path(__file__).with_name("charts.html")
DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")
RATE, TIME = Axis("bytes/s", format_rate), Axis("interval", lambda s: format_quantity(s, "s"))
LONG = "a name that is longer than there is room for in the column of names"


def drawn():
    many = [Bar(f"part {i}", 1000 - i * i, "gone" if i % 3 else "main") for i in range(31)]
    yield charts.bars("bars", "Bars", DOCUMENTS, [Bar("few", 0.5), Bar(LONG, 4733), Bar("none", 0)])
    yield charts.bars("many", "Many bars", DOCUMENTS, many)
    series = [Series("kept", "main"), Series("removed", "gone"), Series("failed", "failed")]
    stacks = [Stack("web", (900, 350.5, 1)), Stack("books", (20, 0, 3))]
    yield charts.stacked("stacked", "Bars in parts", DOCUMENTS, series, stacks)
    taken = [Bar("short", 300), Bar("added", -50, "main"), Bar("twice", 1, "gone")]
    yield charts.waterfall("fall", "A waterfall", DOCUMENTS, Bar("in", 1000), taken, "out")
    yield charts.histogram("bins", "Bins of bytes", DOCUMENTS, [0, 3, 0, 40, 1234, 7], "bytes")
    yield charts.histogram(
        "hundredths",
        "Hundredths",
        DOCUMENTS,
        [*[0] * 75, *range(26)],
        "similarity",
        edge=lambda k: f"{k / 100:g}",
        first="none",
        limit=(70, "verify 0.7"),
    )
    flags = [Flag("training reads 33 MB/s", 33e6), Flag("checkpoints write 1.2 GB/s", 1.2e9)]
    rows = [Dots("NFS", (2e8, 9e8)), Dots(LONG, (None, 5e9)), Dots("nothing known", (None, None))]
    yield charts.dots("dots", "Dots", RATE, ("of one node", "of all"), rows, flags)
    points = [(60.0 * k, 40 / k + k) for k in range(1, 40)]
    lines = [Curve("time lost", tuple(points)), Curve("floor", ((60, 3), (2340, 3)), "floor")]
    ticks = (60.0, 120.0, 130.0, 600.0, 1800.0, 3600.0)
    marks = [Flag("the plan's", 900.0), Flag("best of all", 2000.0), Flag("out of range", 9000.0)]
    yield charts.curves("curves", "Curves", (TIME, Axis("time lost", str)), ticks, lines, marks)
    swings = [
        Swing("storage.fill_frac", "60 % to 90 %", 436e12, 291e12),
        Swing("corpus.growth", "0 % to 30 %", 349e12, 400e12),
        Swing(LONG, "without effect", 349e12, 349e12),
    ]
    yield charts.swings("swings", "A tornado", Axis("bytes", format_bytes), 349e12, swings)
    yield from small(flags, (RATE, Axis("time lost", str)))


def small(flags, axes):
    """Of short names, little, and nothing."""
    yield charts.bars("one", "One", DOCUMENTS, [Bar("all", 1)])
    yield charts.bars("two", "Two", DOCUMENTS, [Bar("a", 10), Bar("b", 12)])
    yield charts.bars("nothing", "Nothing", DOCUMENTS, [])
    yield charts.dots("short", "Short names", RATE, ("a", "b"), [Dots("NFS", (2e9, 3e7))], flags)
    yield charts.dots("no dots", "No dots", RATE, ("a", "b"), [], [])
    line = Curve("line", ((1e7, 12.0), (1.2e9, 4.0)))
    yield charts.curves("flagged", "To the last flag", axes, (1e8,), [line], flags)
    yield charts.curves("flat", "At one place", axes, (1e7,), [Curve("dot", ((1e7, 0.0),))], flags)
    yield charts.curves("no curves", "No curves", axes, (), [], [])
    least = [Swing("a", "1 to 2", 1e9, 5e9), Swing("bb", "2 to 4 or more", 4e9, 5e9)]
    for base, data in ((5e9, least), (1e9, least[:1]), (1e9, [])):
        yield charts.swings(f"at {base:g}", "At an end", Axis("bytes", format_bytes), base, data)


def page():
    """An element a line."""
    return "\n".join(drawn()).replace("><", ">\n<") + "\n"


def test_charts_are_drawn_as_they_were():
    assert page() == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(page(), encoding="utf-8")
