"""Documents of the pass before, less what its corpus-wide steps found."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.cleaner import Cleaner
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.decontaminate import NAME
from tokenmill.pipelines.duplicates import read_duplicates
from tokenmill.pipelines.ignored import read_ignored
from tokenmill.pipelines.passes import (
    Pass,
    decontamination,
    duplicate_finders,
    repeated_spans,
    repeats,
)
from tokenmill.pipelines.prepare_job import PrepareJob
from tokenmill.pipelines.repeats.apply import without_repeats
from tokenmill.pipelines.repeats.found import read_found
from tokenmill.pipelines.schema import REMOVED
from tokenmill.pipelines.shard import SourceShard
from tokenmill.pipelines.sidecar import open_arrow
from tokenmill.pipelines.spans.apply import without_spans
from tokenmill.pipelines.spans.found import read_found_runs
from tokenmill.pipelines.stage import KEEP, StageResult, keep_where
from tokenmill.pipelines.steps import step_name
from tokenmill.pipelines.tally import Tally


def survivors(
    job: PrepareJob, part: Pass, shard: SourceShard, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """The documents of a shard, batch by batch, as the steps before this pass leave them."""
    previous = part.index - 1
    names = [step_name(step) for step in duplicate_finders(part.before)]
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
