"""Whole runs that free a corpus from benchmarks: nothing is lost, and nothing is left."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import pytest
import yaml
from datasets import load_from_disk

from tests.e2e.corpus import corpus, prose, write_corpus
from tests.pipelines.prepare.test_run import every_id
from tests.running import one_by_one, prepare
from tests.strategies import few
from tokenmill.pipelines.contamination.decontaminate import FOUND_FOLDER
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.inspect import documents, pieces, removals
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.work import attempt

LEAK = "Natalia sold clips to 48 of her friends in April, and then she sold half as many in May"


@cache
def items():
    """From the middle of documents, where they are cut in two."""
    texts = [doc.split() for doc in prose()]
    return [" ".join(words[90:120]) for words in texts if len(words) > 250]


def has_item(text):
    words = " ".join(text.split())
    return any(item in words for item in items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decontaminated")
    write_corpus(folder, shard_bytes="150kB")
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps({"q": q}) + "\n" for q in [*items(), LEAK]))
    return folder


def step_of(folder, **settings):
    benchmark = {"name": "items", "path": str(folder / "items.jsonl")}
    return {"decontaminate": {"benchmarks": [benchmark], **settings}}


def recipe_of(folder, out, **settings):
    data = {**yaml.safe_load((folder / "recipe.yaml").read_text()), **settings}
    path = out / "recipe.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_recipe(path)


def run(folder, out, execute=one_by_one, **settings):
    return prepare(recipe_of(folder, out, **settings), out / "run", execute)


def texts_of(folder, out):
    """Text of the dataset's documents by doc_id."""
    ids = [row["doc_id"] for row in load_from_disk(str(out / "run" / "dataset"))]
    return {doc_id: row["text"] for doc_id, row in documents(out / "run", ids).items()}


BEHIND = {"cut": ["near"], "paragraph": ["near"], "document": [], "report": [{"fineweb": {}}]}


@pytest.mark.long_but("cut", "document")  # parts of documents, and whole ones
@pytest.mark.parametrize("action", BEHIND)
def test_every_document_or_piece_is_in_the_dataset_or_has_one_receipt(folder, tmp_path, action):
    steps = ["normalize", "exact", step_of(folder, action=action), *BEHIND[action]]
    report = run(folder, tmp_path, steps=steps)
    kept = [row["doc_id"] for row in load_from_disk(str(tmp_path / "run" / "dataset"))]
    gone = removals(tmp_path / "run")["doc_id"].to_pylist()
    ids = every_id(report, tmp_path / "run")
    cut = pieces(tmp_path / "run", ids)
    parents = {row["parent_doc_id"] for row in cut}
    expected = [d for d in ids if d not in parents] + [row["doc_id"] for row in cut]
    assert sorted(kept + gone) == sorted(expected)
    row = next(row for row in report["ledger"] if row["stage"] == "decontaminate")
    assert row["docs_created"] == len(cut) - len(parents)
    assert (action == "cut") == bool(cut)
    if action in ("cut", "paragraph"):
        assert row["bytes_edited"] > 0
    benchmark = report["contamination"]["benchmarks"][0]
    assert benchmark["dirty"] > 10
    assert benchmark["items"] - benchmark["dirty"] <= 3


def test_no_item_is_left_and_documents_without_one_are_as_they_were(folder, tmp_path):
    run(folder, tmp_path, steps=["exact", step_of(folder)])
    left = texts_of(folder, tmp_path)
    assert not any(map(has_item, left.values()))
    docs = set(corpus())
    untouched = {text for text in docs if not has_item(text)}
    assert len(untouched) > 500
    assert untouched <= set(left.values())
    parts = set(left.values()) - untouched
    assert len(parts) > 10
    assert all(any(part in doc for doc in docs - untouched) for part in parts)


