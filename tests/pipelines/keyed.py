"""Corpora of keys alone: sidecars written by hand, and the corpus-wide phases run on them."""

import mmap
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tokenmill.dedup.lsh import band_keys
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.keys import DATE, band_column, key_schema
from tokenmill.pipelines.corpus.passes import Pass
from tokenmill.pipelines.corpus.phases import corpus_wide
from tokenmill.pipelines.corpus.steps import ExactDedup, NearDedup
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, drive, one_by_one
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Opened, Rows


class Job(PrepareJob):
    """A job with documents of earlier runs, by files that are there."""

    def earlier(self, pass_index):
        return tuple(sorted(self.out.glob("earlier-*.arrow")))


def job_of(out, steps, budget="4GiB", workers=1):
    dated = any(getattr(step, "needs_dates", False) for step in steps)
    recipe = {
        **({"html": {}} if dated else {}),
        "inputs": [{"path": "docs.jsonl"}],
        "steps": list(steps),
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"memory_budget": budget, "workers": workers},
    }
    return Job(out=out, recipe=make_recipe(recipe, where="test"), identity="test")


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
            columns |= {band_column(b): pa.array(keys[:, b].copy()) for b in range(keys.shape[1])}
        else:
            name = "digest" if isinstance(step, ExactDedup) else step.name
            columns[name] = listed(digests)
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
        path = job.keys(0, f"{shard:05d}")
        if shard < earlier:
            path = job.out / f"earlier-{shard:05d}.arrow"
        at = slice(start, stop)
        of_shard = None if dates is None else dates[at]
        write_keys(path, steps, ids[shard], signed[at], digests[at], batch, of_shard)
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
    part = Pass(0, (), (), tuple(steps))
    drive(job, corpus_wide(job, part, made, finished), one_by_one)
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
        path, n = job.duplicates(0, step.name, f"{shard:05d}"), 0
        for batch in read_duplicates(path):
            for row, (of, alike) in enumerate(zip(*map(pa.Array.to_pylist, batch), strict=True)):
                if of is not None:
                    made[at + n + row] = of, alike
            n += batch.num_rows
        assert n == sizes[shard]
        at += n
    return made


def rows_of(shards):
    """Rows of shards that lie in memory, each a list of batches."""
    starts = [np.cumsum([0, *(b.num_rows for b in batches)], dtype=np.int64) for batches in shards]
    opened = [
        Opened(batches, s, mmap.mmap(-1, 1)) for batches, s in zip(shards, starts, strict=True)
    ]
    return Rows(np.cumsum([0, *(s[-1] for s in starts)], dtype=np.int64), opened.__getitem__)


def listed(matrix):
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
