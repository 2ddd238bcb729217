"""Small pictures side by side on a page, each with a line on what it is."""

import base64
from collections.abc import Sequence
from typing import NamedTuple

from tokenmill.sizing.document.svg import escaped


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
