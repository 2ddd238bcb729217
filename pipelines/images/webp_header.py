"""The header of a WebP. Source: RFC 9649."""

from struct import Struct

from tokenmill.pipelines.images.header import Data, Header

_riff = Struct("<4sI4s4sI").unpack_from
_size_le = Struct("<HH").unpack_from
_u32_le = Struct("<I").unpack_from


def webp_header(data: Data) -> Header | None:
    """Lossy and lossless pictures without extensions, wholly there."""
    riff, whole, kind, chunk, size = _riff(data)
    alone = 20 + size + size % 2 == 8 + whole <= len(data)
    if (riff, kind) != (b"RIFF", b"WEBP") or not alone:
        return None
    if chunk == b"VP8 " and size > 10 and bytes(data[23:26]) == b"\x9d\x01\x2a":
        frame = int.from_bytes(data[20:23], "little")
        if frame & 1 or frame >> 1 & 7 > 3 or not frame >> 4 & 1 or frame >> 5 >= size:
            return None  # not a key frame, of an unknown profile, hidden, or cut short
        width, height = _size_le(data, 26)
        return Header("webp", "RGB", width & 0x3FFF, height & 0x3FFF)
    if chunk == b"VP8L" and size > 5 and data[20] == 0x2F:
        bits = _u32_le(data, 21)[0]
        mode = "RGBA" if bits >> 28 & 1 else "RGB"
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        return None if bits >> 29 else Header("webp", mode, width, height)
    return None


def canvas(data: Data) -> tuple[int, int] | None:
    """Width and height that an extended WebP claims, for which libwebp allocates at once."""
    if bytes(data[:4]) + bytes(data[8:16]) != b"RIFFWEBPVP8X" or len(data) < 30:
        return None
    width = int.from_bytes(data[24:27], "little")
    return width + 1, int.from_bytes(data[27:30], "little") + 1
