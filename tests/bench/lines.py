"""Lines that the corpus has too often: CPU seconds of each phase, and of CCNet's way in Python.

    python -m tests.bench.lines FILE.jsonl.gz … [--runs 3]

Each phase goes over all text before the next begins, as in a run, in one thread; reading and
writing of documents are left out on both sides. Unfair: the loop holds all hashes in one set,
writes nothing to disk and gives no receipts.
"""

import argparse
import gzip
import hashlib
import json
import re
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.strategies import document_batch
from tokenmill.dedup.text.simplified import CONTROLS, PUNCTUATION
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.corpus.counted.count import (
    count_units,
    spill_units,
    write_repeated,
    write_units,
)
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.rows import write_rows
from tokenmill.pipelines.corpus.units import REPEATED
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

BATCH_DOCS = 256
RULES = {
    "first copies": RepeatedParagraphs(unit="line", within="corpus", more_than=1, keep="first"),
    "ccnet": RepeatedParagraphs(
        unit="line",
        normalize="ccnet",
        digest="sha1",
        within="corpus",
        count="documents",
        more_than=1,
        empty="count",
    ),
}
DIGITS = re.compile(r"\d")
MARKS = re.compile("[" + "".join(map(chr, (*PUNCTUATION, *CONTROLS))) + "]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    texts = [text for path in options.files for text in texts_of(path)]
    tools = {name: partial(ours, step, texts) for name, step in RULES.items()}
    tools["python loop, ccnet"] = lambda: {"all": timed(lambda: python_loop(texts))}
    made = {name: [] for name in tools}
    for run in range(options.runs + 1):  # the first compiles
        for name, tool in tools.items():
            seconds = tool()
            made[name] += [seconds] if run else []
    mb = sum(len(text.encode()) for text in texts) / 1e6
    sys.stdout.write(f"{mb:.1f} MB, {sum(t.count(chr(10)) + 1 for t in texts):,} lines\n")
    for name, runs in made.items():
        phases = {p: statistics.median(run[p] for run in runs) for p in runs[0]}
        total = statistics.median(sum(run.values()) for run in runs)
        told = ", ".join(f"{phase} {mb / s:.0f}" for phase, s in phases.items())
        sys.stdout.write(f"{name:20} {mb / total:6.1f} MB/s  ({told})\n")


def texts_of(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def timed(work) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def ours(step: RepeatedParagraphs, texts: list[str]) -> dict[str, float]:
    """CPU seconds of each phase."""
    recipe = {"inputs": [{"path": "a"}], "steps": [step], "tokenizer": {"path": "o/t"}}
    ids = pa.array(doc_ids(0, 0, len(texts)), pa.uint64())
    whole = document_batch(texts)
    whole = whole.set_column(0, whole.schema.field(0), ids)
    batches = [whole.slice(at, BATCH_DOCS) for at in range(0, len(texts), BATCH_DOCS)]
    with tempfile.TemporaryDirectory() as folder:
        job = PrepareJob(
            out=Path(folder), recipe=make_recipe(recipe, where="bench"), identity="bench"
        )
        seconds = {"keys": timed(lambda: write_keys(job, step, batches))}
        seconds["counting"] = timed(lambda: find(job, step, len(texts)))
        found = open_arrow(job.path(REPEATED, key="0"))[0]
        seconds["taking out"] = timed(
            lambda: [step.without(*pair) for pair in zip(batches, found, strict=True)]
        )
    return seconds


def write_keys(job: PrepareJob, step: RepeatedParagraphs, batches: list[pa.RecordBatch]) -> None:
    sidecar = step.sidecar(job, 0, "0", source="", images=None)
    with arrow_file(sidecar.path, sidecar.schema) as writer:
        for batch in batches:
            writer.write_batch(sidecar.rows(batch, None))


def find(job: PrepareJob, step: RepeatedParagraphs, n_docs: int) -> None:
    part = passes([step])[0]
    write_rows(job, part, ("0",), (n_docs,))
    size = write_units(job, part).facts
    for group in range(size["groups"]):
        spill_units(job, part, group)
    for number in range(size["ranges"][0]):
        count_units(job, part, 0, number)
    write_repeated(job, part, 0)


def python_loop(texts: list[str]) -> list[str]:
    """CCNet's rule, line by line, hash by hash."""
    seen: set[int] = set()
    twice: set[int] = set()
    for text in texts:
        found = set(hashes(text))
        twice |= found & seen
        seen |= found
    left = []
    for text in texts:
        kept, here = [], set()
        for line, key in zip(text.split("\n"), hashes(text), strict=True):
            if key not in twice and key not in here:
                kept.append(line)
            here.add(key)
        left.append("\n".join(kept))
    return left


def hashes(text: str) -> list[int]:
    forms = (MARKS.sub("", DIGITS.sub("0", line.strip().lower())) for line in text.split("\n"))
    digests = b"".join(hashlib.sha1(form.encode()).digest()[:8] for form in forms)
    return np.frombuffer(digests, np.uint64).tolist()


if __name__ == "__main__":
    main()
