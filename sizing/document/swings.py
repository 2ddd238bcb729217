"""A tornado as inline SVG: how far a figure goes either way as each of some inputs is varied.

    ● input at its low end   □ at its high end
                         this plan 349 TB ┐
    storage.fill_frac     291 TB □□□□□□□□□┊●●●●●●●●●●●● 436 TB
      64 to 96 %                          ┊

The axis is linear and does not begin at 0: its ends are told beside the bars.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokenmill.sizing.document.svg import (
    CHAR,
    MARGIN,
    WIDTH,
    Axis,
    cut,
    drawing,
    line,
    rect,
    text_at,
    width_of,
)

TOP, ROW, BAR = 44, 36, 15
MOST_LABEL = 215  # widest column of labels; longer ones are cut, with the whole in a tooltip
SMALL = 6.2  # width of a character of what an input was varied within
LEAST_BAR = 1.5
LOW, HIGH = "input at its low end", "at its high end"


class Swing(NamedTuple):
    """label, varied: of an input.  low, high: the figure where the input is at these ends."""

    label: str
    varied: str
    low: float
    high: float


def swings(key: str, title: str, axis: Axis, base: float, data: Sequence[Swing]) -> str:
    """A row for each input, in the order given, around the figure as it is.

    key: unique in the page, for the ids that name the chart to a screen reader.
    """
    ends = [v for one in data for v in (one.low, one.high)] + [base]
    room = max(width_of(axis.show(v)) for v in ends) + 6
    labels = max((max(width_of(o.label), SMALL * len(o.varied)) for o in data), default=0)
    left = MARGIN + min(labels + 8, MOST_LABEL) + room
    low, high = min(ends), max(ends)
    scale = (WIDTH - MARGIN - room - left) / ((high - low) or 1.0)
    bottom = TOP + ROW * len(data)
    column, names = left - room - 8, left - room - MARGIN - 8

    def x(value: float) -> float:
        return left + (value - low) * scale

    drawn = _legend()
    for i, one in enumerate(data):
        y = TOP + ROW * i
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
        line(at, TOP - 14, at, bottom, "flag"),
        text_at(at + (5 if fits else -5), TOP - 4, told, "name", "start" if fits else "end"),
    ]
    facts = [told, *(_told(one, axis) for one in data)]
    return drawing(key, title, facts, bottom + 6, drawn)


def _bars(one: Swing, axis: Axis, base: float, x: Callable[[float], float], y: float) -> list[str]:
    """From the figure as it is to either end, the longer first, with what stands there."""
    ends = sorted(((one.low, "main"), (one.high, "open")), key=lambda e: -abs(e[0] - base))
    drawn = []
    for value, css in ends:
        if value != base:
            begin, wide = min(x(value), x(base)), max(abs(x(value) - x(base)), LEAST_BAR)
            drawn.append(rect(begin, y, wide, BAR, css, _told(one, axis)))
    least, most = min(one.low, one.high), max(one.low, one.high)
    if least < base:
        drawn.append(text_at(x(least) - 5, y + 12, axis.show(least), "value tick", "end"))
    if most > base:
        drawn.append(text_at(x(most) + 5, y + 12, axis.show(most), "value tick"))
    return drawn


def _told(one: Swing, axis: Axis) -> str:
    return f"{one.label} {one.varied}: {axis.show(one.low)} to {axis.show(one.high)}"


def _legend() -> list[str]:
    second = MARGIN + 15 + width_of(LOW) + 8
    return [
        rect(MARGIN, 3, 10, 10, "main", LOW),
        text_at(MARGIN + 15, 12, LOW, "tick"),
        rect(second, 3, 10, 10, "open", HIGH),
        text_at(second + 15, 12, HIGH, "tick"),
    ]
