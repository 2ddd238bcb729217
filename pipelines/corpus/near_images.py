"""The step that takes out images that look like an earlier one, whatever they are encoded as.

bytes of images ── hashes, looks: a sidecar ── one work, images in order ── what leaves, by shard

As of near texts (`corpus.stars`), what leaves names one that stays. Of all images hashes are in
memory; looks lie in a file that is mapped, and are read of candidates.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrays import I64, U8, U64
from tokenmill.dedup.same.images import DISTANCE, LOOK_BYTES, MOST_DISTANCE, stars
from tokenmill.pipelines.corpus import units
from tokenmill.pipelines.corpus.looks import NO_BYTES, ON_GREY, ON_WHITE, PLAIN, Views, seen
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.step import Chain, Pass, Size, Told, facts_of, fixed_size_list
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Done, Phases
from tokenmill.pipelines.storage.files import Rows, arrow_file, counted_rows

ROW_BYTES = 96  # its row, kind, what it leaves for, bits, the batch that is written
VIEW_BYTES = 16  # its hash twice; and of each band a link and, at most, two places, 4 each
BAND_BYTES = 12
AT_ONCE = 1 << 16  # images that leave in a batch of the file


class NearImages(units.ImageStep):
    """Take out images that look like an earlier one that stays: re-encoded, resized, made grey,
    brighter or cropped by a little; mirrored, turned and cropped by up to 6 % if told.

    An image leaves if, and only if, of an earlier one that stays its hash differs in few enough
    bits, and brightness, colours and outline show the same. It names the nearest of these. Those
    that do not decode stay; so do plain ones, whose hash would be noise; both are counted.

    distance: most bits of 64 that differ. Work grows with the images that stay and share one of
        `distance` + 1 parts of their bits.
    flips: mirrored images look like their originals too.
    rotations: so do those turned by 90, 180 or 270 degrees.
    crops: so do those from which up to 6 % of a side was cut.
    no_images_left: remove documents that lose their last image here.
    """

    name: ClassVar[str] = "near_images"
    looks_at_images: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ()
    reasons: ClassVar[tuple[str, ...]] = ("near_image",)

    distance: Annotated[int, Field(ge=0, le=MOST_DISTANCE)] = DISTANCE
    flips: bool = False
    rotations: bool = False
    crops: bool = False
    no_images_left: bool = True

    @property
    def views(self) -> Views:
        return Views(self.flips, self.rotations, self.crops)

    @property
    def unit_fields(self) -> list[pa.Field]:
        n = self.views.n
        return [
            pa.field("kind", pa.uint8()),
            pa.field("hashes", pa.list_(pa.uint64(), n)),
            pa.field("looks", pa.list_(pa.uint8(), n * LOOK_BYTES)),
        ]

    def parameters(self) -> dict[str, Any]:
        return self.views._asdict()

    def units_of(self, schema: pa.Schema, images: Images | None) -> units.UnitsOf:
        max_pixels = images.max_pixels if images else 0

        def made(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
            kinds, hashes, looks = seen(documents, blobs, self.views, max_pixels)
            flat = looks.reshape(len(kinds), self.views.n * LOOK_BYTES)
            columns = pa.array(kinds), fixed_size_list(hashes), fixed_size_list(flat)
            return pa.record_batch([*units.unit_names(documents), *columns], schema=schema)

        return made

    def row_bytes(self) -> int:
        """Of memory that an image takes."""
        return ROW_BYTES + self.views.n * (VIEW_BYTES + (self.distance + 1) * BAND_BYTES)

    def phases(self, chain: Chain, size: Size) -> Phases[None]:
        yield from chain.phase(self.name, self.name, find_near_images, {"all": ()})

    def limit(self, memory_budget: int) -> str:
        return f"near_images: up to {memory_budget // self.row_bytes():,} images"

    def scratch_bytes(self, text_bytes: float, docs: float) -> float:
        return 2 * docs * self.views.n * (LOOK_BYTES + 8)  # the sidecar, and what is mapped

    def told(self, run: RunFolder, pass_index: int, receipts: Sequence[Receipt]) -> Told:
        facts = facts_of(receipts, self.name)
        return {"repeated": {self.name: dict(facts[-1])}} if facts else {}


def find_near_images(run: RunFolder, part: Pass) -> Done:
    """Write which images of each shard look like another; the step is the last behind the pass."""
    corpus, step = Corpus(run, part), part.step(NearImages.name, NearImages)
    keys = corpus.shard_keys()
    rows = counted_rows([corpus.path(units.UNITS, key=key) for key in keys], step.unit_parameters())
    corpus.memory_left(step.name, rows.n, step.row_bytes(), of=step.units)
    of_shards = [units.units_left(corpus, step.name, rows, n, key) for n, key in enumerate(keys)]
    alive = np.concatenate([np.empty(0, np.bool_), *of_shards])
    kinds = np.concatenate([np.empty(0, np.uint8), *(b.values("kind") for b in rows.walk())])
    there = np.flatnonzero(alive & ((kinds == ON_WHITE) | (kinds == ON_GREY)))
    path = corpus.path(units.REPEATED, key="all")
    with _all_looks(corpus.path(units.REPEATED, key="looks"), rows, there, step.views.n) as (
        hashes,
        looks,
    ):
        found = stars(hashes, looks, kinds[there], step.distance)
    leaving = np.flatnonzero(found.of != np.arange(len(there)))
    with arrow_file(path, units.RUN) as writer:
        for start in range(0, len(leaving), AT_ONCE):
            at = leaving[start : start + AT_ONCE]
            names = rows.take_in_any_order(("doc_id", "number"), there[found.of[at]])
            of = names["doc_id"].astype(np.uint64), names["number"].astype(np.int32)
            by, bits = np.zeros(len(at), np.uint8), found.bits[at].astype(np.uint32)
            writer.write_batch(units.Leaving(there[at], by, bits, *of).batch())
    files = []
    for shard, key in enumerate(keys):
        begin, end = rows.starts[shard : shard + 2].tolist()
        going = units.leaving_between([path], begin, end)
        files.append(corpus.path(units.REPEATED, key=key))
        units.write_found(files[-1], rows.shard(shard), going._replace(rows=going.rows - begin))
    path.unlink()
    facts = {
        "images": int(alive.sum()),
        "without_hash": int((kinds[alive] == NO_BYTES).sum()),
        "plain": int((kinds[alive] == PLAIN).sum()),
        "near": len(leaving),
        "given_up": found.given_up,
    }
    return Done(files=files, facts=facts)


@contextmanager
def _all_looks(path: Path, rows: Rows, there: I64, n_views: int) -> Iterator[tuple[U64, U8]]:
    """(n, n_views) hashes of rows, in memory, and (n, n_views, LOOK_BYTES) looks, in a file."""
    hashes = rows.take("hashes", there).astype(np.uint64).reshape(len(there), n_views)
    if not len(there):
        yield hashes, np.empty((0, n_views, LOOK_BYTES), np.uint8)
        return
    shape = len(there), n_views * LOOK_BYTES
    path.parent.mkdir(parents=True, exist_ok=True)
    looks = np.memmap(path, np.uint8, "w+", shape=shape)
    is_there = np.zeros(rows.n, np.bool_)
    is_there[there] = True
    at = 0
    for batch in rows.walk():
        values = batch.values("looks")
        here = values[is_there[batch.start : batch.start + len(values)]]
        looks[at : at + len(here)] = here
        at += len(here)
    yield hashes, looks.reshape(len(there), n_views, LOOK_BYTES)
    path.unlink()
