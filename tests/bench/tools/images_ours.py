"""Tokenmill over image shards: reading them, and filtering what was read."""

import os
from pathlib import Path

from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.images.rules import ImageRules
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

RULES = ImageRules()


def over(name, *stages):
    def make(part, scratch):
        warm = "warm-" if scratch.name == "warm" else ""
        path = Path(os.environ["BENCH_IMAGES"]) / f"{warm}{name}.tar"
        (shard,) = plan_inputs([Input(path=str(path))], 1 << 40, images=True).shards

        def work():
            docs = kept = 0
            for batch in read_shard(shard, limits=Limits(), images=Images()):
                documents = batch.documents
                docs += documents.num_rows
                for stage in stages:
                    documents = stage(documents).kept
                kept += documents.num_rows
            return {"docs": docs, "kept": kept, "text_bytes": path.stat().st_size}

        return work

    return make


STEPS = {
    "images: photos": over("photos"),
    "images: clipart": over("clipart"),
    "images: filter photos": over("photos", RULES),
    "images: filter clipart": over("clipart", RULES),
}
