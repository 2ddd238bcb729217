"""Deduplication of many documents and images, from key sidecars that are made for it: no text.

    python -m tests.bench.scale [--docs 10000000] [--digests 50000000] [--images 10000000]
                                [--budget 4GiB] [--workers 2] [--only STEP …]

Prints wall and CPU seconds and the highest resident memory of each step, each measured in its
own process; pages of mapped files count. The steps are those of a run: band keys of signatures
(part of signing), the edges of all bands and their clusters, the first of equal digests, and
images counted by URL and MD5.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

from tokenmill.dedup.same.digest import first_occurrence
from tokenmill.dedup.same.lsh import band_keys
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.passes import corpus_wide, passes
from tokenmill.pipelines.corpus.step import CorpusStep, key_schema
from tokenmill.pipelines.corpus.units import UNITS
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import Recipe, make_recipe
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, Job, Outcome, Phase, attempt

SHARD_DOCS = 100_000
BATCH_DOCS = 4_096
DUPLICATES = 0.2  # of the documents repeat an earlier one
CHANGED = 0.07  # of the slots of a near duplicate's signature
MIX = np.uint64(0xD6E8FEB86659FD93)


def main() -> None:
    options = arguments()
    if options.step:
        sys.stdout.write(json.dumps(measured(options)) + "\n")
        return
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        for step in options.only or STEPS:
            command = [sys.executable, "-m", "tests.bench.scale", *sys.argv[1:]]
            ended = subprocess.run(
                [*command, "--step", step, "--out", folder],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            found = json.loads(ended.stdout)
            sys.stdout.write(
                f"{step:18} {found['wall_s']:7.1f} s {found['cpu_s']:7.1f} CPU s"
                f" {found['rss_gb']:6.2f} GB at most  {found['facts']}\n"
            )
            sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=10_000_000)
    parser.add_argument("--digests", type=int, default=50_000_000)
    parser.add_argument("--images", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", default="4GiB", help="the recipe's run.memory_budget")
    parser.add_argument("--same", type=float, default=0.0, help="share of documents that are equal")
    parser.add_argument("--scratch", type=Path, help="where to make the sidecars")
    parser.add_argument("--only", choices=STEPS, nargs="+", help="steps to take")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(options: argparse.Namespace) -> dict[str, object]:
    timed = STEPS[options.step](options)
    wall, cpu = time.perf_counter(), time.process_time()
    facts = timed()
    return {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "rss_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "facts": {k: v for k, v in facts.items() if k != "largest"},
    }


def make_signatures(options: argparse.Namespace):
    """Write sidecars of signatures and band keys; how long the band keys alone take."""
    step, job = NearDedup(), job_of(options, NearDedup())

    def work():
        schema, rng, seconds, copies = key_schema([step]), np.random.default_rng(1), 0.0, 0
        for shard, (start, stop) in enumerate(shards(options.docs)):
            rows = np.arange(start, stop)
            again = rng.random(len(rows)) < DUPLICATES
            origin = np.where(again, (rng.random(len(rows)) * rows).astype(np.int64), rows)
            same = rng.random(len(rows)) < options.same
            origin[same] = 0
            signed = signature_of(origin)
            changed = rng.random(signed.shape, np.float32) < CHANGED
            changed[~again | same] = False
            signed[changed] = rng.integers(0, 2**32, int(changed.sum()), np.uint32)
            copies += int((again | same).sum())
            began = time.process_time()
            keys = band_keys(signed, step.lsh())
            seconds += time.process_time() - began
            columns = {"doc_id": doc_ids(shard, 0, len(rows)), "signature": listed(signed)}
            bands = enumerate(step.shuffled)
            columns |= {column.keys: keys[:, band].copy() for band, column in bands}
            write(job.path(KEYS, key=str(shard)), schema, columns)
        return {"documents": options.docs, "copies": copies, "band_keys_cpu_s": round(seconds, 2)}

    return work


def make_digests(options: argparse.Namespace):
    job, schema = job_of(options, ExactDedup()), key_schema([ExactDedup()])

    def work():
        rng = np.random.default_rng(2)
        for shard, (start, stop) in enumerate(shards(options.digests)):
            drawn = rng.integers(0, options.digests, stop - start, np.uint64)
            ids = doc_ids(shard, 0, stop - start)
            columns = {"doc_id": ids, "digest": listed(digest_of(drawn))}
            write(job.path(KEYS, key=str(shard)), schema, columns)
        return {"digests": options.digests}

    return work


def edges_and_clusters(options: argparse.Namespace):
    """All phases, as a run does them."""
    return deduplicated(options, NearDedup(), options.docs)


def exact(options: argparse.Namespace):
    return deduplicated(options, ExactDedup(), options.digests)


def deduplicated(options: argparse.Namespace, step: CorpusStep, n: int):
    """Run the phases of a step, as many works at a time as there are workers."""
    job = job_of(options, step)
    made = [
        Receipt(step="", key=str(shard), inputs="", stats=(("read", stats_of(stop - start)),))
        for shard, (start, stop) in enumerate(shards(n))
    ]

    def execute(job: Job, phase: Phase) -> list[Outcome]:
        with ThreadPoolExecutor(options.workers) as pool:
            return list(pool.map(lambda work: attempt(job, work), phase.works))

    def work():
        finished = Finished()
        drive(job, corpus_wide(job, passes([step])[0], made, finished), execute)
        found: dict[str, object] = {}
        for receipt in finished.receipts:
            name = receipt.step.rpartition("-")[0]
            seconds = found.setdefault(name, {"works": 0, "wall_s": 0.0, "cpu_s": 0.0})
            seconds["works"] += 1
            for at, unit in enumerate(("wall_s", "cpu_s")):
                seconds[unit] = round(seconds[unit] + receipt.seconds[at], 2)
            for fact in ("candidates", "edges", "clusters"):
                if fact in receipt.facts:
                    found[fact] = found.get(fact, 0) + receipt.facts[fact]
        return found

    return work


def stats_of(docs: int) -> StageStats:
    return StageStats(docs_in=docs, docs_out=docs)


def first(options: argparse.Namespace):
    """The kernel alone, on digests in memory."""
    drawn = np.random.default_rng(2).integers(0, options.digests, options.digests, np.uint64)
    table = digest_of(drawn)
    first_occurrence(table[:1000])  # compiles
    return lambda: {"digests": len(first_occurrence(table))}


def make_images(options: argparse.Namespace):
    """Four of five URLs and MD5s are drawn from as many as there are images, others from few."""
    step = RepeatedImages()
    job, schema = job_of(options, step), step.unit_schema()

    def work():
        rng = np.random.default_rng(3)
        for shard, (start, stop) in enumerate(shards(options.images)):
            n = stop - start
            columns = {"doc_id": doc_ids(shard, 0, n), "number": np.zeros(n, np.int32)}
            for key in step.columns:
                often = rng.zipf(1.3, n).astype(np.uint64) % np.uint64(1 << 20)
                drawn = rng.integers(1 << 20, options.images + (1 << 20), n, np.uint64)
                columns[key] = listed(digest_of(np.where(rng.random(n) < 0.2, often, drawn)))
            write(job.path(UNITS, key=str(shard)), schema, columns)
        return {"images": options.images}

    return work


def repeated_images(options: argparse.Namespace):
    return deduplicated(options, RepeatedImages(), options.images)


STEPS = {
    "make signatures": make_signatures,
    "edges and clusters": edges_and_clusters,
    "make digests": make_digests,
    "exact": exact,
    "first occurrence": first,
    "make images": make_images,
    "repeated images": repeated_images,
}


def signature_of(origin):
    """(n, 112) signatures, each drawn by the document's number."""
    n_slots = NearDedup().num_perm
    h = origin.astype(np.uint64)[:, None] * np.uint64(n_slots) + np.arange(n_slots, dtype=np.uint64)
    h = (h + np.uint64(1)) * MIX
    h ^= h >> np.uint64(32)
    h *= MIX
    return (h >> np.uint64(32)).astype(np.uint32)


def digest_of(drawn):
    h = drawn * MIX
    h ^= h >> np.uint64(32)
    return np.column_stack([h * MIX, drawn])


def listed(matrix):
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])


def write(path: Path, schema: pa.Schema, columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = pa.record_batch([pa.array(c) for c in columns.values()], schema=schema)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for start in range(0, whole.num_rows, BATCH_DOCS):
            writer.write_batch(whole.slice(start, BATCH_DOCS))


def shards(n: int) -> list[tuple[int, int]]:
    return [(start, min(start + SHARD_DOCS, n)) for start in range(0, n, SHARD_DOCS)]


def keys_of(n: int) -> tuple[str, ...]:
    return tuple(str(shard) for shard in range(len(shards(n))))


def job_of(options: argparse.Namespace, step: CorpusStep) -> PrepareJob:
    recipe: Recipe = make_recipe(
        {
            "inputs": [{"path": "unread.jsonl"}],
            "steps": [step],
            "images": {},
            "tokenizer": {"path": "unread.json"},
            "run": {"memory_budget": options.budget, "workers": options.workers},
        },
        where="bench",
    )
    return PrepareJob(out=options.out / step.name, recipe=recipe, identity="bench")


if __name__ == "__main__":
    main()
