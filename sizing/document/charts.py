"""Small charts as inline SVG: bars in parts, a waterfall, log2 bins; dots and curves on a log axis.

    label  ████████████ 1,234        one row a bar, its value at its end
           0     500   1,000
                documents            the axis says what is counted, and in which unit

Flags mark what is asked for on a logarithmic axis:

    training reads 33 MB/s ┐          one flag a row, its line through all rows below
    ┌ checkpoints 1.2 GB/s ┊
    NFS           ┊  ●     ┊          one row a thing, a mark for each of its values
    100 MB/s   1 GB/s   10 GB/s

A tornado tells how far a figure goes either way as each of some inputs is varied; its axis is
linear and does not begin at 0, its ends are told beside the bars:

    ● input at its low end   □ at its high end
                         this plan 349 TB ┐
    storage.fill_frac     291 TB □□□□□□□□□┊●●●●●●●●●●●● 436 TB

A page brings the colours, and nothing is told by colour alone (`svg`).

Held against libraries (November 2026): four rows of the dots above are 11.7 kB of SVG by matplotlib
and 16 kB by Altair with vl-convert, of 80 and 94 MB installed; neither takes a page's colours,
light, dark or printed, nor tells its rows to who cannot see them. Ours are 8.9 kB of 18 rows.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from tokenmill.sizing.document.svg import (
    CHAR,
    MARGIN,
    WIDTH,
    Axis,
    circle,
    cut,
    drawing,
    line,
    path,
    rect,
    text_at,
    width_of,
)
from tokenmill.sizing.units import format_memory

Kind: TypeAlias = Literal["main", "gone", "failed", "open"]

ROW, BAR = 24, 14
MOST_LABEL = 215  # widest column of labels; longer ones are cut, with the whole in a tooltip
LEAST_BAR = 1.5  # so that one document among millions is still seen
MOST_BARS = 30
BINS_HEIGHT = 190
LEGEND, FLAG_ROW = 26, 18
CURVE_HEIGHT = 210
RADIUS = 5
GAP = 14  # least between two figures below an axis


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


def bars(key: str, title: str, axis: Axis, data: Iterable[Bar]) -> str:
    """Horizontal bars, longest first, beyond `MOST_BARS` added up; key: unique, for its ids."""
    ordered = sorted(data, key=lambda bar: -bar.value)
    rest = ordered[MOST_BARS - 1 :] if len(ordered) > MOST_BARS else []
    if rest:
        others = Bar(f"{len(rest):,} others together", sum(b.value for b in rest), "gone")
        ordered = [*ordered[: MOST_BARS - 1], others]
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
    """From `start` through what each of `changes` takes away (adds, if below 0) to what is left."""
    rows = [_Row(start.label, ((0, start.value, start.kind),), axis.show(start.value))]
    left = start.value
    for taken in changes:
        sign = "\N{MINUS SIGN}" if taken.value >= 0 else "+"
        spans = ((left - taken.value, left, taken.kind),)
        rows.append(_Row(taken.label, spans, sign + axis.show(abs(taken.value))))
        left -= taken.value
    rows.append(_Row(end_label, ((0, left, "main"),), axis.show(left)))
    return _row_chart(key, title, axis, rows)


def memory_edge(k: int) -> str:
    """Where bin k begins of log2 bins of bytes: 0 counts zeros, k those of 2**(k-1) to 2**k - 1.

    >>> [memory_edge(k) for k in (0, 1, 11)]
    ['0 B', '1 B', '1 KiB']
    """
    return format_memory(2 ** (k - 1) if k else 0)


def histogram(
    key: str,
    title: str,
    axis: Axis,
    counts: Sequence[int],
    bin_axis: str,
    *,
    edge: Callable[[int], str] = memory_edge,
    first: str = "empty",
    limit: tuple[float, str] | None = None,
) -> str:
    """Counts in bins that follow one another.

    bin_axis: title of the horizontal axis.  edge: where bin k begins, in words; as `memory_edge`
    unless told.  first: what bin 0 counts, in words.  limit: a line at so many bins, and its name.
    """

    def bin_text(k: int) -> str:
        of = f"{edge(k)} to under {edge(k + 1)}" if k else first
        return f"{of}: {counts[k]:,}"

    held = [k for k, n in enumerate(counts) if n]
    if held and limit is not None:
        held = [min(held[0], int(limit[0])), *held]
    bins = range(held[0], held[-1] + 1) if held else range(0)
    most = max(counts, default=0)
    ticks = ticks_to(most)
    left = 2 * MARGIN + max(width_of(axis.show(t)) for t in ticks)
    step = (WIDTH - left - MARGIN) / max(len(bins), 4)
    floor = 34 + BINS_HEIGHT

    def y(value: float) -> float:
        return floor - value / (most or 1) * BINS_HEIGHT

    drawn = [text_at(MARGIN, 14, axis.title, "axis")]
    for t in ticks:
        drawn += [line(left, y(t), WIDTH - MARGIN, y(t))]
        drawn += [text_at(left - 6, y(t) + 4, axis.show(t), "tick", anchor="end")]
    every = math.ceil(48 / step)
    for i, k in enumerate(bins):
        x, high = left + i * step, max(floor - y(counts[k]), LEAST_BAR if counts[k] else 0)
        drawn.append(rect(x + 0.5, floor - high, step - 1, high, "main", bin_text(k)))
        shown = f"{counts[k]:,}"
        if counts[k] and width_of(shown) <= step + 4:
            drawn.append(text_at(x + step / 2, floor - high - 5, shown, "value tick", "middle"))
        if i % every == 0:
            drawn.append(text_at(x, floor + 16, edge(k), "tick", "middle" if i else "start"))
    if len(bins) and len(bins) % every == 0:
        end = left + len(bins) * step
        drawn.append(text_at(end, floor + 16, edge(bins[-1] + 1), "tick", "end"))
    drawn.append(text_at((left + WIDTH) / 2, floor + 36, bin_axis, "axis", "middle"))
    facts = [bin_text(k) for k in bins]
    if limit is not None and len(bins):
        x = left + (limit[0] - bins[0]) * step
        drawn.append(line(x, 20, x, floor, "flag"))
        drawn.append(text_at(x + 4, 30, limit[1], "tick"))
        facts.append(limit[1])
    return drawing(key, title, facts, floor + 44, drawn)


def _row_chart(
    key: str, title: str, axis: Axis, rows: Sequence[_Row], *, legend: Sequence[Series] = ()
) -> str:
    most = max((stop for row in rows for _, stop, _ in row.spans), default=0)
    ticks = ticks_to(most)
    left = MARGIN + min(max((width_of(r.label) for r in rows), default=0) + 8, MOST_LABEL)
    right = (
        WIDTH - MARGIN - max(width_of(s) for s in (axis.show(ticks[-1]), *(r.shown for r in rows)))
    )

    def x(value: float) -> float:
        return left + value / (most or 1) * (right - left)

    widest = max(width_of(axis.show(t)) for t in ticks)
    while len(ticks) > 1 and widest > (right - left) * ticks[1] / most:
        ticks = ticks[::2]  # else the figures below the axis would run into one another
    top = 24 if legend else 4
    bottom = top + ROW * len(rows)
    drawn = _legend(legend, left)
    for t in ticks:
        drawn += [
            line(x(t), top, x(t), bottom),
            text_at(x(t), bottom + 15, axis.show(t), "tick", "middle"),
        ]
    for i, row in enumerate(rows):
        drawn += _drawn_row(row, top + ROW * i, left, x)
    drawn.append(text_at((left + right) / 2, bottom + 33, axis.title, "axis", "middle"))
    facts = [f"{row.label}: {row.shown}" for row in rows]
    return drawing(key, title, facts, bottom + 42, drawn)


def _drawn_row(row: _Row, y: float, left: float, x: Callable[[float], float]) -> list[str]:
    whole = f"{row.label}: {row.shown}"
    label = cut(row.label, int((left - MARGIN - 8) / CHAR) + 1)
    drawn = [text_at(left - 8, y + 16, label, "label", "end", whole=row.label)]
    end = left
    for start, stop, kind in row.spans:
        if stop != start:
            low = x(min(start, stop))
            wide = max(abs(x(stop) - x(start)), LEAST_BAR)
            drawn.append(rect(low, y + (ROW - BAR) / 2, wide, BAR, kind, whole))
            end = max(end, low + wide)
    return [*drawn, text_at(end + 5, y + 16, row.shown, "value")]


def _legend(series: Sequence[Series], left: float) -> list[str]:
    drawn = []
    for one in series:
        drawn += [
            rect(left, 4, 10, 10, one.kind, one.name),
            text_at(left + 15, 13, one.name, "tick"),
        ]
        left += 15 + width_of(one.name) + 14
    return drawn


def ticks_to(most: float) -> list[float]:
    """0 and up to four round steps, the last at or below `most`.

    >>> ticks_to(4733), ticks_to(3), ticks_to(0)
    ([0.0, 2000.0, 4000.0], [0.0, 1.0, 2.0, 3.0], [0.0])
    """
    if most < 1:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(most / 3))
    step = next(power * m for m in (1, 2, 5, 10) if most / (power * m) <= 4)
    step = max(step, 1.0)
    return [i * step for i in range(int(most / step) + 1)]


class Dots(NamedTuple):
    """values: in the order of the series, None where there is none; over 0."""

    label: str
    values: tuple[float | None, ...]


class Flag(NamedTuple):
    label: str
    value: float


class Curve(NamedTuple):
    """points: (x, y), x over 0 and rising.  css: "curve" or "floor"."""

    name: str
    points: tuple[tuple[float, float], ...]
    css: str = "curve"


def dots(
    key: str,
    title: str,
    axis: Axis,
    series: tuple[str, str],
    data: Sequence[Dots],
    flags: Sequence[Flag],
) -> str:
    """Rows of two marks each, a filled circle and an open square; key: unique, for its ids."""
    widest = max((width_of(row.label) for row in data), default=0)
    left = MARGIN + min(widest + 12, MOST_LABEL) + RADIUS
    values = [v for row in data for v in row.values if v is not None] + [f.value for f in flags]
    first = math.floor(math.log10(min(values, default=1)))
    last = math.ceil(math.log10(max(values, default=1)))
    decades = [10.0**k for k in range(first, last + 1)]
    ends = decades[0], decades[-1]
    x = _log_scale(*ends, left, _right(flags, *ends, left, WIDTH - 2 * MARGIN - 2 * RADIUS))
    top = LEGEND + FLAG_ROW * len(flags) + 4
    bottom = top + ROW * len(data)
    drawn = [*_marks(series, left), *_ticks(decades, x, axis, top, bottom)]
    drawn += _flags(flags, x, LEGEND, bottom)
    for i, row in enumerate(data):
        drawn += _dots(row, series, x, top + ROW * i + ROW / 2, left, axis)
    drawn.append(text_at((left + WIDTH) / 2, bottom + 33, axis.title, "axis", "middle"))
    facts = [f"{f.label}" for f in flags]
    facts += [f"{row.label}: {_told(row, series, axis)}" for row in data]
    return drawing(key, title, facts, bottom + 42, drawn)


def curves(
    key: str,
    title: str,
    axes: tuple[Axis, Axis],
    ticks: Sequence[float],
    data: Sequence[Curve],
    flags: Sequence[Flag],
) -> str:
    """Curves over a log axis, the other linear from 0.

    axes: the logarithmic one across, the other up.  ticks: of the first; those in range are shown.
    """
    across, up = axes
    xs = [x for c in data for x, _ in c.points]
    most = max((y for c in data for _, y in c.points), default=0) or 1.0
    heights = ticks_to(most)
    left = 2 * MARGIN + max(width_of(up.show(t)) for t in heights)
    low, high = min(xs, default=1), max(xs, default=10)
    marked = [flag for flag in flags if low <= flag.value <= high]
    x = _log_scale(low, high, left, _right(marked, low, high, left, WIDTH - 2 * MARGIN))
    top = FLAG_ROW * (len(flags) + 1)
    bottom = top + CURVE_HEIGHT

    def y(value: float) -> float:
        return bottom - value / most * CURVE_HEIGHT

    drawn = [text_at(MARGIN, 13, up.title, "axis")]
    for t in heights:
        drawn += [line(left, y(t), x(high), y(t))]
        drawn += [text_at(left - 6, y(t) + 4, up.show(t), "tick", "end")]
    drawn += _ticks([t for t in ticks if low <= t <= high], x, across, top, bottom)
    for c in data:
        drawn.append(path([(x(a), y(b)) for a, b in c.points], c.css, c.name))
    drawn += _flags(marked, x, FLAG_ROW, bottom)
    drawn.append(text_at((left + WIDTH) / 2, bottom + 33, across.title, "axis", "middle"))
    facts = [*(c.name for c in data), *(f.label for f in flags)]
    return drawing(key, title, facts, bottom + 42, drawn)


def _log_scale(low: float, high: float, left: float, right: float) -> Callable[[float], float]:
    span = math.log(high / low) or 1.0

    def x(value: float) -> float:
        return left + math.log(value / low) / span * (right - left)

    return x


def _right(flags: Sequence[Flag], low: float, high: float, left: float, right: float) -> float:
    """Where a scale ends so that each flag is named right of its line, if half of it stays.

    Left of it a name is crossed by the lines of others.
    """
    for flag in flags:
        share = math.log(flag.value / low) / (math.log(high / low) or 1.0)
        if share > 0:
            right = min(right, left + (WIDTH - 5 - width_of(flag.label) - left) / share)
    return max(right, left + (WIDTH - left) / 2)


def _ticks(
    at: Sequence[float], x: Callable[[float], float], axis: Axis, top: float, bottom: float
) -> list[str]:
    """Lines at all ticks, figures below those that have room for one."""
    drawn, taken = [], -math.inf
    for t in at:
        drawn.append(line(x(t), top, x(t), bottom))
        half = width_of(axis.show(t)) / 2
        if x(t) - half > taken and x(t) + half <= WIDTH:
            drawn.append(text_at(x(t), bottom + 15, axis.show(t), "tick", "middle"))
            taken = x(t) + half + GAP
    return drawn


def _flags(
    flags: Sequence[Flag], x: Callable[[float], float], top: float, bottom: float
) -> list[str]:
    """Each named in a row of its own, right of its line where there is room: no line crosses it."""
    lines, names = [], []
    rows = accumulate([FLAG_ROW] * len(flags), initial=top)
    for flag, y in zip(sorted(flags, key=lambda f: f.value), rows, strict=False):
        at = x(flag.value)
        lines.append(line(at, y + 2, at, bottom, "flag"))
        has_room = at + 5 + width_of(flag.label) <= WIDTH
        side, anchor = (5, "start") if has_room else (-5, "end")
        names.append(text_at(at + side, y + 13, flag.label, "name", anchor))
    return [*lines, *names]


def _dots(
    row: Dots,
    series: tuple[str, str],
    x: Callable[[float], float],
    y: float,
    left: float,
    axis: Axis,
) -> list[str]:
    room = int((left - MARGIN - RADIUS - 8) / CHAR) + 1
    label = cut(row.label, room)
    drawn = [text_at(left - RADIUS - 7, y + 4, label, "label", "end", whole=row.label)]
    tip = f"{row.label}: {_told(row, series, axis)}"
    filled, opened = row.values
    if opened is not None:
        size = RADIUS + 2
        drawn.append(rect(x(opened) - size, y - size, 2 * size, 2 * size, "open", tip))
    if filled is not None:
        drawn.append(circle(x(filled), y, RADIUS - 1, "main", tip))
    return drawn


def _told(row: Dots, series: tuple[str, str], axis: Axis) -> str:
    shown = [
        f"{name} {axis.show(v)}"
        for name, v in zip(series, row.values, strict=True)
        if v is not None
    ]
    return ", ".join(shown) or "not known"


def _marks(series: tuple[str, str], left: float) -> list[str]:
    second = left + 14 + width_of(series[0]) + 22
    return [
        circle(left, 9, RADIUS - 1, "main", series[0]),
        text_at(left + 10, 13, series[0], "tick"),
        rect(second - RADIUS - 2, 2, 14, 14, "open", series[1]),
        text_at(second + 12, 13, series[1], "tick"),
    ]


SWING_TOP, SWING_ROW, SWING_BAR = 44, 36, 15
SMALL = 6.2  # width of a character of what an input was varied within
LOW, HIGH = "input at its low end", "at its high end"


class Swing(NamedTuple):
    """label, varied: of an input.  low, high: the figure where the input is at these ends."""

    label: str
    varied: str
    low: float
    high: float


def swings(key: str, title: str, axis: Axis, base: float, data: Sequence[Swing]) -> str:
    """A row an input, as given, around the figure as it is; key: unique, for its ids."""
    ends = [v for one in data for v in (one.low, one.high)] + [base]
    room = max(width_of(axis.show(v)) for v in ends) + 6
    labels = max((max(width_of(o.label), SMALL * len(o.varied)) for o in data), default=0)
    left = MARGIN + min(labels + 8, MOST_LABEL) + room
    low, high = min(ends), max(ends)
    scale = (WIDTH - MARGIN - room - left) / ((high - low) or 1.0)
    bottom = SWING_TOP + SWING_ROW * len(data)
    column, names = left - room - 8, left - room - MARGIN - 8

    def x(value: float) -> float:
        return left + (value - low) * scale

    drawn = _legend([Series(LOW, "main"), Series(HIGH, "open")], MARGIN)
    for i, one in enumerate(data):
        y = SWING_TOP + SWING_ROW * i
        label, varied = (
            cut(told, int(names / wide) + 1)
            for told, wide in ((one.label, CHAR), (one.varied, SMALL))
        )
        drawn += [
            text_at(column, y + 15, label, "label", "end", whole=one.label),
            text_at(column, y + 29, varied, "tick", "end", whole=one.varied),
            *_bars(one, axis, base, x, y + 7),
        ]
    told = f"this plan {axis.show(base)}"
    at = x(base)
    fits = at + 5 + width_of(told) <= WIDTH
    drawn += [
        line(at, SWING_TOP - 14, at, bottom, "flag"),
        text_at(at + (5 if fits else -5), SWING_TOP - 4, told, "name", "start" if fits else "end"),
    ]
    facts = [told, *(_told_swing(one, axis) for one in data)]
    return drawing(key, title, facts, bottom + 6, drawn)


def _bars(one: Swing, axis: Axis, base: float, x: Callable[[float], float], y: float) -> list[str]:
    """From the figure as it is to either end, the longer first, with what stands there."""
    ends = sorted(((one.low, "main"), (one.high, "open")), key=lambda e: -abs(e[0] - base))
    drawn = []
    for value, css in ends:
        if value != base:
            begin, wide = min(x(value), x(base)), max(abs(x(value) - x(base)), LEAST_BAR)
            drawn.append(rect(begin, y, wide, SWING_BAR, css, _told_swing(one, axis)))
    least, most = min(one.low, one.high), max(one.low, one.high)
    if least < base:
        drawn.append(text_at(x(least) - 5, y + 12, axis.show(least), "value tick", "end"))
    if most > base:
        drawn.append(text_at(x(most) + 5, y + 12, axis.show(most), "value tick"))
    return drawn


def _told_swing(one: Swing, axis: Axis) -> str:
    return f"{one.label} {one.varied}: {axis.show(one.low)} to {axis.show(one.high)}"
