"""Kept text: how fast it is written and how small it is, and how fast ids become text again.

    python -m tests.bench.kept TOKENIZER PATH …

Of documents of JSONL: MB of text per CPU second of the process, medians of 5 in turn, and bytes of
the file over UTF-8 bytes of text. Decoding is that of `export --text`, which encodes each text
again to compare.
"""

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.schema import DOCUMENT
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.tokens.export.text import decoded
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.text import LEVEL, text_file
from tokenmill.pipelines.tokens.tokenize import Engine, load_engine

ROUNDS = 5
FILES = ("kept.parquet", "kept.jsonl.zst")


def documents(paths: list[str]) -> list[pa.RecordBatch]:
    data = {"inputs": paths, "tokenizer": None, "output": {"text": "parquet"}}
    recipe = make_recipe(data, where="bench")
    return [read.documents for shard in recipe.plan().shards for read in recipe.read(shard)]


def written(batches: list[pa.RecordBatch], path: Path) -> None:
    with text_file(path, pa.schema([*DOCUMENT])) as write:
        for batch in batches:
            write(batch)


def encoded(engine: Engine, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    made = [engine.encode(batch["text"]) for batch in batches]
    lists = [pa.LargeListArray.from_arrays(pa.array(of.offsets), pa.array(of.ids)) for of in made]
    return [
        pa.record_batch([ids.cast(pa.list_(ids.type.value_type))], ["input_ids"]) for ids in lists
    ]


def main() -> None:
    tokenizer, *paths = sys.argv[1:]
    batches = documents(paths)
    text_bytes = sum(pc.sum(pc.binary_length(batch["text"])).as_py() for batch in batches)
    engine = load_engine(Tokenizer(path=tokenizer, eos=True), "auto", None)
    ids = encoded(engine, batches)
    seconds: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        works: dict[str, Callable[[], object]] = {
            name: lambda path=Path(folder) / name: written(batches, path) for name in FILES
        }
        works["decode"] = lambda: [decoded(engine, batch) for batch in ids]
        for _ in range(ROUNDS):
            for name, work in works.items():
                started = time.process_time()
                work()
                seconds[name].append(time.process_time() - started)
        sizes = {name: (Path(folder) / name).stat().st_size for name in FILES}
    print(f"{text_bytes / 1e6:.1f} MB of text, zstd level {LEVEL}")
    for name, took in seconds.items():
        rates = sorted(text_bytes / 1e6 / s for s in took)
        of_text = f", {sizes[name] / text_bytes:.3f} of the text" if name in sizes else ""
        rate = f"{statistics.median(rates):.1f} ({rates[0]:.1f} to {rates[-1]:.1f}) MB/s"
        print(f"{name}: {rate} a CPU second{of_text}")


if __name__ == "__main__":
    main()
