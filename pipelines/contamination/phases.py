"""The phases of looking for benchmark items in a corpus.

index    n-grams of the items
search   documents that have some of them; a work for each shard
count    in how many documents each n-gram stands
analyse  what counts: items, overlaps, summary
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.dedup.containment_index import ContainmentIndex
from tokenmill.dedup.fold import Folded, fold
from tokenmill.pipelines.arrow_files import arrow_file, parquet_file
from tokenmill.pipelines.atomic import atomic_path, write_json
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.benchmark_index import BenchmarkIndex
from tokenmill.pipelines.contamination.copies import COPY, Copies, find_copies, index_copies
from tokenmill.pipelines.contamination.copy_analysis import CopyAnalysis, summarize_edited
from tokenmill.pipelines.contamination.counts import (
    count_corpus,
    ignored_grams,
    load_counts,
    save_counts,
)
from tokenmill.pipelines.contamination.found import FOUND
from tokenmill.pipelines.contamination.item_rows import ITEM, item_rows
from tokenmill.pipelines.contamination.job import ContaminationJob
from tokenmill.pipelines.contamination.overlap_rows import (
    Pair,
    copy_rows,
    overlap_file,
    overlap_rows,
    pairs_of,
)
from tokenmill.pipelines.contamination.search import search_folded
from tokenmill.pipelines.contamination.summary import MOST_EXAMPLES, summarize
from tokenmill.pipelines.drive import Finished, Phases, do_phase
from tokenmill.pipelines.job import Done, Phase, Work
from tokenmill.pipelines.ledger import StageStats
from tokenmill.pipelines.read.account import damages, read_stats
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.receipt import Receipt, digest_of
from tokenmill.pipelines.shard import Plan, SourceShard
from tokenmill.pipelines.sidecar import open_arrow

SEARCH = "search"


def phases(job: ContaminationJob, plan: Plan) -> Phases[Finished]:
    """Yield the phases of the job in order."""
    finished = Finished(shards=plan.shards)
    index = yield from _one(index_work(job), finished)
    works = tuple(
        Work(
            step=SEARCH,
            key=shard.key,
            inputs=digest_of([job.identity, repr(shard.to_json()), index.digest]),
            call=search_shard,
            args=(shard,),
            chain=shard.chain,
        )
        for shard in plan.shards
    )
    made = yield from do_phase(Phase(name=SEARCH, works=works), finished)
    keys = tuple(shard.key for shard in plan.shards if shard.key in made)
    inputs = digest_of([job.identity, index.digest, *(made[key].digest for key in keys)])
    count = Work(step="count", key="all", inputs=inputs, call=count_documents, args=(keys,))
    counted = yield from _one(count, finished)
    inputs = digest_of([inputs, counted.digest])
    last = Work(step="analyse", key="all", inputs=inputs, call=analyse, args=(keys,))
    yield from _one(last, finished)
    return finished


def _one(work: Work, finished: Finished) -> Phases[Receipt]:
    """A phase of one work, which the run cannot go on without."""
    phase = Phase(name=work.step, works=(work,), whole=True)
    return (yield from do_phase(phase, finished))[work.key]


def index_work(job: ContaminationJob, built: BenchmarkIndex | None = None) -> Work:
    """The work of making the benchmarks ready.

    built: their index, if there is one already, which is then only saved.
    """
    return Work(step="index", key="all", inputs=job.identity, call=write_index, args=(built,))


def write_index(job: ContaminationJob, built: BenchmarkIndex | None) -> Done:
    """Read the benchmarks and index them."""
    index = built or BenchmarkIndex.build(job.check.matching)
    files = index.save(job.index)
    if job.check.copies is not None:
        with atomic_path(job.copy_index) as partial:
            index_copies(index.texts).save(partial)
        files.append(job.copy_index)
    return Done(files=files, facts={"benchmarks": list(index.benchmarks)})


def search_shard(job: ContaminationJob, shard: SourceShard) -> Done:
    """Write what of the items stands in a shard, a batch at a time."""
    index = BenchmarkIndex.load(job.index, job.check.matching)
    found_path, copies_path = job.found(shard.key), job.copies(shard.key)
    stats, damage = StageStats(), []
    with arrow_file(found_path, FOUND) as found, arrow_file(copies_path, COPY) as copies:
        copies_of = _copies_of(job, shard)
        limits = job.check.limits
        for batch in read_shard(shard, limits=limits, run=job.identity, html=job.pages):
            stats += read_stats(batch)
            damage += damages(batch)
            folded = fold(batch.documents["text"], index.folding)
            _write(found, search_folded(batch.documents, folded, index, shard.source))
            _write(copies, copies_of(batch.documents, folded))
    facts = {"source": shard.source, **({"damage": damage} if damage else {})}
    return Done(files=[found_path, copies_path], stats=[("read", stats)], facts=facts)


def _copies_of(
    job: ContaminationJob, shard: SourceShard
) -> Callable[[pa.RecordBatch, Folded], pa.RecordBatch]:
    """What finds the copies in a batch; none, if they are not looked for."""
    least = job.check.copies
    if least is None:
        return lambda _batch, _folded: pa.RecordBatch.from_pylist([], schema=COPY)
    index = ContainmentIndex.load(job.copy_index)
    return lambda batch, folded: find_copies(batch, folded, index, least, shard.source)


def _write(writer: pa.ipc.RecordBatchFileWriter, rows: pa.RecordBatch) -> None:
    if rows.num_rows:
        writer.write_batch(rows)


def count_documents(job: ContaminationJob, keys: Sequence[str]) -> Done:
    """Count the documents of the whole corpus that have each n-gram."""
    n_grams = len(BenchmarkIndex.load(job.index, job.check.matching).ngrams.hashes)
    founds = (found for key in keys for found in open_arrow(job.found(key))[0])
    save_counts(job.counts, count_corpus(founds, n_grams))
    return Done(files=[job.counts])


def analyse(job: ContaminationJob, keys: Sequence[str]) -> Done:
    """Tell what of all that was found counts, holding one shard at a time."""
    index = BenchmarkIndex.load(job.index, job.check.matching)
    counts = load_counts(job.counts)
    ignored = ignored_grams(index, counts)
    analysis = Analysis(index.texts, index.ngrams, ignored, frequent=ignored & ~index.ignored)
    for key in keys:
        for found in open_arrow(job.found(key))[0]:
            analysis.add(found)
    copies = CopyAnalysis(index.texts.starts, analysis.unseen())
    with overlap_file(job.overlaps) as write:
        for key in keys:
            by_ngrams: set[Pair] = set()
            for found in open_arrow(job.found(key))[0]:
                for rows in overlap_rows(found, index, ignored):
                    by_ngrams |= set(pairs_of(rows))
                    write(rows)
            for found in open_arrow(job.copies(key))[0]:
                copies.add(found)
                write(copy_rows(found, index, by_ngrams))
    with parquet_file(job.items, ITEM) as writer:
        writer.write_batch(item_rows(index, analysis, copies))
    summary = summarize(index, analysis, counts)
    write_json(job.summary, with_copies(summary, job.check.copies, index, copies))
    return Done(files=[job.items, job.overlaps, job.summary])


def with_copies(
    summary: dict[str, Any], least: Copies | None, index: BenchmarkIndex, copies: CopyAnalysis
) -> dict[str, Any]:
    """The summary, and what of the benchmarks stands in the corpus as edited copies."""
    edited = copies.edited()
    columns = np.add.reduceat(edited, index.texts.starts, dtype=np.int64), copies.benchmark_docs
    of_benchmarks = zip(summary["benchmarks"], *(c.tolist() for c in columns), strict=True)
    sources = {source["source"]: source for source in summary["sources"]}
    none = {"docs": 0, "pairs": 0}
    return {
        **summary,
        "settings": {**summary["settings"], "copies": least and least.model_dump()},
        "benchmarks": [{**b, "edited": n, "edited_docs": docs} for b, n, docs in of_benchmarks],
        "sources": [
            {"source": name, **none, **sources.get(name, {}), "edited_docs": copies.sources[name]}
            for name in [*sources, *sorted(set(copies.sources) - set(sources))]
        ],
        "n_edited": int(edited.sum()),
        "edited": summarize_edited(index, copies, MOST_EXAMPLES),
        "worst_edited": copies.worst.to_pylist(),
    }
