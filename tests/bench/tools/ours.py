"""Tokenmill's steps, through the functions that a run calls."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dedup.cluster import clusters
from dedup.digest import digests, first_occurrence
from dedup.lsh import Bands, band_keys, candidate_pairs
from dedup.minhash import MinHash, signatures
from dedup.ngram_index import NgramIndex
from dedup.overlap import find
from pipelines.benchmark.spec import Benchmark
from pipelines.decontaminate import Decontaminate
from pipelines.drive import one_by_one
from pipelines.plan import plan_inputs
from pipelines.prepare import prepare
from pipelines.read.limits import Limits
from pipelines.read.readers import read_shard
from pipelines.recipe import make_recipe
from pipelines.shard import Input
from pipelines.stages import STAGES
from pipelines.tokenize import Tokenizer, load_engine

WORD_FILTERS = ("gopher_repetition", "gopher_quality", "fineweb")
NEAR = {"near": {}}
DIGESTS = 5_000_000
SEED, ITEM_WORDS = 20, (20, 100)


def shards_of(file: Path):
    return plan_inputs((Input(path=str(file)),), 256_000_000).shards


def batches_of(file: Path):
    return (b.documents for s in shards_of(file) for b in read_shard(s, limits=Limits()))


def text_of(part: Path) -> pa.Array:
    return pq.read_table(part / "docs.parquet")["text"].combine_chunks().cast(pa.large_string())


def reading(name):
    def make(part, scratch):
        shards = shards_of(part / name)

        def work():
            batches = (b for s in shards for b in read_shard(s, limits=Limits()))
            return {"docs": sum(b.documents.num_rows for b in batches)}

        return work

    return make


def staged(*names):
    """Stages one behind the other, over the batches that a reader makes."""

    def make(part, scratch):
        batches = list(batches_of(part / "docs.parquet"))
        stages = [STAGES[name]() for name in names]

        def work():
            kept = 0
            for batch in batches:
                for stage in stages:
                    batch = stage(batch).kept
                kept += batch.num_rows
            return {"docs": sum(b.num_rows for b in batches), "kept": kept}

        return work

    return make


def digest(method):
    def make(part, scratch):
        text = text_of(part)
        return lambda: {"docs": len(digests(text, method))}

    return make


def sign(part, scratch):
    text = text_of(part)
    return lambda: {"docs": len(signatures(text, MinHash()))}


def sign_and_band(part, scratch):
    text = text_of(part)
    return lambda: {"docs": len(band_keys(signatures(text, MinHash()), Bands()))}


def group(part, scratch):
    """Signatures to clusters: band keys, the pairs of each band, connected components."""
    texts = pa.array((part / "short.txt").read_text("utf-8").split("\n"), pa.large_string())
    signed = signatures(texts, MinHash())
    rows = np.arange(len(signed))

    def work():
        keys = band_keys(signed, Bands())
        edges = np.concatenate([candidate_pairs(column.copy(), rows) for column in keys.T])
        labels = clusters(len(signed), edges)
        return {"docs": len(signed), "kept": int((labels == rows).sum())}

    return work


def first(part, scratch):
    drawn = np.random.default_rng(0).integers(0, DIGESTS, DIGESTS, np.uint64)
    table = np.column_stack([drawn * np.uint64(0x9E3779B97F4A7C15), drawn])
    if "warm" in scratch.name:
        table = table[:1000].copy()
    rows = np.arange(len(table))
    return lambda: {"docs": len(table), "kept": int((first_occurrence(table) == rows).sum())}


def overlap(part, scratch):
    path = str(part / "benchmark.jsonl")
    wanted = Benchmark(name="items", path=path, fields=("question",))
    stage = Decontaminate(benchmarks=(wanted,))
    stage.prepare(scratch / "index.arrow")
    bound = stage.bind(scratch / "index.arrow")
    batches = list(batches_of(part / "docs.parquet"))
    return lambda: {"removed": sum(bound(batch).removed.num_rows for batch in batches)}


def searched(n_items, *ngrams):
    """Look for items that are words of the text, drawn at random: they are hardly found."""

    def make(part, scratch):
        draw = np.random.default_rng(SEED)
        words = pc.split_pattern_regex(text_of(part), r"\s+").flatten()
        ends = np.append(0, np.cumsum(draw.integers(*ITEM_WORDS, n_items)))
        drawn = words.take(pa.array(draw.integers(0, len(words), ends[-1])))
        items = pc.binary_join(
            pa.ListArray.from_arrays(pa.array(ends, pa.int32()), drawn),
            pa.scalar(" ", pa.large_string()),
        )
        ngram = draw.choice(ngrams, n_items)
        NgramIndex.build(items, np.arange(n_items), ngram=ngram).save(scratch / "index.arrow")
        index = NgramIndex.load(scratch / "index.arrow", ngram=ngrams)
        batches = list(batches_of(part / "docs.parquet"))
        return lambda: {"hits": sum(len(find(b["text"], index).docs) for b in batches)}

    return make


def engine():
    return load_engine(Tokenizer(path=os.environ["BENCH_TOKENIZER"]))


def encode(part, scratch):
    loaded = engine()
    columns = [batch["text"] for batch in batches_of(part / "docs.parquet")]
    return lambda: {"tokens": sum(len(loaded.encode(column).ids) for column in columns)}


def encode_to_disk(part, scratch):
    loaded = engine()
    columns = [batch["text"] for batch in batches_of(part / "docs.parquet")]
    schema = pa.schema([("input_ids", pa.list_(pa.from_numpy_dtype(loaded.dtype)))])

    def work():
        tokens = 0
        with pa.ipc.new_stream(str(scratch / "ids.arrow"), schema) as out:
            for column in columns:
                made = loaded.encode(column)
                tokens += len(made.ids)
                offsets = pa.array(made.offsets.astype(np.int32))
                lists = pa.ListArray.from_arrays(offsets, pa.array(made.ids))
                out.write_batch(pa.record_batch([lists], schema=schema))
        return {"tokens": tokens}

    return work


def recipe_data(part, steps):
    return {
        "name": "bench",
        "inputs": [{"path": str(part / "docs.jsonl.gz")}],
        "steps": steps,
        "tokenizer": {"path": os.environ["BENCH_TOKENIZER"]},
    }


def whole(*steps):
    """A run in this process, its works one by one; no Prefect."""

    def make(part, scratch):
        recipe = make_recipe(recipe_data(part, list(steps)), where="bench")

        def work():
            return run_facts(prepare(recipe, scratch / "out", one_by_one))

        return work

    return make


def command(*steps):
    """The command as a user gives it: its start-up, Prefect and a server of its own included."""

    def make(part, scratch):
        recipe = scratch / "recipe.yaml"  # JSON is YAML
        recipe.write_text(json.dumps(recipe_data(part, list(steps))))
        tool = [sys.executable, "-m", "flows.cli", "prepare", str(recipe)]

        def work():
            ended = subprocess.run(
                [*tool, "--out", str(scratch / "out"), "--json"], capture_output=True, check=False
            )
            if ended.returncode:
                said = ended.stderr.decode().strip().splitlines()[-1:]
                raise RuntimeError(f"exit code {ended.returncode}: {said}")
            return run_facts(json.loads(ended.stdout))

        return work

    return make


def run_facts(report):
    """Counts of a run, and what its steps took; a run that failed in part is no measurement."""
    troubles = [*report["failed_inputs"], *report["failed_shards"], *report["damaged_shards"]]
    if troubles:
        raise RuntimeError(f"the run failed in part: {troubles[0]}")
    train = report["dataset"]["splits"]["train"]
    return {
        "docs": report["ledger"][0]["docs_in"],
        "kept": train["docs"],
        "tokens": train["tokens"],
        "engine": report["tokenizer"]["engine"],
        "steps": report["steps"],
    }


STEPS = {
    "read jsonl.gz": reading("docs.jsonl.gz"),
    "read jsonl.zst": reading("docs.jsonl.zst"),
    "read parquet": reading("docs.parquet"),
    **{name: staged(name) for name in STAGES},
    "word filters": staged(*WORD_FILTERS),
    "digest md5": digest("md5"),
    "digest xxh3": digest("xxh3"),
    "sign": sign,
    "sign and band": sign_and_band,
    "group": group,
    "first": first,
    "overlap": overlap,
    "find 10k": searched(10_000, 13),
    "find 10k mixed": searched(10_000, *range(8, 14)),
    "find 500k": searched(500_000, 13),
    "find 500k mixed": searched(500_000, *range(8, 14)),
    "encode": encode,
    "encode to disk": encode_to_disk,
    "run": whole(*WORD_FILTERS, NEAR),
    "run without filters": whole(NEAR),
    "command": command(*WORD_FILTERS, NEAR),
}