def with_copies(out, n, same):
    """Documents that have a leak, the same one or others, and some that have none."""
    texts = {f"doc-{i}": f"{prose_words(i)} without" for i in range(20)}
    for i in range(n):
        around = " ".join(f"v{0 if same else i}x{k}" for k in range(100))
        texts[f"leak-{i}"] = f"{around} {LEAK} {around}"
    path = out / "leaks.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in texts.items()))
    return [{"path": str(path)}]


def prose_words(i):
    return " ".join(f"w{i}x{k}" for k in range(60))


@pytest.mark.parametrize(
    ("n", "same", "steps", "is_cut"),
    [
        (10, False, [], True),
        (11, False, [], False),
        (11, True, ["exact"], True),  # one document, and copies that leave
        (11, True, [], False),
        (11, False, ["exact"], False),
    ],
)
def test_n_grams_of_more_than_10_documents_are_ignored(folder, tmp_path, n, same, steps, is_cut):
    inputs = with_copies(tmp_path, n, same)
    steps = [*steps, step_of(folder)]
    report = run(folder, tmp_path, inputs=inputs, steps=steps, shard_bytes="4kB")
    assert report["inputs"]["shards"] > 3
    ids = [row["id"] for row in load_from_disk(str(tmp_path / "run" / "dataset"))]
    leaks = {i for i in ids if i.startswith("leak-")}
    pieces_each = {"leak-0#piece-1", "leak-0#piece-2"}
    assert (pieces_each <= leaks) == is_cut
    assert ("leak-0" in leaks) != is_cut
    told = report["contamination"]
    assert told["benchmarks"][0]["widespread"] == (0 if is_cut else 1)
    assert told["n_ignored"]["frequent"] == (0 if is_cut else len(LEAK.split()) - 12)
    if not is_cut:
        assert told["ignored"][0]["documents"] == n


def test_no_document_is_cut_for_an_item_of_few_words(folder, tmp_path):
    benchmark = tmp_path / "quiz.jsonl"
    benchmark.write_text("".join(json.dumps({"q": q}) + "\n" for q in ["Who wrote it?", LEAK]))
    around = prose_words(0) + prose_words(1)
    docs = [f"{around} {told} {around}" for told in ("who wrote it", LEAK)]
    path = tmp_path / "docs.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{i}", "text": t}) + "\n" for i, t in enumerate(docs))
    )
    step = {"decontaminate": {"benchmarks": [{"name": "quiz", "path": str(benchmark)}]}}
    report = run(folder, tmp_path, inputs=[{"path": str(path)}], steps=[step])
    kept = load_from_disk(str(tmp_path / "run" / "dataset"))["id"]
    assert list(kept) == ["d0", "d1#piece-1", "d1#piece-2"]
    assert docs[0] in texts_of(folder, tmp_path).values()
    (quiz,) = report["contamination"]["benchmarks"]
    assert (quiz["found_whole"], quiz["dirty"]) == (1, 1)


def test_a_deduplication_behind_sees_what_is_left(folder, tmp_path):
    around = " ".join(f"v{k}" for k in range(150))
    other = " ".join(f"u{k}" for k in range(150))
    docs = [f"{around} {LEAK} {other}", f"{around} {LEAK} {other} {LEAK}", other]
    path = tmp_path / "docs.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{i}", "text": t}) + "\n" for i, t in enumerate(docs))
    )
    report = run(folder, tmp_path, inputs=[{"path": str(path)}], steps=[step_of(folder), "exact"])
    assert [s["step"] for s in report["steps"] if s["step"].startswith("pass")] == [
        "pass-0",
        "pass-1",
        "pass-2",
    ]
    (row,) = removals(tmp_path / "run", reason="exact_duplicate").to_pylist()
    assert (row["id"], row["duplicate_of"]) == ("d1#piece-1", 1 << 28)


