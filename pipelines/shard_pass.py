"""One shard's way through a pass: documents in, documents and keys or tokens out."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import pyarrow as pa

from pipelines.arrow_files import arrow_file
from pipelines.contamination.benchmark_index import BenchmarkIndex
from pipelines.contamination.found import FOUND
from pipelines.contamination.search import search
from pipelines.job import Done
from pipelines.keys import document_keys, key_schema
from pipelines.passes import Pass, decontamination, duplicate_finders
from pipelines.prepare_job import PrepareJob
from pipelines.read.account import damages, read_stats
from pipelines.read.readers import read_shard
from pipelines.recipe import step_name
from pipelines.schema import DOCUMENT
from pipelines.shard import SourceShard
from pipelines.stage import Stage
from pipelines.survivors import survivors
from pipelines.tally import Tally
from pipelines.token_shards import TokenShards
from pipelines.tokenize import MismatchError


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
        for read in _source(job, part, shard, tally):
            batch = read
            for step in part.stages:
                result = cast(Stage, step)(batch)
                tally.add(step_name(step), result)
                batch = result.kept
                if batch.num_rows == 0:
                    break
            if batch.num_rows:
                write(batch)
    return tally.done()


def _source(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """The documents of a shard at the beginning of a pass."""
    return _read(job, shard, tally) if part.index == 0 else survivors(job, part, shard, tally)


def _read(job: PrepareJob, shard: SourceShard, tally: Tally) -> Iterator[pa.RecordBatch]:
    for batch in read_shard(shard, limits=job.recipe.limits, run=job.identity):
        tally.count("read", read_stats(batch))
        tally.receipts(batch.failed)
        if batch.damage:
            tally.facts.setdefault("damage", []).extend(damages(batch))
        if batch.documents.num_rows:
            yield batch.documents


def _sink(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch], None]:
    """Where a pass puts its documents: a file and sidecars for corpus-wide steps, or tokens."""
    if not part.after:
        tokens = tally.tokens = TokenShards(job, shard, files)
        tally.paths += tokens.paths
        return lambda batch: tally.count("tokenize", tokens.write(batch))

    path = job.filtered(part.index, shard.key)
    tally.paths.append(path)
    documents = files.enter_context(arrow_file(path, DOCUMENT, compression="lz4"))
    writes = [
        documents.write_batch,
        *_write_keys(job, part, shard, files, tally),
        *_write_found(job, part, shard, files, tally),
    ]

    def write(batch: pa.RecordBatch) -> None:
        for write_sidecar in writes:
            write_sidecar(batch)

    return write


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
