"""One shard's way through a pass: documents in, documents and keys or tokens out.

What a shard's pass has counted and written so far.

Documents of the pass before, less what its corpus-wide steps found.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.contamination.cleaner import Cleaner
from tokenmill.pipelines.contamination.decontaminate import NAME
from tokenmill.pipelines.contamination.found import FOUND, search
from tokenmill.pipelines.contamination.ignored import read_ignored
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.rows import overlap_file
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.core.pieces import PIECE
from tokenmill.pipelines.core.schema import REMOVED, REMOVED_IMAGE, ROW_BITS
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.core.stage import KEEP, Stage, StageResult, keep_where
from tokenmill.pipelines.corpus.counted.apply import PARAGRAPH, without_repeats
from tokenmill.pipelines.corpus.counted.finding import read_found
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.counted.steps import NearImages
from tokenmill.pipelines.corpus.counted.units import unit_schema, units_maker
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.keys import document_keys, key_schema
from tokenmill.pipelines.corpus.passes import (
    Pass,
    decontamination,
    duplicate_finders,
    repeated_spans,
    repeats,
    stage_names,
)
from tokenmill.pipelines.corpus.spans.apply import SPAN, without_spans
from tokenmill.pipelines.corpus.spans.runs import read_found_runs
from tokenmill.pipelines.filters.images.edit import image_stats
from tokenmill.pipelines.prepare.report.thumbnails import thumbnail_file
from tokenmill.pipelines.read.batch import damages, read_stats
from tokenmill.pipelines.read.images.blobs import Blobs, Spool, spool_file
from tokenmill.pipelines.read.images.stored import check_references
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, parquet_file
from tokenmill.pipelines.storage.mirror import exists
from tokenmill.pipelines.storage.sidecar import open_arrow
from tokenmill.pipelines.tokens.shards import TokenShards
from tokenmill.pipelines.tokens.tokenize import MismatchError
from tokenmill.pipelines.tokens.webdataset import TarShards


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
        self.paths = [job.removed(part.index, shard.key)]
        self._removed = files.enter_context(parquet_file(self.paths[0], REMOVED))
        if self._with_images:
            path, shown = (
                job.removed_images(part.index, shard.key),
                job.thumbnails(part.index, shard.key),
            )
            self._removed_images = files.enter_context(parquet_file(path, REMOVED_IMAGE))
            self._thumbnails = files.enter_context(thumbnail_file(shown))
            self.paths += [path, shown]
        if decontamination(part.before):
            overlaps, pieces = job.overlaps(shard.key), job.pieces(shard.key)
            self.paths += [overlaps, pieces]
            self._overlaps = files.enter_context(overlap_file(overlaps))
            self._pieces = files.enter_context(parquet_file(pieces, PIECE))
        if isinstance(repeats(part.before), RepeatedParagraphs):
            self.paths.append(job.removed_paragraphs(part.index, shard.key))
            self._paragraphs = files.enter_context(parquet_file(self.paths[-1], PARAGRAPH))
            self.facts["paragraphs"] = {"removed": 0, "bytes": 0}

        if repeated_spans(part.before):
            self.paths.append(job.removed_spans(part.index, shard.key))
            self._spans = files.enter_context(parquet_file(self.paths[-1], SPAN))

    def add(self, name: str, before: pa.RecordBatch, result: StageResult) -> None:
        """What a stage did to the batch `before`."""
        stats = result.stats
        if self._with_images:
            receipts = [] if result.images is None else [result.images]
            stats = replace(stats, images=image_stats(before, result.kept, receipts))
            self.image_receipts(result.images)
            self._thumbnails.removed(before, result.images, self.blobs)
        self.count(name, stats)
        self.receipts(result.removed)
        self._of_earlier(name, result.removed)
        self.note(result.notes)

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

    def receipts(self, removed: pa.RecordBatch) -> None:
        """Write rows of schema REMOVED."""
        if removed.num_rows:
            self._removed.write_batch(removed)

    def image_receipts(self, removed: pa.RecordBatch | None) -> None:
        """Write rows of schema REMOVED_IMAGE."""
        if removed is not None and removed.num_rows:
            self._removed_images.write_batch(removed)

    def ended(self, batch: pa.RecordBatch) -> None:
        """Documents that came to the end."""
        if self._with_images:
            self._thumbnails.kept(batch, self.blobs)

    def found(self, overlaps: pa.RecordBatch, pieces: pa.RecordBatch) -> None:
        """Write what documents have in common with benchmarks, and what they were cut into."""
        if overlaps.num_rows:
            self._overlaps(overlaps)
        if pieces.num_rows:
            self._pieces.write_batch(pieces)

    def paragraphs(self, removed: pa.RecordBatch | None) -> None:
        """Write rows of schema PARAGRAPH, and count them."""
        if removed is not None and removed.num_rows:
            self._paragraphs.write_batch(removed)
            self.facts["paragraphs"]["removed"] += removed.num_rows
            self.facts["paragraphs"]["bytes"] += pc.sum(removed["text_bytes"]).as_py()

    def spans(self, removed: pa.RecordBatch) -> None:
        """Write rows of schema SPAN."""
        if removed.num_rows:
            self._spans.write_batch(removed)

    def done(self) -> Done:
        if self.tokens is not None:
            self.facts["measured"] = self.tokens.measured()
        return Done(files=self.paths, stats=list(self.stats.items()), facts=self.facts)


def survivors(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """The documents of a shard, batch by batch, as the steps before this pass leave them."""
    previous = part.index - 1
    names = [step.name for step in duplicate_finders(part.before)]
    found = [read_duplicates(job.duplicates(previous, name, shard.key)) for name in names]
    cut = _cutting(job, part, shard, tally)
    for batch in open_arrow(job.filtered(previous, shard.key))[0]:
        kept = batch
        rows = [next(f) for f in found]
        alive = np.arange(batch.num_rows)
        for name, duplicates in zip(names, rows, strict=True):
            result = drop_duplicates(name, kept, duplicates.take(pa.array(alive)))
            alive = alive[np.asarray(duplicates["duplicate_of"].is_null())[alive]]
            tally.add(name, kept, result)
            kept = result.kept
        kept = cut(kept)
        if kept.num_rows:
            yield kept


def drop_duplicates(
    name: str, documents: pa.RecordBatch, duplicates: pa.RecordBatch
) -> StageResult:
    """Drop the documents for which `duplicates` (same rows) names another; say which it was."""
    gone = np.asarray(duplicates["duplicate_of"].is_valid())
    reason = f"{name}_duplicate" if name in ("exact", "near") else name
    result = keep_where(name, documents, np.where(gone, 1, KEEP).astype(np.uint8), (reason,))
    matched = duplicates.filter(pa.array(gone))
    columns = {f.name: result.removed[f.name] for f in REMOVED}
    columns["duplicate_of"] = matched["duplicate_of"]
    columns["similarity"] = matched["similarity"]
    removed = pa.record_batch(list(columns.values()), schema=REMOVED)
    return result._replace(removed=removed)


def _cutting(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What cuts something out of one batch after the other, if a step before wants that."""
    step = repeats(part.before)
    if step is None:
        return _cutting_spans(job, part, shard, tally)
    found = read_found(job.repeated(part.index - 1, shard.key))

    def take_out(batch: pa.RecordBatch) -> pa.RecordBatch:
        made = without_repeats(step, batch, next(found))
        tally.add(step.name, batch, made.result)
        tally.paragraphs(made.paragraphs)
        return made.result.kept

    return take_out


