"""Perceptual hashes of images, by a library that is an extra."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.filters.images.keys import Keys
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.facts import BAD, Unreadable, loaded

HASHED = 1  # the second word of a key: a hash of 64 zeros is one too


def looks(documents: pa.RecordBatch, blobs: Blobs | None, *, max_pixels: int) -> Keys:
    """(n_images, 2) of all images: the hash and HASHED; zeros where there is none.

    blobs: the bytes of the images, by their offsets; None where there are none.
    """
    items = documents["images"].flatten()
    keys = np.zeros((len(items), 2), np.uint64)
    offsets, sizes = (items.field(name).to_pylist() for name in ("offset", "bytes"))
    for place, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if offset is None or blobs is None:
            continue
        found = phash(blobs.take(offset, size), max_pixels)
        if found is not None:
            keys[place] = found, HASHED
    return keys


def phash(data: bytes | memoryview, max_pixels: int) -> int | None:
    """ImageHash's perceptual hash, the first bit highest; None if the image does not decode."""
    image = loaded(data, max_pixels)
    if isinstance(image, Unreadable):
        return None
    try:
        return int(str(_library().phash(image)), 16)
    except BAD:  # a mode that does not convert
        return None


@cache
def _library() -> Any:
    import imagehash  # an extra, and only for this step; takes 0.2 s

    return imagehash
