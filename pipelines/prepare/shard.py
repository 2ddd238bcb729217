"""One shard's way through a pass: documents in, documents and keys or tokens out.

read, or documents of the pass before ── appliers of its corpus-wide steps ── stages ──┐
┌── to further passes: documents, key sidecar, sidecars of corpus-wide steps ◄───┤
└── at last: tokens ◄────────────────────────────────────────────────────────────┘
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.core.schema import REMOVED, REMOVED_IMAGE, ROW_BITS
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.core.step import Stage, StageResult
from tokenmill.pipelines.corpus.keys import key_sidecar
from tokenmill.pipelines.corpus.passes import corpus_steps, stage_names
from tokenmill.pipelines.corpus.step import Applied, Pass, Sidecar, SideTables
from tokenmill.pipelines.filters.images.edit import image_stats
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.report.thumbnails import thumbnail_file
from tokenmill.pipelines.read.batch import damages, read_stats
from tokenmill.pipelines.read.images.blobs import Blobs, Spool, spool_file
from tokenmill.pipelines.read.images.stored import check_references
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.runs.folder import (
    FILTERED,
    REMOVED_IMAGES,
    SPOOL,
    THUMBNAILS,
)
from tokenmill.pipelines.runs.folder import (
    REMOVED as REMOVED_FOLDER,
)
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, parquet_file
from tokenmill.pipelines.storage.mirror import exists
from tokenmill.pipelines.tokens.shards import TokenShards
from tokenmill.pipelines.tokens.tokenize import MismatchError
from tokenmill.pipelines.tokens.webdataset import TarShards

Illustrated: TypeAlias = tuple[pa.RecordBatch, Blobs | None]
Write: TypeAlias = Callable[[pa.RecordBatch, Blobs | None], None]


class Tally:
    """The account of a shard's pass, and the files that stay beside the dataset.

    paths: files written.  facts: for later steps and the report.
    blobs: the bytes of the images of the batch at hand.
    """

    def __init__(
        self, job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack
    ) -> None:
        # every stage stands in the account, in order, also one that sees no document
        self._with_images = job.recipe.images is not None
        none = StageStats(images=ImageStats() if self._with_images else None)
        self.stats = dict.fromkeys(stage_names(part), none)
        self.facts: dict[str, Any] = {"source": shard.source}
        self._earlier_shards = sum(run.shards for run in job.against)
        self.tokens: TokenShards | None = None
        self.blobs: Blobs | None = None
        self.paths = [job.path(REMOVED_FOLDER, part.index, key=shard.key)]
        self._removed = files.enter_context(parquet_file(self.paths[0], REMOVED))
        if self._with_images:
            path, shown = (
                job.path(folder, part.index, key=shard.key)
                for folder in (REMOVED_IMAGES, THUMBNAILS)
            )
            self._removed_images = files.enter_context(parquet_file(path, REMOVED_IMAGE))
            self._thumbnails = files.enter_context(thumbnail_file(shown))
            self.paths += [path, shown]
        self._tables = SideTables()
        for step in part.before:
            self.facts |= {section: dict(counts) for section, counts in step.counts.items()}
            for table in step.side_tables:
                path = job.path(table.folder, part.index, key=shard.key)
                self._tables.open(table, path, files)
        self.paths += self._tables.paths

    def add(self, name: str, before: pa.RecordBatch, result: StageResult) -> None:
        """What a stage did to the batch `before`."""
        stats = result.stats
        if self._with_images:
            removed_images = [] if result.images is None else [result.images]
            stats = replace(stats, images=image_stats(before, result.kept, removed_images))
            self.write_removed_images(result.images)
            self._thumbnails.removed(before, result.images, self.blobs)
        self.count(name, stats)
        self.write_removed(result.removed)
        self._of_earlier(name, result.removed)
        self.note(result.notes)

    def applied(self, name: str, before: pa.RecordBatch, applied: Applied) -> None:
        """What a corpus-wide step did to the batch `before`."""
        self.add(name, before, applied.result)
        self._tables.write(applied.tables)
        for section, counts in applied.counts.items():
            for counted, n in counts.items():
                self.facts[section][counted] += n

    def _of_earlier(self, name: str, removed: pa.RecordBatch) -> None:
        """Count the documents that an earlier run has already."""
        if self._earlier_shards:
            first = pa.scalar(self._earlier_shards << ROW_BITS, pa.uint64())
            n = pc.sum(pc.less(removed["duplicate_of"], first)).as_py() or 0
            found = self.facts.setdefault("of_earlier", {})
            if n:
                found[name] = found.get(name, 0) + n

    def note(self, notes: Mapping[str, int] | None) -> None:
        """Add up what a reader met that is no failure, or what a stage counted beside."""
        if notes:
            self.facts["notes"] = dict(Counter(self.facts.get("notes", {})) + Counter(notes))

    def count(self, name: str, stats: StageStats) -> None:
        self.stats[name] += stats

    def write_removed(self, removed: pa.RecordBatch) -> None:
        """Write rows of schema REMOVED."""
        if removed.num_rows:
            self._removed.write_batch(removed)

    def write_removed_images(self, removed: pa.RecordBatch | None) -> None:
        """Write rows of schema REMOVED_IMAGE."""
        if removed is not None and removed.num_rows:
            self._removed_images.write_batch(removed)

    def ended(self, batch: pa.RecordBatch) -> None:
        """Documents that came to the end."""
        if self._with_images:
            self._thumbnails.kept(batch, self.blobs)

    def done(self) -> Done:
        if self.tokens is not None:
            self.facts["measured"] = self.tokens.measured()
        return Done(files=self.paths, stats=list(self.stats.items()), facts=self.facts)


def run_pass(job: PrepareJob, part: Pass, shard: SourceShard) -> Done:
    """Take one shard through a pass; write its documents and keys, or its tokens.

    Should the fast engine ever make other ids than the reference, the reference encodes the
    whole shard, and its receipt says so.
    """
    try:
        return _run_pass(job, part, shard)
    except MismatchError as e:
        done = _run_pass(job.exactly(), part, shard)
        return replace(done, facts={**done.facts, "mismatch": str(e)})


def _run_pass(job: PrepareJob, part: Pass, shard: SourceShard) -> Done:
    with contextlib.ExitStack() as files:
        tally = Tally(job, part, shard, files)
        write = _sink(job, part, shard, files, tally)
        for read, blobs in _source(job, part, shard, tally):
            batch = read
            for step in part.stages:
                result = cast(Stage, step)(batch)
                tally.add(step.name, batch, result)
                batch = result.kept
                if batch.num_rows == 0:
                    break
            if batch.num_rows:
                write(batch, blobs)
    return tally.done()


def _source(job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally) -> Iterator[Illustrated]:
    """The documents of a shard at the beginning of a pass, and the bytes of their images."""
    if part.index == 0:
        yield from _read(job, shard, tally)
        return
    path = job.path(SPOOL, key=shard.key)
    has_spool = job.recipe.images is not None and exists(path)
    blobs = tally.blobs = Spool(path) if has_spool else None
    for batch in survivors(job, part, shard, tally):
        yield batch, blobs


def _read(job: PrepareJob, shard: SourceShard, tally: Tally) -> Iterator[Illustrated]:
    recipe = job.recipe
    batches = read_shard(
        shard, limits=recipe.limits, run=job.identity, images=recipe.images, html=recipe.html
    )
    for batch in batches:
        tally.count("read", read_stats(batch))
        tally.write_removed(batch.failed)
        tally.write_removed_images(batch.failed_images)
        if batch.damage:
            tally.facts.setdefault("damage", []).extend(damages(batch))
        tally.note(batch.notes)
        tally.blobs = batch.blobs
        if batch.documents.num_rows:
            check_references(batch.documents, recipe.images, shard)
            yield batch.documents, batch.blobs


def survivors(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """The documents of a shard, batch by batch, as the steps before this pass leave them."""
    previous = part.index - 1
    appliers = [(s.name, s.applier(job, previous, shard.key)) for s in part.before]
    for whole in open_arrow(job.path(FILTERED, previous, key=shard.key))[0]:
        batch, rows = whole, np.arange(whole.num_rows)
        for name, apply in appliers:
            applied = apply(batch, rows)
            tally.applied(name, batch, applied)
            batch = applied.result.kept
            if applied.passed is not None:
                rows = rows[applied.passed]
        if batch.num_rows:
            yield batch


def _sink(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Write:
    """Where a pass puts its documents: a file and sidecars for corpus-wide steps, or tokens."""
    if not part.after:
        tokens = tally.tokens = TokenShards(job, shard, files)
        tars = TarShards(job, shard, files)
        tally.paths += [*tokens.paths, *tars.paths]
        set_down = _spooled(job, part, shard, files, tally)

        def encode(batch: pa.RecordBatch, blobs: Blobs | None) -> None:
            tars.write(batch, blobs)
            tally.count("tokenize", tokens.write(set_down(batch, blobs)))
            tally.ended(batch)

        return encode

    path = job.path(FILTERED, part.index, key=shard.key)
    tally.paths.append(path)
    documents = files.enter_context(arrow_file(path, job.recipe.documents, compression="lz4"))
    spooled = _spooled(job, part, shard, files, tally)
    beside = [_writing(sidecar, files, tally) for sidecar in _sidecars(job, part, shard)]

    def write(batch: pa.RecordBatch, blobs: Blobs | None) -> None:
        for write_rows in beside:
            write_rows(batch, blobs)
        documents.write_batch(spooled(batch, blobs))

    return write


def _sidecars(job: PrepareJob, part: Pass, shard: SourceShard) -> Iterator[Sidecar]:
    """What stands beside the documents for the steps behind the pass."""
    if part.finders:
        yield key_sidecar(job, part.index, shard.key, part.finders, source=shard.source)
    for step in part.after:
        images = job.recipe.images
        found = step.sidecar(job, part.index, shard.key, source=shard.source, images=images)
        if found is not None:
            yield found


def _writing(sidecar: Sidecar, files: contextlib.ExitStack, tally: Tally) -> Write:
    tally.paths.append(sidecar.path)
    writer = files.enter_context(
        arrow_file(sidecar.path, sidecar.schema, compression=sidecar.compression)
    )
    return lambda batch, blobs: writer.write_batch(sidecar.rows(batch, blobs))


def _spooled(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch, Blobs | None], pa.RecordBatch]:
    """What sets the images' bytes down, once: later passes find them where the first left them."""
    if part.index or not needs_spool(job, is_last=not part.after):
        return lambda batch, blobs: batch
    path = job.path(SPOOL, key=shard.key)
    tally.paths.append(path)
    spool = files.enter_context(spool_file(path))
    return lambda batch, blobs: batch if blobs is None else spool.write(batch, blobs)


def needs_spool(job: PrepareJob, *, is_last: bool) -> bool:
    """Whether anything later looks at the bytes; tars are written of what is in memory still."""
    images = job.recipe.images
    if images is None or is_last:
        return images is not None and images.store == "bytes"
    return images.keeps_bytes or any(s.looks_at_images for s in corpus_steps(job.recipe.steps))
