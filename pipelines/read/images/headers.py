"""What the header of an image tells, in the formats of nearly all of the web: JPEG, PNG, WebP, GIF.

Each parser gives what Pillow's lazy open gives, or None for whatever is not plain: a marker or
chunk that is odd, cut short or seldom. Pillow then says what it is, so the two never disagree. Exif
or XMP says which way up a picture is to be shown.

Sources: ITU-T T.81, annex B (JPEG: its segments up to the scan); W3C PNG, third edition (its chunks
up to the pixels); RFC 9649 (WebP); GIF89a (up to the first picture); Exif 2.32, section 4.6.
"""

import re
import struct
import zlib
from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple, TypeAlias

Data: TypeAlias = bytes | memoryview


class Header(NamedTuple):
    """format: as Pillow says it, in lower case.  mode: likewise.  notes: as in `Facts`."""

    format: str
    mode: str
    width: int
    height: int
    notes: tuple[str, ...] = ()


_screen = Struct("<6sHHBBB").unpack_from
_placed = Struct("<HHHHB").unpack_from
_GREYS = bytes(v for i in range(256) for v in (i, i, i))
_EXTENSION, _PICTURE = 0x21, 0x2C
_CONTROL, _COMMENT, _APPLICATION = 0xF9, 0xFE, 0xFF


def gif_header(data: Data) -> Header | None:
    """Screen and first picture, which may be larger; and whether another follows."""
    magic, width, height, flags, _, _ = _screen(data)
    if magic not in (b"GIF87a", b"GIF89a"):
        return None
    at = 13
    coloured = False
    if flags & 128:
        coloured, at = _palette(data, at, flags)
    picture = _next_picture(data, at)
    if picture is None:
        return None
    left, top, wide, high, flags = _placed(data, picture + 1)
    at = picture + 10
    if flags & 128:
        coloured, at = _palette(data, at, flags)
    _ = data[at]  # as wide as codes begin: without it there is no picture
    notes = ("animated",) if _moves(data, at + 1) else ()
    mode = "P" if coloured else "L"
    return Header("gif", mode, max(width, left + wide), max(height, top + high), notes)


def _palette(data: Data, at: int, flags: int) -> tuple[bool, int]:
    """Whether a palette is other than the greys in order, and where it ends."""
    end = at + (6 << (flags & 7))
    palette = bytes(data[at:end])
    if len(palette) < end - at:
        raise IndexError
    return palette != _GREYS[: end - at], end


def _next_picture(data: Data, at: int) -> int | None:
    """Where the next picture's descriptor begins."""
    while data[at] != _PICTURE:
        if data[at] != _EXTENSION or _odd_extension(data, at + 1):
            return None
        at = _past_blocks(data, at + 2)
    return at


def _odd_extension(data: Data, at: int) -> bool:
    """Whether an extension lacks a block that it must have: Pillow reads on past its end."""
    code, size = data[at], data[at + 1]
    if code == _CONTROL:
        return size < (4 if data[at + 2] & 1 else 3)
    loops = code == _APPLICATION and bytes(data[at + 2 : at + 13]) == b"NETSCAPE2.0"
    return code != _COMMENT and (size == 0 or (loops and data[at + 2 + size] == 0))


def _past_blocks(data: Data, at: int) -> int:
    while length := data[at]:
        at += length + 1
    return at + 1


def _moves(data: Data, at: int) -> bool:
    try:
        return _next_picture(data, _past_blocks(data, at)) is not None
    except IndexError:
        return False


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


_ORDERS: dict[bytes, tuple[Struct, Struct, Struct]] = {  # 16 bits, 32 bits, how an entry begins
    b"II*\0": (Struct("<H"), Struct("<I"), Struct("<HHI")),
    b"MM\0*": (Struct(">H"), Struct(">I"), Struct(">HHI")),
}
ORIENTATION, _SHORT = 0x0112, 3
_EXIF, _XMP = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
_in_xmp = re.compile(rb'tiff:Orientation(?:="|>)([0-9])').search
TURNED = "exif_rotated"


def exif_orientation(block: bytes) -> int:
    """Which way up Exif asks a picture to be shown, from 1; 0 where it does not say.

    block: as a JPEG has it, from "Exif" on.
    IndexError, struct.error: it is not plain.
    """
    order = _ORDERS.get(block[6:10])
    if order is None:
        raise IndexError
    u16, u32, entry = order
    first = 6 + u32.unpack_from(block, 10)[0]
    said = 0
    for at in range(first + 2, first + 2 + 12 * u16.unpack_from(block, first)[0], 12):
        tag, kind, count = entry.unpack_from(block, at)
        if tag == ORIENTATION:
            if said or (kind, count) != (_SHORT, 1):
                raise IndexError
            said = u16.unpack_from(block, at + 8)[0]
    return said


