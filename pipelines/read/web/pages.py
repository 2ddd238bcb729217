"""What of a web archive is a document: the page of a record and its text, or why there is none."""

from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

from tokenmill.pipelines.read.batch import FILE_CAUSES
from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web import http
from tokenmill.pipelines.read.web.charset import decode_page
from tokenmill.pipelines.read.web.payload import GZIP, payload_type, starts_html
from tokenmill.pipelines.read.web.records import DAMAGED, DAMAGED_MEMBER, MADE_OF, Record

NAMED_TYPES = 50  # of content passed over; more are counted together
LONGEST_TYPE = 40
WEB = ("http:", "https:", "ftp:")
_CUT = frozenset(("length", "time", "disconnect", "unspecified"))


class Page(NamedTuple):
    """What a document is made of; date: of the crawl.  html: has tags.  odd: to be counted."""

    url: str | None
    date: datetime | None
    type: str
    utf8: bytes
    html: bool
    odd: Counter[str]


def url_of(record: Record) -> str | None:
    return record.headers.get("warc-target-uri", "").strip("<>") or None


class Pages:
    """Tells pages by the options, and keeps what it has named in a shard bounded."""

    def __init__(self, options: Html) -> None:
        self._options = options
        self._types: set[str] = set()

    def __call__(self, record: Record) -> Page | str:
        """A record's page, or why there is none ("skipped_request"); UnreadableError if broken."""
        whole = record.cause in FILE_CAUSES or record.cause == DAMAGED_MEMBER
        if not record.cut and (whole or (record.cause and record.kind in (*MADE_OF, DAMAGED))):
            raise UnreadableError(record.cause, record.damage)
        if record.kind not in MADE_OF or record.block is None:
            return f"skipped_{record.kind}"
        url = url_of(record) or ""
        if record.kind == "resource" and not url.lower().startswith(WEB):
            return "skipped_not_of_the_web"
        response = http.Response(None, {}, record.block)
        if record.kind == "response":
            response = http.parse_response(record.block)
        if response.status is not None and response.status not in self._options.statuses:
            known = 100 <= response.status <= 599
            return f"skipped_status_{response.status if known else 'other'}"
        kind, charset = _type_of(record, response)
        if kind not in self._options.types:
            return f"skipped_{self._named(kind)}"
        if record.length > len(record.block) and not record.cut:
            raise UnreadableError("too_large", f"a record of {record.length} bytes")
        return self._page(record, response, kind, charset)

    def _page(
        self, record: Record, response: http.Response, kind: str, charset: str | None
    ) -> Page | str:
        """The page of a body that is told to be text, in whatever coding."""
        data, oddities = http.decoded_body(response, self._options.max_bytes)
        odd = Counter(oddities)
        told = self._payload(record, data, kind, charset)
        if told == GZIP:
            data, odd["undeclared_gzip"] = http.gunzipped(data, self._options.max_bytes), 1
            told = self._payload(record, data, kind, charset)
        if not data or data.isspace():
            return "skipped_empty"
        if told:
            return f"skipped_payload_{self._named(told)}"
        url = url_of(record)
        date = parse_date(record.headers.get("warc-date", ""))
        decoded = decode_page(data, charset)
        cut = record.headers.get("warc-truncated", "").lower()
        odd[f"cut_{cut if cut in _CUT else 'otherwise'}"] += bool(cut)
        odd["cut_by_file_end"] += record.cut
        odd["charset_overruled"] += decoded.overruled
        odd["charset_guessed"] += decoded.guessed
        odd["replacement_characters"] += decoded.unread
        return Page(url, date, kind, decoded.utf8, "html" in kind, +odd)

    def _payload(self, record: Record, data: bytes, kind: str, charset: str | None) -> str:
        """What the body is that is told to be text; "" where it is."""
        if record.kind == "conversion":
            return ""
        identified = http.media_type(record.headers.get("warc-identified-payload-type", ""))[0]
        if identified in (*self._options.types, GZIP):
            identified = ""
        wide = "utf-16" in (charset or "").lower()
        return payload_type(data, identified, html="html" in kind, wide=wide) or ""

    def _named(self, kind: str) -> str:
        name = kind[:LONGEST_TYPE] if kind else "no_type"
        if name not in self._types and len(self._types) >= NAMED_TYPES:
            return "other_types"
        self._types.add(name)
        return name


def _type_of(record: Record, response: http.Response) -> tuple[str, str | None]:
    """The type of a record's content in small letters, and its charset by the header."""
    headers = record.headers
    if response.status is not None:
        kind, charset = http.media_type(response.headers.get("content-type", ""))
        return kind or ("text/html" if starts_html(response.body) else ""), charset
    if record.kind == "response":  # dns: and the like, or HTTP 0.9
        return http.media_type(headers.get("arc-type") or headers.get("content-type", ""))
    kind, charset = http.media_type(headers.get("content-type", ""))
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
