"""What is known of an image: told by its first bytes, without decoding it.

bytes ── headers (JPEG, PNG, WebP, GIF) ──► Facts
            └─ whatever they leave ── pillow ─┘  └── verify: decode it wholly
"""

import hashlib
from typing import NamedTuple

from tokenmill.pipelines.images.headers import read_header
from tokenmill.pipelines.images.options import Images
from tokenmill.pipelines.images.pillow import Unreadable, decoded, opened

# What a name promises; other suffixes promise nothing.
_SUFFIXES = {
    "jpg": ("jpeg", "mpo"),
    "jpeg": ("jpeg", "mpo"),
    "png": ("png",),
    "webp": ("webp",),
    "gif": ("gif",),
    "bmp": ("bmp", "dib"),
    "tif": ("tiff",),
    "tiff": ("tiff",),
    "avif": ("avif",),
}


class Facts(NamedTuple):
    """md5: of all bytes.  format, mode, width, height: as in `pipelines.schema.IMAGE`.

    notes: what is unusual in it, of "animated" and "exif_rotated" (stored turned or mirrored;
        width and height are as stored).
    """

    md5: bytes
    format: str
    mode: str
    width: int
    height: int
    notes: tuple[str, ...] = ()


def image_facts(data: bytes | memoryview, options: Images) -> Facts | Unreadable:
    """Tell the facts of an image, or why it is none.

    The content tells the format, whatever the file is called. The own header parsers take what
    is plain; anything else is left to Pillow, so that both always agree. No more than the header
    is decoded, unless `options.verify`; neither is the clock asked, ever.

    Causes: "empty_image", "too_large" (bytes), "bomb" (pixels), "not_an_image",
    "truncated_header", "damaged_header", "unsupported_image"; "damaged_image" where decoding it
    fails (`options.verify`).
    """
    if isinstance(data, memoryview) and data.format != "B":
        data = data.cast("B")  # Arrow's are of signed bytes
    if len(data) == 0:
        return Unreadable("empty_image", "0 bytes")
    if len(data) > options.max_bytes:
        return too_large(len(data), options)
    header = read_header(data) or opened(data, options.max_pixels)
    if isinstance(header, Unreadable):
        return header
    name, mode, width, height, notes = header
    if width * height > options.max_pixels:
        return Unreadable(
            "bomb",
            f"{width} x {height} pixels, images.max_pixels is {options.max_pixels}",
        )
    if options.verify and (bad := decoded(data, options.max_pixels)):
        return bad
    md5 = hashlib.md5(data, usedforsecurity=False).digest()
    return Facts(md5, name, mode, width, height, notes)


def too_large(size: int, options: Images) -> Unreadable:
    """An image of more bytes than are read of one."""
    return Unreadable("too_large", f"{size} bytes, images.max_bytes is {options.max_bytes}")


def lies(path: str, format_: str) -> bool:
    """Whether a path ends as images of another format do.

    >>> lies("shard.tar/000017.jpg", "png")
    True
    """
    return format_ not in _SUFFIXES.get(path.rpartition(".")[2].lower(), (format_,))