def _cutting_spans(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What takes repeated spans out of one batch after the other, if a step before wants that."""
    step = repeated_spans(part.before)
    if step is None:
        return _cleaning(job, part, shard, tally)
    found = read_found_runs(job.span_runs(part.index - 1, shard.key))

    def take_out(batch: pa.RecordBatch) -> pa.RecordBatch:
        taken = without_spans(step, batch, next(found))
        tally.add(step.name, batch, taken.result)
        tally.spans(taken.spans)
        return taken.result.kept

    return take_out


def _cleaning(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What frees one batch after the other from benchmark items, if a step before wants that."""
    step = decontamination(part.before)
    if step is None:
        return lambda batch: batch
    index = BenchmarkIndex.load(job.index, step)
    ignored = read_ignored(job.ignored(part.index - 1), len(index.ngrams.hashes))
    cleaner = Cleaner(step, index, ignored)
    found = iter(open_arrow(job.found(part.index - 1, shard.key))[0])

    def clean(batch: pa.RecordBatch) -> pa.RecordBatch:
        cleaned = cleaner(batch, next(found))
        tally.add(NAME, batch, cleaned.result)
        tally.found(cleaned.overlaps, cleaned.pieces)
        return cleaned.result.kept

    return clean


Illustrated: TypeAlias = tuple[pa.RecordBatch, Blobs | None]


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
    path = job.spool(shard.key)
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
        tally.receipts(batch.failed)
        tally.image_receipts(batch.failed_images)
        if batch.damage:
            tally.facts.setdefault("damage", []).extend(damages(batch))
        tally.note(batch.notes)
        tally.blobs = batch.blobs
        if batch.documents.num_rows:
            check_references(batch.documents, recipe.images, shard)
            yield batch.documents, batch.blobs


def _sink(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch, Blobs | None], None]:
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

    path = job.filtered(part.index, shard.key)
    tally.paths.append(path)
    documents = files.enter_context(arrow_file(path, job.recipe.documents, compression="lz4"))
    spooled = _spooled(job, part, shard, files, tally)
    writes = [
        documents.write_batch,
        *_write_keys(job, part, shard, files, tally),
        *_write_found(job, part, shard, files, tally),
    ]
    write_units = _write_units(job, part, shard, files, tally)

    def write(batch: pa.RecordBatch, blobs: Blobs | None) -> None:
        write_units(batch, blobs)
        batch = spooled(batch, blobs)
        for write_sidecar in writes:
            write_sidecar(batch)

    return write


