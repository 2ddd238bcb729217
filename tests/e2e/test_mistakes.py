"""What must not happen to a user's files, terminal or time."""

import json
import os

import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe
from tokenmill.pipelines.runs.packs import receipts_of


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def changed(recipe_path, folder, **settings):
    data = {**yaml.safe_load(recipe_path.read_text()), **settings}
    return make_recipe(data, where="test")


def test_files_of_others_are_left_alone(recipe_path, tmp_path):
    home = tmp_path / "home"
    (home / "other").mkdir(parents=True)
    theirs = home / "other" / f"data.partial-{'0' * 32}"
    theirs.write_text("a live run's")
    with pytest.raises(ConfigError, match="not a run directory, but holds other"):
        prepare(load_recipe(recipe_path), home, one_by_one)
    assert theirs.exists()
    assert os.listdir(home) == ["other"]


def test_a_run_inside_its_own_input_is_refused(recipe_path):
    folder = recipe_path.parent
    for path in (str(folder), f"{folder}/**/*.jsonl"):
        recipe = changed(recipe_path, folder, inputs=[{"path": path, "format": "jsonl"}])
        with pytest.raises(ConfigError, match="lies inside the input"):
            prepare(recipe, folder / "run", one_by_one)
    assert not (folder / "run").exists()


def test_a_benchmark_that_cannot_be_read_is_told_before_anything_is_written(recipe_path, tmp_path):
    (tmp_path / "quiz.jsonl").write_text('{"n": 1}\n')

    def freed():
        benchmark = {"name": "quiz", "path": str(tmp_path / "quiz.jsonl")}
        step = {"decontaminate": {"benchmarks": [benchmark]}}
        return changed(recipe_path, tmp_path, steps=["exact", step])

    with pytest.raises(ConfigError, match="quiz"):
        prepare(freed(), tmp_path / "run", one_by_one)
    assert not [p for p in (tmp_path / "run").glob("*") if p.name != ".lock"]
    (tmp_path / "quiz.jsonl").write_text('{"q": "who asked whom what, and when and where?"}\n')
    report = prepare(freed(), tmp_path / "run", one_by_one)
    assert [b["name"] for b in report["contamination"]["benchmarks"]] == ["quiz"]


