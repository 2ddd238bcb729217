"""From the bytes of a page to its text, whatever its charset claims to be.

    byte order mark -> HTTP header -> meta tag -> detection

As browsers do, a byte order mark goes before what the server says. A charset that leaves more than
a few bytes unread is not believed, and the next is tried; a page is never lost for its charset.
Sources: WHATWG, Encoding Standard and HTML Standard, section 13.2.3.
"""

import codecs
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
WIDE = frozenset({"utf-16-le", "utf-16-be"})
META_BYTES = 1024  # at the beginning, where a meta tag may stand
UNREAD_FRAC = 0.01  # of the characters that a charset may leave unread and still be believed
UNREAD = "\ufffd"


class Decoded(NamedTuple):
    """charset: as it was read.  unread: how many U+FFFD stand for bytes that it does not know."""

    text: str
    charset: str
    unread: int


def decode_page(data: bytes, declared: str | None) -> Decoded:
    """The text of a page.  declared: by the HTTP header.

    All that is told of a page's charset may be wrong: that which leaves the fewest bytes unread
    is taken then, the first of equals.
    """
    best: Decoded | None = None
    for charset, skip in _candidates(data, declared):
        text = data[skip:].decode(charset, "replace")
        unread = text.count(UNREAD)
        if unread <= UNREAD_FRAC * len(text):
            return Decoded(text, charset, unread)
        if best is None or unread < best.unread:
            best = Decoded(text, charset, unread)
    return best or Decoded("", "utf-8", 0)


def _candidates(data: bytes, declared: str | None) -> Iterator[tuple[str, int]]:
    """Charsets that Python reads, each once, and how many bytes of a mark go before the text."""
    seen = set()
    for mark, charset in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            seen.add(charset)
            yield charset, len(mark)
    # detection takes as long as all else: it waits until it is needed
    for name in chain((declared,), _detected(data), ("utf-8", "windows-1252")):
        known = _known(name)
        if known in WIDE and b"\0" not in data:
            continue  # such pages were saved in a charset of bytes
        if known is not None and known not in seen:
            seen.add(known)
            yield known, 0


def _detected(data: bytes) -> Iterator[str | None]:
    """By meta tag, then by what the bytes look like."""
    if b"charset" in data[:META_BYTES].lower():
        yield detect_encoding(data[:META_BYTES], from_html_meta=True)
    yield detect_encoding(data)


def _known(name: str | None) -> str | None:
    """A charset by the name that Python knows it by; ISO 8859-1 is windows-1252 on the web."""
    label = map_encoding_to_html5(name, fallback_utf8=False) if name else None
    if label is None:
        return None
    try:
        found = codecs.lookup(label)
    except LookupError:
        return None
    return found.name if found._is_text_encoding else None
