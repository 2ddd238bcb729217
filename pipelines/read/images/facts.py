"""What is known of an image: told by its first bytes, without decoding it.

bytes ── headers (JPEG, PNG, WebP, GIF) ──► Facts
            └─ whatever they leave ── pillow ─┘  └── verify: decode it wholly

Pillow is kept on a short lead: it opens and decodes whatever it knows, and what is wrong is named.

What decoding a dataset's images costs here is measured in CPU seconds, of a few of them. Which
follows from the dataset alone: the first of some of its files, spread evenly, until there are
enough of them or of their pixels. Never does the clock decide.
"""

import ctypes
import hashlib
import io
import logging
import os
import platform
import struct
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import PIL
import pyarrow as pa
from PIL import Image, ImageFile, ImageOps
from pydantic import Field

from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.measured import Ratio
from tokenmill.pipelines.core.options import cores
from tokenmill.pipelines.read.batch import Lost
from tokenmill.pipelines.read.images.headers import ORIENTATION, TURNED, Header, canvas, read_header
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.read.stream import one_line
from tokenmill.pipelines.storage.mirror import present
from tokenmill.sizing.roots import held

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
# What it would say of one image among millions: receipts say it.
logging.getLogger("PIL").setLevel(logging.CRITICAL)
warnings.filterwarnings("ignore", module=r"PIL\.")


class _Watched(io.BytesIO):
    """Bytes that remember whether more was asked for than there is."""

    ran_out = False

    def read(self, size: int | None = -1, /) -> bytes:
        got = super().read(size)
        if size is not None and size > len(got):
            self.ran_out = True
        return got


def opened(data: bytes | memoryview, max_pixels: int) -> Header | Lost:
    """What Pillow's lazy open tells."""
    image = _open(data, max_pixels)
    if isinstance(image, Lost):
        return image
    name = str(image.format)
    try:
        moving = name in ANIMATIONS and getattr(image, "is_animated", False)
    except BAD:
        moving = False
    notes = (("animated",) if moving else ()) + ((TURNED,) if _is_turned(image) else ())
    return Header(name.lower(), image.mode, *image.size, notes)


def _is_turned(image: ImageFile.ImageFile) -> bool:
    try:  # the method of PNGs would decode them
        return Image.Image.getexif(image).get(ORIENTATION) in range(2, 9)
    except BAD:
        return False


def loaded(
    data: bytes | memoryview, max_pixels: int, *, draft: tuple[int, int] | None = None
) -> ImageFile.ImageFile | Lost:
    """Decode an image, of an animation the first frame; say what is wrong with it, if anything.

    draft: a size that will do; a JPEG is decoded no larger than needed for it, which is faster.

    Memory is bounded by the pixels, which are looked at first; and so is work, but for a JPEG that
    goes over them again and again: the passes it asks for may be `MOST_PASSES` of the largest
    image, twice as many as encoders make.
    """
    image = _open(data, max_pixels)
    if isinstance(image, Lost):
        return image
    if image.format in RUNS_PROGRAMS:
        return Lost("unsupported_image", f"{image.format} is not decoded here")
    scans = bytes(data).count(SCAN) if image.format in SCANNED else 1
    if scans * image.width * image.height > MOST_PASSES * max_pixels:
        return Lost("bomb", f"{scans} scans of {image.width} x {image.height} pixels")
    try:
        if draft is not None:
            image.draft("RGB", draft)
        image.load()
    except BAD as e:
        bomb = isinstance(e, Image.DecompressionBombError)
        return Lost("bomb" if bomb else "damaged_image", _said(e))
    return image


def _open(data: bytes | memoryview, max_pixels: int) -> ImageFile.ImageFile | Lost:
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
                accepted.append((name, file.ran_out, _said(e)))
        except BAD as e:
            return _refused(name, file, e)
        else:
            too_many = image.width * image.height > max_pixels
            return _bomb(*image.size, max_pixels) if too_many else image
    if not accepted:
        return Lost("not_an_image", f"begins with {prefix[:8]!r}, as no known format does")
    name, ran_out, message = accepted[0]
    return Lost("truncated_header" if ran_out else "damaged_header", f"{name}: {message}")


