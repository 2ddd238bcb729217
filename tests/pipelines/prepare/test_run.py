"""Whole runs without an orchestrator: laws that hold for every recipe."""

import json

import pytest
import yaml
from datasets import DatasetDict, load_from_disk

from tests.e2e.corpus import corpus, write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.doing.prepare import in_short
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.runs.folder import FILTERED
from tokenmill.pipelines.runs.packs import receipts_of

GOPHER = {"gopher_quality": {"min_words": 60}}
STEPS = {
    "nothing": [],
    "one pass": ["normalize", GOPHER],
    "near alone": ["near"],
    "near first": ["near", "exact"],
    "a filter behind": ["exact", "near", GOPHER],
    "two passes of duplicates": ["exact", "normalize", GOPHER, "near", {"fineweb": {}}],
}


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


def run(recipe_path, folder, execute=one_by_one, **settings):
    data = {**yaml.safe_load(recipe_path.read_text()), **settings}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    return prepare(load_recipe(path), folder / "run", execute)


def rows(folder):
    """All rows of the dataset, its splits one after the other."""
    loaded = load_from_disk(str(folder / "run" / "dataset"))
    parts = loaded.values() if isinstance(loaded, DatasetDict) else [loaded]
    return [row for part in parts for row in part]


def every_id(report, path):
    """The id of every line of the corpus, from how it was cut into shards."""
    shards = list(receipts_of(path, "pass-0"))
    found = []
    for ordinal, receipt in enumerate(shards):
        found += doc_ids(ordinal, 0, dict(receipt.stats)["read"].docs_in).tolist()
    assert len(shards) == report["inputs"]["shards"]
    return found


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_every_document_is_in_the_dataset_or_has_one_receipt(recipe_path, tmp_path, steps):
    report = run(recipe_path, tmp_path, steps=steps)
    kept = [row["doc_id"] for row in rows(tmp_path)]
    gone = removals(tmp_path / "run")["doc_id"].to_pylist()
    assert kept == sorted(kept)
    assert sorted(kept + gone) == every_id(report, tmp_path / "run")
    assert len(kept) + len(gone) == len(corpus())
    stages = [row["stage"] for row in report["ledger"]]
    names = [s if isinstance(s, str) else next(iter(s)) for s in steps]
    assert stages == ["read", *names, "tokenize"]


def test_a_removed_duplicate_names_the_document_kept_in_its_place(recipe_path, tmp_path):
    run(recipe_path, tmp_path, steps=["exact", "near"])
    kept = {row["doc_id"] for row in rows(tmp_path)}
    receipts = {r["doc_id"]: r for r in removals(tmp_path / "run").to_pylist()}
    for receipt in receipts.values():
        of = receipt["duplicate_of"]
        while of in receipts:  # the copy of a near duplicate: follow it to what was kept
            of = receipts[of]["duplicate_of"]
        assert of in kept
        assert of < receipt["doc_id"], "the first document of a cluster is kept"
    texts = corpus()
    exact = [r for r in receipts.values() if r["reason"] == "exact_duplicate"]
    assert len(exact) == len(texts) - len(set(texts))


@pytest.mark.parametrize("seq_len", [64, 10_000_000])
@pytest.mark.parametrize("validation", [0.0, 0.3])
def test_packing_loses_no_document_silently(recipe_path, tmp_path, seq_len, validation):
    output = {"seq_len": seq_len, "validation_frac": validation, "shard_bytes": "64kB"}
    report = run(recipe_path, tmp_path, steps=[], output=output)
    packed = rows(tmp_path)
    assert {len(row["input_ids"]) for row in packed} <= {seq_len}
    splits = report["dataset"]["splits"]
    assert sum(s["sequences"] for s in splits.values()) == len(packed)
    pack = report["ledger"][-1]
    assert pack["stage"] == "pack"
    tail = removals(tmp_path / "run", reason="pack_tail")
    assert pack["docs_in"] == len(corpus()) == pack["docs_out"] + tail.num_rows
    if seq_len > 1_000_000:
        assert tail.num_rows == len(corpus())
        assert report["measurement"]["total"]["stored_bytes_per_token"] is None
        assert in_short(Report.model_validate(report)).endswith("of which no sequence was filled")
        page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
        assert "No sequence was filled: the dataset has no tokens." in page


