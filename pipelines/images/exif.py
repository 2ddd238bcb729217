"""Which way up Exif says a picture is to be shown. Source: Exif 2.32, section 4.6."""

import struct
from struct import Struct

from tokenmill.pipelines.images.header import Data

_ORDERS: dict[bytes, tuple[Struct, Struct]] = {
    b"II": (Struct("<H"), Struct("<I")),
    b"MM": (Struct(">H"), Struct(">I")),
}
ORIENTATION = 0x0112


def exif_turns(segment: Data) -> bool:
    """Whether Exif asks for the picture to be turned or mirrored: orientation 2 to 8.

    segment: as a JPEG has it, from "Exif" on.
    """
    block = bytes(segment)
    order = _ORDERS.get(block[6:8])
    if order is None or not block.startswith(b"Exif\0\0"):
        return False
    u16, u32 = order
    try:
        first = 6 + u32.unpack_from(block, 10)[0]
        for entry in range(first + 2, first + 2 + 12 * u16.unpack_from(block, first)[0], 12):
            if u16.unpack_from(block, entry)[0] == ORIENTATION:
                return u16.unpack_from(block, entry + 8)[0] in range(2, 9)
    except struct.error:  # cut short
        pass
    return False
