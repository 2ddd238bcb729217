"""Data-Juicer's filters by side, aspect ratio and bytes, over images that lie in a folder."""

import os
import tarfile
from pathlib import Path

from data_juicer.ops.filter.image_aspect_ratio_filter import ImageAspectRatioFilter
from data_juicer.ops.filter.image_shape_filter import ImageShapeFilter
from data_juicer.utils.constant import Fields

MIN_SIDE, MAX_SIDE, MAX_RATIO = 150, 20_000, 2.0
BATCH = 100


def extracted(path, folder):
    found = []
    with tarfile.open(path) as tar:
        for member in tar:
            if member.name.endswith((".jpg", ".png")):
                (folder / member.name).write_bytes(tar.extractfile(member).read())
                found.append(str(folder / member.name))
    return found


def filtering(name):
    def make(part, scratch):
        warm = "warm-" if scratch.name == "warm" else ""
        path = Path(os.environ["BENCH_IMAGES"]) / f"{warm}{name}.tar"
        files = extracted(path, scratch)
        sides = {"min_width": MIN_SIDE, "min_height": MIN_SIDE}
        sides |= {"max_width": MAX_SIDE, "max_height": MAX_SIDE}
        rules = [
            ImageShapeFilter(**sides, any_or_all="all"),
            ImageAspectRatioFilter(min_ratio=1 / MAX_RATIO, max_ratio=MAX_RATIO, any_or_all="all"),
        ]

        def work():
            kept = 0
            for at in range(0, len(files), BATCH):
                part_of = files[at : at + BATCH]
                samples = {"text": [""] * len(part_of), "images": [[f] for f in part_of]}
                for field in (Fields.stats, Fields.context):
                    samples[field] = [{} for _ in part_of]
                for rule in rules:
                    samples = rule.compute_stats_batched(samples, context=True)
                kept += sum(
                    map(all, zip(*(r.process_batched(samples) for r in rules), strict=True))
                )
            return {"docs": len(files), "kept": kept, "text_bytes": path.stat().st_size}

        return work

    return make


STEPS = {
    "images: filter photos": filtering("photos"),
    "images: filter clipart": filtering("clipart"),
}
