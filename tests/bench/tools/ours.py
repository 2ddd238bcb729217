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

from tests.bench.corpus import texts_of
from tests.running import one_by_one, prepare
from tokenmill.dedup.overlap.find import find
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.same.digest import digests, first_occurrence
from tokenmill.dedup.same.lsh import Bands, band_keys, buckets
from tokenmill.dedup.same.minhash import MinHash, signatures
from tokenmill.dedup.same.verify import Forest, Touched, verified_edges
from tokenmill.dedup.text.fold import Folding, fold
from tokenmill.pipelines.contamination.decontaminate import Cleaner, Decontaminate
from tokenmill.pipelines.contamination.found import search
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.core.step import STEPS as REGISTRY
from tokenmill.pipelines.corpus.near import MOST_SIGNED
from tokenmill.pipelines.filters.stages import STAGES
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.tokenize import load_engine

WORD_FILTERS = ("gopher_repetition", "gopher_quality", "fineweb")
NEAR = {"near": {}}
DIGESTS = 5_000_000
SEED, FEW_ITEMS, MANY_ITEMS = 20, 10_000, 500_000
ITEM_WORDS, ITEM_SENTENCES = (20, 100), 4
COLUMN_DOCS = 1024
WEB_TEXT = "c4_sample*/**/*.json.gz"


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


def staged(*names, **settings):
    """Stages one behind the other, over the batches that a reader makes."""

    def make(part, scratch):
        batches = list(batches_of(part / "docs.parquet"))
        stages = [REGISTRY[name](**settings) for name in names]

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
    """Signatures to clusters, as a run does it: band keys, edges of each band, a forest of them.

    No pair is left out for its similarity, as the peers leave none out.
    """
    texts = pa.array((part / "short.txt").read_text("utf-8").split("\n"), pa.large_string())
    signed = signatures(texts, MinHash())
    each = {"num_perm": signed.shape[1], "verify": 0.0, "rows_at_once": MOST_SIGNED}

    def work():
        edges, touched = [], Touched(len(signed))
        for column in band_keys(signed, Bands()).T:
            edges += verified_edges(buckets(column.copy()), signed.__getitem__, **each)
        for some in edges:
            touched.mark(some)
        forest = Forest(touched)
        for some in edges:
            forest.join(some)
        removed = sum(len(trees) for trees in forest.trees(MOST_SIGNED))
        return {"docs": len(signed), "kept": len(signed) - removed}

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
    step = Decontaminate(benchmarks=(wanted,), ngram=13, action="document")
    index = step.build()
    clean = Cleaner(step, index, index.ignored)
    batches = list(batches_of(part / "docs.parquet"))

    def run():
        cleaned = (clean(batch, search(batch, index, "part")) for batch in batches)
        return {"removed": sum(c.result.removed.num_rows for c in cleaned)}

    return run


def searched(n_items, *ngrams):
    """Look for items that are words of the text, drawn at random: they are hardly found."""

    def make(part, scratch):
        draw = np.random.default_rng(SEED)
        index = saved_index(scratch, items_of_words(text_of(part), n_items, draw), ngrams, draw)
        batches = list(batches_of(part / "docs.parquet"))
        return lambda: {"hits": sum(len(find(b["text"], index).docs) for b in batches)}

    return make


def searched_sentences(n_items):
    """Look in every other document for items that are sentences of the documents between."""

    def make(part, scratch):
        draw = np.random.default_rng(SEED)
        text = text_of(part)
        items = items_of_sentences(text.take(pa.array(range(0, len(text), 2))), n_items, draw)
        index = saved_index(scratch, items, (13,), draw)
        columns = columns_of(text.take(pa.array(range(1, len(text), 2))))

        def work():
            hits = sum(len(find(column, index).docs) for column in columns)
            return {"hits": hits, "text_bytes": bytes_of(columns)}

        return work

    return make