def _spooled(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch, Blobs | None], pa.RecordBatch]:
    """What sets the images' bytes down, once: later passes find them where the first left them."""
    if part.index or not _needs_spool(job, part):
        return lambda batch, blobs: batch
    path = job.spool(shard.key)
    tally.paths.append(path)
    spool = files.enter_context(spool_file(path))
    return lambda batch, blobs: batch if blobs is None else spool.write(batch, blobs)


def _needs_spool(job: PrepareJob, part: Pass) -> bool:
    """Whether anything later looks at the bytes; tars are written of what is in memory still."""
    images = job.recipe.images
    if images is None or not part.after:
        return images is not None and images.store == "bytes"
    return images.keeps_bytes or any(isinstance(step, NearImages) for step in job.recipe.steps)


def _write_keys(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """What writes the keys of documents, for steps that find duplicates."""
    steps = duplicate_finders(part.after)
    if not steps:
        return
    path, schema = job.keys(part.index, shard.key), key_schema(steps)
    tally.paths.append(path)
    keys = files.enter_context(arrow_file(path, schema))
    yield lambda batch: keys.write_batch(document_keys(batch, steps, schema, source=shard.source))


def _write_found(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """What writes which n-grams of benchmarks stand in documents: a batch for each of theirs."""
    step = decontamination(part.after)
    if step is None:
        return
    index, path = BenchmarkIndex.load(job.index, step), job.found(part.index, shard.key)
    tally.paths.append(path)
    found = files.enter_context(arrow_file(path, FOUND, compression="lz4"))
    yield lambda batch: found.write_batch(search(batch, index, shard.source))


def _write_units(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch, Blobs | None], None]:
    """What writes the keys of images or paragraphs, for a step that takes some of them out."""
    step = repeats(part.after)
    if step is None:
        return lambda batch, blobs: None
    path, units_of = job.units(part.index, shard.key), units_maker(step, job.recipe.images)
    tally.paths.append(path)
    units = files.enter_context(arrow_file(path, unit_schema(step)))
    return lambda batch, blobs: units.write_batch(units_of(batch, blobs))
