"""Passes: documents go through stages until a step needs the whole corpus.

    pass 0: read ── stages ── documents + keys ─┐            (10-filtered, 11-keys)
                                    exact, near │ corpus-wide (13-exact, 14-near)
    pass 1: documents ── drop ── stages ────────┴─ tokenize   (90-tokens)

A recipe without a corpus-wide step is one pass. Each shard goes through a pass as one
piece of work, a batch at a time, so memory does not depend on its size.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dedup.arrow_text import text_buffers
from pipelines.arrow_files import arrow_file, parquet_file
from pipelines.config import Config
from pipelines.decontaminate import OVERLAP, BoundStage, Decontaminate
from pipelines.dedup_steps import CORPUS_WIDE
from pipelines.duplicates import read_duplicates
from pipelines.job import Done
from pipelines.keys import document_keys, key_schema
from pipelines.ledger import StageStats
from pipelines.prepare_job import PrepareJob
from pipelines.read.batch import FILE_CAUSES, ReadBatch
from pipelines.read.readers import read_shard
from pipelines.recipe import step_name
from pipelines.schema import DOCUMENT, REMOVED
from pipelines.shard import SourceShard
from pipelines.sidecar import open_arrow
from pipelines.stage import KEEP, Stage, StageResult, keep_where
from pipelines.token_shards import TokenShards
from pipelines.tokenize import MismatchError


@dataclass(frozen=True)
class Pass:
    """One way of all shards through some stages.

    before: the corpus-wide steps whose findings are applied first.  stages: then run in order.
    after: corpus-wide steps that need keys of what is left; none in the last pass.
    """

    index: int
    before: tuple[Config, ...]
    stages: tuple[Config, ...]
    after: tuple[Config, ...]


def passes(steps: Sequence[Config]) -> list[Pass]:
    """Cut a recipe's steps into passes: a stage behind a corpus-wide step opens a new one."""
    groups: list[tuple[list[Config], list[Config]]] = [([], [])]
    for step in steps:
        if isinstance(step, CORPUS_WIDE):
            groups[-1][1].append(step)
        elif groups[-1][1]:
            groups.append(([step], []))
        else:
            groups[-1][0].append(step)
    if groups[-1][1]:
        groups.append(([], []))
    made = []
    before: tuple[Config, ...] = ()
    for index, (stages, after) in enumerate(groups):
        made.append(Pass(index, before, tuple(stages), tuple(after)))
        before = tuple(after)
    return made


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
    steps = _bound(job, part)
    tally = Tally(job, part, shard)
    with contextlib.ExitStack() as files:
        removed = files.enter_context(parquet_file(tally.removed_path, REMOVED))
        overlaps = _overlaps(job, part, shard, files, tally)
        write = _sink(job, part, shard, files, tally)
        for batch in _source(job, part, shard, tally, removed.write_batch):
            for name, step in steps:
                if isinstance(step, BoundStage):
                    result, hits = step.check(batch)
                    overlaps(hits)
                else:
                    result = step(batch)
                tally.add(name, result.stats)
                if result.removed.num_rows:
                    removed.write_batch(result.removed)
                batch = result.kept
                if batch.num_rows == 0:
                    break
            if batch.num_rows:
                write(batch)
    return tally.done()


class Tally:
    """What a shard's pass has counted and written so far."""

    def __init__(self, job: PrepareJob, part: Pass, shard: SourceShard) -> None:
        self.removed_path = job.removed(part.index, shard.key)
        self.paths = [self.removed_path]
        # every stage stands in the account, in order, also one that sees no document
        self.stats = {name: StageStats() for name in stage_names(part)}
        self.facts: dict[str, Any] = {"source": shard.source}
        self.tokens: TokenShards | None = None

    def add(self, name: str, stats: StageStats) -> None:
        self.stats[name] += stats

    def done(self) -> Done:
        if self.tokens is not None:
            self.facts["measured"] = self.tokens.measured()
        return Done(files=self.paths, stats=list(self.stats.items()), facts=self.facts)


def stage_names(part: Pass) -> list[str]:
    """What a shard goes through in this pass, in order."""
    steps = [step_name(step) for step in (*part.before, *part.stages)]
    return (["read"] if part.index == 0 else []) + steps + ([] if part.after else ["tokenize"])


def _bound(job: PrepareJob, part: Pass) -> list[tuple[str, Stage]]:
    made = []
    for step in part.stages:
        name = step_name(step)
        bound = step.bind(job.index(name)) if isinstance(step, Decontaminate) else step
        made.append((name, cast(Stage, bound)))
    return made


