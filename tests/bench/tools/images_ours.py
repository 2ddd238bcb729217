"""Tokenmill over image shards: reading them, and filtering or looking at what was read."""

import os
from pathlib import Path

from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.images.rules import ImageRules
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

RULES = ImageRules()


def over(name, *stages, verify=False, look=False):
    """look: at each image, as `near_images` and `near: {samples: alike}` do."""
    images = Images(verify=verify)
    column = {} if name.endswith(".tar") else {"images": "image"}

    def make(part, scratch):
        if look:  # which other checkouts may not have
            from tokenmill.pipelines.corpus.looks import Views, looks_of
        warm = "warm-" if scratch.name == "warm" else ""
        path = Path(os.environ["BENCH_IMAGES"]) / f"{warm}{name}"
        (shard,) = plan_inputs([Input(path=str(path), **column)], 1 << 40, images=True).shards

        def work():
            docs = kept = seen = 0
            for batch in read_shard(shard, limits=Limits(), images=images):
                documents = batch.documents
                docs += documents.num_rows
                items = documents["images"].flatten()
                seen += len(items) + len(batch.failed_images or ())
                if look:
                    for offset, size in zip(*map(items.field, ("offset", "bytes")), strict=True):
                        data = batch.blobs.take(offset.as_py(), size.as_py())
                        looks_of(data, images.max_pixels, Views())
                for stage in stages:
                    documents = stage(documents).kept
                kept += documents.num_rows
            return {"docs": docs, "kept": kept, "images": seen, "text_bytes": path.stat().st_size}

        return work

    return make


STEPS = {
    "images: photos": over("photos.tar"),
    "images: clipart": over("clipart.tar"),
    "images: filter photos": over("photos.tar", RULES),
    "images: filter clipart": over("clipart.tar", RULES),
    # of tests.bench.pictured alone
    "lines": over("lines.jsonl"),
    "table": over("table.parquet"),
    "bombs": over("bombs.tar"),
    "bombs, verified": over("bombs.tar", verify=True),
    "looks at clipart": over("clipart.tar", look=True),
    "looks at photos": over("photos.tar", look=True),
}
