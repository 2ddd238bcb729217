"""Small charts as inline SVG: bars, stacked bars, a waterfall, a histogram of log2 bins.

    label  ████████████ 1,234        one row a bar, its value at its end
           0     500   1,000
                documents            the axis says what is counted, and in which unit

A chart brings no colours: the page gives them by class, in light and dark (`STYLE`), and
nothing is told by colour alone. Labels are untrusted text; all of it is escaped.
"""

import html
import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from sizing.units import format_memory

Kind: TypeAlias = Literal["main", "gone", "failed"]

WIDTH = 560  # of every chart, in SVG units: one is a CSS pixel where the page is wide enough
ROW, BAR, MARGIN = 24, 14, 8
MOST_LABEL = 215  # widest column of labels; longer ones are cut, with the whole in a tooltip
CHAR = 7.5  # width of a character at 12 px in a wide font; East Asian wide ones take two
LEAST_BAR = 1.5  # so that one document among millions is still seen
MOST_BARS = 30
BINS_HEIGHT = 190

STYLE = """
.chart { display: block; width: 100%; height: auto; font: 12px var(--sans); }
.chart text { fill: var(--ink); unicode-bidi: isolate; }
.chart .tick, .chart .axis { fill: var(--soft); font-size: 11px; }
.chart .grid { stroke: var(--line); stroke-width: 1; shape-rendering: crispEdges; }
.chart .main { fill: var(--accent); }
.chart .gone { fill: var(--gone); }
.chart .failed { fill: var(--paper); stroke: var(--ink); }
.chart .value { font-variant-numeric: tabular-nums; }
"""


class Axis(NamedTuple):
    """title: what is counted, with its unit.  show: a value as a person reads it."""

    title: str
    show: Callable[[float], str]


class Bar(NamedTuple):
    label: str
    value: float
    kind: Kind = "main"


class Stack(NamedTuple):
    """parts: values in the order of the series."""

    label: str
    parts: tuple[float, ...]


class Series(NamedTuple):
    name: str
    kind: Kind


class _Row(NamedTuple):
    """spans: (from, to, kind) on the axis.  shown: the text at the end of the last."""

    label: str
    spans: tuple[tuple[float, float, Kind], ...]
    shown: str


def bars(key: str, title: str, axis: Axis, data: Iterable[Bar], *, most: int = MOST_BARS) -> str:
    """Horizontal bars, the longest first; what is beyond `most` is added up in one.

    key: unique in the page, for the ids that name the chart to a screen reader.
    """
    ordered = sorted(data, key=lambda bar: -bar.value)
    rest = ordered[most - 1 :] if len(ordered) > most else []
    if rest:
        others = Bar(f"{len(rest):,} others together", sum(b.value for b in rest), "gone")
        ordered = [*ordered[: most - 1], others]
    rows = [_Row(b.label, ((0, b.value, b.kind),), axis.show(b.value)) for b in ordered]
    return _row_chart(key, title, axis, rows)


def stacked(
    key: str, title: str, axis: Axis, series: Sequence[Series], data: Iterable[Stack]
) -> str:
    """Horizontal bars in parts, in the order given; at the end of each the value of its first."""
    rows = []
    for stack in data:
        spans, start = [], 0.0
        for part, one in zip(stack.parts, series, strict=True):
            spans.append((start, start + max(part, 0), one.kind))
            start = spans[-1][1]
        rows.append(_Row(stack.label, tuple(spans), axis.show(stack.parts[0])))
    return _row_chart(key, title, axis, rows, legend=series)


def waterfall(
    key: str, title: str, axis: Axis, start: Bar, changes: Sequence[Bar], end_label: str
) -> str:
    """From a first amount through what each row takes away (or adds, if below 0) to what is left.

    changes: their values are what is taken away.
    """
    rows = [_Row(start.label, ((0, start.value, start.kind),), axis.show(start.value))]
    left = start.value
    for taken in changes:
        sign = "\N{MINUS SIGN}" if taken.value >= 0 else "+"
        spans = ((left - taken.value, left, taken.kind),)
        rows.append(_Row(taken.label, spans, sign + axis.show(abs(taken.value))))
        left -= taken.value
    rows.append(_Row(end_label, ((0, left, "main"),), axis.show(left)))
    return _row_chart(key, title, axis, rows)


def histogram(key: str, title: str, axis: Axis, counts: Sequence[int], bin_axis: str) -> str:
    """Counts in log2 bins of bytes: bin 0 counts zeros, bin k values of 2**(k-1) to 2**k - 1.

    bin_axis: title of the horizontal axis.
    """
    held = [k for k, n in enumerate(counts) if n]
    bins = range(held[0], held[-1] + 1) if held else range(0)
    most = max(counts, default=0)
    ticks = _ticks(most)
    left = 2 * MARGIN + max(_width(axis.show(t)) for t in ticks)
    step = (WIDTH - left - MARGIN) / max(len(bins), 4)
    floor = 34 + BINS_HEIGHT

    def y(value: float) -> float:
        return floor - value / (most or 1) * BINS_HEIGHT

    drawn = [_text(MARGIN, 14, axis.title, "axis")]
    for t in ticks:
        drawn += [_line(left, y(t), WIDTH - MARGIN, y(t))]
        drawn += [_text(left - 6, y(t) + 4, axis.show(t), "tick", anchor="end")]
    every = math.ceil(48 / step)
    for i, k in enumerate(bins):
        x, high = left + i * step, max(floor - y(counts[k]), LEAST_BAR if counts[k] else 0)
        drawn.append(_rect(x + 0.5, floor - high, step - 1, high, "main", _bin_text(k, counts[k])))
        shown = f"{counts[k]:,}"
        if counts[k] and _width(shown) <= step + 4:
            drawn.append(_text(x + step / 2, floor - high - 5, shown, "value tick", "middle"))
        if i % every == 0:
            drawn.append(_text(x, floor + 16, _edge(k), "tick", "middle" if i else "start"))
    if len(bins) and len(bins) % every == 0:
        end = left + len(bins) * step
        drawn.append(_text(end, floor + 16, _edge(bins[-1] + 1), "tick", "end"))
    drawn.append(_text((left + WIDTH) / 2, floor + 36, bin_axis, "axis", "middle"))
    facts = [_bin_text(k, counts[k]) for k in bins]
    return _svg(key, title, facts, floor + 44, drawn)


