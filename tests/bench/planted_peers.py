"""Benchmark items planted in real text: what lm-eval's janitor and datatrove find of them, and we.

    python -m tests.bench.planted_peers --environments FOLDER [--each 50]

FOLDER keeps the environments of `tests/bench/peers`, as `python -m tests.bench` makes them. Plants
are those of `tests.bench.planted`, each in a document of its own; every tool has the same texts of
items and the same N, and tells which documents it would change or drop. Recall is of documents with
a plant; false are those of the sample data, as they are, that it tells too. CPU seconds are of
searching the documents, without imports and reading. Ours is by n-grams alone, and with copies.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.environment import python
from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.disguises import DISGUISES
from tests.pipelines.contamination.planting import (
    BENCHMARKS,
    fitting,
    plants,
    read_documents,
)
from tests.strategies import document_batch
from tokenmill.dedup.text.fold import fold
from tokenmill.pipelines.contamination.copies import Copies, find_copies, index_copies
from tokenmill.pipelines.contamination.found import hits_of, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import parse_benchmark
from tokenmill.pipelines.contamination.shares import Units

KINDS = (
    "verbatim",
    "entities of all",
    "homoglyphs, all",
    "half",
    "one word in ten",
    "two of these",
)
TOOLS = Path(__file__).with_name("tools")
PEERS = {"lm_eval": ("janitor", "found"), "datatrove": ("datatrove_", "found")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--each", type=int, default=50, help="texts of a benchmark")
    options = parser.parse_args()
    documents = fitting(read_documents(SHARED_DATA))
    specs = [parse_benchmark(f"{n}={SHARED_DATA / 'bench' / p}") for n, p in BENCHMARKS.items()]
    write(f"| N | tool | {' | '.join(KINDS)} | false | CPU s |")
    write("|---" * (len(KINDS) + 4) + "|")
    for ngram in (13, 8):
        index = BenchmarkIndex.build(Matching(benchmarks=tuple(specs), ngram=ngram))
        sets = [documents]
        for kind in KINDS:
            planted = plants(index, documents, DISGUISES[kind], options.each, kind)
            sets.append([plant.document for plant in planted])
        texts = [text for texts in sets for text in texts]
        ends = np.cumsum(list(map(len, sets)))
        for name, (told, seconds) in tools(index, texts, options.environments).items():
            clean, *parts = np.split(told, ends[:-1])
            shares = " | ".join(f"{100 * part.mean():.1f} %" for part in parts)
            write(
                f"| {ngram} | {name} | {shares} | {clean.sum()} of {len(clean):,} | {seconds:.1f} |"
            )


def tools(index: BenchmarkIndex, texts: list[str], folder: Path) -> dict[str, tuple[Any, float]]:
    """Of each tool (n_texts,) bool, the documents that it tells, and CPU seconds."""
    batch, grams, copies = (
        document_batch(texts),
        np.zeros(len(texts), bool),
        index_copies(index.texts, Units.build(index.texts, index.ngrams).contexts),
    )
    find_copies(batch.slice(0, 1), fold(batch["text"][:1], index.folding), copies, Copies(), "warm")
    search(batch.slice(0, 1), index, "warm")
    begun = time.process_time()
    rows = search(batch, index, "web")
    counted = ~index.ignored[hits_of(rows).grams]
    grams[rows["doc_id"].to_numpy().astype(np.int64)[hits_of(rows).docs[counted]]] = True
    by_grams = time.process_time() - begun
    both = grams.copy()
    copied = find_copies(batch, fold(batch["text"], index.folding), copies, Copies(), "web")
    both[copied["doc_id"].to_numpy().astype(np.int64)] = True
    ours = {
        "tokenmill": (grams, by_grams),
        "tokenmill, copies too": (both, time.process_time() - begun),
    }
    return ours | {peer: asked(peer, index, texts, folder) for peer in PEERS}


def asked(peer: str, index: BenchmarkIndex, texts: list[str], folder: Path) -> tuple[Any, float]:
    tool, step = PEERS[peer]
    with tempfile.TemporaryDirectory() as scratch:
        part = Path(scratch) / "part"
        part.mkdir()
        items = [{"question": text} for text in index.texts.texts.to_pylist()]
        lines(part / "benchmark.jsonl", items)
        lines(part / "docs.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts)])
        warm = Path(scratch) / "warm"
        warm.mkdir()
        lines(warm / "benchmark.jsonl", items[:2])
        lines(warm / "docs.jsonl", [{"id": "0", "text": "a text"}])
        ngram = int(index.texts.benchmark_ngrams[0])
        given = {"tool": str(TOOLS / f"{tool}.py"), "step": f"{step} {ngram}", "core": None}
        given |= {"warm": str(warm), "part": str(part), "scratch": scratch}
        worker = [python(peer, folder), str(TOOLS.with_name("worker.py")), json.dumps(given)]
        ended = subprocess.run(worker, capture_output=True, text=True, check=True)
    cost = json.loads(ended.stdout.splitlines()[-1])
    told = np.zeros(len(texts), bool)
    told[np.array(cost["counts"]["told"], np.int64)] = True
    return told, cost["cpu_s"]


def lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
