"""Charts on a logarithmic axis, on which flags mark what is asked for.

training reads 33 MB/s ┐          one flag a row, its line through all rows below
┌ checkpoints 1.2 GB/s ┊
NFS           ┊  ●     ┊          one row a thing, a mark for each of its values
100 MB/s   1 GB/s   10 GB/s
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from tokenmill.sizing.document.charts import MOST_LABEL, ROW, ticks_to
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

LEGEND, FLAG_ROW = 26, 18
CURVE_HEIGHT = 210
RADIUS = 5
GAP = 14  # least between two figures below an axis


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
    """Rows of two marks each, the first series a filled circle, the second an open square.

    key: unique in the page, for the ids that name the chart to a screen reader.
    """
    widest = max((width_of(row.label) for row in data), default=0)
    left = MARGIN + min(widest + 12, MOST_LABEL) + RADIUS
    values = [v for row in data for v in row.values if v is not None] + [f.value for f in flags]
    ends = (_power_below(min(values, default=1)), _power_above(max(values, default=1)))
    x = _log_scale(*ends, left, WIDTH - 2 * MARGIN - 2 * RADIUS)
    top = LEGEND + FLAG_ROW * len(flags) + 4
    bottom = top + ROW * len(data)
    decades = [10.0**k for k in range(round(math.log10(ends[0])), round(math.log10(ends[1])) + 1)]
    drawn = [*_legend(series, left), *_ticks(decades, x, axis, top, bottom)]
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
    """Curves over a logarithmic axis, the other one linear and from 0.

    axes: horizontal, vertical.  ticks: of the horizontal one; those in range are shown.
    """
    across, up = axes
    xs = [x for c in data for x, _ in c.points]
    most = max((y for c in data for _, y in c.points), default=0) or 1.0
    heights = ticks_to(most)
    left = 2 * MARGIN + max(width_of(up.show(t)) for t in heights)
    low, high = min(xs, default=1), max(xs, default=10)
    x = _log_scale(low, high, left, WIDTH - 2 * MARGIN)
    top = FLAG_ROW * (len(flags) + 1)
    bottom = top + CURVE_HEIGHT

    def y(value: float) -> float:
        return bottom - value / most * CURVE_HEIGHT

    drawn = [text_at(MARGIN, 13, up.title, "axis")]
    for t in heights:
        drawn += [line(left, y(t), WIDTH - 2 * MARGIN, y(t))]
        drawn += [text_at(left - 6, y(t) + 4, up.show(t), "tick", "end")]
    drawn += _ticks([t for t in ticks if low <= t <= high], x, across, top, bottom)
    for c in data:
        drawn.append(path([(x(a), y(b)) for a, b in c.points], c.css, c.name))
    drawn += _flags([f for f in flags if low <= f.value <= high], x, FLAG_ROW, bottom)
    drawn.append(text_at((left + WIDTH) / 2, bottom + 33, across.title, "axis", "middle"))
    facts = [*(c.name for c in data), *(f.label for f in flags)]
    return drawing(key, title, facts, bottom + 42, drawn)


def _log_scale(low: float, high: float, left: float, right: float) -> Callable[[float], float]:
    span = math.log(high / low) or 1.0

    def x(value: float) -> float:
        return left + math.log(value / low) / span * (right - left)

    return x


def _power_below(value: float) -> float:
    """The power of ten at or below a value.

    >>> _power_below(33e6), _power_above(33e6), _power_above(1e9)
    (10000000.0, 100000000.0, 1000000000.0)
    """
    return 10.0 ** math.floor(math.log10(value))


def _power_above(value: float) -> float:
    return 10.0 ** math.ceil(math.log10(value))


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


def _legend(series: tuple[str, str], left: float) -> list[str]:
    second = left + 14 + width_of(series[0]) + 22
    return [
        circle(left, 9, RADIUS - 1, "main", series[0]),
        text_at(left + 10, 13, series[0], "tick"),
        rect(second - RADIUS - 2, 2, 14, 14, "open", series[1]),
        text_at(second + 12, 13, series[1], "tick"),
    ]
