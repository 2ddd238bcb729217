"""`tokenmill train-lm`, and a run with what it makes."""

import json

import pytest
import yaml

from tests.pipelines.conftest import train as train_tokenizer
from tests.pipelines.train.lm.test_train import documents, jsonl
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.filters.models.ngram_model import load_model
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe

JUNK = ["buy cheap watches now", "zx81 qwerty asdf jkl", "東京 大阪 京都", "click click click"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    jsonl(folder / "good.jsonl", documents(200, 1))
    jsonl(folder / "crawl.jsonl", documents(60, 2) + JUNK * 15)
    return folder


def command(folder, out, *more):
    paths = ["--text", str(folder / "good.jsonl"), "--cutoffs", str(folder / "crawl.jsonl")]
    return ["train-lm", *paths, "--out", str(out), *more]


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "lm.npz"
    assert main(command(folder, out)) == 0
    return out


def test_the_model_and_what_is_said_of_it_are_written_and_shown(folder, model, tmp_path, capsys):
    out = tmp_path / "lm.npz"
    assert main(command(folder, out, "--arpa", str(tmp_path / "lm.arpa"))) == 0
    shown = capsys.readouterr().out
    assert "modified Kneser-Ney" in shown
    assert str(out) in shown
    assert out.read_bytes() == model.read_bytes()
    assert "# Language model" in out.with_suffix(".md").read_text()
    assert (tmp_path / "lm.arpa").read_text().startswith("\\data\\\nngram 1=")


def test_files_of_a_folder_that_are_no_inputs_are_named(folder, tmp_path, capsys):
    (texts := tmp_path / "texts").mkdir()
    (texts / "notes.odt").write_text("not read")
    (texts / "good.jsonl").write_bytes((folder / "good.jsonl").read_bytes())
    arguments = command(folder, tmp_path / "lm.npz")
    arguments[arguments.index("--text") + 1] = str(texts)
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "not read, for their names tell no format:" in told
    assert "notes.odt" in told


def test_texts_of_conversations_are_taken_a_line_each(tmp_path, capsys):
    talks = [text.split(" ", 1) for text in documents(60, 1)]
    rows = {
        "chat": [{"messages": [{"content": said} for said in talk]} for talk in talks],
        "plain": [{"text": "\n".join(talk)} for talk in talks],
    }
    for name, of in rows.items():
        lines = [json.dumps({"id": str(i), **row}) for i, row in enumerate(of)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    models = []
    for name, more in (("chat", ["--text-column", "messages.content"]), ("plain", [])):
        out = tmp_path / name / "lm.npz"
        paths = ["--text", str(tmp_path / f"{name}.jsonl"), "--out", str(out)]
        assert main(["train-lm", *paths, *more]) == 0, capsys.readouterr()
        models.append(load_model(out))
    assert [m.about["orders"] for m in models] == [models[0].about["orders"]] * 2


def test_json_is_the_account_of_the_model(folder, tmp_path, capsys):
    out = tmp_path / "lm.npz"
    assert main(command(folder, out, "--json", "--holdout", "0.5", "--order", "2")) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["training"]["holdout"] == 0.5
    assert len(about["orders"]) == 2
    assert about.items() <= load_model(out).about.items()


def test_documents_that_cannot_be_read_end_with_3(folder, tmp_path, capsys):
    bad = tmp_path / "broken.jsonl"
    bad.write_bytes((folder / "good.jsonl").read_bytes() + b"{")
    assert main(["train-lm", "--text", str(bad), "--out", str(tmp_path / "lm.npz")]) == 3
    assert "could not be read: 1 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--order", "7"], "--order: Input should be less than or equal to 6, got 7"),
        (["--holdout", "1"], "--holdout: Input should be less than 1, got 1.0"),
        (["--words", "0"], "--words: Input should be greater than or equal to 1, got 0"),
        (["--min-count", "0"], "--min-count: Input should be greater than or equal to 1, got 0"),
        (["--head", "61"], "head ends at percentile 61, before tail begins at 60; give a --head"),
        (["--out", "lm.bin"], "--out lm.bin: write a file name that ends in .npz, as lm.npz"),
        (["--arpa", "lm.txt"], "--arpa lm.txt: write a file name that ends in .arpa, as lm.arpa"),
        (["--text", "/nowhere/books"], "--text: /nowhere/books: "),
        (["--cutoffs", "/nowhere/crawl"], "--cutoffs: /nowhere/crawl: "),
        (
            ["--text-column", "body"],
            "no column 'body' among: id, text; name it, as --text-column NAME",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_one_line(folder, tmp_path, capsys, options, said):
    assert main(command(folder, tmp_path / "lm.npz", *options)) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.startswith("tokenmill train-lm: ")
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_out_must_not_lie_in_what_is_read(folder, capsys):
    assert main(["train-lm", "--text", str(folder), "--out", f"{folder}/lm.npz"]) == 2
    assert "lies inside the input" in capsys.readouterr().err


def recipe(folder, model, to, **perplexity):
    path = to / "recipe.yaml"
    settings = {
        "name": "chosen",
        "inputs": [str(folder / "crawl.jsonl")],
        "shard_bytes": "4KB",
        "steps": [{"perplexity": {"model": str(model), **perplexity}}],
        "tokenizer": {"path": str(train_tokenizer(to))},
    }
    path.write_text(yaml.safe_dump(settings))
    return path


def test_a_run_keeps_head_and_middle(folder, model, tmp_path):
    path = recipe(folder, model, tmp_path)
    report = prepare(load_recipe(path), tmp_path / "run", one_by_one)
    removed = removals(tmp_path / "run")
    assert set(removed["reason"].to_pylist()) == {"tail_perplexity"}
    ids = {int(i.removeprefix("crawl-")) for i in removed["id"].to_pylist()}
    assert set(range(60, 120)) <= ids
    notes = {k: n for k, n in report["notes"].items() if k.startswith("perplexity_")}
    assert sum(notes.values()) == 120
    assert notes["perplexity_tail"] == len(ids)
    assert "perplexity_tail" in (tmp_path / "run" / "report.md").read_text()


def test_measure_foretells_what_a_run_keeps(folder, model, tmp_path, server):
    path = recipe(folder, model, tmp_path)
    out = str(tmp_path / "estimate.json")
    assert main(["measure", str(path), "--out", out, "--probes", "20"]) == 0
    found = json.loads((tmp_path / "estimate.json").read_text())
    report = prepare(load_recipe(path), tmp_path / "run", one_by_one)
    (row,) = [r for r in report["ledger"] if r["stage"] == "perplexity"]
    assert found["kept_frac"]["perplexity"] == pytest.approx(row["docs_out"] / row["docs_in"])
