"""The plain bytes of a web archive from some member on, and where its members begin.

    crawl.warc.gz: | member | member | member | …      gzip members, zstd or lz4 frames: as a rule
                     └ record  └ record  └ record      each holds one record

Memory stays at a few blocks whatever a member claims to expand to.
"""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, NamedTuple

import lz4.frame
import zstandard
from isal import isal_zlib

from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.stream import (
    GZIP_ERROR,
    GZIP_OUT_BYTES,
    GZIP_PIECE_BYTES,
    GZIP_WBITS,
    ZSTD_PIECE_BYTES,
    DamagedError,
    inflated,
    pieces,
    raw_blocks,
)
from tokenmill.pipelines.storage.inputs import open_input

MAGIC = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}
DICTIONARY = b"\x5d\x2a\x4d\x18"
SKIPPABLE_HEADER = 8
MOST_DICTIONARY_BYTES = 16 * 1024**2
LZ4_PIECE_BYTES = 64 * 1024


class Piece(NamedTuple):
    """Some plain bytes.  begin: byte of the file where a member begins, with these; else None."""

    begin: int | None
    data: bytes


def read_members(
    path: str, packing: str | None, *, start: int = 0, limits: Limits
) -> Generator[Piece, None, None]:
    """The plain bytes of a file from byte `start`, where a member begins, to its end.

    A plain file is one member. A zstd file may begin with the dictionary of its frames
    (the format's "dictionary frame"), which is no member.

    Raises:
        DamagedError: after the last good byte was yielded.
        InputError, OSError: as `open_input`.
    """
    with open_input(path) as file:
        dictionary = _dictionary(file, limits) if packing == "zstd" else None
        file.seek(start)
        blocks = raw_blocks(file, path)
        if packing is not None:
            yield from _unpacked(blocks, start, packing, _codec(packing, limits, dictionary))
            return
        at: int | None = start
        for block in blocks:
            yield Piece(at, block)
            at = None


class _Codec(NamedTuple):
    """How a kind of file is unpacked.

    piece_bytes: of the file, taken at a time: what bounds the plain bytes that come at once.
    begin: a new member.  unpack: of a member, what it makes of some bytes, piece by piece.
    padding: bytes between members that mean nothing.
    """

    piece_bytes: int
    begin: Callable[[], Any]
    unpack: Callable[[Any, bytes], Iterator[bytes]]
    padding: bytes = b""


def _unpacked(blocks: Iterator[bytes], at: int, packing: str, codec: _Codec) -> Iterator[Piece]:
    """Members one after the other.  at: byte of the file."""
    member: Any = None
    begin: int | None = at
    try:
        for piece in pieces(blocks, codec.piece_bytes):
            at, data = at + len(piece), piece
            while data := data if member else data.lstrip(codec.padding):
                if member is None:
                    member, begin = codec.begin(), at - len(data)
                for out in codec.unpack(member, data):
                    yield Piece(begin, out)
                    begin = None
                if not member.eof:
                    break
                data, member = member.unused_data or b"", None
    except (GZIP_ERROR, zstandard.ZstdError, RuntimeError) as e:
        raise _damage(e, packing, at) from None
    if member is not None:
        message = f"the file ends inside of a {packing} member, at byte {at}"
        raise DamagedError(f"truncated_{packing}", message)


def _unlz4ed(frame: Any, data: bytes) -> Iterator[bytes]:
    while True:
        out = frame.decompress(data, GZIP_OUT_BYTES)
        if out:
            yield out
        if frame.eof or frame.needs_input:
            return
        data = b""


def _unzstded(frame: Any, data: bytes) -> Iterator[bytes]:
    """What is no data, as the dictionary, makes nothing."""
    out = frame.decompress(data)
    if out:
        yield out


def _codec(
    packing: str, limits: Limits, dictionary: zstandard.ZstdCompressionDict | None
) -> _Codec:
    if packing == "gzip":  # zero bytes between and after members are padding (gzip(1))
        begin = partial(isal_zlib.decompressobj, GZIP_WBITS)
        return _Codec(GZIP_PIECE_BYTES, begin, inflated, b"\0")
    if packing == "lz4":
        return _Codec(LZ4_PIECE_BYTES, lz4.frame.LZ4FrameDecompressor, _unlz4ed)
    context = zstandard.ZstdDecompressor(
        dict_data=dictionary, max_window_size=limits.max_window_bytes
    )
    return _Codec(ZSTD_PIECE_BYTES, context.decompressobj, _unzstded)


def _damage(error: Exception, packing: str, at: int) -> DamagedError:
    message = " ".join(str(error).split())
    if "too much memory" in message:
        return DamagedError(
            "window_too_large", "its zstd window is too large; raise limits.max_window_bytes"
        )
    return DamagedError(f"damaged_{packing}", f"{message}, in packed byte {at} or before")


def _dictionary(file: Any, limits: Limits) -> zstandard.ZstdCompressionDict | None:
    """The dictionary in the first frame of a file, plain or compressed itself; None without one.

    Source: IIPC, "Zstandard Compression for WARC Files 1.0", section 5.
    """
    head = bytes(file.read(SKIPPABLE_HEADER))
    if head[:4] != DICTIONARY:
        return None
    size = int.from_bytes(head[4:8], "little")
    data = bytes(file.read(min(size, MOST_DICTIONARY_BYTES + 1)))
    if size > MOST_DICTIONARY_BYTES or len(data) < size:
        raise DamagedError("damaged_zstd", f"its dictionary claims {size} bytes")
    if data[:4] == MAGIC["zstd"]:
        members = _unpacked(iter([data]), 0, "zstd", _codec("zstd", limits, None))
        data = b""
        for piece in members:
            data += piece.data
            if len(data) > MOST_DICTIONARY_BYTES:
                raise DamagedError("damaged_zstd", "its dictionary expands to too much")
    return zstandard.ZstdCompressionDict(data)
