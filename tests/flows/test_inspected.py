"""What `inspect`, `prepare` and `status` print of runs of text, and their reports, word by word."""

import json
import re
from contextlib import chdir
from pathlib import Path

import pytest

from tests.golden.held import held, printed
from tests.pipelines.conftest import train
from tests.pipelines.prepare.ingested import ingest
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.prepare.recipe import load_recipe

LEAK = "Natalia sold clips to 48 of her friends in April, and then she sold half as many in May"
OTHER = "There were seven swans on the lake this morning and nobody had fed any of them since then"
URL = "https://a.example/"


def words(of, n=120):
    return " ".join(f"{of}{i}" for i in range(n))


def documents():
    a = words("a")
    near = a.replace("a60 ", "b60 ")
    yield {"id": "first", "text": a}
    yield {"id": "near", "text": near, "url": f"{URL}near"}
    yield {"id": "equal to near", "text": near}
    yield {"id": "long", "text": words("c", 700), "url": f"{URL}long"}
    yield {"id": "short", "text": "too short"}
    yield {"id": "leak", "text": f"{words('d')} {LEAK} {words('e')} {OTHER} {words('f')}"}
    yield {"id": "twice", "text": words("g"), "url": f"{URL}same"}
    yield {"id": "twice", "text": words("h"), "url": f"{URL}same"}
    yield {"id": "all leak", "text": LEAK}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs, the second against the first, and one of kept text without tokens.

    Paths are below it, so that lines break where they do on other machines.
    """
    folder = tmp_path_factory.mktemp("inspected")
    with chdir(folder):
        _made()
    return folder


def _made():
    lines = [json.dumps(document) for document in documents()]
    Path("docs.jsonl").write_text("\n".join(lines))
    Path("later.jsonl").write_text("\n".join([lines[0], json.dumps({"text": words("i")})]))
    items = [{"q": LEAK}, {"q": OTHER}, *({"q": f"{LEAK} {n}"} for n in range(4))]
    Path("items.json").write_text(json.dumps(items))
    train(Path())
    recipe = {
        "inputs": [{"path": "docs.jsonl", "source": "web"}],
        "steps": [
            {"length": {"min_chars": 50}},
            "near",
            "exact",
            {"decontaminate": {"benchmarks": [{"name": "items", "path": "items.json"}]}},
        ],
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"keep_index": True},
    }
    later = {"inputs": [{"path": "later.jsonl"}], "against": ["run"]}
    text = {"steps": ["exact"], "tokenizer": None, "output": {"text": "parquet"}, "run": {}}
    for name, more in (("run", {}), ("later", later), ("text", text)):
        Path(f"{name}.yaml").write_text(json.dumps(recipe | more))
        prepare(load_recipe(Path(f"{name}.yaml")), Path(name), one_by_one)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Paths are of any length."""
    monkeypatch.setattr("tokenmill.flows.show.PIPED_WIDTH", 1_000)


def test_all_that_is_printed_of_a_run_is_what_it_was(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    asked = [
        ("run",),
        ("run", "--documents"),
        ("run", "--documents", "--limit", "1"),
        *(("run", "--reason", why) for why in ("near_duplicate", "cut", "too_short", "nonsense")),
        *(("run", "--doc", n) for n in (0, 1, 3, 4, 5, 8, 5 | 1 << 28)),
        *(("run", "--doc", name) for name in ("twice", "web: twice", "wob: first", "nobody", "99")),
        ("run", "--doc", f"{URL}same"),
        ("later", "--doc", "0"),
        ("later", "--doc", f"{1 << 32}"),
        ("text", "--documents", "--limit", 3),
        ("text", "--doc", "first (0), a line of a report"),
        ("nowhere",),
    ]
    commands = [("inspect", *words) for words in asked]
    held("inspected.txt", printed(main, capsys, commands, FOLDER=folder))


def test_all_that_is_printed_of_finished_runs_is_what_it_was(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    commands = []
    for name in ("run", "later", "text"):
        commands += [("prepare", f"{name}.yaml", "--out", name), ("status", name)]
    commands += [("prepare", "later.yaml", "--out", "new", "--dry-run")]
    told = printed(main, capsys, commands)
    for name in ("run", "later", "text"):
        told += Path(name, "report.md").read_text().partition("## Time")[0]
    # what hangs on this machine, or on how long its paths are
    told = re.sub(r"[\d.]+ [kMGTP]?B free|(?<=path) +(?=bytes)", " … ", told)
    told = re.sub(r"(?m)^\| (05-index|16-ignored) .*$", r"| \1 | … |", told)
    held("finished.txt", told.replace(str(folder), "FOLDER"))


def test_all_that_is_printed_of_a_collection_is_what_it_was(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    recipe = json.loads(Path("run.yaml").read_text())
    more = {"inputs": ["nights/*.jsonl"], "steps": ["exact"], "run": {}, "name": "nights"}
    Path("nights.yaml").write_text(json.dumps(recipe | more))
    Path("nights").mkdir()
    runs = []
    for night, names in enumerate(["abc", "ad", "be"]):
        lines = [json.dumps({"id": f"{name}{night}", "text": words(name, 30)}) for name in names]
        Path("nights", f"{night}.jsonl").write_text("\n".join(lines))
        runs += ingest(load_recipe(Path("nights.yaml")), "collection")["made"]
    Path("nights", "0.jsonl").write_text("{}")
    asked = [(), ("--documents", "--limit", "4"), ("--reason", "exact_duplicate")]
    asked += [("--reason", "too_short"), ("--doc", "0"), ("--doc", f"{1 << 32}"), ("--doc", "e2")]
    commands = [
        ("ingest", "nights.yaml", "--into", "collection", *more) for more in ([], ["--json"])
    ]
    commands += [("inspect", "collection", *words) for words in asked]
    commands += [("inspect", "collection", "--documents", "--limit", "3", "--json")]
    told = printed(main, capsys, commands, FOLDER=folder)
    for number, run in enumerate(runs, 1):
        told = told.replace(run, f"RUN-{number}")
    held("collection.txt", told)
