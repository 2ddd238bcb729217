"""Whole runs: what is left, where all that is gone is told, and that no circumstance changes it."""

import json
import pickle
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from tokenizers import Tokenizer

from tests.pipelines.corpus.test_spans import set_sizes
from tests.reference import spans as reference
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.work import attempt

PHASES = ["span minimizers", "spans known", "span n-grams", "spans equal", "repeated spans"]


def corpus(seed, n=60):
    """Texts of which some have stretches of others, and some are others."""
    draw = random.Random(seed)
    known = [" ".join(draw.choices("abcdefghijklmnop", k=12)) for _ in range(15)]
    texts = []
    for _ in range(n):
        parts = [
            draw.choice(known) if draw.random() < 0.4 else " ".join(draw.choices("qrstuvwxyz", k=9))
            for _ in range(draw.randint(1, 6))
        ]
        texts.append("".join(part + draw.choice([". ", "\n", "\n\n"]) for part in parts).strip())
    return [draw.choice(texts) if draw.random() < 0.15 else text for text in texts]


def write(folder, texts):
    half = len(texts) // 2
    for name, start, stop in (("a", 0, half), ("b", half, len(texts))):
        lines = [json.dumps({"id": str(i), "text": texts[i]}) for i in range(start, stop)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))


def recipe_of(folder, tokenizer, steps, **settings):
    recipe = {
        "inputs": [{"path": str(folder / "*.jsonl")}],
        "shard_bytes": "1kB",
        "steps": steps,
        "tokenizer": {"path": str(tokenizer)},
        "run": {"workers": 1},
        **settings,
    }
    return make_recipe(recipe, where="test")


def in_dataset(out, tokenizer):
    engine = Tokenizer.from_file(str(tokenizer))
    rows = load_from_disk(str(out / "dataset"))
    return {int(row["id"]): engine.decode(row["input_ids"]) for row in rows}


def rows_in(out, folder):
    return [r for p in sorted((out / folder).iterdir()) for r in pq.read_table(p).to_pylist()]


STEPS = {
    "cut": {"ngram": 8, "least_chars": 25},
    "all copies": {"ngram": 8, "keep": "none"},
    "both": {"ngram": 5, "action": "both", "share": 0.6},
    "document": {"ngram": 5, "action": "document", "share": 0.6},
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_run_keeps_what_a_dictionary_keeps(tmp_path, tokenizer_path, monkeypatch, step):
    set_sizes(monkeypatch, 2500, 2000, 100)
    texts, out = corpus(0), tmp_path / "run"
    write(tmp_path, texts)
    steps = ["exact", {"repeated_spans": step}]
    report = prepare(recipe_of(tmp_path, tokenizer_path, steps), out, one_by_one)
    assert report["inputs"]["shards"] > 3
    first = [i for i, text in enumerate(texts) if text not in texts[:i]]
    assert len(first) < len(texts)
    left = reference.left([texts[i] for i in first], **step)
    expected = {i: text for i, text in zip(first, left, strict=True) if text is not None}
    assert in_dataset(out, tokenizer_path) == expected
    gone = removals(out)
    named = sorted([*expected, *map(int, gone["id"].to_pylist())])
    assert named == list(range(len(texts)))
    assert any(text is None for text in left) or step.get("keep") == "none"
    assert not list(out.glob("[0-9][0-9]-*"))


def test_all_that_was_cut_has_a_row(tmp_path, tokenizer_path):
    texts, out = corpus(1), tmp_path / "run"
    write(tmp_path, texts)
    steps = [{"repeated_spans": {"ngram": 8}}]
    report = prepare(recipe_of(tmp_path, tokenizer_path, steps), out, one_by_one)
    left, rows = in_dataset(out, tokenizer_path), rows_in(out, "removed-spans")
    assert len(rows) > 20
    for i, text in enumerate(texts):
        ranges = [(row["start"], row["end"]) for row in rows if int(row["id"]) == i]
        assert ranges == sorted(ranges)
        assert reference.without(text, ranges).strip() == left.get(i, "").strip()
    goes = reference.going(texts, ngram=8)
    assert sum(row["ngrams"] for row in rows) == len(goes)
    assert all(row["of_doc_id"] <= row["doc_id"] for row in rows)
    (told,) = [row for row in report["ledger"] if row["stage"] == "repeated_spans"]
    kept = [row for row in rows if int(row["id"]) in left]
    assert sum(row["end"] - row["start"] for row in kept) == told["bytes_edited"]
    gone = removals(out)
    assert set(gone["reason"].to_pylist()) <= {"too_little_left"}
    assert all(of is not None for of in gone["duplicate_of"].to_pylist())


def four_at_once(job, phase):
    """Works side by side, the last one first, and as another process would be told of them."""
    works = [pickle.loads(pickle.dumps(work)) for work in phase.works[::-1]]
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(partial(attempt, job), works)][::-1]