def searched_folded(disguised):
    """Look for 10,000 items in text that is folded first."""

    def make(part, scratch):
        draw = np.random.default_rng(SEED)
        text = text_of(part)
        index = saved_index(scratch, items_of_words(text, FEW_ITEMS, draw), (13,), draw)
        columns = columns_of(disguised(text))

        def work():
            hits = folded = 0
            for column in columns:
                seen = fold(column, Folding())
                hits += len(find(seen.text, index).docs)
                folded += len(seen.rows)
            docs = sum(map(len, columns))
            return {"hits": hits, "folded": folded / docs, "text_bytes": bytes_of(columns)}

        return work

    return make


def web_text(text):
    """The C4 documents of the shared data, as often as it takes for as many bytes as `text`.

    Without shared data it is `text`.
    """
    files = sorted(Path(os.environ["BENCH_DATA"]).glob(WEB_TEXT))
    if not files:
        return text
    web = pa.array(texts_of([Input(path=str(f)) for f in files]), pa.large_string())
    return pa.concat_arrays([web] * -(-text.nbytes // web.nbytes))


def all_disguised(text):
    """Each document with an entity; entities for quotes, soft hyphens in a frequent word."""
    for plain, disguise in (('"', "&quot;"), (" the ", " t\u00adhe "), (r"\z", " &amp;")):
        text = pc.replace_substring_regex(text, plain, disguise)
    return text


def items_of_words(text, n_items, draw):
    words = pc.split_pattern_regex(text, r"\s+").flatten()
    return joined(words, draw.integers(*ITEM_WORDS, n_items), draw)


def items_of_sentences(text, n_items, draw):
    sentences = pc.split_pattern_regex(text, r"[.!?:]\s+").flatten()
    lengths = pc.binary_length(sentences)
    some = pc.and_(pc.greater(lengths, 30), pc.less(lengths, 300))
    return joined(sentences.filter(some), np.full(n_items, ITEM_SENTENCES), draw)


def joined(pieces, counts, draw):
    """Items of as many pieces each as `counts` says, drawn at random."""
    ends = np.append(0, np.cumsum(counts))
    drawn = pieces.take(pa.array(draw.integers(0, len(pieces), ends[-1])))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), drawn)
    return pc.binary_join(lists, pa.scalar(" ", pa.large_string()))


def saved_index(scratch, items, ngrams, draw):
    """An index as a run has it: mapped into memory."""
    ngram = draw.choice(ngrams, len(items))
    NgramIndex.build(items, np.arange(len(items)), ngram=ngram).save(scratch / "index.arrow")
    return NgramIndex.load(scratch / "index.arrow", ngrams=tuple(sorted(ngrams)), words="scripts")


def columns_of(text):
    return [text.slice(i, COLUMN_DOCS) for i in range(0, len(text), COLUMN_DOCS)]


def bytes_of(columns):
    return sum(pc.sum(pc.binary_length(column)).as_py() for column in columns)


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
        tool = [sys.executable, "-m", "tokenmill.flows.cli", "prepare", str(recipe)]

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
    **{f"{name} (spacy)": staged(name, words="spacy") for name in WORD_FILTERS},
    "word filters (spacy)": staged(*WORD_FILTERS, words="spacy"),
    "c4 (spacy)": staged("c4", sentences="spacy"),
    "digest md5": digest("md5"),
    "digest xxh3": digest("xxh3"),
    "sign": sign,
    "sign and band": sign_and_band,
    "group": group,
    "first": first,
    "overlap": overlap,
    "find 10k": searched(FEW_ITEMS, 13),
    "find 10k mixed": searched(FEW_ITEMS, *range(8, 14)),
    "find 500k": searched(MANY_ITEMS, 13),
    "find 500k mixed": searched(MANY_ITEMS, *range(8, 14)),
    "find 500k sentences": searched_sentences(MANY_ITEMS),
    "find in C4, folded": searched_folded(web_text),
    "find in disguises": searched_folded(all_disguised),
    "encode": encode,
    "encode to disk": encode_to_disk,
    "run": whole(*WORD_FILTERS, NEAR),
    "run without filters": whole(NEAR),
    "command": command(*WORD_FILTERS, NEAR),
}
