"""Pillow, kept on a short lead: opens and decodes whatever it knows, and names what is wrong."""

import ctypes
import io
import logging
import struct
import warnings
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageFile

from tokenmill.pipelines.images.header import Header
from tokenmill.pipelines.images.webp_header import canvas

# Whatever a decoder raises on bad bytes, the image is bad. Memory running out is not its fault.
BAD = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,  # and NotImplementedError
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
ANIMATIONS = frozenset({"GIF", "PNG", "WEBP", "AVIF"})
RUNS_PROGRAMS = frozenset({"EPS"})  # decoding it starts Ghostscript
SCANNED, SCAN, MOST_PASSES = frozenset({"JPEG", "MPO"}), b"\xff\xda", 20
SHOWN_ERROR = 200
# What it would say of one image among millions: receipts say it.
logging.getLogger("PIL").setLevel(logging.CRITICAL)
warnings.filterwarnings("ignore", module=r"PIL\.")


class Unreadable(NamedTuple):
    """Why an image cannot be read.  cause: as in the ledger.  detail: what is wrong with it."""

    cause: str
    detail: str


class _Watched(io.BytesIO):
    """Bytes that remember whether more was asked for than there is."""

    ran_out = False

    def read(self, size: int | None = -1, /) -> bytes:
        got = super().read(size)
        if size is not None and size > len(got):
            self.ran_out = True
        return got


def opened(data: bytes | memoryview, max_pixels: int) -> Header | Unreadable:
    """What Pillow's lazy open tells."""
    image = _open(data, max_pixels)
    if isinstance(image, Unreadable):
        return image
    name = str(image.format)
    try:
        moving = name in ANIMATIONS and getattr(image, "is_animated", False)
    except BAD:
        moving = False
    return Header(name.lower(), image.mode, *image.size, ("animated",) if moving else ())


def decoded(data: bytes | memoryview, max_pixels: int) -> Unreadable | None:
    """Decode an image as `loaded` does; return what is wrong with it, if anything."""
    image = loaded(data, max_pixels)
    return image if isinstance(image, Unreadable) else None


def loaded(
    data: bytes | memoryview, max_pixels: int, *, draft: tuple[int, int] | None = None
) -> ImageFile.ImageFile | Unreadable:
    """Decode an image, of an animation the first frame; say what is wrong with it, if anything.

    draft: a size that will do; a JPEG is decoded no larger than needed for it, which is faster.

    Memory is bounded by the pixels, which are looked at first; and so is work, but for a JPEG that
    goes over them again and again: the passes it asks for may be `MOST_PASSES` of the largest
    image, twice as many as encoders make.
    """
    image = _open(data, max_pixels)
    if isinstance(image, Unreadable):
        return image
    if image.format in RUNS_PROGRAMS:
        return Unreadable("unsupported_image", f"{image.format} is not decoded here")
    scans = bytes(data).count(SCAN) if image.format in SCANNED else 1
    if scans > 1 and scans * image.width * image.height > MOST_PASSES * max_pixels:
        return Unreadable("bomb", f"{scans} scans of {image.width} x {image.height} pixels")
    try:
        if draft is not None:
            image.draft("RGB", draft)
        image.load()
    except BAD as e:
        bomb = isinstance(e, Image.DecompressionBombError)
        return Unreadable("bomb" if bomb else "damaged_image", _one_line(e))
    return image


def _open(data: bytes | memoryview, max_pixels: int) -> ImageFile.ImageFile | Unreadable:
    """As `PIL.Image.open`, but for its own bound on pixels, which is one for the whole process."""
    claimed = canvas(data)  # what Pillow would allocate to open it
    if claimed is not None and claimed[0] * claimed[1] > max_pixels:
        return _bomb(*claimed, max_pixels)
    file, prefix, accepted = _Watched(data), bytes(data[:16]), []
    for name in _formats():
        factory, accept = Image.OPEN[name]
        try:
            if accept is not None and accept(prefix) is not True:
                continue
            file.seek(0)
            file.ran_out = False
            image = factory(file, "")
        except (SyntaxError, IndexError, TypeError, struct.error) as e:
            if accept is not None:
                accepted.append((name, file.ran_out, _one_line(e)))
        except BAD as e:
            return _refused(name, file, e)
        else:
            return _bounded(image, max_pixels)
    if not accepted:
        return Unreadable("not_an_image", f"begins with {prefix[:8]!r}, as no known format does")
    name, ran_out, message = accepted[0]
    return Unreadable("truncated_header" if ran_out else "damaged_header", f"{name}: {message}")


def _bounded(image: ImageFile.ImageFile, max_pixels: int) -> ImageFile.ImageFile | Unreadable:
    width, height = image.size
    return _bomb(width, height, max_pixels) if width * height > max_pixels else image


def _refused(name: str, file: _Watched, error: Exception) -> Unreadable:
    """Why a format that took an image for its own could not open it."""
    message = f"{name}: {_one_line(error)}"
    if isinstance(error, Image.DecompressionBombError):
        return Unreadable("bomb", message)
    if file.ran_out:
        return Unreadable("truncated_header", message)
    unsupported = isinstance(error, NotImplementedError) or "nsupported" in message
    return Unreadable("unsupported_image" if unsupported else "damaged_header", message)


def _bomb(width: int, height: int, max_pixels: int) -> Unreadable:
    return Unreadable("bomb", f"{width} x {height} pixels, images.max_pixels is {max_pixels}")


@cache
def _formats() -> tuple[str, ...]:
    """Names of all formats, in the order in which Pillow tries them."""
    Image.preinit()
    Image.init()
    _silence_libtiff()
    return tuple(Image.ID)


def _silence_libtiff() -> None:
    """Take away what writes libtiff's complaints to stderr, where Pillow brings its own libtiff."""
    site = Path(Image.__file__).parent
    bundled = [*site.parent.glob("pillow.libs/libtiff*"), *site.glob(".dylibs/libtiff*")]
    for path in bundled:
        library = ctypes.CDLL(str(path))
        for name in ("TIFFSetErrorHandler", "TIFFSetWarningHandler"):
            setter = getattr(library, name)
            setter.argtypes, setter.restype = [ctypes.c_void_p], ctypes.c_void_p
            setter(None)


def _one_line(error: Exception) -> str:
    return " ".join(f"{error}".split())[:SHOWN_ERROR] or type(error).__name__
