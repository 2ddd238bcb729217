"""What an image looks like, so that others are told to look like it: hashes and looks of its views.

bytes ── decoded, turned as Exif asks ── on white, or on grey ── 32 x 32 cells ── hash, look

Cells are taken in two steps: means of areas, which have each pixel by what of it lies inside, then
a filter without steps. By whole pixels, and with those that pad a JPEG, the lines along an edge
counted twice in one encoding and not in the other: a scan's edges then differed more than its text.

What is transparent is laid on white, as pages are, and on grey if nothing is to be seen there: a
black drawing has its outlines, and so has a white one.
"""

from collections.abc import Callable
from math import log2
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from PIL import Image, ImageFile

from tokenmill.dedup.arrays import F64, U8, U64
from tokenmill.dedup.same.images import HASHED_SIDE, LOOK_BYTES, has_structure, hash_of, look_of
from tokenmill.pipelines.read.batch import Lost
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.facts import BAD, loaded
from tokenmill.pipelines.read.images.headers import ORIENTATION, read_header

NO_BYTES, ON_WHITE, ON_GREY, PLAIN = range(4)  # kinds; the first and the last have no hash
BACKGROUNDS = {ON_WHITE: 255.0, ON_GREY: 128.0}
LEAST_SIDE = 8  # pixels: of fewer, the cells are the encoder's
DECODED_SIDE = 128  # pixels that will do; a JPEG is decoded no larger than needed
MEANS_SIDE = 64  # of the areas whose means are taken, where there are twice as many pixels
CROPPED = 0.04  # of each side: of crops by 2 to 6 % the one that is near
DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I")  # modes of 16 bits, or as many of 32
Turn = Callable[[F64], F64]
Box = tuple[float, float, float, float]  # left, upper, right, lower
TURNS: dict[int, Turn] = {  # by Exif's number
    2: lambda cells: cells[:, ::-1],
    3: lambda cells: cells[::-1, ::-1],
    4: lambda cells: cells[::-1],
    5: lambda cells: cells.swapaxes(0, 1),
    6: lambda cells: np.rot90(cells, -1),
    7: lambda cells: cells.swapaxes(0, 1)[::-1, ::-1],
    8: lambda cells: np.rot90(cells, 1),
}


class Views(NamedTuple):
    """Which views of an image are looked at besides itself."""

    flips: bool = False
    rotations: bool = False
    crops: bool = False

    @property
    def turns(self) -> list[int]:
        flips, rotations = [2] * self.flips, [3, 6, 8] * self.rotations
        return [*flips, *rotations, *([4, 5, 7] if self.flips and self.rotations else [])]

    @property
    def boxes(self) -> list[Box]:
        """Each crop, as shares: the middle, and the four corners."""
        if not self.crops:
            return []
        corners = [(x, y) for y in (0.0, CROPPED) for x in (0.0, CROPPED)]
        starts = [(CROPPED / 2, CROPPED / 2), *corners]
        return [(x, y, x + 1 - CROPPED, y + 1 - CROPPED) for x, y in starts]

    @property
    def n(self) -> int:
        return 1 + len(self.turns) + len(self.boxes)


class Looks(NamedTuple):
    """kind: one of those above.  hashes: (n_views,), looks: (n_views, LOOK_BYTES), or zeros."""

    kind: int
    hashes: U64
    looks: U8


def looks_of(data: bytes | memoryview, max_pixels: int, views: Views) -> Looks:
    """What an image looks like; of kind NO_BYTES if it does not decode."""
    image = loaded(data, max_pixels, draft=(DECODED_SIDE, DECODED_SIDE))
    if isinstance(image, Lost):
        return _without(NO_BYTES, views)
    try:
        if min(image.size) < LEAST_SIDE:
            return _without(PLAIN, views)
        orientation = image.getexif().get(ORIENTATION, 1)
        upright = TURNS.get(orientation, np.asarray)
        return _looks_of(_laid(image), _extent(image, data), upright, views)
    except BAD:  # a mode that does not convert
        return _without(NO_BYTES, views)


