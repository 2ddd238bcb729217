"""`tokenmill train-quality`, and a run with what it makes."""

import json

import pytest
import yaml

from tests.pipelines.conftest import train as train_tokenizer
from tests.pipelines.train.quality.test_train import BAD, GOOD, documents, jsonl
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.filters.models.quality_model import load_model
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    return {
        "good": jsonl(folder / "good.jsonl", documents(GOOD, 100, 1)),
        "bad": jsonl(folder / "bad.jsonl", documents(BAD, 100, 2)),
    }


def command(sides, out, *more):
    paths = ["--good", str(sides["good"]), "--bad", str(sides["bad"])]
    return ["train-quality", *paths, "--out", str(out), *more]


@pytest.fixture(scope="module")
def model(sides, tmp_path_factory):
    out = tmp_path_factory.mktemp("model") / "quality.npz"
    assert main(command(sides, out, "--features", "4096")) == 0
    return out


def test_the_model_and_what_is_said_of_it_are_written_and_shown(sides, model, tmp_path, capsys):
    out = tmp_path / "quality.npz"
    assert main(command(sides, out, "--features", "4096")) == 0
    shown = capsys.readouterr().out
    assert "Most telling words" in shown
    assert str(out) in shown
    assert out.read_bytes() == model.read_bytes()
    assert "# Quality classifier" in out.with_suffix(".md").read_text()


def test_json_is_the_account_of_the_model(sides, tmp_path, capsys):
    out = tmp_path / "quality.npz"
    assert main(command(sides, out, "--json", "--holdout", "0.5", "--seed", "3")) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["training"]["holdout"] == 0.5
    assert about["training"]["seed"] == 3
    assert about["features"]["n"] == 1 << 20
    assert about.items() <= load_model(out).about.items()


def test_documents_that_cannot_be_read_end_with_3(sides, tmp_path, capsys):
    bad = tmp_path / "broken.jsonl"
    bad.write_bytes(sides["bad"].read_bytes() + b"{")
    assert main(command({**sides, "bad": bad}, tmp_path / "q.npz", "--features", "64")) == 3
    assert "could not be read: 1 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--features", "1000"], "--features: the number of features is a power of two, 2 to"),
        (["--holdout", "1"], "--holdout: Input should be less than 1, got 1.0"),
        (["--documents", "0"], "--documents: Input should be greater than or equal to 1, got 0"),
        (["--alpha", "0"], "--alpha: Input should be greater than 0, got 0.0"),
        (["--out", "model.pkl"], "--out model.pkl: write a file name that ends in .npz"),
        (["--good", "/nowhere/books"], "--good: /nowhere/books: "),
        (
            ["--text-column", "body"],
            "no column 'body' among: id, text; name it, as --text-column NAME",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_one_line(sides, tmp_path, capsys, options, said):
    assert main(command(sides, tmp_path / "quality.npz", *options)) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.startswith("tokenmill train-quality: ")
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_good_and_bad_is_refused(sides, tmp_path, capsys):
    both = {"good": sides["good"], "bad": sides["good"]}
    assert main(command(both, tmp_path / "quality.npz")) == 2
    assert "is given as good and as bad; name each path once" in capsys.readouterr().err


def test_out_must_not_lie_in_what_is_read(sides, capsys):
    folder = sides["good"].parent
    assert main(["train-quality", "--good", str(folder), "--bad", "x", "--out", f"{folder}/q.npz"])
    assert "lies inside the input" in capsys.readouterr().err


def run(sides, model, folder, **quality):
    recipe = {
        "name": "chosen",
        "inputs": [str(sides["good"]), str(sides["bad"])],
        "shard_bytes": "4KB",
        "steps": [{"quality": {"model": str(model), **quality}}],
        "tokenizer": {"path": str(train_tokenizer(folder))},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    report = prepare(load_recipe(path), folder / "run", one_by_one)
    return report, removals(folder / "run")


def test_a_run_keeps_good_documents_and_some_bad_ones(sides, model, tmp_path):
    report, removed = run(sides, model, tmp_path, alpha=3)
    row = next(r for r in report["ledger"] if r["stage"] == "quality")
    assert row["docs_in"] == 200
    gone = row["removed"]["low_quality"]
    assert 60 < gone < 120
    assert set(removed["reason"].to_pylist()) == {"low_quality"}
    of_good = [i.startswith("good") for i in removed["id"].to_pylist()]
    assert sum(of_good) < gone / 4
    assert all(0 <= value <= 1 for value in removed["value"].to_pylist())
    notes = {k: n for k, n in report["notes"].items() if k.startswith("quality_score_")}
    assert sum(notes.values()) == 200
    assert "quality_score_0.9_to_1.0" in (tmp_path / "run" / "report.md").read_text()


def test_how_inputs_are_cut_and_ordered_changes_nothing(sides, model, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    _, one = run(sides, model, tmp_path / "one", alpha=3)
    backward = {"good": sides["bad"], "bad": sides["good"]}
    _, two = run(backward, model, tmp_path / "two", alpha=3)
    ids = [dict(zip(t["id"].to_pylist(), t["value"].to_pylist(), strict=True)) for t in (one, two)]
    assert ids[0] == ids[1] != {}
