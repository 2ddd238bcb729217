"""Header parsers of the formats that make up nearly all of the web: JPEG, PNG, WebP, GIF.

Each gives what Pillow's lazy open gives, or None for whatever is not plain: a marker or chunk
that is odd, cut short or seldom. Pillow then says what it is, so the two never disagree.
"""

import struct
from collections.abc import Callable

from tokenmill.pipelines.images.gif_header import gif_header
from tokenmill.pipelines.images.header import Data, Header
from tokenmill.pipelines.images.jpeg_header import jpeg_header
from tokenmill.pipelines.images.png_header import png_header
from tokenmill.pipelines.images.webp_header import webp_header

_PARSERS: dict[bytes, Callable[[Data], Header | None]] = {
    b"\xff\xd8\xff": jpeg_header,
    b"\x89PN": png_header,
    b"RIF": webp_header,
    b"GIF": gif_header,
}


def read_header(data: Data) -> Header | None:
    """The facts of a plain JPEG, PNG, WebP or GIF; None leaves it to Pillow."""
    parse = _PARSERS.get(bytes(data[:3]))
    if parse is None:
        return None
    try:
        found = parse(data)
    except (IndexError, struct.error):  # cut short
        return None
    return found if found is not None and found.width and found.height else None
