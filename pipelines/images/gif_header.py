"""The header of a GIF, up to its first picture. Source: GIF89a."""

from struct import Struct

from tokenmill.pipelines.images.header import Data, Header

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
    at = _next_picture(data, at)
    if at < 0:
        return None
    left, top, wide, high, flags = _placed(data, at + 1)
    at += 10
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


def _next_picture(data: Data, at: int) -> int:
    """Where the next picture's descriptor begins, or -1."""
    while data[at] != _PICTURE:
        if data[at] != _EXTENSION or _odd_extension(data, at + 1):
            return -1
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
        return _next_picture(data, _past_blocks(data, at)) >= 0
    except IndexError:
        return False
