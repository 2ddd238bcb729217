"""One shard's way through a pass: documents in, documents and keys or tokens out.

read, or documents of the pass before ── appliers of its corpus-wide steps ── stages ──┐
┌── to further passes: documents, key sidecar, sidecars of corpus-wide steps ◄───┤
└── at last: tokens ◄────────────────────────────────────────────────────────────┘
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.core.schema import REMOVED, REMOVED_IMAGE, ROW_BITS, with_column
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.core.step import StageResult, passed, removed_rows
from tokenmill.pipelines.corpus.passes import TOKENIZE, columns_after, corpus_steps
from tokenmill.pipelines.corpus.step import Applied, Pass, Sidecar, key_sidecar
from tokenmill.pipelines.filters.images.edit import image_stats
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.report.thumbnails import thumbnail_file
from tokenmill.pipelines.read.batch import add_first, read_stats
from tokenmill.pipelines.read.images.blobs import Blobs, Spool, spool_file
from tokenmill.pipelines.read.images.stored import check_references
from tokenmill.pipelines.runs.folder import FILTERED, REMOVED_IMAGES, SPOOL, THUMBNAILS, Folder
from tokenmill.pipelines.runs.folder import REMOVED as REMOVED_FOLDER
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, parquet_file
from tokenmill.pipelines.storage.mirror import exists
from tokenmill.pipelines.tokens.reference import UnencodableError
from tokenmill.pipelines.tokens.shards import TokenShards
from tokenmill.pipelines.tokens.tokenize import MismatchError
from tokenmill.pipelines.tokens.webdataset import TarShards

Write: TypeAlias = Callable[[pa.RecordBatch], None]
UNENCODABLE = "unencodable"
FAILED = "failed"  # the outcome


class Tally:
    """A shard's pass: its account, and the files that it writes.

    files: that are open.  paths: files written.  facts: for later steps and the report.
    blobs: the bytes of the images of the batch at hand.
    """

    def __init__(
        self, job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack
    ) -> None:
        self.job, self.part, self.shard, self.files = job, part, shard, files
        # every stage stands in the account, in order, also one that sees no document
        self._with_images = job.recipe.images is not None
        none = StageStats(images=ImageStats() if self._with_images else None)
        self.stats = dict.fromkeys(job.stage_names(part), none)
        self.facts: dict[str, Any] = {"source": shard.source}
        self._earlier_shards = sum(run.shards for run in job.against)
        self.tokens: TokenShards | None = None
        self.blobs: Blobs | None = None
        self.paths: list[Path] = []
        self._removed = self._rows_of(REMOVED_FOLDER, REMOVED)
        if self._with_images:
            self._removed_images = self._rows_of(REMOVED_IMAGES, REMOVED_IMAGE)
            self._thumbnails = files.enter_context(thumbnail_file(self.path(THUMBNAILS)))
        self._tables: dict[str, Write] = {}  # by folder
        for step in part.before:
            self.facts |= {section: dict(counts) for section, counts in step.counts.items()}
            for table in step.side_tables:
                opened = table.open(self.path(table.folder))
                self._tables[table.folder.name] = files.enter_context(opened)

    def path(self, folder: Folder) -> Path:
        """The shard's file of a folder, which this pass writes."""
        self.paths.append(self.job.path(folder, self.part.index, key=self.shard.key))
        return self.paths[-1]

    def _rows_of(self, folder: Folder, schema: pa.Schema) -> Write:
        """What writes rows to a file, of which the last pass alone has one without any."""
        opened: list[Write] = []

        def write(rows: pa.RecordBatch) -> None:
            if not opened:
                writer = self.files.enter_context(parquet_file(self.path(folder), schema))
                opened.append(writer.write_batch)
            if rows.num_rows:
                opened[0](rows)

        if not self.part.after:
            write(pa.RecordBatch.from_pylist([], schema))
        return write

    def add(self, name: str, before: pa.RecordBatch, result: StageResult) -> None:
        """What a stage did to the batch `before`."""
        stats = result.stats
        if self._with_images:
            removed_images = [] if result.images is None else [result.images]
            stats = replace(stats, images=image_stats(before, result.kept, removed_images))
            self._thumbnails.removed(before, result.images, self.blobs)
        self.stats[name] += stats
        self.note(result.removed, result.images, result.notes)
        self._of_earlier(name, result.removed)

    def applied(self, name: str, before: pa.RecordBatch, applied: Applied) -> None:
        """What a corpus-wide step did to the batch `before`."""
        self.add(name, before, applied.result)
        for folder, rows in applied.tables.items():
            if rows.num_rows:
                self._tables[folder](rows)
        for section, counts in applied.counts.items():
            for counted, n in counts.items():
                self.facts[section][counted] += n

    def _of_earlier(self, name: str, removed: pa.RecordBatch) -> None:
        """Count the documents that an earlier run has already."""
        if self._earlier_shards:
            first = pa.scalar(self._earlier_shards << ROW_BITS, pa.uint64())
            n = pc.sum(pc.less(removed["duplicate_of"], first)).as_py() or 0
            by_step = self.facts.setdefault("of_earlier", {})
            if n:
                by_step[name] = by_step.get(name, 0) + n

    def note(
        self,
        removed: pa.RecordBatch,
        removed_images: pa.RecordBatch | None,
        notes: Mapping[str, int] | None,
    ) -> None:
        """Write REMOVED and REMOVED_IMAGE rows; add up notes of no failures, or a stage's own."""
        if removed.num_rows:
            self._removed(removed)
            self._first_failed(removed)
        if removed_images is not None and removed_images.num_rows:
            self._removed_images(removed_images)
        if notes:
            self.facts["notes"] = dict(Counter(self.facts.get("notes", {})) + Counter(notes))

    def _first_failed(self, removed: pa.RecordBatch) -> None:
        """Keep where the first document of each cause stands, and what is wrong with it."""
        failed = removed.filter(pc.equal(removed["outcome"], FAILED))
        if failed.num_rows:
            add_first(self.facts.setdefault("first_failed", {}), failed)

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
    whole shard, and its receipt says so. Should that give up on a document, the pass begins again
    and tries each document alone.
    """
    try:
        return _sifted(job, part, shard)
    except MismatchError as e:
        done = _sifted(job.exactly(), part, shard)
        return replace(done, facts={**done.facts, "mismatch": str(e)})


def _sifted(job: PrepareJob, part: Pass, shard: SourceShard) -> Done:
    try:
        return _run_pass(job, part, shard, sift=False)
    except UnencodableError:
        return _run_pass(job, part, shard, sift=True)


def _run_pass(job: PrepareJob, part: Pass, shard: SourceShard, *, sift: bool) -> Done:
    with contextlib.ExitStack() as files:
        tally = Tally(job, part, shard, files)
        write = _sink(tally, sift=sift)
        for read in _source(tally):
            batch = read
            for step in part.stages:
                result = passed(step, batch)
                tally.add(step.stage_name, batch, result)
                batch = result.kept
                if batch.num_rows == 0:
                    break
            if batch.num_rows:
                write(batch)
    return tally.done()


def _source(tally: Tally) -> Iterator[pa.RecordBatch]:
    """The documents of a shard at the beginning of a pass; the tally has their images' bytes."""
    if tally.part.index == 0:
        return _read(tally)
    path = tally.job.path(SPOOL, key=tally.shard.key)
    if tally.job.recipe.images is not None and exists(path):
        tally.blobs = Spool(path)
    return survivors(tally)


