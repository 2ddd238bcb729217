"""What a body is by its bytes, where its label calls it text.

Servers label what they like: of what is told to be HTML some is a picture, an archive or a script.
Source: WHATWG, MIME Sniffing Standard, sections 5.2, 6 and 7.1. Departures: control bytes make
a text binary where they are 2 % of what is looked at, for pages have one astray; scripts are told
too, and JSON and feeds, which a browser shows as text.
The table is our own: libmagic would have to be installed beside Python, and `filetype` knows no
pages, feeds and scripts.
"""

import re

import orjson

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
