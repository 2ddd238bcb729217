import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one
from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.core.step import keep_where
from tokenmill.pipelines.measure.beside import ROWS, rows_measured
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.measure.run import SCAN, measure_corpus
from tokenmill.pipelines.prepare.prepare import run_recipe
from tokenmill.pipelines.prepare.recipe import load_recipe


def documents(n):
    columns = {
        "doc_id": pa.array(np.arange(n), pa.uint64()),
        "id": pa.array([f"https://example.org/page/{i}" for i in range(n)]),
        "text": pa.array(["word " * (i % 50) for i in range(n)]),
    }
    made = [columns.get(f.name, pa.nulls(n, f.type)) for f in DOCUMENT]
    return pa.record_batch([c.cast(f.type) for c, f in zip(made, DOCUMENT, strict=True)], DOCUMENT)


def written(rows):
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, REMOVED, compression="zstd") as writer:
        writer.write_batch(rows)
    return sink.tell()


def test_rows_take_about_what_a_run_writes_of_duplicates():
    batch = documents(5_000)
    rng = np.random.default_rng(0)
    gone = rng.random(5_000) < 0.3
    removed = keep_where(
        "near",
        batch,
        gone.astype(np.uint8),
        ("near_duplicate",),
        duplicate_of=pa.array(rng.integers(0, 5_000, 5_000).astype(np.uint64), mask=~gone),
        similarity=pa.array(rng.random(5_000, np.float32), mask=~gone),
    ).removed
    rows, _, size = rows_measured(batch)
    assert rows == 4_999
    assert removed.num_rows == gone.sum()
    assert 0.5 <= size / rows / (written(removed) / removed.num_rows) <= 2


def test_rows_take_what_a_run_writes_of_what_one_rule_removes():
    """A third of those of duplicates: nothing in them is by chance."""
    batch = documents(5_000)
    reasons = ("too_few_words", "too_many_words")
    short = np.arange(5_000) % 50 < 25
    removed = keep_where("gopher", batch, np.where(short, 1, 2).astype(np.uint8), reasons).removed
    rows, least, most = rows_measured(batch)
    actual = written(removed) / removed.num_rows
    assert least / rows * 0.75 <= actual <= most / rows / 2


STAYS = "This is a sentence of some words that ends. " * 6


def predicted_and_stored(folder, files):
    """Limits of bytes of removed documents, those of a run, and whether rows were measured in each
    part of the inputs. files: documents by name.
    """
    base = write_corpus(folder)
    (folder / "in").mkdir()
    for name, docs in files.items():
        (folder / "in" / name).write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    data = {**yaml.safe_load(base.read_text()), "steps": ["c4", "exact", "near"]}
    base.write_text(yaml.safe_dump(data | {"inputs": [{"path": str(folder / "in")}]}))
    recipe = load_recipe(base, {"shard_bytes": "256MB"})
    measured = list[bool]()

    def noted(job, phase):
        outcomes = one_by_one(job, phase)
        if phase.name == SCAN:
            measured.extend(o.receipt.facts.sums.get(ROWS[0], 0) > 0 for o in outcomes)
        return outcomes

    estimate = measure_corpus(Measuring(recipe=recipe), folder / "e.json", noted).estimate
    stored = run_recipe(recipe, folder / "run", one_by_one).stored_bytes["removed"]
    return estimate.corpus.stored_bytes["removed"].limits(), stored, measured


def long_id(number):
    """256 hexadecimal digits, of which half are stored."""
    return "".join(hashlib.sha512(f"{number} {part}".encode()).hexdigest() for part in "ab")


def test_rows_are_those_of_documents_that_a_filter_left_nearly_none_of(tmp_path):
    """Rows as of duplicates, of the few that are left, were 3.6 times too large."""
    texts = [f"{n} is short" for n in range(3_000)] + [f"{STAYS}{n} of these." for n in range(9)]
    (low, high), stored, _ = predicted_and_stored(
        tmp_path, {"a.jsonl": [{"text": t} for t in texts]}
    )
    assert low <= stored <= high


def test_rows_are_measured_though_the_first_part_of_a_file_is_one_document(tmp_path):
    docs = [
        {"id": long_id(n), "text": f"{STAYS}{n} of these." if n % 40 == 0 else f"{n} is short"}
        for n in range(5_000)
    ]
    docs.insert(0, {"text": STAYS * 1_500})
    (low, high), stored, measured = predicted_and_stored(tmp_path, {"a.jsonl": docs})
    assert low <= stored <= high
    assert measured == [False] * (len(measured) - 1) + [True]
    assert len(measured) > 3


def test_rows_are_measured_in_more_files_than_the_first(tmp_path):
    def text(n):
        return f"{n} is short" if n % 40 else f"{STAYS}{n} of these."

    files = {
        f"{f}.jsonl": [
            {"id": long_id(n) if f else str(n), "text": text(n)}
            for n in range(500 * f, 500 * f + 500)
        ]
        for f in range(9)
    }
    (low, high), stored, measured = predicted_and_stored(tmp_path, files)
    assert low <= stored <= high
    assert measured == [True] * 9


def test_one_document_tells_nothing_of_a_row():
    assert rows_measured(documents(1)) == (0, 0, 0)
