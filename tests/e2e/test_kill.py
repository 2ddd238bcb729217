"""A run that is killed and started again ends as one that never was: byte for byte."""

import hashlib
import json
import signal

import pytest

from tests.apart import apart
from tests.e2e import killed
from tests.e2e.corpus import prose, write_corpus
from tests.receipts import receipts
from tests.strategies import few


def run(recipe, out, moment="never", number=1):
    return apart(killed.main, str(recipe), str(out), moment, str(number))


def contents(out):
    """Every byte of the run's output: the dataset and the receipts of removal."""
    made = {}
    for folder in ("dataset", "removed", "overlaps", "pieces"):
        for path in sorted((out / folder).rglob("*")):
            if path.is_file():
                name = path.relative_to(out).as_posix()
                made[name] = hashlib.md5(path.read_bytes()).hexdigest()
    return made


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder, items = tmp_path_factory.mktemp("corpus"), tmp_path_factory.mktemp("items")
    middles = [" ".join(doc.split()[40:70]) for doc in prose() if len(doc.split()) > 150]
    path = items / "items.jsonl"
    path.write_text("".join(json.dumps({"q": middle}) + "\n" for middle in middles))
    step = {"decontaminate": {"benchmarks": [{"name": "items", "path": str(path)}]}}
    return write_corpus(folder, steps=["normalize", "exact", "near", step])


@pytest.fixture(scope="module")
def undisturbed(recipe, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    ended = run(recipe, out)
    assert ended.returncode == 0, ended.stderr
    return out


MOMENTS = [
    ("partial", 13),  # the third shard of the first pass (four files a shard)
    ("renamed", 3),
    ("banding", 5),
    ("comparing", 1),
    ("clustering", 1),
    ("ignored", 1),
    ("dataset", 2),
    ("state", 1),
]


@pytest.mark.parametrize(("moment", "number"), few(MOMENTS, 3), ids=[m for m, _ in MOMENTS])
def test_killed_and_continued_is_byte_identical(recipe, undisturbed, tmp_path, moment, number):
    out = tmp_path / "run"
    first = run(recipe, out, moment, number)
    assert first.returncode == -signal.SIGKILL, first.stderr

    before, all_of_them = receipts(out), set(receipts(undisturbed))
    assert before, "the kill came before anything was done"
    assert set(before) < all_of_them, "the kill came after everything was done"
    assert not (out / "dataset" / "state.json").exists()

    again = run(recipe, out)
    assert again.returncode == 0, again.stderr
    after = receipts(out)
    assert {name: after[name] for name in before} == before, "finished work was done again"
    assert contents(out) == contents(undisturbed)
    assert not list(out.rglob("*.partial-*"))


CROWDED = [("comparing", 3), ("leading", 2), ("clustering", 2), ("renamed", 9), ("renamed", 15)]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A recipe whose documents crowd in buckets, and what it makes undisturbed."""
    folder = tmp_path_factory.mktemp("crowded")
    docs = [" ".join(f"w{i}" for i in range(at % 40, at % 40 + 200)) for at in range(400)]
    recipe = write_corpus(folder, steps=["near"], shard_bytes="200kB")
    lines = [json.dumps({"id": f"doc-{i}", "text": text}) for i, text in enumerate(docs)]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    ended = run(recipe, folder / "run")
    assert ended.returncode == 0, ended.stderr
    return recipe, folder / "run"


@pytest.mark.parametrize(("moment", "number"), few(CROWDED, 3))
def test_crowded_buckets_killed_and_continued_are_byte_identical(crowded, tmp_path, moment, number):
    recipe, whole = crowded
    first = run(recipe, tmp_path / "run", moment, number)
    assert first.returncode == -signal.SIGKILL, first.stderr
    assert set(receipts(tmp_path / "run")) < set(receipts(whole))
    again = run(recipe, tmp_path / "run")
    assert again.returncode == 0, again.stderr
    assert contents(tmp_path / "run") == contents(whole)


def test_a_finished_run_does_nothing_more(recipe, undisturbed):
    before = {p: p.stat().st_mtime_ns for p in undisturbed.rglob("*") if p.is_file()}
    assert run(recipe, undisturbed).returncode == 0
    after = {p: p.stat().st_mtime_ns for p in undisturbed.rglob("*") if p.is_file()}
    assert after == before


def test_the_undisturbed_run_has_work_of_every_kind(undisturbed):
    """The kills above would prove little on a run without duplicates or with one shard."""
    report = json.loads((undisturbed / "manifest.json").read_text())["report"]
    removed = {reason for row in report["ledger"] for reason in row["removed"]}
    assert {"exact_duplicate", "near_duplicate", "short_piece"} <= removed
    assert any(row["docs_created"] for row in report["ledger"])
    assert report["inputs"]["shards"] >= 6
    assert report["dataset"]["splits"]["train"]["files"] >= 3
