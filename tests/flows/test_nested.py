"""Files whose nesting or numbers have no end: one line that names the file, whichever command reads
it; no traceback.
"""

import json
import shutil

import pytest
import yaml

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.prepare.recipe import load_recipe

DEEP = 100_000
NESTED = {"nested": "[" * DEEP + "]" * DEEP, "nested, with an object": '{"a": ' * DEEP}
DIGITS = {"digits": f'{{"a": {"7" * 20_000}}}'}
HOSTILE = ["nested", pytest.param("nested, with an object", marks=pytest.mark.long), *DIGITS]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recipe and its run."""
    folder = tmp_path_factory.mktemp("made")
    rows = [{"text": f"document {i} of a few, with words enough"} for i in range(8)]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    recipe = {
        "name": "few",
        "inputs": [str(folder / "docs.jsonl")],
        "steps": ["exact"],
        "tokenizer": {"path": str(train(folder))},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    prepare(load_recipe(folder / "recipe.yaml"), folder / "run", one_by_one)
    return folder


COMMANDS = {
    "a recipe to prepare": ("bad.yaml", "prepare HERE/bad.yaml --out HERE/new"),
    "a recipe to measure": ("bad.yaml", "measure HERE/bad.yaml --out HERE/new.json"),
    "a recipe to ingest": ("bad.yaml", "ingest HERE/bad.yaml --into HERE/new"),
    "a plan": ("bad.yaml", "size HERE/bad.yaml"),
    "a plan of a run": ("bad.yaml", "prepare HERE/recipe.yaml --out HERE/new --plan HERE/bad.yaml"),
    "a plan to probe for": ("bad.yaml", "probe HERE/run/dataset --plan HERE/bad.yaml"),
    "a report": ("bad.json", "size --corpus HERE/bad.json"),
    "a run's report": ("run/report.json", "size --corpus HERE/run"),
    "an estimate": (
        "bad.json",
        "prepare HERE/recipe.yaml --out HERE/new --dry-run --estimate HERE/bad.json",
    ),
    "a manifest, to go on": ("run/manifest.json", "prepare HERE/recipe.yaml --out HERE/run"),
    "a manifest, to look": ("run/manifest.json", "inspect HERE/run"),
    "a manifest, for its status": ("run/manifest.json", "status HERE/run"),
    "a manifest, to export": (
        "run/manifest.json",
        "export HERE/run --format parquet --out HERE/new",
    ),
    "how far a run is": ("run/receipts/standing.json", "status HERE/run"),
    "files of a dataset": (
        "run/dataset/state.json",
        "export HERE/run --format parquet --out HERE/new",
    ),
    "a dataset to probe": ("run/dataset/state.json", "probe HERE/run/dataset"),
    "a collection": (
        "collection/collection.json",
        "ingest HERE/recipe.yaml --into HERE/collection",
    ),
    "a benchmark": (
        "bad.json",
        "contamination HERE/docs.jsonl --benchmark b=HERE/bad.json --out HERE/new",
    ),
    "lines of a benchmark": (
        "bad.jsonl",
        "contamination HERE/docs.jsonl --benchmark b=HERE/bad.jsonl --out HERE/new",
    ),
    "a tokenizer": (
        "bad.json",
        "prepare HERE/recipe.yaml --out HERE/new --set tokenizer.path=HERE/bad.json",
    ),
    "a list of words": (
        "bad.json",
        "prepare HERE/recipe.yaml --out HERE/new --set steps=[{bad_words: {words:"
        " {file: HERE/bad.json}}}]",
    ),
    "a saved dataset": (
        "saved/state.json",
        "prepare HERE/recipe.yaml --out HERE/new --set inputs=[{path: HERE/saved, format: arrow}]",
    ),
}


def words(line, folder):
    """A command's words; what stands in --set is one."""
    head, option, value = line.replace("HERE", str(folder)).partition(" --set ")
    return [*head.split(), *([option.strip(), value] if option else [])]


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("which", COMMANDS)
def test_it_is_one_line_that_names_the_file(which, kind, made, tmp_path, capsys):
    name, line = COMMANDS[which]
    folder = shutil.copytree(made, tmp_path / "here")
    recipe = (folder / "recipe.yaml").read_text().replace(str(made), str(folder))
    (folder / "recipe.yaml").write_text(recipe)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text((NESTED | DIGITS)[kind])
    code = main(words(line, folder))
    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1), said[-2000:]
    assert str(folder / name) in said or str((folder / name).parent) in said
    assert len(said) < 1000


@pytest.mark.parametrize("value", [*NESTED.values(), "7" * 20_000])
def test_so_is_a_setting(value, made, tmp_path, capsys):
    arguments = ["--out", str(tmp_path / "new"), "--set", f"output.seq_len={value}"]
    assert main(["prepare", str(made / "recipe.yaml"), *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