def turned_by(segments: Sequence[bytes]) -> tuple[str, ...]:
    """The note of a picture that is to be turned or mirrored: 2 to 8 by Exif, or else by XMP.

    segments: as a JPEG has them.
    IndexError, struct.error: they are not plain.
    """
    exif = [block for block in segments if block.startswith(_EXIF)]
    if len(exif) > 1:
        raise IndexError
    said = exif_orientation(exif[0]) if exif else 0
    for block in segments if not said else ():
        if block.startswith(_XMP):
            found = _in_xmp(block)
            said = int(found[1]) if found else 0
    return (TURNED,) if said in range(2, 9) else ()


_u16 = Struct(">H").unpack_from
_frame = Struct(">BHHB").unpack_from  # bits, height, width, components
_SOF = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_SOS, _DQT, _APP0, _APP1, _APP2, _APP13, _APP14 = 0xDA, 0xDB, 0xE0, 0xE1, 0xE2, 0xED, 0xEE
_SKIPPED = frozenset({0xC4, 0xCC, 0xDD, 0xFE, _DQT, *range(0xE0, 0xF0)})  # more follows a length
_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}


def jpeg_header(data: Data) -> Header | None:
    """Walk the segments up to the scan."""
    at, size = 2, len(data)
    frame: tuple[str, int, int] | None = None
    about: list[bytes] = []
    while data[at] == 0xFF:
        marker = data[at + 1]
        length = _u16(data, at + 2)[0]
        begin, end = at + 4, at + 2 + length
        if length < 2 or end > size:
            return None
        if marker in _SOF:
            bits, height, width, components = _frame(data, begin)
            mode = _JPEG_MODES.get(components)
            if mode is None or bits != 8 or (length - 8) % 3:
                return None
            frame = mode, width, height
        elif marker == _SOS:
            return None if frame is None else Header("jpeg", *frame, turned_by(about))
        elif marker not in _SKIPPED or (marker in _ODD and _ODD[marker](data, begin, end)):
            return None
        if marker == _APP1:
            about.append(bytes(data[begin:end]))
        at = end
    return None


def _odd_app2(data: Data, begin: int, end: int) -> bool:
    """Several pictures in one file make it an MPO; a colour profile must say which part it is."""
    head = bytes(data[begin : begin + 12])
    return head.startswith(b"MPF\0") or (head == b"ICC_PROFILE\0" and end - begin < 14)


def _odd_app13(data: Data, begin: int, end: int) -> bool:
    """Photoshop's resources, one after the other."""
    block = bytes(data[begin:end])
    at = 14
    while block.startswith(b"Photoshop 3.0\0") and block.startswith(b"8BIM", at):
        if at + 6 >= len(block):
            return True
        at += 7 + block[at + 6]
        at += at & 1
        size = block[at : at + 4]
        if len(size) < 4:
            return False  # Pillow lets it pass
        at += 4 + int.from_bytes(size)
        at += at & 1
    return False


def _cut_short(name: bytes) -> Callable[[Data, int, int], bool]:
    """Whether a segment of this name has less than it must have."""
    return lambda data, begin, end: (
        end - begin < 7 and bytes(data[begin : begin + len(name)]) == name
    )


def _odd_tables(data: Data, begin: int, end: int) -> bool:
    """Whether quantization tables do not fill their segment."""
    while begin < end:
        begin += 65 if data[begin] < 16 else 129
    return begin != end


_ODD: dict[int, Callable[[Data, int, int], bool]] = {
    _APP0: _cut_short(b"JFIF"),
    _APP2: _odd_app2,
    _APP13: _odd_app13,
    _APP14: _cut_short(b"Adobe"),
    _DQT: _odd_tables,
}


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
# Bytes that Pillow wants in a chunk at least, if any; chunks of other names are left to it.
_LEAST = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"pHYs": 9}
_KNOWN = _LEAST.keys() | {
    b"PLTE", b"tEXt", b"eXIf", b"bKGD", b"sBIT", b"tIME", b"hIST", b"sPLT", b"cICP", b"oFFs",
    b"vpAg", b"tRNS", b"iCCP", b"iTXt",
}  # fmt: skip
_TEXTS = (b"tEXt", b"iTXt")
_LEAST_TRNS = {"1": 2, "L": 2, "I;16": 2, "RGB": 6}
MOST_PROFILE_BYTES = 1024**2  # PngImagePlugin.MAX_TEXT_CHUNK
MOST_TEXT_BYTES = 1024**2  # of one chunk; Pillow bounds all of them together at 64 MiB


