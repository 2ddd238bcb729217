"""One shard's way through a pass: documents in, documents and keys or tokens out."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, cast

import pyarrow as pa

from tokenmill.pipelines.arrow_files import arrow_file
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.found import FOUND
from tokenmill.pipelines.contamination.search import search
from tokenmill.pipelines.images.blobs import Blobs, Spool, spool_file
from tokenmill.pipelines.images.stored import check_references
from tokenmill.pipelines.images.webdataset_out import TarShards
from tokenmill.pipelines.job import Done
from tokenmill.pipelines.keys import document_keys, key_schema
from tokenmill.pipelines.mirror import exists
from tokenmill.pipelines.passes import Pass, decontamination, duplicate_finders, repeats
from tokenmill.pipelines.prepare_job import PrepareJob
from tokenmill.pipelines.read.account import damages, read_stats
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.repeats.steps import NearImages
from tokenmill.pipelines.repeats.units import unit_schema, units_maker
from tokenmill.pipelines.shard import SourceShard
from tokenmill.pipelines.stage import Stage
from tokenmill.pipelines.steps import step_name
from tokenmill.pipelines.survivors import survivors
from tokenmill.pipelines.tally import Tally
from tokenmill.pipelines.token_shards import TokenShards
from tokenmill.pipelines.tokenize import MismatchError

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
                tally.add(step_name(step), batch, result)
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
