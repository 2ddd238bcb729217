"""What of a web archive is a document: the page of a record and its text, or why there is none.

The charset of a page is tried in this order; as browsers do, a byte order mark goes before what the
server says:

    byte order mark -> HTTP header -> meta tag -> detection

One that leaves more than a few bytes unread is not believed, and the next is tried; a page is never
lost for its charset.
Sources: WHATWG, Encoding Standard and HTML Standard, section 13.2.3.
"""

import codecs
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from tokenmill.pipelines.read.batch import FILE_CAUSES
from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web.http import Response, decoded_body, media_type, parse_response
from tokenmill.pipelines.read.web.records import DAMAGED, MADE_OF, Record

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


NAMED_TYPES = 50  # of content passed over; more are counted together
LONGEST_TYPE = 40
WEB = ("http:", "https:", "ftp:")
_STARTS_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_CUT = frozenset(("length", "time", "disconnect", "unspecified"))


class Page(NamedTuple):
    """What a document is made of.

    date: of the crawl.  html: whether there are tags in the text.  odd: what is to be counted.
    """

    url: str | None
    date: datetime | None
    type: str
    text: str
    html: bool
    odd: list[str]


class Pages:
    """Tells pages by the options, and keeps what it has named in a shard bounded."""

    def __init__(self, options: Html) -> None:
        self._options = options
        self._types: set[str] = set()

    def __call__(self, record: Record) -> Page | str:
        """The page of a record; of one that is no document, why, as "skipped_request".

        Raises:
            UnreadableError: it should be a document, and cannot be one.
        """
        if record.cause in FILE_CAUSES or (record.cause and record.kind in (*MADE_OF, DAMAGED)):
            raise UnreadableError(record.cause, record.damage)
        if record.kind not in MADE_OF or record.block is None:
            return f"skipped_{record.kind}"
        url = record.headers.get("warc-target-uri", "").strip("<>") or None
        if record.kind == "resource" and not (url or "").lower().startswith(WEB):
            return "skipped_not_of_the_web"
        response = Response(None, {}, record.block)
        if record.kind == "response":
            response = parse_response(record.block)
        if response.status is not None and response.status not in self._options.statuses:
            known = 100 <= response.status <= 599
            return f"skipped_status_{response.status if known else 'other'}"
        kind, charset = _type_of(record, response)
        if kind not in self._options.types:
            return f"skipped_{self._named(kind)}"
        if record.length > len(record.block):
            raise UnreadableError("too_large", f"a record of {record.length} bytes")
        data, odd = decoded_body(response, self._options.max_bytes)
        if not data.strip():
            return "skipped_empty"
        decoded = decode_page(data, charset)
        cut = record.headers.get("warc-truncated", "").lower()
        odd += [f"cut_{cut if cut in _CUT else 'otherwise'}"] if cut else []
        odd += ["unread_characters"] if decoded.unread else []
        date = parse_date(record.headers.get("warc-date", ""))
        return Page(url, date, kind, decoded.text, "html" in kind, odd)

    def _named(self, kind: str) -> str:
        name = kind[:LONGEST_TYPE] if kind else "no_type"
        if name not in self._types and len(self._types) >= NAMED_TYPES:
            return "other_types"
        self._types.add(name)
        return name


def _type_of(record: Record, response: Response) -> tuple[str, str | None]:
    """The type of a record's content in small letters, and its charset by the header."""
    headers = record.headers
    if response.status is not None:
        kind, charset = media_type(response.headers.get("content-type", ""))
        return kind or ("text/html" if _STARTS_HTML.match(response.body) else ""), charset
    if record.kind == "response":  # dns: and the like, or HTTP 0.9
        return media_type(headers.get("arc-type") or headers.get("content-type", ""))
    kind, charset = media_type(headers.get("content-type", ""))
    return kind, charset or ("utf-8" if record.kind == "conversion" else None)


def parse_date(value: str) -> datetime | None:
    """A WARC-Date, or the 14 digits of an ARC file; None where it is neither.

    >>> parse_date("2024-02-29T12:00:00Z").isoformat()
    '2024-02-29T12:00:00+00:00'
    """
    try:
        if value.isascii() and value.isdigit():
            return datetime.strptime(value[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
