"""What reading documents with images gave, checked batch by batch."""

import hashlib
import json
from typing import Any, NamedTuple

from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER, REMOVED, REMOVED_IMAGE
from tokenmill.pipelines.core.shard import Input, Plan, SourceShard
from tokenmill.pipelines.read.batch import read_stats
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard


class Pictured(NamedTuple):
    """documents: rows of schema ILLUSTRATED.  blobs: the bytes of each document's images, None
    for those that are only a URL.  failures, failed_images: rows of their receipts.
    """

    plan: Plan
    documents: list[dict[str, Any]]
    blobs: list[list[bytes | None]]
    failures: list[dict[str, Any]]
    failed_images: list[dict[str, Any]]
    batches: list[int]  # bytes of the images of each

    @property
    def texts(self):
        return [d["text"] for d in self.documents]

    @property
    def ids(self):
        return [d["id"] for d in self.documents]

    @property
    def images(self):
        return [d["images"] for d in self.documents]

    @property
    def causes(self):
        return [f["reason"] for f in self.failures]

    @property
    def image_causes(self):
        return [f["reason"] for f in self.failed_images]


def read_pictured(path, *, shard_bytes=1 << 28, limits=None, options=None, **fields):
    """Read an input with its images, through JSON as a worker would get the shards."""
    limits, options = limits or Limits(), options or Images()
    inputs = [Input(path=str(path), **fields)]
    got = Pictured(plan_inputs(inputs, shard_bytes, limits=limits, images=True), [], [], [], [], [])
    for shard in got.plan.shards:
        shard = SourceShard.from_json(json.loads(json.dumps(shard.to_json())))
        end = 0
        for batch in read_shard(shard, limits=limits, images=options):
            end = _take(got, batch, end)
    every = [d["doc_id"] for d in got.documents + got.failures]
    assert len(set(every)) == len(every)
    assert [d["doc_id"] for d in got.documents] == sorted(d["doc_id"] for d in got.documents)
    names = [(d["doc_id"], i["number"]) for d in got.documents for i in d["images"]]
    names += [(f["doc_id"], f["number"]) for f in got.failed_images]
    assert len(set(names)) == len(names)
    return got


def _take(got, batch, end):
    assert batch.documents.schema.equals(ILLUSTRATED, check_metadata=True)
    assert batch.failed.schema.equals(REMOVED, check_metadata=True)
    batch.documents.validate(full=True)
    read_stats(batch).check("read")
    documents = batch.documents.to_pylist()
    got.documents.extend(documents)
    got.failures.extend(batch.failed.to_pylist())
    if batch.failed_images is not None:
        assert batch.failed_images.schema.equals(REMOVED_IMAGE, check_metadata=True)
        batch.failed_images.validate(full=True)
        got.failed_images.extend(batch.failed_images.to_pylist())
    begin = end
    for document in documents:
        assert document["text"].count(PLACEHOLDER) in (0, len(document["images"]))
        stored = []
        for image in document["images"]:
            stored.append(None)
            if image["offset"] is not None:
                assert image["offset"] == end
                data = bytes(batch.blobs.take(end, image["bytes"]))
                assert hashlib.md5(data).digest() == image["md5"]
                end += image["bytes"]
                stored[-1] = data
        got.blobs.append(stored)
    got.batches.append(end - begin)
    return end
