"""Annotations through a whole run: passes, kills and mixing hand them on, kept text has them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.pipelines.tokens.test_kept_text import kept, recipe_of, run
from tests.strategies import document_batch
from tokenmill.pipelines.filters.stages import STAGES
from tokenmill.pipelines.prepare.recipe import load_recipe

ANNOTATE = {"action": "annotate"}
STEPS = [
    {"length": ANNOTATE},
    "exact",
    {"gopher_quality": ANNOTATE},
    "near",
    {"length": {**ANNOTATE, "column": "chars"}},
    {"select": {"where": "length > 300 and gopher_quality_words >= 60"}},
]


@pytest.fixture(scope="module")
def recipe_path(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("mixed", [{}, {"shuffle": True, "epochs": 2}], ids=["plain", "mixed"])
def test_annotations_travel_through_all_passes_into_kept_text(recipe_path, tmp_path, mixed):
    output = {"text": "parquet", "validation_frac": 0.1, **mixed}
    report = run(recipe_path, tmp_path, steps=STEPS, output=output)
    rows = [row for split in kept(tmp_path).values() for row in split]
    assert rows
    stage = STAGES["gopher_quality"](action="annotate")
    told = stage(document_batch([row["text"] for row in rows])).kept.to_pylist()
    for row, again in zip(rows, told, strict=True):
        assert row["length"] == row["chars"] == len(row["text"]) > 300
        for field in stage.annotations():
            assert row[field.name] == again[field.name]
    removed = pq.read_table(tmp_path / "run" / "removed").to_pylist()
    selected = [row for row in removed if row["stage"] == "select"]
    assert selected
    assert all(row["detail"].startswith(f"length={row['value']:.0f} ") for row in selected)
    by_stage = {row["stage"]: row for row in report["ledger"]}
    assert by_stage["select"]["removed"]["not_selected"] == len(selected)
    assert by_stage["length:chars"]["docs_in"] == by_stage["length:chars"]["docs_out"]


def test_annotations_change_nothing_else_of_a_run(recipe_path, tmp_path):
    plain, annotated = tmp_path / "plain", tmp_path / "annotated"
    for folder, more in ((plain, []), (annotated, [{"length": ANNOTATE}])):
        folder.mkdir()
        run(recipe_path, folder, steps=[*more, "exact", "near"])
    for name in ("dataset", "removed"):
        files = sorted((plain / "run" / name).rglob("*.arrow"))
        others = sorted((annotated / "run" / name).rglob("*.arrow"))
        assert [f.read_bytes() for f in files] == [f.read_bytes() for f in others]


def test_one_of_two_steps_of_a_name_can_be_set(recipe_path, tmp_path):
    recipe_of(recipe_path, tmp_path, steps=[{"length": ANNOTATE}])
    path = tmp_path / "recipe.yaml"
    data = yaml.safe_load(path.read_text())
    data["steps"].append({"length": {**ANNOTATE, "column": "chars"}})
    path.write_text(yaml.safe_dump(data))
    recipe = load_recipe(path, {"steps.length:chars.min_chars": 7})
    assert [step.min_chars for step in recipe.steps] == [300, 7]
    assert [f.type for f in recipe.annotations] == [pa.int64()] * 2
