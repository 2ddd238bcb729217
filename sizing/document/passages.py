"""Texts of others, or small pictures, side by side on a page; what texts have in common is marked.

Characters that a reader cannot see, or that would turn the text around them, are made visible:
controls, bidirectional marks and overrides, zero-width characters, soft hyphens, variation
selectors, tags, blank letters, half characters and what is no character. Tabs and line breaks
stay; so do the marks of Arabic and Syriac numbers that are of category Cf but are seen.
"""

import base64
import re
from collections.abc import Sequence
from typing import NamedTuple

from tokenmill.sizing.document.section import Comparison, Comparisons, Passage
from tokenmill.sizing.document.svg import escaped

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    + "".join(chr(plane << 16 | last) for plane in range(1, 17) for last in (0xFFFE, 0xFFFF))
)
RUN = re.compile(f"([{_UNSEEN}])\\1*")  # of one such character


def drawn(block: Comparisons) -> str:
    """The comparisons as HTML, the first open."""
    seen, folded = block.rows[: block.n_open], block.rows[block.n_open :]
    parts = [f"<h3>{_shown(block.heading(len(block.rows)))}</h3>\n", *map(_comparison, seen)]
    if folded:
        more = f"{len(folded):,} more"
        parts.append(f"<details><summary>{more}</summary>\n")
        parts += [*map(_comparison, folded), "</details>\n"]
    return f'<div class="comparisons">\n{"".join(parts)}</div>\n'


def _comparison(of: Comparison) -> str:
    facts = " · ".join(f"<span>{_shown(fact)}</span>" for fact in of.facts)
    return (
        f'<article class="comparison"><h4>{_shown(of.title)}</h4>\n<p class="facts">{facts}</p>\n'
        f'<div class="sides">{"".join(map(_passage, of.sides))}</div></article>\n'
    )


def _passage(passage: Passage) -> str:
    pieces = []
    for text, marked in passage.pieces:
        shown = _shown(text)
        pieces.append(f"<mark>{shown}</mark>" if marked and shown else shown)
    return (
        f"<div><h5>{_shown(passage.name)}</h5>"
        f'<blockquote dir="auto" tabindex="0">{"".join(pieces)}</blockquote></div>\n'
    )


def _shown(text: str) -> str:
    """Text as it is, line breaks too; what cannot be seen by its name."""
    parts, at = [], 0
    text = text.replace("\r\n", "\n")
    for found in RUN.finditer(text):
        unseen = f'<span class="unseen">{name_of(found[0])}</span>'
        parts += [_lines(text[at : found.start()]), unseen]
        at = found.end()
    return "".join([*parts, _lines(text[at:])])


def _lines(text: str) -> str:
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


def name_of(run: str) -> str:
    """What stands for a run of one character.

    >>> name_of("\\u200b"), name_of("\\u200b" * 3)
    ('U+200B', 'U+200B x 3')
    """
    times = f" x {len(run):,}" if len(run) > 1 else ""
    return f"U+{ord(run[0]):04X}{times}"


def named(text: str, others: str = "") -> str:
    """The text with what is not seen, and every one of `others`, by its name.

    >>> named("a\\u202eb [c]", "[]")
    'a⟨U+202E⟩b ⟨U+005B⟩c⟨U+005D⟩'
    """
    text = RUN.sub(lambda found: f"⟨{name_of(found[0])}⟩", text.replace("\r\n", "\n"))
    return (
        re.sub(f"[{re.escape(others)}]", lambda c: f"⟨{name_of(c[0])}⟩", text) if others else text
    )


class Picture(NamedTuple):
    """jpeg: None where there is nothing to show.  caption: what it is; title: all of it."""

    jpeg: bytes | None
    caption: str
    title: str


def sheet(title: str, note: str, pictures: Sequence[Picture]) -> str:
    """Pictures under a heading, as HTML."""
    small = f"<small>{escaped(note)}</small>" if note else ""
    tiles = "".join(map(_tile, pictures))
    return (
        f'<figure class="sheet"><figcaption>{escaped(title)}{small}</figcaption>'
        f'<ul class="pictures">{tiles}</ul></figure>\n'
    )


def _tile(picture: Picture) -> str:
    title = escaped(picture.title)
    shown = "<span>no picture</span>"
    if picture.jpeg is not None:
        data = base64.b64encode(picture.jpeg).decode()
        shown = f'<img alt="{title}" src="data:image/jpeg;base64,{data}">'
    return f'<li title="{title}"><div>{shown}</div>{escaped(picture.caption)}</li>'
