"""The header of a JPEG: its segments up to the scan. Source: ITU-T T.81, annex B."""

from collections.abc import Callable
from struct import Struct

from tokenmill.pipelines.images.exif import exif_turns
from tokenmill.pipelines.images.header import Data, Header

_u16 = Struct(">H").unpack_from
_frame = Struct(">BHHB").unpack_from  # bits, height, width, components
_SOF = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_SOS, _DQT, _APP0, _APP1, _APP2, _APP13, _APP14 = 0xDA, 0xDB, 0xE0, 0xE1, 0xE2, 0xED, 0xEE
_SKIPPED = frozenset({0xC4, 0xCC, 0xDD, 0xFE, _DQT, *range(0xE0, 0xF0)})  # more follows a length
_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}


def jpeg_header(data: Data) -> Header | None:
    """Walk the segments up to the scan."""
    at, size = 2, len(data)
    mode, width, height, turned = None, 0, 0, False
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
        elif marker == _SOS:
            notes = ("exif_rotated",) if turned else ()
            return None if mode is None else Header("jpeg", mode, width, height, notes)
        elif marker not in _SKIPPED or (marker in _ODD and _ODD[marker](data, begin, end)):
            return None
        if marker == _APP1 and not turned:
            turned = exif_turns(data[begin:end])
        at = end
    return None


def _odd_app0(data: Data, begin: int, end: int) -> bool:
    return end - begin < 7 and bytes(data[begin : begin + 4]) == b"JFIF"


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


def _odd_app14(data: Data, begin: int, end: int) -> bool:
    return end - begin < 7 and bytes(data[begin : begin + 5]) == b"Adobe"


def _odd_tables(data: Data, begin: int, end: int) -> bool:
    """Whether quantization tables do not fill their segment."""
    while begin < end:
        begin += 65 if data[begin] < 16 else 129
    return begin != end


_ODD: dict[int, Callable[[Data, int, int], bool]] = {
    _APP0: _odd_app0,
    _APP2: _odd_app2,
    _APP13: _odd_app13,
    _APP14: _odd_app14,
    _DQT: _odd_tables,
}
