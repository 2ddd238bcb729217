"""What may be asked for, at its exact limits."""

import os

import pytest

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.flows.asked import _grow_to, _input, _share, ask_run, measuring_of, read_recipe
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe

DATA = {"inputs": [{"path": "docs.jsonl"}], "tokenizer": {"path": "t.json"}}


@pytest.mark.parametrize(
    ("text", "found"),
    [("100%", 1.0), ("1", 1.0), ("0.5%", 0.005), ("2", 2.0), ("1B", 1.0), ("5 GB", 5e9)],
)
def test_a_share_or_bytes(text, found):
    assert _share("--sample", text) == found


@pytest.mark.parametrize(
    ("named", "path", "column"),
    [
        ("a.jsonl:meta.text", "a.jsonl", "meta.text"),
        ("there:body", "there", "body"),
        ("s3://bucket/*.parquet:body", "s3://bucket/*.parquet", "body"),
        ("s3://bucket/10:30.jsonl", "s3://bucket/10:30.jsonl", "all"),
        ("at:12.jsonl", "at:12.jsonl", "all"),
        ("d/*:body", "d/*", "body"),
        ("s3://bucket/[ab]/part-?:body", "s3://bucket/[ab]/part-?", "body"),
        ("d/*:30.jsonl", "d/*:30.jsonl", "all"),
        ("d/10:*.jsonl", "d/10:*.jsonl", "all"),
        ("s3://bucket/run:3", "s3://bucket/run:3", "all"),
        ("https://host:80/a.jsonl", "https://host:80/a.jsonl", "all"),
        ("a.jsonl", "a.jsonl", "all"),
    ],
)
def test_a_path_may_have_its_column_behind_it(tmp_path, monkeypatch, named, path, column):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "at:12.jsonl").touch()
    assert _input(named, "all") == {"path": path, "text": column, "join": "\n"}
    assert _input("a.jsonl", None) == {"path": "a.jsonl", "text": None, "join": None}


@pytest.mark.parametrize("text", ["0", "0%", "100.1%", "-1", "-1%", "inf", "nan", "some", "5 XB"])
def test_what_is_neither_a_share_nor_bytes(text):
    with pytest.raises(ConfigError, match=f"--budget '{text}': write a share of the bytes"):
        _share("--budget", text)


@pytest.mark.parametrize(("text", "found"), [("1x", 1.0), ("2x", 2.0), ("3", 3.0), ("30M", 3e7)])
def test_growth_is_times_up_to_two_or_documents(text, found):
    assert _grow_to(text) == found


@pytest.mark.parametrize("text", ["0.99x", "2.01x", "2", "1", "infx", "nanx", "inf", "some", "x"])
def test_what_is_no_growth(text):
    with pytest.raises(ConfigError, match=f"--grow-to '{text}': write times as many documents"):
        _grow_to(text)


LEAST = {"probes": 1, "cores": 1, "seed": 0}


def test_each_option_of_a_prediction_reaches_it_down_to_its_least():
    recipe = make_recipe({**DATA, "run": {"workers": 3}}, where="test")
    said = {"probes": 7, "sample": "0.5", "budget": "9GB", "grow_to": "1.5x", "seed": 4, "cores": 5}
    said |= {"quick": False}
    made = measuring_of(recipe, **said)
    found = (made.probes, made.sample, made.budget, made.grow_to, made.seed, made.cores)
    assert found == (7, 0.5, 9e9, 1.5, 4, 5)
    assert measuring_of(recipe, **{**said, "cores": None}).cores == 3
    assert measuring_of(recipe, **{**said, "grow_to": None}).grow_to is None
    assert measuring_of(recipe, **{**said, "quick": True, "budget": "100%"}).budget == 256e6
    for name, least in LEAST.items():
        assert getattr(measuring_of(recipe, **{**said, name: least}), name) == least
        with pytest.raises(ConfigError, match=f"--{name} {least - 1}: must be {least} at least"):
            measuring_of(recipe, **{**said, name: least - 1})


def test_what_the_run_is_told_goes_before_the_recipe_and_nothing_else_does():
    data = {**DATA, "run": {"workers": 3, "keep_index": False}}
    made = read_recipe(data, {"run.workers": 4}, RunOptions(keep_intermediates=True))
    assert (made.run.workers, made.run.keep_intermediates, made.run.keep_index) == (4, True, False)
    assert read_recipe(data, {"run.workers": 4}, RunOptions(workers=5)).run.workers == 5
    assert data["run"] == {"workers": 3, "keep_index": False}
    for key in ("name", "output.seed", "run.pool.kind"):
        with pytest.raises(ConfigError, match=f"settings: '{key}' is for a recipe file"):
            read_recipe(data, {key: 1})


def test_a_finished_run_is_known_by_its_files_which_are_not_opened(tmp_path):
    """What cannot be cut any more shows that nobody looked: it is as long and as old as it was."""
    recipe, out = load_recipe(write_corpus(tmp_path)), tmp_path / "run"
    prepare(recipe, out, one_by_one)
    path = tmp_path / "docs.jsonl"
    good, was = path.read_bytes(), path.stat()
    path.write_bytes(bytes(len(good)))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    asked = ask_run(recipe, str(out))
    assert asked.report is not None
    assert not asked.plan.shards
    path.write_bytes(good)
    with pytest.raises(ConfigError, match=r"docs.jsonl has changed since"):
        ask_run(recipe, str(out))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    next(out.glob("dataset/**/*.arrow")).unlink()
    asked = ask_run(recipe, str(out))
    assert asked.report is None
    assert asked.plan.shards


@pytest.mark.parametrize("runner", ["array", "slurm"])
def test_a_run_that_nobody_can_do_here_is_not_begun(runner, tmp_path, monkeypatch):
    path, out = write_corpus(tmp_path), tmp_path / "run"
    monkeypatch.setenv("PATH", str(tmp_path))
    recipe = load_recipe(path, {"run.runner": runner})
    with pytest.raises(ConfigError, match=f"{runner} needs sbatch, and there is none here"):
        ask_run(recipe, str(out))
    assert not out.exists()
    prepare(load_recipe(path), out, one_by_one)
    assert ask_run(recipe, str(out)).report is not None
    next(out.glob("dataset/**/*.arrow")).unlink()
    with pytest.raises(ConfigError, match=f"{runner} needs sbatch"):
        ask_run(recipe, str(out))
