"""Models of fastText on texts of yours: how fast they are told of, and whether as fastText does.

    python -m tests.bench.fasttext_lines --model PATH … --text PATH …

Of documents of JSONL or Parquet, MB of text per CPU second of the process, medians of 3 in turn, a
row for each model: by our kernel, and by fasttext-predict, which is called for each document.
Labels are compared, and probabilities where these are equal.
"""

import argparse
import statistics
import time
from collections import defaultdict
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.bench.kept import documents
from tokenmill.pipelines.filters.models.fasttext import FastTextModel

ROUNDS = 3
HEADS = ("model", "tokenmill", "fasttext-predict", "times", "labels as fastText's", "most apart")


def row(path: Path, texts: list[pa.Array]) -> tuple[str, ...]:
    """The row of one model."""
    model, predict = FastTextModel(path), fasttext.load_model(str(path)).f.predict
    strings = [text for some in texts for text in some.to_pylist()]

    def ours():
        labels, probabilities = zip(*map(model.tell, texts), strict=True)
        return np.concatenate(labels), np.concatenate(probabilities)

    def theirs():
        lines = (text.replace("\n", " ") + "\n" for text in strings)
        return [predict(line, 1, 0.0, "strict") for line in lines]

    model.tell(texts[0])  # kernels are compiled
    seconds = defaultdict(list)
    made = {}
    for _ in range(ROUNDS):
        for work in (ours, theirs):
            started = time.process_time()
            made[work] = work()
            seconds[work].append(time.process_time() - started)
    found = [best[0] if best else (0.0, None) for best in made[theirs]]
    labels, probabilities = made[ours]
    same = [
        (model.labels[i] if i >= 0 else None) == label
        for i, (_, label) in zip(labels, found, strict=True)
    ]
    apart = np.abs(probabilities - np.minimum([p for p, _ in found], 1.0))[same]
    mb = megabytes(texts)
    took = [statistics.median(seconds[work]) for work in (ours, theirs)]
    rates = [f"{mb / s:.1f}" for s in took]
    agreed = f"{sum(same):,} of {len(same):,}"
    return (path.name, *rates, f"{took[1] / took[0]:.1f}", agreed, f"{apart.max(initial=0):.1e}")


def megabytes(texts: list[pa.Array]) -> float:
    return sum(pc.sum(pc.binary_length(text)).as_py() for text in texts) / 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--model", action="append", required=True, type=Path)
    arguments.add_argument("--text", action="append", required=True)
    asked = arguments.parse_args()
    texts = [batch["text"] for batch in documents(asked.text)]
    print(f"{megabytes(texts):.1f} MB of text, MB/s of a CPU second")
    for cells in (HEADS, ("---",) * len(HEADS), *(row(path, texts) for path in asked.model)):
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
