"""What was counted of images that reached the dataset: by split, and by format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.read.images.nodes import owners_of

PER_DOUBLING = 8
# bin k counts images of 2**((k - 1) / 8) to under 2**(k / 8) bytes or pixels; bin 0 those of none,
# the last those from there on
BINS = 1 + 48 * PER_DOUBLING
# width / height at which bins of aspect ratios begin: from 1/16 to 16, four to each doubling. The
# first bin is below the first of them, the last from the last on.
RATIOS = 2.0 ** (np.arange(-16, 17) / 4)
UNKNOWN = "unknown"  # the format of images of which there is a URL alone


@dataclass
class OfFormat:
    """Images of one format.

    count: of them; with_bytes, with_size: those whose bytes, whose width and height are known.
    bytes, pixels: of those.  bytes_squared, pixels_squared: sums, as floats, for the spread.
    *_bins: (BINS,) how many there are by size.
    """

    count: int = 0
    with_bytes: int = 0
    with_size: int = 0
    bytes: int = 0
    pixels: int = 0
    bytes_squared: float = 0.0
    pixels_squared: float = 0.0
    bytes_bins: I64 = field(default_factory=lambda: np.zeros(BINS, np.int64))
    pixels_bins: I64 = field(default_factory=lambda: np.zeros(BINS, np.int64))

    def add(self, n_bytes: I64, pixels: I64) -> None:
        """Count (n_images,); -1 is unknown."""
        sized, measured = n_bytes[n_bytes >= 0], pixels[pixels >= 0]
        self.count += len(n_bytes)
        self.with_bytes += len(sized)
        self.with_size += len(measured)
        self.bytes += int(sized.sum())
        self.pixels += int(measured.sum())
        self.bytes_squared += float(np.square(sized, dtype=np.float64).sum())
        self.pixels_squared += float(np.square(measured, dtype=np.float64).sum())
        self.bytes_bins += bins_of(sized)
        self.pixels_bins += bins_of(measured)

    def to_json(self) -> dict[str, Any]:
        return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in vars(self).items()}


class ImageMeasure:
    """Counts of images, batch after batch."""

    def __init__(self, splits: tuple[str, ...]) -> None:
        self._images = dict.fromkeys(splits, 0)
        self._bytes = dict.fromkeys(splits, 0)
        self._tokens = dict.fromkeys(splits, 0)
        self._formats: dict[str, OfFormat] = {}
        self._ratios = np.zeros(len(RATIOS) + 1, np.int64)

    def add(self, split: str, documents: pa.RecordBatch, here: Bools, per_image: I64) -> None:
        """Count the images of documents `here` (n_docs,); per_image: (n_images,) ids of each."""
        mine = here[owners_of(documents)]
        items = documents["images"].flatten().filter(pa.array(mine))
        self._images[split] += len(items)
        self._bytes[split] += pc.sum(items.field("bytes")).as_py() or 0
        self._tokens[split] += int(per_image[mine].sum())
        kinds = items.field("format").fill_null(UNKNOWN).dictionary_encode()
        numbers = np.asarray(kinds.indices)
        n_bytes = np.asarray(items.field("bytes").fill_null(-1))
        width, height = (
            np.asarray(items.field(side).fill_null(-1), np.int64) for side in ("width", "height")
        )
        pixels = np.where((width < 0) | (height < 0), -1, width * height)
        self._ratios += ratio_bins(width, height)
        for number, name in enumerate(kinds.dictionary.to_pylist()):
            of = numbers == number
            self._formats.setdefault(name, OfFormat()).add(n_bytes[of], pixels[of])

    def to_json(self) -> dict[str, Any]:
        """images, image_bytes, image_tokens by split; formats: `OfFormat` of each; ratio_bins."""
        return {
            "images": self._images,
            "image_bytes": self._bytes,
            "image_tokens": self._tokens,
            "formats": {name: self._formats[name].to_json() for name in sorted(self._formats)},
            "ratio_bins": self._ratios.tolist(),
        }


def bins_of(values: I64) -> I64:
    """(BINS,) how many values there are in each bin.

    >>> np.flatnonzero(bins_of(np.array([0, 1, 2, 3, 4]))).tolist()
    [0, 1, 9, 13, 17]
    """
    bins = np.zeros(len(values), np.int64)
    some = values > 0
    bins[some] = np.floor(np.log2(values[some].astype(np.float64)) * PER_DOUBLING) + 1
    return np.bincount(np.minimum(bins, BINS - 1), minlength=BINS)


def doublings(bins: Sequence[int]) -> list[int]:
    """Bins by powers of two: 0, 1, 2 to 3, 4 to 7, …

    >>> doublings(bins_of(np.array([0, 1, 2, 3, 4])).tolist())[:5]
    [1, 1, 2, 1, 0]
    """
    return [bins[0], *np.reshape(bins[1:], (-1, PER_DOUBLING)).sum(axis=1).tolist()]


def ratio_bins(width: I64, height: I64) -> I64:
    """(len(RATIOS) + 1,) how many of (n,) images have each ratio of width to height.

    An image without pixels, or of unknown size (-1), has none.

    >>> np.flatnonzero(ratio_bins(np.array([1, 640, -1]), np.array([64, 640, -1]))).tolist()
    [0, 17]
    """
    there = (width > 0) & (height > 0)
    bins = np.searchsorted(RATIOS, width[there] / height[there], side="right")
    return np.bincount(bins, minlength=len(RATIOS) + 1)
