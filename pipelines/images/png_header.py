"""The header of a PNG: its chunks up to the pixels. Source: W3C PNG, third edition."""

import zlib
from struct import Struct

from tokenmill.pipelines.images.exif import exif_turns
from tokenmill.pipelines.images.header import Data, Header

_chunk = Struct(">I4s").unpack_from
_ihdr = Struct(">I4sIIBBBBB").unpack_from
_u32 = Struct(">I").unpack_from
_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
_PNG_MODES = {
    (1, 0): "1", (2, 0): "L", (4, 0): "L", (8, 0): "L", (16, 0): "I;16",
    (8, 2): "RGB", (16, 2): "RGB",
    (1, 3): "P", (2, 3): "P", (4, 3): "P", (8, 3): "P",
    (8, 4): "LA", (16, 4): "RGBA",
    (8, 6): "RGBA", (16, 6): "RGBA",
}  # fmt: skip
# Bytes that Pillow wants in a chunk at least; chunks that are not here are left to it.
_LEAST = {
    b"PLTE": 0, b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"pHYs": 9, b"tEXt": 0, b"eXIf": 0,
    b"bKGD": 0, b"sBIT": 0, b"tIME": 0, b"hIST": 0, b"sPLT": 0, b"cICP": 0, b"oFFs": 0,
    b"vpAg": 0, b"tRNS": 0, b"iCCP": 0, b"iTXt": 0,
}  # fmt: skip
_LEAST_TRNS = {"1": 2, "L": 2, "I;16": 2, "RGB": 6}
MOST_PROFILE_BYTES = 1024**2  # PngImagePlugin.MAX_TEXT_CHUNK
MOST_TEXT_BYTES = 1024**2  # of one chunk; Pillow bounds all of them together at 64 MiB


def png_header(data: Data) -> Header | None:
    """Walk the chunks up to the pixels, and check each chunk's sum as Pillow does."""
    length, name, width, height, depth, colour, _, filters, _ = _ihdr(data, 8)
    mode = _PNG_MODES.get((depth, colour))
    if bytes(data[:8]) != _PNG_MAGIC or (length, name, filters) != (13, b"IHDR", 0) or not mode:
        return None
    at, turned, texts = 8, False, 0
    while name != b"IDAT":
        end = at + 12 + length
        if zlib.crc32(data[at + 4 : end - 4]) != _u32(data, end - 4)[0]:
            return None
        at = end
        length, name = _chunk(data, at)
        if name != b"IDAT" and (
            name not in _LEAST
            or at + 12 + length > len(data)
            or _odd_chunk(name, data[at + 8 : at + 8 + length], mode)
        ):
            return None
        texts += length if name in (b"tEXt", b"iTXt") else 0
        turned = turned or (
            name == b"eXIf" and exif_turns(b"Exif\0\0" + data[at + 8 : at + 8 + length])
        )
    if texts > MOST_TEXT_BYTES:
        return None
    return Header("png", mode, width, height, ("exif_rotated",) if turned else ())


def _odd_chunk(name: bytes, chunk: Data, mode: str) -> bool:
    if name == b"tRNS":
        return len(chunk) < _LEAST_TRNS.get(mode, 0)
    if name == b"iTXt":
        flag = bytes(chunk).find(b"\0") + 1
        return 0 < flag < len(chunk) and chunk[flag] != 0  # compressed
    return len(chunk) < _LEAST[name] or (name == b"iCCP" and _odd_profile(bytes(chunk)))


def _odd_profile(chunk: bytes) -> bool:
    method = chunk.find(b"\0") + 1
    if method >= len(chunk) or chunk[method] != 0:
        return True
    inflating = zlib.decompressobj()
    try:
        inflating.decompress(chunk[method + 1 :], MOST_PROFILE_BYTES)
    except zlib.error:
        return False  # Pillow goes on without it
    return bool(inflating.unconsumed_tail)