def test_a_document_stays_on_its_side_whatever_the_shards(recipe_path, tmp_path):
    sides = []
    for shard_bytes in ("80kB", "200kB"):
        folder = tmp_path / shard_bytes
        folder.mkdir()
        output = {"validation_frac": 0.2}
        run(recipe_path, folder, steps=[], shard_bytes=shard_bytes, output=output)
        loaded = load_from_disk(str(folder / "run" / "dataset"))
        sides.append({split: set(part["id"]) for split, part in loaded.items()})
    assert sides[0] == sides[1]
    assert 0.1 < len(sides[0]["validation"]) / len(corpus()) < 0.3


@pytest.mark.parametrize("dtype", ["uint16", "int32", "uint32"])
def test_the_width_of_ids_is_the_recipe_s(recipe_path, tmp_path, dtype):
    run(recipe_path, tmp_path, steps=[], output={"dtype": dtype})
    dataset = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert dataset.features["input_ids"].feature.dtype == dtype


def test_a_shard_that_fails_late_is_named_counted_and_mended_by_the_next_run(recipe_path, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    run(recipe_path, whole, run={"keep_intermediates": True})

    def sabotage(job, phase):
        if phase.name == "tokenize":
            victim = job.path(FILTERED, key=phase.works[1].key)
            victim.write_bytes(victim.read_bytes()[:100])
        return one_by_one(job, phase)

    report = run(recipe_path, tmp_path, sabotage, run={"keep_intermediates": True})
    (failure,) = report["failed_shards"]
    assert failure["step"] == "pass-1"
    assert "not a complete Arrow IPC file" in failure["error"]
    lost = sum(row["failed"].get("shard_failed", 0) for row in report["ledger"])
    assert lost > 0
    assert len(rows(tmp_path)) == len(rows(whole)) - report_difference(report, whole)

    mended = run(recipe_path, tmp_path, run={"keep_intermediates": True})
    assert mended["failed_shards"] == []
    for path in (whole / "run" / "dataset").iterdir():
        assert (tmp_path / "run" / "dataset" / path.name).read_bytes() == path.read_bytes()


def report_difference(report, whole):
    ledger = json.loads((whole / "run" / "report.json").read_text())["ledger"]
    return ledger[-1]["docs_out"] - report["ledger"][-1]["docs_out"]


def test_passes_are_cut_behind_corpus_wide_steps(recipe_path):
    data = {**yaml.safe_load(recipe_path.read_text()), "steps": STEPS["two passes of duplicates"]}
    path = recipe_path.with_name("passes.yaml")
    path.write_text(yaml.safe_dump(data))
    cut = [
        ([s.name for s in group] for group in (p.before, p.stages, p.after))
        for p in passes(load_recipe(path).steps)
    ]
    assert [tuple(groups) for groups in cut] == [
        ([], [], ["exact"]),
        (["exact"], ["normalize", "gopher_quality"], ["near"]),
        (["near"], ["fineweb"], []),
    ]


def test_a_step_behind_one_that_cuts_documents_sees_what_is_left(recipe_path):
    benchmarks = [{"name": "items", "path": "items.jsonl"}]
    steps = ["exact", {"decontaminate": {"benchmarks": benchmarks}}, "near", GOPHER]
    data = {**yaml.safe_load(recipe_path.read_text()), "steps": steps}
    path = recipe_path.with_name("cut.yaml")
    path.write_text(yaml.safe_dump(data))
    cut = [
        tuple([s.name for s in group] for group in (p.before, p.stages, p.after))
        for p in passes(load_recipe(path).steps)
    ]
    assert cut == [
        ([], [], ["exact", "decontaminate"]),
        (["exact", "decontaminate"], [], ["near"]),
        (["near"], ["gopher_quality"], []),
    ]


def test_a_corpus_of_empty_documents_is_no_mistake(recipe_path, tmp_path):
    """Of an end-of-text token each: there are tokens, and no text for them to stand for."""
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n".join(json.dumps({"id": str(i), "text": ""}) for i in range(9)))
    report = run(recipe_path, tmp_path, inputs=str(empty), steps=[])
    assert report["dataset"]["splits"]["train"]["tokens"] == 9
    assert report["measurement"]["total"]["text_bytes"] == 0
    assert len(rows(tmp_path)) == 9


def test_corpus_wide_steps_that_nothing_reaches_do_nothing(recipe_path, tmp_path):
    lines = {"repeated_paragraphs": {"unit": "line", "within": {"docs": 2}}}
    steps = [{"length": {"min_chars": 10**9}}, "exact", lines, "near", "repeated_spans"]
    output = {"shuffle": True, "seq_len": 64, "validation_frac": 0.1}
    report = run(recipe_path, tmp_path, steps=steps, output=output)
    assert [row["docs_out"] for row in report["ledger"][1:]] == [0] * 8
    assert rows(tmp_path) == []