def _refused(name: str, file: _Watched, error: Exception) -> Lost:
    """Why a format that took an image for its own could not open it."""
    message = f"{name}: {_said(error)}"
    if isinstance(error, Image.DecompressionBombError):
        return Lost("bomb", message)
    if file.ran_out:
        return Lost("truncated_header", message)
    unsupported = isinstance(error, NotImplementedError) or "nsupported" in message
    return Lost("unsupported_image" if unsupported else "damaged_header", message)


def _bomb(width: int, height: int, max_pixels: int) -> Lost:
    return Lost("bomb", f"{width} x {height} pixels, images.max_pixels is {max_pixels}")


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


def _said(error: Exception) -> str:
    return one_line(error) or type(error).__name__


MOST_FILES = 20
MOST_IMAGES = 200
MOST_PIXELS = 128 * 10**6  # about 1.5 s of photos
MOST_PIXELS_EACH = 50 * 10**6  # an image of more is passed over: 150 MB decoded


class DecodedFormat(Data, frozen=False):
    """Images that were decoded wholly, each alone on one core."""

    images: int = Field(description="How many")
    bytes: int = Field(description="As encoded")
    pixels: int = Field(description="Pixels of all")
    cpu_s: float = Field(description="Seconds of CPU time for all")
    cpu_s_squared: float = Field(description="Sum over images of their seconds squared")

    @property
    def mean_s(self) -> float:
        return self.cpu_s / self.images

    @property
    def mean_s_variance(self) -> float | None:
        """Of the mean, over images drawn alike; None for fewer than two."""
        if self.images < 2:
            return None
        spread = max(self.cpu_s_squared - self.cpu_s**2 / self.images, 0.0)
        return spread / (self.images - 1) / self.images


NONE_DECODED = DecodedFormat(images=0, bytes=0, pixels=0, cpu_s=0.0, cpu_s_squared=0.0)


class DecodingMachine(Data):
    """What decoding was measured on."""

    processor: str = Field(description="Its model")
    cores: int | None = Field(description="How many the machine has")
    pillow: str = Field(description="Its version")


class Decoding(Data):
    """What it takes to decode some of the dataset's images."""

    formats: dict[str, DecodedFormat] = Field(description="By name")
    skipped: int = Field(description="Images too large, broken, or without bytes here")
    images_per_core_s: Ratio | None = Field(description="Images a second; error over images")
    docs_per_batch: float | None = Field(description="Documents of a record batch of the dataset")
    machine: DecodingMachine


