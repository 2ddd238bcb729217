"""Everything that `inspect` prints of a run of text, word by word."""

import json

import pytest

from tests.golden.held import held, printed
from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.prepare.recipe import make_recipe

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
    """Two runs, the second against the first, and one of kept text without tokens."""
    folder = tmp_path_factory.mktemp("inspected")
    lines = [json.dumps(document) for document in documents()]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    (folder / "later.jsonl").write_text("\n".join([lines[0], json.dumps({"text": words("i")})]))
    items = [{"q": LEAK}, {"q": OTHER}, *({"q": f"{LEAK} {n}"} for n in range(4))]
    (folder / "items.json").write_text(json.dumps(items))
    benchmark = {"name": "items", "path": str(folder / "items.json")}
    recipe = {
        "inputs": [{"path": str(folder / "docs.jsonl"), "source": "web"}],
        "steps": [{"length": {"min_chars": 50}}, "near", "exact",
                  {"decontaminate": {"benchmarks": [benchmark]}}],
        "tokenizer": {"path": str(train(folder))},
        "run": {"keep_index": True},
    }  # fmt: skip
    run(folder / "run", recipe)
    later = {**recipe, "inputs": [{"path": str(folder / "later.jsonl")}]}
    run(folder / "later", {**later, "against": [str(folder / "run")]})
    text = {"steps": ["exact"], "tokenizer": None, "output": {"text": "parquet"}, "run": {}}
    run(folder / "text", {**recipe, **text})
    return folder


def run(out, recipe):
    prepare(make_recipe(recipe, where="test"), out, one_by_one)


def test_all_that_is_printed_of_a_run_is_what_it_was(folder, capsys):
    asked = [
        ("run",),
        ("run", "--documents"),
        ("run", "--documents", "--limit", 1),
        *(("run", "--reason", why) for why in ("near_duplicate", "cut", "too_short", "nonsense")),
        *(("run", "--doc", n) for n in (0, 1, 3, 4, 5, 8)),
        ("run", "--doc", 5 | 1 << 28),
        *(("run", "--doc", name) for name in ("twice", "web: twice", "wob: first", "nobody", "99")),
        ("run", "--doc", f"{URL}same"),
        ("later", "--doc", "0"),
        ("later", "--doc", f"{1 << 32}"),
        ("text", "--documents", "--limit", 3),
        ("text", "--doc", "first (0), a line of a report"),
        ("nowhere",),
    ]
    commands = [("inspect", folder / of, *words) for of, *words in asked]
    held("inspected.txt", printed(main, capsys, commands, FOLDER=folder))
