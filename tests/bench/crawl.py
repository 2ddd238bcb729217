"""The documents of a part as pages of a web archive, by the standard library alone.

Around the text of each page stand a menu, a script, a footer: about as much again, as on the web.
"""

import gzip
import html
import json
from pathlib import Path

MENU = "".join(
    f'<li><a href="/{i}/page.html" class="item">Menu entry {i}</a></li>' for i in range(30)
)
SCRIPT = "<script>" + "window.dataLayer = window.dataLayer || []; function g(a) { return a; }" * 20
STYLE = "<style>" + ".item { color: #333; margin: 0 auto; padding: 1em; }" * 20 + "</style>"
FOOTER = "<footer><p>All rights reserved.</p><a href='/terms'>Terms of use</a></footer>"


def page(title: str, text: str) -> str:
    paragraphs = "".join(f"<p>{html.escape(p)}</p>\n" for p in text.split("\n\n") if p.strip())
    return (
        f"<!DOCTYPE html><html lang='en'><head><title>{html.escape(title)}</title>{STYLE}{SCRIPT}"
        f"</script></head><body><nav><ul>{MENU}</ul></nav><article>{paragraphs}</article>"
        f"{FOOTER}</body></html>"
    )


def record(number: int, body: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{number:032x}>\r\n"
        f"WARC-Target-URI: http://example.org/{number}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        "WARC-Identified-Payload-Type: text/html\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def write_crawl(part: Path, folder: Path) -> Path:
    """Write crawl.warc.gz, a member for each record, into a folder; returns its path."""
    path = folder / "crawl.warc.gz"
    with gzip.open(part / "docs.jsonl.gz", "rb") as lines, path.open("wb") as out:
        for number, line in enumerate(lines):
            made = page(f"Page {number}", json.loads(line)["text"]).encode("utf-8", "replace")
            out.write(gzip.compress(record(number, made), 6, mtime=0))
    return path
