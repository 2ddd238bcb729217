"""Web archives through every step that is about pages: the same bytes and a whole account."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from tests.cluster import runs
from tests.cluster.conftest import ran_undisturbed
from tests.cluster.crawl import write_crawl
from tests.cluster.test_s3 import FAILING

BUCKET = "crawl-runs"
SEPARATOR_BYTES = 1  # between the lines of a text
WITH_REMOVALS = ("url_filter", "language", "same_url", "near", "mix")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory, one_prefect_server):
    return ran_undisturbed(tmp_path_factory, "crawl", write_crawl, one_prefect_server.client_env)


def is_same(out, crawled):
    assert runs.contents(out) == runs.contents(crawled.out)
    assert not runs.unbalanced(out)
    assert set(runs.receipts(out)) == crawled.receipts


def ledger(out):
    rows = json.loads((out / "manifest.json").read_text())["report"]["ledger"]
    return {row["stage"]: row for row in rows}


def rows_of(out, folder):
    return [r for p in sorted((out / folder).iterdir()) for r in pq.read_table(p).to_pylist()]


def test_all_that_left_has_a_receipt(crawled):
    stages, removed = ledger(crawled.out), rows_of(crawled.out, "removed")
    assert all(stage["removed"] for name, stage in stages.items() if name in WITH_REMOVALS)
    for name, stage in stages.items():
        gone = [row for row in removed if row["stage"] == name]
        assert len(gone) == sum(stage["removed"].values()), name
        assert sum(row["text_bytes"] for row in gone) == stage["bytes_removed"], name
        left = stage["bytes_out"] + stage["bytes_removed"] + stage["bytes_edited"]
        assert stage["bytes_in"] == left, name
    lost = {(row["stage"], row["doc_id"]) for row in removed}
    lines = rows_of(crawled.out, "removed-paragraphs")
    cut = [row for row in lines if ("repeated_paragraphs", row["doc_id"]) not in lost]
    taken = sum(row["text_bytes"] + SEPARATOR_BYTES for row in cut)
    assert 0 < taken == stages["repeated_paragraphs"]["bytes_edited"]
    spans = rows_of(crawled.out, "removed-spans")
    cut = [row for row in spans if ("repeated_spans", row["doc_id"]) not in lost]
    taken = sum(row["end"] - row["start"] for row in cut)
    assert 0 < taken == stages["repeated_spans"]["bytes_edited"]


OTHERWISE = {
    "threads-2": ("--workers", "2", "--set", "run.memory_budget=24MiB"),
    "dask-2": ("--runner", "dask", "--workers", "2"),
}


@pytest.mark.parametrize("options", OTHERWISE.values(), ids=OTHERWISE)
def test_every_runner_makes_the_same_bytes(crawled, options, env, tmp_path):
    runs.prepared(crawled.recipe, tmp_path / "run", *options, env=env)
    is_same(tmp_path / "run", crawled)


def test_killed_and_continued(crawled, env, tmp_path):
    """While lines are counted, while spans are looked for, while it mixes."""
    out, command = tmp_path / "run", (crawled.recipe, tmp_path / "run", "--workers", "2")
    for step in ("keys-repeated_paragraphs-0", "spans-ngrams-1", "mix"):
        program = runs.begun(
            *command,
            log=tmp_path / f"log-{step}",
            env=env,
            until=lambda step=step: (out / "receipts" / step).exists(),
        )
        program.kill_all()
    assert set(runs.receipts(out)) < crawled.receipts
    runs.prepared(*command, env=env)
    is_same(out, crawled)
    assert not list(out.rglob("*.partial-*"))


def test_from_s3_to_s3_through_a_store_that_fails(crawled, s3, env, tmp_path):
    recipe = yaml.safe_load(crawled.recipe.read_text())
    for given in recipe["inputs"]:
        s3.upload(crawled.recipe.parent / given["source"], BUCKET, f"{given['source']}/")
        given["path"] = f"s3://{BUCKET}/{given['source']}/"
    there = tmp_path / "recipe.yaml"
    there.write_text(yaml.safe_dump(recipe))
    s3.proxy.rates = FAILING
    quiet = {**env, **s3.env, "PREFECT_LOGGING_LEVEL": "CRITICAL"}
    runs.prepared(there, f"s3://{BUCKET}/run", "--workers", "2", env=quiet)
    assert s3.proxy.faults.total() > 10
    is_same(s3.download(BUCKET, "run/", tmp_path / "run"), crawled)
    assert s3.open_uploads(BUCKET) == []
