"""Our kernels against datasketch, on real text, in one process each. Run: make bench

Prints a table and writes results.json beside this file. MB are of UTF-8 text; CPU is this
process's. What is unfair: datasketch is given words split by `str.split`, not `\\w+`, since
splitting by a pattern would cost it more.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import datasketch
import pyarrow as pa

from dedup.digest import digests
from dedup.lsh import Bands, band_keys
from dedup.minhash import MinHash, signatures
from pipelines.demo import found_inputs
from pipelines.plan import plan_inputs
from pipelines.read.limits import Limits
from pipelines.read.readers import read_shard
from pipelines.shard import Input
from pipelines.stages import STAGES
from tests.strategies import document_batch

REPEATS = 3
CORPUS_BYTES = 8_000_000
PEER_BYTES = 400_000  # slow peers get a part; the figure is a rate
RESULTS = Path(__file__).with_name("results.json")


def corpus() -> pa.Array:
    """Standard library and package source text, up to CORPUS_BYTES."""
    plan = plan_inputs(tuple(Input(**i) for i in found_inputs()), CORPUS_BYTES)
    texts, size = [], 0
    for shard in plan.shards:
        for batch in read_shard(shard, limits=Limits()):
            for text in batch.documents["text"].to_pylist():
                if size < CORPUS_BYTES:
                    texts.append(text)
                    size += len(text.encode())
    return pa.array(texts, pa.large_string())


def sign_with_datasketch(text: pa.Array) -> None:
    for document in text.to_pylist():
        words = document.lower().split()
        made = datasketch.MinHash(num_perm=112, scheme="affine32")
        made.update_batch([" ".join(words[i : i + 5]).encode() for i in range(len(words) - 4)])


def with_stage(name: str):
    stage = STAGES[name]()
    return lambda text: stage(document_batch(text.to_pylist()))


STEPS = {
    "sign: ours": lambda text: signatures(text, MinHash()),
    "sign: datasketch": sign_with_datasketch,
    "sign and band: ours": lambda text: band_keys(signatures(text, MinHash()), Bands()),
    "digest md5: ours": lambda text: digests(text, "md5"),
    **{f"{name}: ours": with_stage(name) for name in STAGES},
}


def measure(step: str) -> dict[str, float]:
    """MB per CPU second of one step, the median of some repetitions after a warm-up."""
    text = corpus()
    if "datasketch" in step:
        text = text.slice(0, max(1, len(text) * PEER_BYTES // CORPUS_BYTES))
    mb = sum(len(t.encode()) for t in text.to_pylist()) / 1e6
    STEPS[step](text)
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        STEPS[step](text)
        seconds.append(time.process_time() - start)
    return {"MB": mb, "MB_per_cpu_s": mb / statistics.median(seconds)}


def main() -> None:
    """Measure every step in a process of its own."""
    results = {}
    for step in STEPS:
        command = [sys.executable, "-m", "tests.bench.run", step]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        results[step] = json.loads(ended.stdout)
        print(f"{results[step]['MB_per_cpu_s']:>10.1f} MB/s  {step}")
    ratio = results["sign: ours"]["MB_per_cpu_s"] / results["sign: datasketch"]["MB_per_cpu_s"]
    print(f"{ratio:>10.0f} x     ours to datasketch, signing")
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {sys.version.split()[0]}"
    versions = {name: version(name) for name in ("datasketch", "numba", "numpy", "pyarrow")}
    found = {"date": date.today().isoformat(), "machine": machine, "versions": versions}
    RESULTS.write_text(json.dumps({**found, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