def _read(tally: Tally) -> Iterator[pa.RecordBatch]:
    recipe = tally.job.recipe
    for batch in recipe.read(tally.shard, tally.job.identity):
        tally.stats["read"] += read_stats(batch)
        tally.note(batch.failed, batch.failed_images, batch.notes)
        if batch.damage:
            tally.facts.setdefault("damage", []).extend(batch.damage)
        tally.blobs = batch.blobs
        if batch.documents.num_rows:
            check_references(batch.documents, recipe.images, tally.shard)
            yield batch.documents


def survivors(tally: Tally) -> Iterator[pa.RecordBatch]:
    """The documents of a shard, batch by batch, as the steps before this pass leave them."""
    job, previous, key = tally.job, tally.part.index - 1, tally.shard.key
    appliers = [(s.stage_name, s.applier(job, previous, key)) for s in tally.part.before]
    for whole in open_arrow(job.path(FILTERED, previous, key=key))[0]:
        batch, rows = whole, np.arange(whole.num_rows)
        for name, apply in appliers:
            applied = apply(batch, rows)
            tally.applied(name, batch, applied)
            batch = applied.result.kept
            if applied.passed is not None:
                rows = rows[applied.passed]
        if batch.num_rows:
            yield batch


def _sink(tally: Tally, *, sift: bool) -> Write:
    """Where a pass puts its documents: a file and sidecars for corpus-wide steps, or tokens.

    sift: documents that cannot be encoded are failures, which costs to encode all twice.
    """
    job, shard, files = tally.job, tally.shard, tally.files
    if not tally.part.after:
        tokens = tally.tokens = TokenShards(job, shard, files, tally.part.index)
        tars = TarShards(job, shard, files)
        tally.paths += [*tokens.paths, *tars.paths]
        set_down = _spooled(tally)

        def encode(batch: pa.RecordBatch) -> None:
            if sift and (refused := tokens.refused(batch)):
                batch = _without(batch, refused, tally)
            if not batch.num_rows:
                return
            tars.write(batch, tally.blobs)
            stats = tokens.write(set_down(batch))
            if TOKENIZE in tally.stats:
                tally.stats[TOKENIZE] += stats
            tally.ended(batch)

        return encode

    columns = columns_after(job.recipe.steps, tally.part.index)
    schema = pa.schema([*job.recipe.documents, *columns], metadata=job.recipe.documents.metadata)
    file = arrow_file(tally.path(FILTERED), schema, compression="lz4")
    documents, spooled = files.enter_context(file), _spooled(tally)
    beside = [_writing(sidecar, tally) for sidecar in _sidecars(tally)]

    def write(batch: pa.RecordBatch) -> None:
        for write_rows in beside:
            write_rows(batch)
        documents.write_batch(spooled(batch))

    return write


