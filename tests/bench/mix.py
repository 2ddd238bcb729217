"""Shuffling: ours against `datasets`, on token shards made at random.

    python -m tests.bench.mix FOLDER [SHARDS]

Ours goes from token shards to a finished dataset, two passes over the ids, and hashes what it
writes; `plain` is the same without shuffling. The peer's is `shuffle().flatten_indices()` of the
plain dataset: rows gathered one by one from all over a mapped file, which has to be in the page
cache. CPU seconds of one process each.
"""

import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from datasets import load_from_disk

from tests.pipelines.conftest import train
from tests.running import one_by_one
from tokenmill.pipelines.core.shard import SourceShard, shard_key
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.phases import Prepared, _lay_out
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.tokens.mix.buckets import Lists, spans_of
from tokenmill.pipelines.tokens.shards import token_schema

SHARD_TOKENS = 32_000_000
DOC_TOKENS = 800  # about; lengths are log-normal
ROWS = 2048  # of a batch


def main(folder: Path, n_shards: int) -> None:
    made, shards = [], []
    out = folder / "run"
    train(folder)
    for number in range(n_shards):
        key = shard_key(number, n_shards)
        path = out / "90-tokens" / "train" / f"part-{key}.arrow"
        docs, tokens = write_shard(path, number)
        counts = {"tokens": {"train": tokens}, "docs": {"train": docs}, "text_bytes": {"train": 0}}
        made.append(Receipt(step="pass-0", key=key, inputs="", facts={"measured": counts}))
        shards.append(
            SourceShard(
                key=key,
                ordinal=number,
                input=0,
                source="x",
                format="jsonl",
                paths=("x.jsonl",),
                names=("x.jsonl",),
            )
        )
    (folder / "made.pickle").write_bytes(pickle.dumps((made, shards)))
    for _ in range(3):
        for call in ("lay_out", "lay_out_plain", "peer"):
            code = f"from tests.bench.mix import *; {call}(Path({str(folder)!r}))"
            subprocess.run([sys.executable, "-c", code], check=True)


def write_shard(path: Path, number: int) -> tuple[int, int]:
    """Write documents of random ids; return how many, and how many tokens."""
    rng, schema = np.random.default_rng(number), token_schema(np.uint16)
    sizes = rng.lognormal(np.log(DOC_TOKENS) - 0.5, 1.0, SHARD_TOKENS // DOC_TOKENS)
    lengths = np.clip(sizes, 20, 50_000).astype(np.int64)
    path.parent.mkdir(parents=True, exist_ok=True)
    with arrow_file(path, schema) as writer:
        for first in range(0, len(lengths), ROWS):
            some = lengths[first : first + ROWS]
            ends = np.concatenate(([0], np.cumsum(some))).astype(np.int32)
            ids = rng.integers(0, 600, int(ends[-1]), dtype=np.uint16)
            rows = range(first, first + len(some))
            columns = [
                pa.ListArray.from_arrays(pa.array(ends), pa.array(ids)),
                pa.array([(number << 32) + row for row in rows], pa.uint64()),
                pa.array([f"x.jsonl#{number}-{row}" for row in rows]),
                pa.repeat("x", len(some)),
                pa.array(some * 4),
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return len(lengths), int(lengths.sum())


def lay_out(folder: Path, *, shuffle: bool = True) -> None:
    """Write the dataset anew."""
    made, shards = pickle.loads((folder / "made.pickle").read_bytes())
    warm = pa.array([[1]], pa.list_(pa.uint16()))
    Lists([spans_of(warm)]).take(np.array([0]), warm.type)  # compiles
    data = {
        "inputs": ["x.jsonl"],
        "tokenizer": {"path": str(folder / "tokenizer.json")},
        "output": {"shuffle": shuffle, "shard_bytes": "128MB"},
    }
    recipe = make_recipe(data, where="bench")
    job = PrepareJob(out=folder / "run", recipe=recipe, identity=str(time.monotonic_ns()))
    cpu = time.process_time()
    drive(job, _lay_out(job, made, Prepared(shards=tuple(shards))), one_by_one)
    show("shuffled" if shuffle else "plain", job.out / "dataset", time.process_time() - cpu)


def lay_out_plain(folder: Path) -> None:
    """As without shuffling."""
    lay_out(folder, shuffle=False)


def peer(folder: Path) -> None:
    """Shuffle what the plain run made."""
    made = folder / "peer" / "flat.arrow"
    made.parent.mkdir(exist_ok=True)
    made.unlink(missing_ok=True)
    shuffled = load_from_disk(str(folder / "run" / "dataset")).shuffle(seed=0)
    cpu = time.process_time()
    shuffled.flatten_indices(cache_file_name=str(made))
    show("datasets", made.parent, time.process_time() - cpu)


def show(name: str, folder: Path, cpu: float) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*.arrow")) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{name:10} {size:,.0f} MB, {size / cpu:,.0f} MB/s a core, peak {peak:,.0f} MB", flush=True
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16)
