"""Corpora of keys alone: sidecars written by hand, and the corpus-wide phases run on them."""

import mmap
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tests.running import one_by_one
from tokenmill.dedup.same.lsh import band_keys
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.core.shard import EarlierRun
from tokenmill.pipelines.corpus.equal import DATE
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.passes import corpus_wide, passes
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.corpus.verdicts import verdicts_on
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.folder import INDEX, KEYS
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.storage.files import Opened, Rows, arrow_file, open_arrow

# near duplicates as published pipelines have them
ESTIMATED = {"similarity": "estimate", "cluster": "components"}
PUBLISHED = {"near": {"num_perm": 112, "bands": 14, "rows": 8, **ESTIMATED}}


def job_of(out, steps, budget="4GiB", workers=1):
    dated = any(getattr(step, "needs_dates", False) for step in steps)
    recipe = {
        **({"html": {}} if dated else {}),
        "inputs": [{"path": "docs.jsonl"}],
        "steps": list(steps),
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"memory_budget": budget, "workers": workers},
    }
    return PrepareJob(out=out, recipe=make_recipe(recipe, where="test"), identity="test")


def part_of(steps):
    """The pass that such steps follow."""
    return passes(tuple(steps))[0]


def against(job, n):
    """The job, standing against a run of `n` shards."""
    run = EarlierRun(out=job.out / "earlier", digest="", shards=n, docs=0, index_bytes=0)
    return replace(job, against=(run,) if n else ())


def write_keys(path, steps, ids, signed, digests, batch=1_000, dates=None):
    """A key sidecar of documents. signed: (n, num_perm).  digests: (n, 2), for all steps but near.

    Only the first two words of keys of the other steps than near are looked at.
    """
    schema = key_schema(steps)
    columns = {"doc_id": pa.array(ids)}
    for step in steps:
        if isinstance(step, NearDedup):
            keys = band_keys(signed, step.lsh())
            columns["signature"] = listed(signed)
            for band, column in enumerate(step.shuffled):
                columns[column.keys] = pa.array(keys[:, band].copy())
        else:
            (column,) = step.shuffled
            columns[column.keys] = listed(digests)
            if dates is not None:
                columns[DATE] = pa.array(dates, pa.uint64())
    whole = pa.record_batch([columns[name] for name in schema.names], schema=schema)
    with arrow_file(path, schema) as writer:
        for start in range(0, len(ids), batch):
            writer.write_batch(whole.slice(start, batch))


def write_shards(job, steps, sizes, signed, digests, *, earlier=0, batch=1_000, dates=None):
    """Sidecars of shards of such sizes, the first `earlier` of them of earlier runs; all ids."""
    ids = [doc_ids(shard, 0, n) for shard, n in enumerate(sizes)]
    for shard, (start, stop) in enumerate(pairwise(np.cumsum([0, *sizes]).tolist())):
        path = job.path(KEYS, 0, key=f"{shard:05d}")
        if shard < earlier:
            (run,) = against(job, earlier).against
            path = run.out / INDEX.name / INDEX.file.format(key=run.keys[shard], number=0)
        at = slice(start, stop)
        of_shard = None if dates is None else dates[at]
        write_keys(path, steps, ids[shard], signed[at], digests[at], batch, of_shard)
    return np.concatenate([np.empty(0, np.uint64), *ids])


def write_texts(
    job, steps, shards, *, earlier=0, batch=1_000, sources=None, packed=False, urls=None
):
    """Sidecars as a run makes them, of shards of texts; ids of all documents.

    sources: of each shard.  urls: of the documents of each.
    packed: keys of the earlier ones are as an index keeps them.
    """
    schema, ids = key_schema(steps), []
    for shard, texts in enumerate(shards):
        path = job.path(KEYS, 0, key=f"{shard:05d}")
        if shard < earlier:
            (run,) = against(job, earlier).against
            path = run.out / INDEX.name / INDEX.file.format(key=run.keys[shard], number=0)
        ids.append(doc_ids(shard, 0, len(texts)))
        with arrow_file(path, schema) as writer:
            for at in range(0, len(texts), batch):
                some = {"doc_id": ids[-1][at : at + batch], "text": texts[at : at + batch]}
                if urls is not None:
                    some["url"] = urls[shard][at : at + batch]
                source = sources[shard] if sources else "docs"
                keys = document_keys(pa.RecordBatch.from_pydict(some), steps, schema, source=source)
                for step in steps if packed and shard < earlier else ():
                    keys = step.kept_keys(keys)
                writer.write_batch(keys)
    return np.concatenate([np.empty(0, np.uint64), *ids])


def find(job, steps, sizes, *, earlier=0):
    """Run the corpus-wide phases on shards that lie there; the receipts by step."""
    made = [
        Receipt(
            step="pass-0",
            key=f"{shard:05d}",
            inputs="",
            stats=stats_of(n),
        )
        for shard, n in enumerate(sizes)
        if shard >= earlier
    ]
    finished = Finished()
    job = against(job, earlier)
    drive(job, corpus_wide(job, part_of(steps), made, finished), one_by_one)
    by_step = {}
    for receipt in finished.receipts:
        by_step.setdefault(receipt.step, []).append(receipt)
    return by_step


def stats_of(docs):
    return (("read", StageStats(docs_in=docs, docs_out=docs)),)


def found(job, step, sizes, *, earlier=0):
    """{row: (id of the document kept, similarity)} of the duplicates among all shards' rows."""
    made, at = {}, sum(sizes[:earlier])
    for shard in range(earlier, len(sizes)):
        n = 0
        for batch in verdicts_on(job, 0, step, f"{shard:05d}"):
            for row, verdict in enumerate(batch.to_pylist()):
                of, alike = verdict["duplicate_of"], verdict["similarity"]
                if of is not None:
                    assert not verdict["alive"]
                    made[at + n + row] = of, alike
            n += batch.num_rows
        assert n == sizes[shard]
        at += n
    return made


def verdict_bytes(job, *steps):
    """The verdicts of all shards, as bytes that do not tell how they were grouped."""
    told = []
    for step in steps:
        for path in sorted((job.out / step.verdict_folder().named(0)).iterdir()):
            told += [batch.serialize().to_pybytes() for batch in open_arrow(path)[0]]
    return told


def rows_of(shards):
    """Rows of shards that lie in memory, each a list of batches."""
    starts = [np.cumsum([0, *(b.num_rows for b in batches)], dtype=np.int64) for batches in shards]
    opened = [
        Opened(batches, s, mmap.mmap(-1, 1), {}) for batches, s in zip(shards, starts, strict=True)
    ]
    return Rows(np.cumsum([0, *(s[-1] for s in starts)], dtype=np.int64), opened.__getitem__)


def listed(matrix):
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
