"""What of a web archive is a document: the page of a record and its text, or why there is none.

Servers label what they like: of what is told to be HTML some is a picture, an archive or a script,
so its bytes are asked too. Source: WHATWG, MIME Sniffing Standard, sections 5.2, 6 and 7.1.
Departures: control bytes make a text binary where they are 2 % of what is looked at, for pages have
one astray; scripts are told too, and JSON and feeds, which a browser shows as text. The table is
our own: libmagic would have to be installed beside Python, and `filetype` knows no pages, feeds and
scripts.
"""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from tokenmill.pipelines.read.batch import FILE_CAUSES
from tokenmill.pipelines.read.options import Html
from tokenmill.pipelines.read.stream import UnreadableError
from tokenmill.pipelines.read.web import http
from tokenmill.pipelines.read.web.charset import decode_page
from tokenmill.pipelines.read.web.records import DAMAGED, DAMAGED_MEMBER, MADE_OF, Record

LOOK_BYTES = 1445  # of a body, as the standard has it
BINARY_FRAC = 0.02
GZIP = "application/gzip"
_MAGIC = (
    (rb"%PDF-", "application/pdf"),
    (rb"%!PS-Adobe-", "application/postscript"),
    (rb"\x1f\x8b\x08", GZIP),
    (rb"PK\x03\x04|PK\x05\x06", "application/zip"),
    (rb"Rar!\x1a\x07", "application/x-rar-compressed"),
    (rb"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (rb"BZh[1-9]1AY&SY", "application/x-bzip2"),
    (rb"\xfd7zXZ\0", "application/x-xz"),
    (rb"\x28\xb5\x2f\xfd", "application/zstd"),
    (rb".{257}ustar", "application/x-tar"),
    (rb"\x89PNG\r\n\x1a\n", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"RIFF.{4}WEBPVP", "image/webp"),
    (rb"BM.{4}\0\0\0\0", "image/bmp"),
    (rb"\0\0[\x01\x02]\0", "image/x-icon"),
    (rb"(?:II\x2a\0|MM\0\x2a)", "image/tiff"),
    (rb".{4}ftyp(?:avif|heic|mif1)", "image/heif"),
    (rb".{4}ftyp", "video/mp4"),
    (rb"\x1aE\xdf\xa3", "video/webm"),
    (rb"FLV\x01", "video/x-flv"),
    (rb"RIFF.{4}AVI ", "video/avi"),
    (rb"RIFF.{4}WAVE", "audio/wave"),
    (rb"OggS\0", "application/ogg"),
    (rb"ID3[\x02-\x04]|\xff[\xfb\xf3\xf2]", "audio/mpeg"),
    (rb"fLaC", "audio/flac"),
    (rb"MThd\0\0\0\x06", "audio/midi"),
    (rb"FORM.{4}AIFF", "audio/aiff"),
    (rb"wOFF|wOF2", "font/woff"),
    (rb"\0\x01\0\0\0|OTTO\0|ttcf", "font/sfnt"),
    (rb"[CF]WS[\x03-\x30]", "application/x-shockwave-flash"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (rb"\x7fELF|MZ.{38}\0{8}", "application/octet-stream"),
    (rb"SQLite format 3\0", "application/x-sqlite3"),
)
_TYPES = tuple((re.compile(magic, re.S), kind) for magic, kind in _MAGIC)
# what is passed over before is passed over for good: groups that give nothing back take linear time
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?><\?xml[^>]*>\s*)?+(?><!--.*?-->\s*)*+"
    rb"<(?:!doctype\s+html|(?:html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
    rb"|meta|link|section|article|main|ul|span|center|form)[\s>/])",
    re.I | re.S,
)
_FEED = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s|<\?.*?\?>|<!--.*?-->)*+<(?:rss|feed|rdf:RDF|urlset|sitemapindex)[\s>]",
    re.S,
)
_SCRIPT = re.compile(
    rb"(?>\s|/\*.*?\*/|//[^\n]*\n)*+"
    rb"(?:\(function\b|[!;]function\b|\(\(\)|[\"']use strict|(?:var|let|const)\s+[\w$]+\s*[=;,]"
    rb"|function\s+[\w$]+\s*\(|window\.|document\.(?:write|get|add)|[\w$.]++\(\s*[{\[]|@charset\b"
    rb"|[.#@]?[\w-]++\s*\{\s*[\w-]++\s*:)",
    re.S,
)
_BINARY = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_TEXTUAL = re.compile(r"text/|message/|application/(?:.*\+)?xml|application/xhtml")
NAMED_TYPES = 50  # of content passed over; more are counted together
LONGEST_TYPE = 40
WEB = ("http:", "https:", "ftp:")
_CUT = frozenset(("length", "time", "disconnect", "unspecified"))


def starts_html(body: bytes) -> bool:
    """Whether a body begins as HTML does, whatever it is told to be."""
    return _HTML.match(body[:LOOK_BYTES]) is not None


def payload_type(body: bytes, identified: str, *, html: bool, wide: bool) -> str | None:
    """The type of a body that is no text, or is data or a script though it is told to be HTML.

    identified: by the crawler, as WARC-Identified-Payload-Type; "" where it says nothing.
    html: told to be.  wide: told to be UTF-16, where NUL bytes are text.
    """
    head = body[:LOOK_BYTES]
    if starts_html(head):
        return None
    for magic, kind in _TYPES:
        if magic.match(head):
            return kind
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    n_binary = len(head) - len(head.translate(None, _BINARY))
    if not wide and not marked and n_binary > BINARY_FRAC * len(head):
        return "binary"
    found = _data_type(body, head) if html else None
    if found is None and identified and not _TEXTUAL.match(identified):
        return identified
    return found


def _data_type(body: bytes, head: bytes) -> str | None:
    """Of data and scripts."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            return None
        return "application/json"
    if _FEED.match(head):
        return "application/xml"
    return "script" if _SCRIPT.match(head) and b"</" not in head else None


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