def _without(batch: pa.RecordBatch, refused: Mapping[int, str], tally: Tally) -> pa.RecordBatch:
    """The documents that can be encoded; the others fail. refused: why, by row."""
    lost = batch.take(pa.array(list(refused)))
    n, lengths = len(refused), text_buffers(lost["text"]).lengths
    why = pa.array(list(refused.values()), pa.string())
    rows = removed_rows(TOKENIZE, lost, [UNENCODABLE] * n, text_bytes=lengths, details=why)
    rows = with_column(rows, "outcome", pa.repeat("failed", n))
    n_bytes = int(lengths.sum())
    stats = StageStats(docs_in=n, failed={UNENCODABLE: n}, bytes_in=n_bytes, bytes_removed=n_bytes)
    tally.add(TOKENIZE, lost, StageResult(lost.slice(0, 0), rows, stats))
    kept = np.ones(batch.num_rows, np.bool_)
    kept[list(refused)] = False
    return batch.filter(pa.array(kept))


def _sidecars(tally: Tally) -> Iterator[Sidecar]:
    """What stands beside the documents for the steps behind the pass."""
    job, part, shard = tally.job, tally.part, tally.shard
    images, key = job.recipe.images, shard.key
    if part.finders:
        yield key_sidecar(job, part.index, key, part.finders, source=shard.source, images=images)
    for step in part.after:
        sidecar = step.sidecar(job, part.index, key, source=shard.source, images=images)
        if sidecar is not None:
            yield sidecar


def _writing(sidecar: Sidecar, tally: Tally) -> Write:
    tally.paths.append(sidecar.path)
    file = arrow_file(sidecar.path, sidecar.schema, compression=sidecar.compression)
    writer = tally.files.enter_context(file)
    return lambda batch: writer.write_batch(sidecar.rows(batch, tally.blobs))


def _spooled(tally: Tally) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What sets the images' bytes down, once: later passes find them where the first left them."""
    if tally.part.index or not needs_spool(tally.job, is_last=not tally.part.after):
        return lambda batch: batch
    spool = tally.files.enter_context(spool_file(tally.path(SPOOL)))
    return lambda batch: batch if tally.blobs is None else spool.write(batch, tally.blobs)


def needs_spool(job: PrepareJob, *, is_last: bool) -> bool:
    """Whether anything later looks at the bytes; tars are written of what is in memory still."""
    images = job.recipe.images
    if images is None or is_last:
        return images is not None and images.store == "bytes"
    return images.keeps_bytes or any(s.looks_at_images for s in corpus_steps(job.recipe.steps))