def test_pieces_are_on_the_side_of_their_document(folder, tmp_path):
    sides = []
    for name, steps in (("whole", []), ("cut", [step_of(folder)])):
        (tmp_path / name).mkdir()
        run(folder, tmp_path / name, steps=steps, output={"validation_frac": 0.4})
        loaded = load_from_disk(str(tmp_path / name / "run" / "dataset"))
        sides.append(
            {split: {i.split("#")[0] for i in part["id"]} for split, part in loaded.items()}
        )
    whole, cut = sides
    assert cut["train"] <= whole["train"]
    assert cut["validation"] <= whole["validation"]


def four_at_once(job, phase):
    """Works side by side, the last one first."""
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(partial(attempt, job), phase.works[::-1])][::-1]


def test_any_number_of_workers_makes_the_same_bytes(folder, tmp_path):
    made = []
    for name, execute in (("one", one_by_one), ("four", four_at_once)):
        (tmp_path / name).mkdir()
        steps = ["exact", step_of(folder), "near"]
        run(folder, tmp_path / name, execute, steps=steps, run={"keep_intermediates": True})
        out = tmp_path / name / "run"
        paths = (p for p in out.rglob("*") if p.suffix in (".arrow", ".parquet"))
        made.append({p.relative_to(out): p.read_bytes() for p in paths})
    assert made[0] == made[1]
    assert {p.parts[0] for p in made[0]} >= {"dataset", "pieces", "overlaps", "15-found"}


@pytest.mark.parametrize("n", few([2, 1], 2))
def test_the_account_holds_where_shards_fail(folder, tmp_path, n):
    """A sidecar of one shard is cut short: the shard is failed, the others are as they were."""

    def sabotage(job, phase):
        if phase.name == "tokenize":
            victim = job.path(FOUND_FOLDER, key=phase.works[n].key)
            victim.write_bytes(victim.read_bytes()[:100])
        return one_by_one(job, phase)

    settings = {"steps": ["exact", step_of(folder)], "run": {"keep_intermediates": True}}
    report = run(folder, tmp_path, sabotage, **settings)
    (failure,) = report["failed_shards"]
    assert failure["step"] == "pass-1"
    assert failure["key"].startswith(f"{n:05d}-")
    mended = run(folder, tmp_path, **settings)
    assert mended["failed_shards"] == []
    assert mended["ledger"][-1]["docs_out"] > report["ledger"][-1]["docs_out"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no items"),
        ('{"q": "one"}\n{"q": "two"}\n', "none of 2 items has 3 words in q"),
        (None, "no such file or folder"),
        ("{", "line 1"),
    ],
)
def test_a_benchmark_that_is_none_is_told_before_a_document_is_read(
    folder, tmp_path, text, complaint
):
    path = tmp_path / "bench.jsonl"
    if text is not None:
        path.write_text(text)
    step = {"decontaminate": {"benchmarks": [{"name": "quiz", "path": str(path)}]}}
    with pytest.raises(ConfigError, match=complaint) as e:
        run(folder, tmp_path, steps=["exact", {"fineweb": {}}, step])
    assert str(e.value).startswith("benchmark 'quiz'")
    assert "\n" not in str(e.value)
    assert not list((tmp_path / "run").rglob("*filtered*"))


def test_a_benchmark_in_the_corpus_is_refused(folder, tmp_path):
    inputs = [{"path": str(folder / "*.jsonl")}]
    recipe = recipe_of(folder, tmp_path, inputs=inputs, steps=[step_of(folder)])
    for start in (dry_run, lambda recipe, out: prepare(recipe, out, one_by_one)):
        with pytest.raises(ConfigError, match="is also read as corpus"):
            start(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_wrong_field_lists_those_there_are(folder, tmp_path):
    benchmark = {"name": "items", "path": str(folder / "items.jsonl"), "fields": ["question"]}
    with pytest.raises(ConfigError, match=r"question.*fields are q"):
        run(folder, tmp_path, steps=[{"decontaminate": {"benchmarks": [benchmark]}}])
