"""Tokenizing by vocabularies of any family: who encodes, how fast, and whether the ids are right.

    python -m tests.bench.vocabularies --text PATH [--text PATH …] TOKENIZER …

Of documents of JSONL or Parquet, MB of text per CPU second of the process, a row for each
tokenizer: by the step as it comes, on documents that its engine has not met (first) and on the same
ones again; by the engine without the guard, again; and by the library that the file belongs to.
Each batch is encoded in all ways in turn. Ids of all documents are compared with the library's:
exit code 1 where any differ.
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}

from tests.bench.kept import documents
from tokenmill.pipelines.tokens.engines import differences
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.reference import Ragged
from tokenmill.pipelines.tokens.tokenize import load_engine

HEADS = ("vocabulary", "engine", "first", "again", "engine alone", "library", "again to it", "docs")


def row(path: str, texts: list[pa.Array]) -> tuple[str, ...]:
    """The row of one tokenizer."""
    engine = load_engine(Tokenizer(path=path, eos=False))
    alone = engine._fast.encode if engine._fast else engine._encode_exactly
    engine.encode(pa.array(["a text, for kernels to be compiled"]))
    took: Counter[str] = Counter()
    wrong = 0
    for text in texts:
        strings = text.to_pylist()
        works = {
            "first": lambda text=text: engine.encode(text),
            "library": lambda strings=strings: engine.reference.encode(strings),
            "again": lambda text=text: engine.encode(text),
            "alone": lambda text=text: alone(text),
        }
        made = {}
        for name, work in works.items():
            started = time.process_time()
            made[name] = work()
            took[name] += time.process_time() - started
        found = Ragged(made["first"].ids.astype(np.uint32), made["first"].offsets)
        wrong += len(differences(made["library"], found))
    mb = sum(pc.sum(pc.binary_length(text)).as_py() for text in texts) / 1e6
    rates = [f"{mb / took[name]:.1f}" for name in ("first", "again", "alone", "library")]
    ratio = f"{took['library'] / took['again']:.1f}x"
    n = sum(map(len, texts))
    docs = f"{n:,}, all alike" if not wrong else f"{wrong:,} of {n:,} differ"
    return (Path(path).name, engine.name, *rates, ratio, docs)


def main() -> None:
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--text", action="append", required=True)
    arguments.add_argument("tokenizers", nargs="+")
    asked = arguments.parse_args()
    texts = [batch["text"] for batch in documents(asked.text)]
    mb = sum(pc.sum(pc.binary_length(text)).as_py() for text in texts) / 1e6
    print(f"{mb:.1f} MB of text, MB/s of a CPU second")
    rows = []
    for cells in (HEADS, ("---",) * len(HEADS), *(row(path, texts) for path in asked.tokenizers)):
        print(f"| {' | '.join(cells)} |", flush=True)
        rows.append(cells)
    sys.exit(any(cells[-1].endswith("differ") for cells in rows))


if __name__ == "__main__":
    main()