def _row_chart(
    key: str, title: str, axis: Axis, rows: Sequence[_Row], *, legend: Sequence[Series] = ()
) -> str:
    most = max((stop for row in rows for _, stop, _ in row.spans), default=0)
    ticks = _ticks(most)
    left = MARGIN + min(max((_width(r.label) for r in rows), default=0) + 8, MOST_LABEL)
    right = (
        WIDTH - MARGIN - max(_width(s) for s in (axis.show(ticks[-1]), *(r.shown for r in rows)))
    )

    def x(value: float) -> float:
        return left + value / (most or 1) * (right - left)

    widest = max(_width(axis.show(t)) for t in ticks)
    while len(ticks) > 1 and widest > (right - left) * ticks[1] / most:
        ticks = ticks[::2]  # else the figures below the axis would run into one another
    top = 24 if legend else 4
    bottom = top + ROW * len(rows)
    drawn = _legend(legend, left)
    for t in ticks:
        drawn += [
            _line(x(t), top, x(t), bottom),
            _text(x(t), bottom + 15, axis.show(t), "tick", "middle"),
        ]
    for i, row in enumerate(rows):
        drawn += _drawn_row(row, top + ROW * i, left, x)
    drawn.append(_text((left + right) / 2, bottom + 33, axis.title, "axis", "middle"))
    facts = [f"{row.label}: {row.shown}" for row in rows]
    return _svg(key, title, facts, bottom + 42, drawn)


def _drawn_row(row: _Row, y: float, left: float, x: Callable[[float], float]) -> list[str]:
    whole = f"{row.label}: {row.shown}"
    label = cut(row.label, int((left - MARGIN - 8) / CHAR) + 1)
    drawn = [_text(left - 8, y + 16, label, "label", "end", whole=row.label)]
    end = left
    for start, stop, kind in row.spans:
        if stop != start:
            low = x(min(start, stop))
            wide = max(abs(x(stop) - x(start)), LEAST_BAR)
            drawn.append(_rect(low, y + (ROW - BAR) / 2, wide, BAR, kind, whole))
            end = max(end, low + wide)
    return [*drawn, _text(end + 5, y + 16, row.shown, "value")]


def _legend(series: Sequence[Series], left: float) -> list[str]:
    drawn = []
    for one in series:
        drawn += [
            _rect(left, 4, 10, 10, one.kind, one.name),
            _text(left + 15, 13, one.name, "tick"),
        ]
        left += 15 + _width(one.name) + 14
    return drawn


def _ticks(most: float) -> list[float]:
    """0 and up to four round steps, the last at or below `most`.

    >>> _ticks(4733), _ticks(3), _ticks(0)
    ([0.0, 2000.0, 4000.0], [0.0, 1.0, 2.0, 3.0], [0.0])
    """
    if most < 1:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(most / 3))
    step = next(power * m for m in (1, 2, 5, 10) if most / (power * m) <= 4)
    step = max(step, 1.0)
    return [i * step for i in range(int(most / step) + 1)]


def cut(text: str, most: int) -> str:
    """The text, or its beginning and end around an ellipsis if it is wider than `most` characters.

    >>> cut("crawl/2024-10/part-00017", 12)
    'crawl/…00017'
    """
    if _columns(text) <= most:
        return text
    head, tail = text[: most // 2], text[len(text) - (most - most // 2 - 1) :]
    while _columns(head) + _columns(tail) + 1 > most:  # wide characters
        head, tail = (head[:-1], tail) if len(head) > len(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def escaped(text: str) -> str:
    """Text for HTML and SVG; what no document may contain, controls and half characters, is �."""
    return html.escape("".join(c if _fit(c) else "�" for c in text))


def _fit(c: str) -> bool:
    return unicodedata.category(c) not in ("Cc", "Cs") and ord(c) & 0xFFFE != 0xFFFE


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _width(text: str) -> float:
    return CHAR * _columns(text)


def _edge(k: int) -> str:
    return format_memory(2 ** (k - 1)) if k else "0 B"


def _bin_text(k: int, count: int) -> str:
    of = f"{_edge(k)} to under {_edge(k + 1)}" if k else "empty"
    return f"{of}: {count:,}"


def _svg(key: str, title: str, facts: Sequence[str], height: float, drawn: Sequence[str]) -> str:
    """The drawing with its title, and in words what a reader who does not see it needs."""
    key = escaped(key)
    described = "; ".join(facts) if facts else "nothing to show"
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {height:g}"'
        f' aria-labelledby="{key}-title" aria-describedby="{key}-desc">'
        f'<title id="{key}-title">{escaped(title)}</title>'
        f'<desc id="{key}-desc">{escaped(described)}</desc>{"".join(drawn)}</svg>'
    )


def _text(
    x: float, y: float, text: str, css: str, anchor: str = "start", *, whole: str | None = None
) -> str:
    tip = f"<title>{escaped(whole)}</title>" if whole is not None and whole != text else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
        f"{tip}{escaped(text)}</text>"
    )


def _rect(x: float, y: float, width: float, height: float, css: str, tip: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{css}">'
        f"<title>{escaped(tip)}</title></rect>"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="grid"/>'