def _overlaps(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch], None]:
    """Where the overlaps with benchmark items go, removed or not."""
    if not any(isinstance(step, Decontaminate) for step in part.stages):
        return lambda _: None
    path = job.overlaps(shard.key)
    tally.paths.append(path)
    writer = files.enter_context(parquet_file(path, OVERLAP))
    return lambda hits: writer.write_batch(hits) if hits.num_rows else None


def _source(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally, receipts: Callable[..., None]
) -> Iterator[pa.RecordBatch]:
    """The documents of a shard at the beginning of a pass."""
    if part.index == 0:
        yield from _read(job, shard, tally, receipts)
    else:
        yield from _survivors(job, part, shard, tally, receipts)


def _read(
    job: PrepareJob, shard: SourceShard, tally: Tally, receipts: Callable[..., None]
) -> Iterator[pa.RecordBatch]:
    for batch in read_shard(shard, limits=job.recipe.limits, run=job.identity):
        tally.add("read", read_stats(batch))
        if batch.failed.num_rows:
            receipts(batch.failed)
        for row in batch.failed.to_pylist() if batch.damage else ():
            if row["reason"] in FILE_CAUSES:
                tally.facts.setdefault("damage", []).append(f"{row['reason']}: {row['detail']}")
        if batch.documents.num_rows:
            yield batch.documents


def read_stats(batch: ReadBatch) -> StageStats:
    """The account of reading: what could not be read counts as failed, by cause."""
    causes = sorted(batch.failed["reason"].to_pylist())
    n_bytes = int(text_buffers(batch.documents["text"]).lengths.sum())
    lost = pc.sum(batch.failed["text_bytes"]).as_py() or 0
    return StageStats(
        docs_in=batch.documents.num_rows + len(causes),
        docs_out=batch.documents.num_rows,
        failed=dict(Counter(causes)),
        bytes_in=n_bytes + lost,
        bytes_out=n_bytes,
        bytes_removed=lost,
    )


def _survivors(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally, receipts: Callable[..., None]
) -> Iterator[pa.RecordBatch]:
    """Documents of the pass before, less what its corpus-wide steps found."""
    previous = part.index - 1
    names = [step_name(step) for step in part.before]
    found = [read_duplicates(job.duplicates(previous, name, shard.key)) for name in names]
    for batch in open_arrow(job.filtered(previous, shard.key))[0]:
        kept = batch
        rows = [next(f) for f in found]
        alive = np.arange(batch.num_rows)
        for name, duplicates in zip(names, rows, strict=True):
            result = drop_duplicates(name, kept, duplicates.take(pa.array(alive)))
            alive = alive[np.asarray(duplicates["duplicate_of"].is_null())[alive]]
            tally.add(name, result.stats)
            if result.removed.num_rows:
                receipts(result.removed)
            kept = result.kept
        if kept.num_rows:
            yield kept


def drop_duplicates(
    name: str, documents: pa.RecordBatch, duplicates: pa.RecordBatch
) -> StageResult:
    """Drop the documents for which `duplicates` (same rows) names another; say which it was."""
    gone = np.asarray(duplicates["duplicate_of"].is_valid())
    reason = {"exact": "exact_duplicate", "near": "near_duplicate"}[name]
    result = keep_where(name, documents, np.where(gone, 1, KEEP).astype(np.uint8), (reason,))
    matched = duplicates.filter(pa.array(gone))
    columns = {f.name: result.removed[f.name] for f in REMOVED}
    columns["duplicate_of"] = matched["duplicate_of"]
    columns["similarity"] = matched["similarity"]
    removed = pa.record_batch(list(columns.values()), schema=REMOVED)
    return result._replace(removed=removed)


def _sink(
    job: PrepareJob, part: Pass, shard: SourceShard, files: contextlib.ExitStack, tally: Tally
) -> Callable[[pa.RecordBatch], None]:
    """Where a pass puts its documents: a file for the corpus-wide steps, or tokens."""
    if not part.after:
        tokens = tally.tokens = TokenShards(job, shard, files)
        tally.paths += tokens.paths
        return lambda batch: tally.add("tokenize", tokens.write(batch))

    path, keys_path = job.filtered(part.index, shard.key), job.keys(part.index, shard.key)
    tally.paths += [path, keys_path]
    documents = files.enter_context(arrow_file(path, DOCUMENT, compression="lz4"))
    schema = key_schema(part.after)
    keys = files.enter_context(arrow_file(keys_path, schema))

    def write_documents(batch: pa.RecordBatch) -> None:
        documents.write_batch(batch)
        keys.write_batch(document_keys(batch, part.after, schema, source=shard.source))

    return write_documents