def test_a_failed_shard_is_tried_again_alone_and_nothing_stale_stays(recipe_path, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "run"
    recipe = load_recipe(recipe_path)
    prepare(recipe, whole, one_by_one)
    calls = []

    def failing_once(job, phase):
        calls.extend(w.key for w in phase.works if phase.name == "filter")
        if phase.name == "filter" and not out.joinpath("dataset").exists():
            first, *rest = phase.works
            done = one_by_one(job, type(phase)(name=phase.name, works=tuple(rest)))
            error = OSError(5, "Input/output error")
            return [type(done[0])(work=first, error=error), *done]
        return one_by_one(job, phase)

    report = prepare(recipe, out, failing_once)
    assert [f["key"] for f in report["failed_shards"]] == [calls[0]]
    before = {r.key: r for r in receipts_of(out, "pass-0")}

    opened = []

    def watching(job, phase):
        if phase.name == "dataset":
            opened.append(list(out.rglob("state.json")))
        return one_by_one(job, phase)

    assert prepare(recipe, out, watching)["failed_shards"] == []
    assert opened == [[]], "a dataset must not open while its files are replaced"
    after = {r.key: r for r in receipts_of(out, "pass-0")}
    assert {name: after[name] for name in before} == before
    for folder in ("dataset", "removed"):
        names = sorted(p.name for p in (whole / folder).iterdir())
        assert sorted(p.name for p in (out / folder).iterdir()) == names
        for name in names:
            assert (out / folder / name).read_bytes() == (whole / folder / name).read_bytes()


def test_what_a_finished_run_lost_is_made_again(recipe_path, tmp_path):
    recipe = load_recipe(recipe_path)
    prepare(recipe, tmp_path / "run", one_by_one)
    removed = sorted((tmp_path / "run" / "removed").iterdir())
    saved = removed[0].read_bytes()
    removed[0].unlink()
    (tmp_path / "run" / "report.html").unlink()
    prepare(recipe, tmp_path / "run", one_by_one)
    assert removed[0].read_bytes() == saved
    assert (tmp_path / "run" / "report.html").exists()


def test_equal_documents_need_no_more_memory_than_others(recipe_path, tmp_path):
    path = tmp_path / "same.jsonl"
    line = json.dumps({"text": "the same words in every document of this corpus"}) + "\n"
    path.write_text(line * 20_000)
    settings = {"inputs": [{"path": str(path)}], "run": {"memory_budget": "1MiB", "workers": 1}}
    for steps in (["near"], ["exact", "near"]):
        recipe = changed(recipe_path, tmp_path, steps=steps, **settings)
        report = prepare(recipe, tmp_path / f"run{len(steps)}", one_by_one)
        assert report["ledger"][-1]["docs_out"] == 1
    settings["run"]["memory_budget"] = "400kB"
    recipe = changed(recipe_path, tmp_path, steps=["near"], **settings)
    with pytest.raises(ConfigError, match="near: needs 666 KiB of memory for 20,000 documents"):
        prepare(recipe, tmp_path / "run", one_by_one)


def test_near_in_front_of_exact_loses_no_source(recipe_path, tmp_path):
    """A copy is no duplicate of a document that is itself removed."""
    words = [f"word{i}" for i in range(200)]
    first, second = " ".join(words), " ".join([*words[:-1], "other"])
    for name, docs in {"s1": [first, second], "s2": [second]}.items():
        text = "".join(
            json.dumps({"id": f"{name}-{i}", "text": d}) + "\n" for i, d in enumerate(docs)
        )
        (tmp_path / f"{name}.jsonl").write_text(text)
    inputs = [{"path": str(tmp_path / f"{name}.jsonl")} for name in ("s1", "s2")]
    steps = [{"near": {"scope": "source"}}, "exact"]
    report = prepare(
        changed(recipe_path, tmp_path, inputs=inputs, steps=steps), tmp_path / "run", one_by_one
    )
    kept = report["measurement"]
    assert (kept["s1"]["docs"], kept["s2"]["docs"]) == (1, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inputs": 5}, "inputs"),
        ({"inputs": [{"path": "x/total.jsonl"}]}, "a source cannot be called 'total'"),
        ({"steps": [{"near": {"num_perm": 1}}]}, "near"),
        ({"output": {"seq_len": 0}}, "output.seq_len"),
    ],
)
def test_impossible_recipes_are_one_line(recipe_path, tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message) as e:
        changed(recipe_path, tmp_path, **settings)
    assert "\n" not in str(e.value)


def test_a_key_that_stands_twice_is_refused(recipe_path, tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text(recipe_path.read_text() + "\nshard_bytes: 1MB\n")
    with pytest.raises(ConfigError, match=r"twice\.yaml: key 'shard_bytes' stands twice"):
        load_recipe(path)


def test_a_document_cannot_steer_the_terminal(recipe_path, tmp_path, capsys, server):
    evil = "\x1b]0;pwned\x07\x1b[31m"
    path = tmp_path / "docs.jsonl"
    docs = [{"id": f"{evil}{i}", "text": f"{evil} few words"} for i in range(2)]
    path.write_text("".join(json.dumps(d) + "\n" for d in docs))
    data = {**yaml.safe_load(recipe_path.read_text()), "inputs": [{"path": str(path)}]}
    data["steps"] = ["exact"]
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(data))
    out = str(tmp_path / "run")
    assert main(["prepare", str(tmp_path / "r.yaml"), "--out", out, "--json"]) == 0
    capsys.readouterr()
    for arguments in (["--reason", "exact_duplicate"], ["--documents"], ["--doc", "1"]):
        assert main(["inspect", out, *arguments]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert "\x07" not in shown


def test_a_file_name_that_is_not_utf8_is_told_in_one_line(recipe_path, tmp_path):
    folder = os.fsencode(tmp_path / "in")
    os.mkdir(folder)
    with open(os.path.join(folder, b"caf\xe9.txt"), "wb") as f:
        f.write(b"some words")
    recipe = changed(recipe_path, tmp_path, inputs=[{"path": str(tmp_path / "in")}], steps=[])
    with pytest.raises(ConfigError, match=r"name is not UTF-8, b'caf\\xe9.txt'; rename it"):
        prepare(recipe, tmp_path / "run", one_by_one)
