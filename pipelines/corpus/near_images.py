"""The step that takes out images that look like one before them, by perceptual hashes.

bytes of images ── hashes, a sidecar ── all in memory: one work ── what leaves, by shard
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import I64, U64, Bools
from tokenmill.dedup.same.images import MOST_DISTANCE, first_near
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.step import Chain, Pass, Size, Told, facts_of
from tokenmill.pipelines.corpus.units import (
    REPEATED,
    RUN,
    UNITS,
    ImageStep,
    leaving_between,
    run_of,
    units_left,
    write_found,
)
from tokenmill.pipelines.filters.images.keys import Keys, has_key
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import Rows, arrow_file, counted_rows

ROW_BYTES = 96 + 40  # `first_near`, the hash twice, its row, that of the first near one
AT_ONCE = 1 << 16  # images that leave in a batch of the file; it takes no more than hashes did
HASHED = 1  # the second word of a key: a hash of 64 zeros is one too


class NearImages(ImageStep):
    """Take out images that look like one before them in the corpus: whose pHash is within 4 bits
    of its, unless told (`pip install tokenmill[images]`).

    An image leaves if the hash of an earlier one, which may leave too, differs in few enough bits;
    of those that stay no two are as near. Images without bytes, and those that do not decode, have
    no hash: they stay, and are counted. Plain ones look alike whatever their colour.

    hash: `imagehash.phash` of ImageHash (`pip install tokenmill[images]`), 64 bits. It decodes
        every image wholly.
    distance: most bits that differ. Work grows with the square of the images that share one of
        `distance` + 1 parts of their bits: 10 million random hashes take half a minute at 4.
    no_images_left: remove documents that lose their last image here.
    """

    name: ClassVar[str] = "near_images"
    looks_at_images: ClassVar[bool] = True

    hash: Literal["phash"] = "phash"
    distance: Annotated[int, Field(ge=0, le=MOST_DISTANCE)] = 4
    no_images_left: bool = True

    @model_validator(mode="after")
    def _library_is_there(self) -> "NearImages":
        if find_spec("imagehash") is None:
            raise ValueError("needs the ImageHash library; pip install 'tokenmill[images]'")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.hash,)

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("near_image",)

    def parameters(self) -> dict[str, Any]:
        return {"hash": self.hash}

    def keys_of(
        self, documents: pa.RecordBatch, blobs: Blobs | None, images: Images | None
    ) -> list[Keys]:
        return [image_hashes(documents, blobs, max_pixels=images.max_pixels if images else 0)]

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from chain.phase(self.name, self.name, find_near_images, {"all": ()})

    def limit(self, memory_budget: int) -> str:
        return f"near_images: {memory_budget // ROW_BYTES:,} images"

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        facts = facts_of(receipts, self.name)
        return {"repeated": {self.name: dict(facts[-1])}} if facts else {}


def image_hashes(documents: pa.RecordBatch, blobs: Blobs | None, *, max_pixels: int) -> Keys:
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
    import imagehash  # an extra, and only for this step; takes 0.2 s

    from tokenmill.pipelines.read.batch import Lost
    from tokenmill.pipelines.read.images.facts import BAD, loaded

    image = loaded(data, max_pixels)
    if isinstance(image, Lost):
        return None
    try:
        return int(str(imagehash.phash(image)), 16)
    except BAD:  # a mode that does not convert
        return None


def find_near_images(run: RunFolder, part: Pass) -> Done:
    """Write which images of each shard look like another; the step is the last behind the pass."""
    corpus, step = Corpus(run, part), part.step(NearImages.name, NearImages)
    keys = corpus.shard_keys()
    rows = counted_rows([corpus.path(UNITS, key=key) for key in keys], step.unit_parameters())
    corpus.memory_left(step.name, rows.n, ROW_BYTES, of=step.units)
    of_shards = [units_left(corpus, step.name, rows, n, key) for n, key in enumerate(keys)]
    alive = np.concatenate([np.empty(0, np.bool_), *of_shards])
    there, hashes = _hashes(rows, step.hash, alive)
    first = first_near(hashes, step.distance)
    leaving = np.flatnonzero(first != np.arange(len(first)))
    path = corpus.path(REPEATED, key="all")
    with arrow_file(path, RUN) as writer:
        for start in range(0, len(leaving), AT_ONCE):
            at = leaving[start : start + AT_ONCE]
            bits = np.bitwise_count(hashes[at] ^ hashes[first[at]])
            writer.write_batch(run_of(rows, there[at], there[first[at]], bits))
    files = []
    for shard, key in enumerate(keys):
        begin, end = rows.starts[shard : shard + 2].tolist()
        found = leaving_between([path], begin, end)
        files.append(corpus.path(REPEATED, key=key))
        write_found(files[-1], rows.shard(shard), found._replace(rows=found.rows - begin))
    path.unlink()
    n = int(alive.sum())
    facts = {"images": n, "without_hash": n - len(hashes), "near": len(leaving)}
    return Done(files=files, facts=facts)


def _hashes(rows: Rows, column: str, alive: Bools) -> tuple[I64, U64]:
    """(n,) rows of images that have a hash, and their hashes."""
    there, hashes = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for batch in rows.walk():
        keys = batch.values(column)
        here = has_key(keys) & alive[batch.start : batch.start + len(keys)]
        there.append(np.flatnonzero(here) + batch.start)
        hashes.append(keys[here, 0])
    return np.concatenate(there), np.concatenate(hashes)
