"""webdataset's reader, and img2dataset's filter by size and aspect ratio."""

import hashlib
import io
import os
import sys
import types
from pathlib import Path

from PIL import Image

sys.modules["wandb"] = types.ModuleType("wandb")  # img2dataset's reports, which nobody sees here

import webdataset  # noqa: E402
from img2dataset.resizer import Resizer  # noqa: E402

MIN_SIDE, MAX_RATIO = 150, 2


def samples(path):
    return webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False)


def image_of(sample):
    return next(v for k, v in sample.items() if k in ("jpg", "png"))


def over(name, each):
    def make(part, scratch):
        warm = "warm-" if scratch.name == "warm" else ""
        path = Path(os.environ["BENCH_IMAGES"]) / f"{warm}{name}.tar"

        def work():
            kept = [each(image_of(sample)) for sample in samples(path)]
            counts = {"docs": len(kept), "kept": sum(kept)}
            return counts | {"text_bytes": path.stat().st_size}

        return work

    return make


def facts(content):
    hashlib.md5(content, usedforsecurity=False).digest()
    image = Image.open(io.BytesIO(content))
    return bool(image.format and image.mode and image.size)


def filtering(name):
    resizer = Resizer(
        256, "no", True, skip_reencode=True, min_image_size=MIN_SIDE, max_aspect_ratio=MAX_RATIO
    )
    return over(name, lambda content: resizer(io.BytesIO(content))[-1] is None)


STEPS = {
    "images: photos": over("photos", facts),
    "images: clipart": over("clipart", facts),
    "images: filter photos": filtering("photos"),
}
