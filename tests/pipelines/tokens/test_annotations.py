"""Annotations through a whole run: passes, kills and mixing hand them on, kept text has them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.e2e.corpus import write_corpus
from tests.pipelines.tokens.test_kept_text import dataset, kept, recipe_of, run
from tests.running import one_by_one, prepare
from tests.strategies import document_batch
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import STEPS as REGISTRY
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
    return write_corpus(tmp_path_factory.mktemp("corpus"), shard_bytes="200kB")


@pytest.mark.long_but("mixed")  # mixed runs make all of the plain ones
@pytest.mark.parametrize("mixed", [{}, {"shuffle": True, "epochs": 2}], ids=["plain", "mixed"])
def test_annotations_travel_through_all_passes_into_kept_text(recipe_path, tmp_path, mixed):
    output = {"text": "parquet", "validation_frac": 0.1, **mixed}
    report = run(recipe_path, tmp_path, steps=STEPS, output=output)
    rows = [row for split in kept(tmp_path).values() for row in split]
    assert rows
    stage = REGISTRY["gopher_quality"](action="annotate")
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


FIRST = ["exact", {"gopher_quality": ANNOTATE}, {"length": ANNOTATE}]


@pytest.mark.long_but("parquet")  # formats of text by test_kept_text
@pytest.mark.parametrize("form", ["parquet", "jsonl.zst"])
def test_another_threshold_takes_the_text_of_a_run_and_reads_no_input_again(
    recipe_path, tmp_path, form
):
    first, again, once = (tmp_path / name for name in ("first", "again", "once"))
    for folder in (first, again, once):
        folder.mkdir()
    select = {"select": {"where": "length > 700 and gopher_quality_reason is null"}}
    output = {"text": form, "validation_frac": 0.1}
    run(recipe_path, first, steps=FIRST, tokenizer=None, output=output)
    run(recipe_path, once, steps=[*FIRST, select], output=output)
    inputs = [{"path": str(first / "run"), "from": "run"}]
    run(recipe_path, again, inputs=inputs, steps=[select], output=output)
    assert "copies_exact" in kept(again)["train"][0]
    found, expected = (
        {s: [{**row, "doc_id": 0} for row in rows] for s, rows in kept(folder).items()}
        for folder in (again, once)
    )
    by_id = {s: sorted(rows, key=lambda row: row["id"]) for s, rows in expected.items()}
    assert by_id == {s: sorted(rows, key=lambda row: row["id"]) for s, rows in found.items()}
    assert {row["source"] for rows in found.values() for row in rows} == {"docs"}
    assert set(dataset(again)["train"]["source"]) == {"docs"}


def test_inspect_shows_what_is_known_of_a_document(recipe_path, tmp_path, capsys):
    run(recipe_path, tmp_path, steps=[{"length": ANNOTATE}], output={"text": "parquet"})
    row = kept(tmp_path)["train"][0]
    assert main(["inspect", str(tmp_path / "run"), "--doc", str(row["doc_id"])]) == 0
    assert f"  length: {len(row['text'])}\n" in capsys.readouterr().out


def test_steps_that_count_copies_count_those_of_this_run(recipe_path, tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    for folder, steps in ((first, ["exact", "near"]), (again, [{"length": ANNOTATE}, "exact"])):
        folder.mkdir()
        inputs = [{"path": str(first / "run"), "from": "run"}]
        more = {"inputs": inputs} if folder is again else {}
        run(recipe_path, folder, steps=steps, output={"text": "parquet"}, **more)
    rows, before = kept(again)["train"], {row["id"]: row for row in kept(first)["train"]}
    assert {row["copies_exact"] for row in rows} == {0}
    assert [row["copies_near"] for row in rows] == [before[r["id"]]["copies_near"] for r in rows]


@pytest.mark.long  # stores by test_kept_text and storage/test_mirror
def test_a_run_on_an_object_store_is_taken_as_one_here_is(recipe_path, tmp_path, reached_s3):
    reached_s3.client().create_bucket(Bucket="annotated")
    first = recipe_of(
        recipe_path, tmp_path, steps=[{"length": ANNOTATE}], output={"text": "parquet"}
    )
    select = {"select": {"where": "length > 700"}}
    texts = []
    for name, out in (("here", tmp_path / "first"), ("there", "s3://annotated/first")):
        prepare(first, out, one_by_one)
        folder = tmp_path / name
        folder.mkdir()
        inputs = [{"path": str(out), "from": "run"}]
        run(recipe_path, folder, inputs=inputs, steps=[select], output={"text": "parquet"})
        texts.append(kept(folder))
    assert texts[0] == texts[1]
    assert all(row["length"] > 700 for row in texts[0]["train"])


def test_a_run_without_text_is_no_input(recipe_path, tmp_path):
    run(recipe_path, tmp_path, steps=["exact"])
    for path, why in ((tmp_path / "run", "the run kept no text"), (tmp_path, "no run here")):
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        with pytest.raises(ConfigError, match=why):
            recipe_of(recipe_path, other, inputs=[{"path": str(path), "from": "run"}])
    with pytest.raises(ConfigError, match="from: run is all that can be said"):
        recipe_of(recipe_path, other, inputs=[{"path": str(path), "from": "files"}])


@pytest.mark.long_but("True")  # the other has a part of it
@pytest.mark.parametrize("mixed", [False, True])
def test_documents_are_selected_by_their_source(recipe_path, tmp_path, mixed):
    path = yaml.safe_load(recipe_path.read_text())["inputs"][0]["path"]
    inputs = [{"path": path, "source": name} for name in ("a", "b", "c")]
    select = {"select": {"where": "source != 'b' and (source == 'a' or length(text) > 700)"}}
    more = {"mix": {"shares": {"a": 1, "b": 1, "c": 1}}} if mixed else {}
    output = {"text": "parquet", **({"shuffle": True} if mixed else {})}
    run(recipe_path, tmp_path, inputs=inputs, steps=[select], output=output, **more)
    rows = kept(tmp_path)["train"]
    assert {row["source"] for row in rows} == {"a", "c"}
    assert min(len(row["text"]) for row in rows if row["source"] == "c") > 700
    assert min(len(row["text"]) for row in rows if row["source"] == "a") <= 700
    assert sorted(dataset(tmp_path)["train"]["source"]) == sorted(row["source"] for row in rows)