def decode_cost(files: Sequence[Path], counts: Mapping[str, int]) -> Decoding:
    """Images a core decodes each second, and the dataset's record batches.

    files: of the dataset, in order.  counts: images of the whole dataset, by format.
    """
    n = min(len(files), MOST_FILES)
    chosen = [files[i * len(files) // n] for i in range(n)]
    formats: dict[str, DecodedFormat] = {}
    skipped = batches = rows = 0
    for path in chosen:
        of_file = list(pa.ipc.open_stream(pa.memory_map(str(present(path)))))
        batches += len(of_file)
        rows += sum(batch.num_rows for batch in of_file)
        skipped += _decode(_blobs(of_file), formats, len(chosen))
    return Decoding(
        formats=dict(sorted(formats.items())),
        skipped=skipped,
        images_per_core_s=images_per_core_s(formats, counts),
        docs_per_batch=rows / batches if batches else None,
        machine=machine(),
    )


def images_per_core_s(
    formats: Mapping[str, DecodedFormat], counts: Mapping[str, int]
) -> Ratio | None:
    """Images of a corpus that one core decodes each second, and the standard error.

        1 / sum over formats of (share of the images x mean seconds of those decoded)

    counts: images of the corpus by format; one of which none was decoded takes no part.
    Source of the error: stratified sampling, Cochran, Sampling Techniques (1977), section 5.4;
    that of the inverse by the delta method.

    >>> of_format = NONE_DECODED.model_copy(update={"images": 2, "cpu_s": 0.035})
    >>> images_per_core_s({"jpeg": of_format}, {"jpeg": 300, "never decoded": 100})
    Ratio(value=57.14285714285714, se=0.0)
    """
    known = {name: n for name, n in counts.items() if name in formats}
    whole = sum(known.values())
    if not whole:
        return None
    mean = sum(n / whole * formats[name].mean_s for name, n in known.items())
    variances = [(n / whole, formats[name].mean_s_variance) for name, n in known.items()]
    if any(v is None for _, v in variances):
        return Ratio(value=1 / mean, se=None)
    error = sqrt(sum(share**2 * (v or 0.0) for share, v in variances))
    return Ratio(value=1 / mean, se=error / mean**2)


def machine() -> DecodingMachine:
    """The processor and the library that decodes."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux, or not an x86
    return DecodingMachine(processor=name, cores=cores(), pillow=PIL.__version__)


def _decode(blobs: Iterator[bytes | None], formats: dict[str, DecodedFormat], parts: int) -> int:
    """Decode a file's share, of `parts`, of images into `formats`; how many were passed over."""
    left, pixels, skipped, first = -(-MOST_IMAGES // parts), MOST_PIXELS // parts, 0, not formats
    for data in blobs:
        if left <= 0 or pixels <= 0:
            break
        left -= 1
        if data is None:
            skipped += 1
            continue
        if first:  # the first decode loads what decodes
            loaded(data, MOST_PIXELS_EACH)
            first = False
        started = time.thread_time()
        image = loaded(data, MOST_PIXELS_EACH)
        took = time.thread_time() - started
        if isinstance(image, Lost):
            skipped += 1
            continue
        of = formats.setdefault(str(image.format).lower(), NONE_DECODED.model_copy())
        of.images += 1
        of.bytes += len(data)
        of.pixels += image.width * image.height
        of.cpu_s += took
        of.cpu_s_squared += took**2
        pixels -= image.width * image.height
    return skipped


def _blobs(batches: Sequence[pa.RecordBatch]) -> Iterator[bytes | None]:
    """The images of a file of the dataset, in order; None for one whose bytes are not at hand."""
    for batch in batches:
        for image in batch["images"].flatten():
            if "offset" in image:
                yield _referenced(image.as_py())
            else:
                yield image["bytes"].as_py()


def _referenced(image: Mapping[str, Any]) -> bytes | None:
    if image["offset"] is None:
        return None
    path, start, n = image["path"], image["offset"], image["bytes"]
    try:
        with held(path) as name:
            if not Path(name).is_file():  # a pipe, which nobody writes to
                return None
            with open(name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                return os.pread(file.fileno(), n, start) if 0 <= start <= size - n else None
    except (OSError, ValueError):
        return None  # it stands elsewhere, or where TOKENMILL_ROOTS lets nobody read


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
    """md5: of all bytes.  format, mode, width, height: as in `pipelines.core.schema.IMAGE`.

    notes: what is unusual in it, of "animated" and "exif_rotated" (stored turned or mirrored, as
        Exif in front of the pixels says, or XMP; width and height are as stored, but of TIFF as
        shown).
    """

    md5: bytes
    format: str
    mode: str
    width: int
    height: int
    notes: tuple[str, ...] = ()


def image_facts(data: bytes | memoryview, options: Images) -> Facts | Lost:
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
        return Lost("empty_image", "0 bytes")
    if len(data) > options.max_bytes:
        return too_large(len(data), options)
    header = read_header(data) or opened(data, options.max_pixels)
    if isinstance(header, Lost):
        return header
    name, mode, width, height, notes = header
    if width * height > options.max_pixels:
        return _bomb(width, height, options.max_pixels)
    if options.verify and (lost := _not_shown(data, options.max_pixels)) is not None:
        return lost
    md5 = hashlib.md5(data, usedforsecurity=False).digest()
    return Facts(md5, name, mode, width, height, notes)


def _not_shown(data: bytes | memoryview, max_pixels: int) -> Lost | None:
    """Why an image cannot be shown as `datasets` shows it: decoded, and turned as Exif asks."""
    image = loaded(data, max_pixels)
    if isinstance(image, Lost):
        return image
    try:
        if image.getexif().get(ORIENTATION) is not None:
            ImageOps.exif_transpose(image)
    except BAD as e:
        return Lost("damaged_image", f"Exif: {_said(e)}")
    return None


def too_large(size: int, options: Images) -> Lost:
    """An image of more bytes than are read of one."""
    return Lost("too_large", f"{size} bytes, images.max_bytes is {options.max_bytes}")


def lies(path: str, format_: str) -> bool:
    """Whether a path ends as images of another format do.

    >>> lies("shard.tar/000017.jpg", "png")
    True
    """
    return format_ not in _SUFFIXES.get(path.rpartition(".")[2].lower(), (format_,))