def seen(
    documents: pa.RecordBatch, blobs: Blobs | None, views: Views, max_pixels: int
) -> tuple[U8, U64, U8]:
    """(n,) kinds, (n, n_views) hashes and (n, n_views, LOOK_BYTES) looks of all their images.

    blobs: the bytes of the images, by their offsets; None where there are none.
    """
    items = documents["images"].flatten()
    kinds = np.full(len(items), NO_BYTES, np.uint8)
    hashes = np.zeros((len(items), views.n), np.uint64)
    looks = np.zeros((len(items), views.n, LOOK_BYTES), np.uint8)
    offsets, sizes = (items.field(name).to_pylist() for name in ("offset", "bytes"))
    for place, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if offset is not None and blobs is not None:
            found = looks_of(blobs.take(offset, size), max_pixels, views)
            kinds[place], hashes[place], looks[place] = found
    return kinds, hashes, looks


def _without(kind: int, views: Views) -> Looks:
    return Looks(kind, np.zeros(views.n, np.uint64), np.zeros((views.n, LOOK_BYTES), np.uint8))


def _extent(image: ImageFile.ImageFile, data: bytes | memoryview) -> tuple[float, float]:
    """Width and height of what it shows: the last pixels of a JPEG decoded smaller lie half out."""
    header = read_header(data) if image.format == "JPEG" else None
    width, height = (header.width, header.height) if header else image.size
    times = 2 ** round(log2(max(width / image.width, height / image.height)))
    return width / times, height / times


def _laid(image: Image.Image) -> Image.Image:
    """In RGB, or if anything may be transparent RGBa, whose colours are multiplied by alpha."""
    if image.mode in DEEP:
        return image.convert("I").point(lambda value: value * (1 / 257)).convert("L").convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    return image.convert("RGBA").convert("RGBa")


def _looks_of(
    image: Image.Image, extent: tuple[float, float], upright: Turn, views: Views
) -> Looks:
    whole = upright(_cells(image, extent))
    every = BACKGROUNDS.items()
    shown = (on for on in every if has_structure(_brightness(_on(whole, on[1]))))
    kind, background = next(shown, (PLAIN, 0.0))
    if kind == PLAIN:
        return _without(PLAIN, views)
    hashes, looks = [], []
    crops = (upright(_cells(image, extent, box)) for box in views.boxes)
    turned = (np.ascontiguousarray(TURNS[turn](whole)) for turn in views.turns)
    for cells in (whole, *turned, *crops):
        seen = _on(cells, background)
        brightness = _brightness(seen)
        hashes.append(hash_of(brightness))
        blue, red = (seen[..., 2] - brightness) * 0.564, (seen[..., 0] - brightness) * 0.713
        colours = np.stack([blue, red], axis=-1) + 128  # Cb and Cr, as JPEG has them
        looks.append(look_of(brightness, colours, cells[..., 3]))
    return Looks(kind, np.array(hashes, np.uint64), np.stack(looks))


def _cells(image: Image.Image, extent: tuple[float, float], box: Box = (0, 0, 1, 1)) -> F64:
    """(32, 32, 4) red, green, blue by alpha, and alpha, 0 to 255, of a box in shares."""
    part = tuple(share * side for share, side in zip(box, extent * 2, strict=True))
    large = tuple(side >= 2 * MEANS_SIDE for side in image.size)
    width, height = np.where(large, MEANS_SIDE, image.size).tolist()
    areas = np.where(large * 2, part, (0, 0, *image.size)).tolist()  # a small side is cut below
    then = np.where(large * 2, (0, 0, width, height), part).tolist()
    means, side = image.resize((width, height), Image.Resampling.BOX, box=areas), HASHED_SIDE
    found = np.asarray(means.resize((side, side), Image.Resampling.BICUBIC, box=then))
    cells = np.full((side, side, 4), 255.0)
    cells[..., : found.shape[2]] = found
    return cells


def _on(cells: F64, background: float) -> F64:
    """(32, 32, 3) the image laid on a background."""
    laid: F64 = cells[..., :3] + background * (1 - cells[..., 3:] / 255)
    return laid


def _brightness(seen: F64) -> F64:
    """(32, 32) by ITU-R BT.601, as Pillow's mode L has it."""
    found: F64 = seen @ np.array([0.299, 0.587, 0.114])
    return found