def png_header(data: Data) -> Header | None:
    """Walk the chunks up to the pixels, and check each chunk's sum as Pillow does."""
    length, name, width, height, depth, colour, _, filters, _ = _ihdr(data, 8)
    mode = _PNG_MODES.get((depth, colour))
    if bytes(data[:8]) != _PNG_MAGIC or (length, name, filters) != (13, b"IHDR", 0) or not mode:
        return None
    at, texts = 8, 0
    notes: tuple[str, ...] = ()
    while name != b"IDAT":
        end = at + 12 + length
        if zlib.crc32(data[at + 4 : end - 4]) != _u32(data, end - 4)[0]:
            return None
        at = end
        length, name = _chunk(data, at)
        if name != b"IDAT" and (
            name not in _KNOWN
            or at + 12 + length > len(data)
            or _odd_chunk(name, data[at + 8 : at + 8 + length], mode)
        ):
            return None
        texts += length if name in _TEXTS else 0
        if name == b"eXIf":
            notes = turned_by([_EXIF + data[at + 8 : at + 8 + length]])
    if texts > MOST_TEXT_BYTES:
        return None
    return Header("png", mode, width, height, notes)


def _odd_chunk(name: bytes, chunk: Data, mode: str) -> bool:
    if name == b"tRNS":
        return len(chunk) < _LEAST_TRNS.get(mode, 0)
    if name in _TEXTS:  # either of which may say which way up
        text = bytes(chunk)
        if text.startswith(b"Raw profile type exif\0") or _in_xmp(text) is not None:
            return True
    if name == b"iTXt":
        flag = bytes(chunk).find(b"\0") + 1
        return 0 < flag < len(chunk) and chunk[flag] != 0  # compressed
    return len(chunk) < _LEAST.get(name, 0) or (name == b"iCCP" and _odd_profile(bytes(chunk)))


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


_PARSERS: dict[bytes, Callable[[Data], Header | None]] = {
    b"\xff\xd8\xff": jpeg_header,
    b"\x89PN": png_header,
    b"RIF": webp_header,
    b"GIF": gif_header,
}


def read_header(data: Data) -> Header | None:
    """The facts of a plain JPEG, PNG, WebP or GIF; None leaves it to Pillow."""
    parse = _PARSERS.get(bytes(data[:3]))
    if parse is None:
        return None
    try:
        found = parse(data)
    except (IndexError, struct.error):  # cut short
        return None
    return found if found is not None and found.width and found.height else None


# How files begin that are pictures, or documents that show some, whatever their suffix.
_BEGINNINGS = (
    (rb"\xff\xd8\xff", "jpeg"),
    (rb"\x89PNG\r\n", "png"),
    (rb"GIF8", "gif"),
    (rb"RIFF.{4}WEBP", "webp"),
    (rb"BM.{4}\0{4}", "bmp"),
    (rb"II\*\0|MM\0\*", "tiff"),
    (rb"\xff\x0a|\0\0\0\x0cJXL ", "jxl"),
    (rb".{4}ftypavi[fs]", "avif"),
    (rb".{4}ftyp(?:hei[cxms]|hevc|mif1|msf1)", "heic"),
    (rb"#\?(?:RADIANCE|RGBE)", "hdr"),
    (rb"\x76\x2f\x31\x01", "exr"),
    (rb"8BPS", "psd"),
    (rb"\0\0\0\x0cjP  ", "jp2"),
    (rb"%PDF-", "pdf"),
)


def kind_of(data: bytes) -> str:
    """What format some first bytes are of, known to be read or not; "" if that is not told.

    >>> kind_of(b"\\x00\\x00\\x00\\x18ftypheic"), kind_of(b"<svg/>"), kind_of(b"7")
    ('heic', 'svg', '')
    """
    if b"<svg" in data and data.lstrip()[:1] == b"<":
        return "svg"
    return next((kind for begin, kind in _BEGINNINGS if re.match(begin, data, re.S)), "")