class StoppedError(Exception):
    pass


def stopped_behind(name):
    def execute(job, phase):
        outcomes = four_at_once(job, phase)
        if phase.name == name:
            raise StoppedError
        return outcomes

    return execute


def every_file(out):
    paths = (p for p in out.rglob("*") if p.suffix in (".arrow", ".parquet"))
    return {str(p.relative_to(out)): p.read_bytes() for p in paths}


def test_workers_memory_and_stops_change_no_byte(tmp_path, tokenizer_path, monkeypatch):
    set_sizes(monkeypatch, 2500, 2000, 100)
    write(tmp_path, corpus(2))
    steps = ["near", {"repeated_spans": {"ngram": 6}}, "exact"]
    made = {}
    for name, execute, budget in (
        ("whole", one_by_one, "40MiB"),
        ("stopped", four_at_once, "4GiB"),
    ):
        run = {"memory_budget": budget, "keep_intermediates": True, "workers": 4}
        recipe = recipe_of(tmp_path, tokenizer_path, steps, run=run)
        for phase in PHASES if name == "stopped" else ():
            with pytest.raises(StoppedError):
                prepare(recipe, tmp_path / name, stopped_behind(phase))
        prepare(recipe, tmp_path / name, execute)
        made[name] = every_file(tmp_path / name)
    assert made["whole"] == made["stopped"]
    folders = {path.partition("/")[0] for path in made["whole"]}
    assert folders >= {"18-spans", "19-spans", "removed-spans", "23-exact"}


@pytest.mark.long  # stores by storage/test_mirror, spans by the others here
def test_a_run_on_an_object_store_is_the_run_here(
    tmp_path, tokenizer_path, reached_s3, monkeypatch
):
    reached_s3.client().create_bucket(Bucket="spans")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    set_sizes(monkeypatch, 2500, 2000, 100)
    write(tmp_path, corpus(3, 30))
    recipe = recipe_of(tmp_path, tokenizer_path, [{"repeated_spans": {"ngram": 6}}])
    prepare(recipe, tmp_path / "run", one_by_one)
    prepare(recipe, "s3://spans/run", one_by_one)
    there = reached_s3.download("spans", "run/", tmp_path / "there")
    assert every_file(there) == every_file(tmp_path / "run")


def test_too_little_memory_is_told_with_the_way_out(tmp_path, tokenizer_path):
    write(tmp_path, corpus(4, 10))
    steps, run = [{"repeated_spans": {"ngram": 6}}], {"memory_budget": "1MiB", "workers": 1}
    recipe = recipe_of(tmp_path, tokenizer_path, steps, run=run)
    with pytest.raises(ConfigError, match=r"repeated_spans: needs .* run\.memory_budget is 1 MiB;"):
        prepare(recipe, tmp_path / "run", one_by_one)


def test_settings_that_contradict_are_refused():
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}}
    step = {"repeated_spans": {"keep": "none", "action": "both"}}
    with pytest.raises(ConfigError, match="action 'both' asks what stood before, and keeps that"):
        make_recipe({**recipe, "steps": [step]}, where="test")
    with pytest.raises(ConfigError, match="'repeated_spans' cuts text, and images would lose"):
        make_recipe({**recipe, "steps": ["repeated_spans"], "images": {}}, where="test")


def test_earlier_runs_hold_documents_and_no_spans(tmp_path, tokenizer_path, monkeypatch):
    set_sizes(monkeypatch, 2500, 2000, 100)
    texts, steps = corpus(5), ["exact", {"repeated_spans": {"ngram": 8, "keep": "none"}}]
    run = {"keep_index": True, "workers": 1}
    for name, some in (("old", texts[:30]), ("new", texts[20:])):
        (tmp_path / name).mkdir()
        write(tmp_path / name, some)
    old = recipe_of(tmp_path / "old", tokenizer_path, steps, run=run)
    prepare(old, tmp_path / "first", one_by_one)
    new = recipe_of(
        tmp_path / "new", tokenizer_path, steps, against=[str(tmp_path / "first")], run=run
    )
    report = prepare(new, tmp_path / "second", one_by_one)
    held = {texts[i] for i in in_dataset(tmp_path / "first", tokenizer_path)}
    fresh = [i for i in range(20, 60) if texts[i] not in {*held, *texts[20:i]}]
    assert 10 < len(fresh) < 35
    left = reference.left([texts[i] for i in fresh], ngram=8, keep="none")
    expected = {i - 20: text for i, text in zip(fresh, left, strict=True) if text is not None}
    assert in_dataset(tmp_path / "second", tokenizer_path) == expected
    assert "repeated_spans counts in this run alone" in json.dumps(report)
