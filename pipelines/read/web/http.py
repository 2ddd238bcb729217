"""HTTP responses as crawlers keep them: status, headers, and the body freed of its codings.

Crawlers differ in whether they keep a body as it came over the wire: one that is not chunked or
compressed, though its headers say so, is taken as it is.
"""

import re
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import brotli
import zstandard

from tokenmill.pipelines.read.stream import ZSTD_PIECE_BYTES, UnreadableError, one_line, pieces

MOST_HEADER_BYTES = 256 * 1024
LONGEST_CHUNK_LINE = 1024
PIECE_BYTES = 4096  # of packed bytes, unpacked at a time
MOST_WINDOW_BYTES = 8 * 1024**2  # of zstd over HTTP (RFC 9659)
SHOWN = 40
_EMPTY_LINE = re.compile(rb"\n(?:(?<=\r\n)\r\n|\n|\r\r\n)")  # from the end of the line before
_MAGIC = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


class Response(NamedTuple):
    """status: None where there is no status line.  headers: by name in small letters."""

    status: int | None
    headers: Mapping[str, str]
    body: bytes


def parse_response(block: bytes) -> Response:
    """Header and body of a response; of a repeated field the last counts, but codings add up."""
    if block[:5].upper() != b"HTTP/":
        return Response(None, {}, block)
    head, body = _parted(block)
    lines = head.decode("latin-1").replace("\r", "").split("\n")
    words = lines[0].split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isascii() and words[1].isdigit() else None
    headers: dict[str, str] = {}
    for name, value in header_fields(lines[1:]):
        adds_up = name in headers and name.endswith("-encoding")
        headers[name] = f"{headers[name]}, {value}" if adds_up else value
    return Response(status, headers, body)


def header_fields(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Names, in small letters, and values of a header's fields, whatever lines they go on over."""
    fields: list[tuple[str, str]] = []
    name = ""
    for line in lines:
        if name and line[:1] in (" ", "\t"):
            fields[-1] = name, f"{fields[-1][1]} {line.strip()}"
            continue
        key, colon, value = line.partition(":")
        name = key.strip().lower() if colon else ""
        if name:
            fields.append((name, value.strip()))
    return fields


def decoded_body(response: Response, most_bytes: int) -> tuple[bytes, list[str]]:
    """The body without its codings, and what is odd: "not_chunked", "cut_chunks" and the like.

    Of a body that breaks off, or breaks down, what came before is taken.
    UnreadableError: it is larger than `most_bytes` ("too_large"), its coding is not known
        ("unknown_coding"), or nothing of it can be read ("damaged_coding").
    """
    body, odd = response.body, []
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body, oddity = _dechunked(body)
        odd += [oddity] if oddity else []
    named = response.headers.get("content-encoding", "").lower().split(",")
    for coding in reversed([n.strip() for n in named if n.strip() not in ("", "identity")]):
        if not body:
            break
        body, oddity = _unpacked(body, coding, most_bytes)
        odd += [oddity] if oddity else []
    if len(body) > most_bytes:
        raise UnreadableError("too_large", f"{len(body)} bytes, html.max_bytes is {most_bytes}")
    return body, odd


def gunzipped(body: bytes, most_bytes: int) -> bytes:
    """A body that is gzip though no header says so; raises as `decoded_body`."""
    return _unpacked(body, "gzip", most_bytes)[0]


def media_type(value: str) -> tuple[str, str | None]:
    """The type of a Content-Type header in small letters, and its charset.

    >>> media_type('Text/HTML; Charset="utf-8"')
    ('text/html', 'utf-8')
    """
    kind, _, rest = value.partition(";")
    for parameter in rest.split(";"):
        name, _, charset = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.strip().lower(), charset.strip(" \t\"'") or None
    return kind.strip().lower(), None


def _parted(block: bytes) -> tuple[bytes, bytes]:
    """Header and body; of a block without an empty line all is header."""
    empty_line = _EMPTY_LINE.search(block, 0, MOST_HEADER_BYTES)
    if empty_line is None:
        return block[:MOST_HEADER_BYTES], b""
    return block[: empty_line.start()], block[empty_line.end() :]


def _dechunked(body: bytes) -> tuple[bytes, str]:
    """Source: RFC 9112, section 7.1. Trailers are passed over."""
    made: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + LONGEST_CHUNK_LINE)
        digits = body[at:end].partition(b";")[0].strip() if end >= 0 else b""
        try:
            size = int(digits, 16) if digits.isalnum() else -1
        except ValueError:
            size = -1
        if size < 0:
            break
        if size == 0:
            return b"".join(made), ""
        made.append(body[end + 1 : end + 1 + size])
        at = end + 1 + size
        at += 2 if body[at : at + 2] == b"\r\n" else body[at : at + 1] == b"\n"
    return (b"".join(made), "cut_chunks") if made else (body, "not_chunked" if body else "")


def _unpacked(body: bytes, coding: str, most_bytes: int) -> tuple[bytes, str]:
    decoder = _DECODERS.get(coding)
    if decoder is None:
        raise UnreadableError("unknown_coding", f"content-encoding {coding[:SHOWN]!r}")
    if not body.startswith(_MAGIC.get(coding, b"")):
        return body, "not_compressed"
    made: list[bytes] = []
    size, broken = 0, ""
    try:
        for out in decoder(body, most_bytes + 1):
            made.append(out)
            size += len(out)
            if size > most_bytes:
                message = f"{len(body)} bytes expand to more than html.max_bytes, {most_bytes}"
                raise UnreadableError("too_large", message)
    except (zlib.error, brotli.error, zstandard.ZstdError, EOFError) as e:
        broken = one_line(e) or "it breaks off"
    if not broken or size:
        return b"".join(made), "cut_coding" if broken else ""
    if coding not in _MAGIC and body.lstrip()[:1] == b"<":
        return body, "not_compressed"
    raise UnreadableError("damaged_coding", f"content-encoding {coding}: {broken}")


def _gunzip(body: bytes, most: int) -> Iterator[bytes]:
    """Members one after the other; what follows the last is passed over."""
    while body.startswith(_MAGIC["gzip"]):
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        body = yield from _inflate(stream, body, most)


def _inflate_either(body: bytes, most: int) -> Iterator[bytes]:
    """In zlib's wrapping, as the standard has it, or without, as some servers send it."""
    wrapped = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    wbits = zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
    yield from _inflate(zlib.decompressobj(wbits), body, most)


def _inflate(stream: Any, body: bytes, most: int) -> Generator[bytes, None, bytes]:
    """In pieces, so that what comes before damage is not lost; return what follows the stream."""
    for i in range(0, len(body), PIECE_BYTES):
        yield stream.decompress(body[i : i + PIECE_BYTES], most)
        if stream.eof:
            return bytes(stream.unused_data) + body[i + PIECE_BYTES :]
    raise EOFError


def _unbrotli(body: bytes, most: int) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for piece in pieces(iter((body,)), PIECE_BYTES):
        yield stream.process(piece, output_buffer_limit=most)
        if stream.is_finished():
            return
    raise EOFError


def _unzstd(body: bytes, most: int) -> Iterator[bytes]:
    stream = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW_BYTES).decompressobj()
    for piece in pieces(iter((body,)), ZSTD_PIECE_BYTES):
        yield stream.decompress(piece)
        if stream.eof:
            return
    raise EOFError


_DECODERS: dict[str, Callable[[bytes, int], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate_either,
    "br": _unbrotli,
    "zstd": _unzstd,
}
