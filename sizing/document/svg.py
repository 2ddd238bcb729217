"""What charts are drawn of: text, rectangles and lines of inline SVG, all text escaped.

A chart brings no colours: the page gives them by class, in light and dark (page.css), and
nothing is told by colour alone. Labels are untrusted text.
"""

import html
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

WIDTH = 560  # of every chart, in SVG units: one is a CSS pixel where the page is wide enough
MARGIN = 8
CHAR = 7.5  # width of a character at 12 px in a wide font; East Asian wide ones take two


class Axis(NamedTuple):
    """title: what is counted, with its unit.  show: a value as a person reads it."""

    title: str
    show: Callable[[float], str]


def cut(text: str, most: int) -> str:
    """The text, or its beginning and end around an ellipsis if it is wider than `most` characters.

    >>> cut("crawl/2024-10/part-00017", 12)
    'crawl/…00017'
    """
    if columns(text) <= most:
        return text
    head, tail = text[: most // 2], text[len(text) - (most - most // 2 - 1) :]
    while columns(head) + columns(tail) + 1 > most:  # wide characters
        head, tail = (head[:-1], tail) if len(head) > len(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def escaped(text: str) -> str:
    """Text for HTML and SVG; what no document may contain, controls and half characters, is �."""
    return html.escape("".join(c if _fit(c) else "�" for c in text))


def _fit(c: str) -> bool:
    return unicodedata.category(c) not in ("Cc", "Cs") and ord(c) & 0xFFFE != 0xFFFE


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def width_of(text: str) -> float:
    return CHAR * columns(text)


def drawing(key: str, title: str, facts: Sequence[str], height: float, drawn: Sequence[str]) -> str:
    """The drawing with its title, and in words what a reader who does not see it needs."""
    key = escaped(key)
    described = "; ".join(facts) if facts else "nothing to show"
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {height:g}"'
        f' aria-labelledby="{key}-title" aria-describedby="{key}-desc">'
        f'<title id="{key}-title">{escaped(title)}</title>'
        f'<desc id="{key}-desc">{escaped(described)}</desc>{"".join(drawn)}</svg>'
    )


def text_at(
    x: float, y: float, text: str, css: str, anchor: str = "start", *, whole: str | None = None
) -> str:
    tip = f"<title>{escaped(whole)}</title>" if whole is not None and whole != text else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
        f"{tip}{escaped(text)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, css: str, tip: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{css}">'
        f"<title>{escaped(tip)}</title></rect>"
    )


def line(x1: float, y1: float, x2: float, y2: float, css: str = "grid") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def circle(x: float, y: float, radius: float, css: str, tip: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{css}">'
        f"<title>{escaped(tip)}</title></circle>"
    )


def path(points: Sequence[tuple[float, float]], css: str, tip: str) -> str:
    """Straight lines from point to point."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{steps}" class="{css}"><title>{escaped(tip)}</title></polyline>'
