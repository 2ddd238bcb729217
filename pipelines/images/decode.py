"""What decoding the dataset's images costs here: CPU seconds, of a few of them.

Which images are decoded follows from the dataset alone: the first of some of its files, spread
evenly, until there are enough of them or of their pixels. Never does the clock decide.
"""

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import PIL
import pyarrow as pa

from tokenmill.pipelines.images.pillow import Unreadable, loaded
from tokenmill.pipelines.mirror import present

MOST_FILES = 20
MOST_IMAGES = 200
MOST_PIXELS = 128 * 10**6  # about 1.5 s of photos
MOST_PIXELS_EACH = 50 * 10**6  # an image of more is passed over: 150 MB decoded


@dataclass
class Decoded:
    """Images of one format that were decoded wholly, each alone on one core.

    cpu_s: seconds of CPU time for all.  cpu_s_squared: sum over images, for the spread.
    """

    images: int = 0
    bytes: int = 0
    pixels: int = 0
    cpu_s: float = 0.0
    cpu_s_squared: float = 0.0

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


def decode_cost(files: Sequence[Path], counts: Mapping[str, int]) -> dict[str, Any]:
    """How many images a core decodes each second, and how the dataset's record batches are.

    files: of the dataset, in order.  counts: images of the whole dataset, by format.

    Returns:
        formats: of those decoded.  skipped: images too large, broken, or without bytes here.
        images_per_core_s: of the whole dataset, {value, se}; None where nothing was decoded.
        docs_per_batch: rows of a record batch of the files looked at, or None.
        machine: what it was measured on.
    """
    n = min(len(files), MOST_FILES)
    chosen = [files[i * len(files) // n] for i in range(n)]
    formats: dict[str, Decoded] = {}
    skipped = batches = rows = 0
    for path in chosen:
        of_file = list(pa.ipc.open_stream(pa.memory_map(str(present(path)))))
        batches += len(of_file)
        rows += sum(batch.num_rows for batch in of_file)
        skipped += _decode(_blobs(of_file), formats, len(chosen))
    return {
        "formats": {name: asdict(of) for name, of in sorted(formats.items())},
        "skipped": skipped,
        "images_per_core_s": images_per_core_s(formats, counts),
        "docs_per_batch": rows / batches if batches else None,
        "machine": machine(),
    }


def images_per_core_s(
    formats: Mapping[str, Decoded], counts: Mapping[str, int]
) -> dict[str, float | None] | None:
    """Images of a corpus that one core decodes each second, and the standard error.

        1 / sum over formats of (share of the images x mean seconds of those decoded)

    counts: images of the corpus by format; one of which none was decoded takes no part.
    Source of the error: stratified sampling, Cochran, Sampling Techniques (1977), section 5.4;
    that of the inverse by the delta method.

    >>> found = {"jpeg": Decoded(images=2, cpu_s=0.02), "png": Decoded(images=1, cpu_s=0.04)}
    >>> images_per_core_s(found, {"jpeg": 300, "png": 100})
    {'value': 57.14285714285714, 'se': None}
    """
    known = {name: n for name, n in counts.items() if name in formats}
    whole = sum(known.values())
    if not whole:
        return None
    mean = sum(n / whole * formats[name].mean_s for name, n in known.items())
    variances = [(n / whole, formats[name].mean_s_variance) for name, n in known.items()]
    if any(v is None for _, v in variances):
        return {"value": 1 / mean, "se": None}
    error = sqrt(sum(share**2 * (v or 0.0) for share, v in variances))
    return {"value": 1 / mean, "se": error / mean**2}


def machine() -> dict[str, Any]:
    """The processor and the library that decodes."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux, or not an x86
    return {"processor": name, "cores": os.cpu_count(), "pillow": PIL.__version__}


def _decode(blobs: Iterator[bytes | None], formats: dict[str, Decoded], parts: int) -> int:
    """Decode a file's share of images into `formats`; how many were passed over.

    parts: among how many files the images and pixels are divided.
    """
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
        if isinstance(image, Unreadable):
            skipped += 1
            continue
        of = formats.setdefault(str(image.format).lower(), Decoded())
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
        items = batch["images"].flatten()
        for i in range(len(items)):
            image = items[i]
            if "offset" in image:
                yield _referenced(image.as_py())
            else:
                yield image["bytes"].as_py()


def _referenced(image: Mapping[str, Any]) -> bytes | None:
    if image["offset"] is None:
        return None
    try:
        with open(image["path"], "rb") as file:
            return os.pread(file.fileno(), image["bytes"], image["offset"])
    except OSError:
        return None  # it stands elsewhere
