"""The disk that a run will need, told before it begins."""

import pytest

from tests.pipelines.read.images.shards import sample_tar
from tokenmill.flows.commands.prepare_tables import plan_blocks
from tokenmill.pipelines.prepare.dry_run import dry_run
from tokenmill.pipelines.prepare.recipe import make_recipe


@pytest.mark.parametrize(
    ("images", "steps", "places"),
    [
        ({}, [], {"images between passes", "dataset"}),
        ({"webdataset": True}, [], {"images between passes", "dataset", "webdataset"}),
        ({"store": "reference"}, ["exact"], set()),
        ({"store": "reference", "webdataset": True}, [], {"webdataset"}),
        (
            {"store": "reference", "webdataset": True},
            ["exact"],
            {"images between passes", "webdataset"},
        ),
    ],
)
def test_images_are_written_as_often_as_the_recipe_wants(
    tokenizer_path, tmp_path, images, steps, places
):
    tar = sample_tar(tmp_path / "a.tar", 5)
    (tmp_path / "b.txt").write_text("words " * 100)
    settings = {
        "inputs": [{"path": str(tar)}, {"path": str(tmp_path / "b.txt")}],
        "tokenizer": {"path": str(tokenizer_path)},
        "steps": steps,
        "images": images,
    }
    planned = dry_run(make_recipe(settings, where="test"), tmp_path / "run")
    size = tar.stat().st_size
    need = planned["disk_needed_bytes"]
    assert planned["text_bytes"] == 600
    assert planned["captions"] == {"a": {"taken": [".txt"], "left": [], "absent": []}}
    assert planned["illustrated_bytes"] == size
    assert planned["without_images"] == [str(tmp_path / "b.txt")]
    assert {name for name, n_bytes in need.items() if n_bytes >= size} == places
    assert planned["disk_needed_total_bytes"] == sum(need.values()) < size * (len(places) + 1)


def test_files_that_are_not_read_and_patterns_of_nothing_are_told(tmp_path):
    sample_tar(tmp_path / "i.tar", 1)
    (tmp_path / "a.jsonl").write_text('{"text": "words"}\n')
    given = {"path": str(tmp_path), "format": "jsonl", "exclude": ["drafts"]}
    settings = {"inputs": [given], "tokenizer": None, "output": {"text": "parquet"}, "html": {}}
    planned = dry_run(make_recipe(settings, where="test"), tmp_path / "run")
    shown = [line for line in next(plan_blocks(planned)) if isinstance(line, str)]
    assert shown == [
        f"not read, of another format or dataset: {tmp_path}/i.tar",
        f"inputs.0: {tmp_path}: nothing matches 'drafts' of exclude",
    ]
    assert planned["files"] == [{"path": f"{tmp_path}/a.jsonl", "bytes": 18}]


def test_text_is_counted_as_it_was(tokenizer_path, tmp_path):
    (tmp_path / "b.txt").write_text("words " * 100)
    settings = {
        "inputs": [{"path": str(tmp_path / "b.txt")}],
        "tokenizer": {"path": str(tokenizer_path)},
    }
    planned = dry_run(make_recipe(settings, where="test"), tmp_path / "run")
    assert not {"illustrated_bytes", "without_images"} & set(planned)
    assert planned["disk_needed_bytes"] == {
        "intermediates": 0,
        "token shards": 400,
        "dataset": 400,
    }


@pytest.mark.parametrize(("settings", "n_units"), [({}, 12), ({"unit": "line"}, 30)])
def test_paragraphs_that_are_counted_take_disk(tokenizer_path, tmp_path, settings, n_units):
    (tmp_path / "b.txt").write_text("words " * 200)
    recipe = {
        "inputs": [{"path": str(tmp_path / "b.txt")}],
        "tokenizer": {"path": str(tokenizer_path)},
        "steps": [{"repeated_paragraphs": settings}],
    }
    planned = dry_run(make_recipe(recipe, where="test"), tmp_path / "run")
    assert planned["disk_needed_bytes"]["intermediates"] == 1200 + n_units * 64


def test_a_step_that_holds_something_of_every_document_says_how_far_it_goes(
    tokenizer_path, tmp_path
):
    (tmp_path / "b.txt").write_text("words " * 100)

    def limits(*steps, **run):
        recipe = {
            "inputs": [{"path": str(tmp_path / "b.txt")}],
            "tokenizer": {"path": str(tokenizer_path)},
            "steps": steps,
            "run": run or {"memory_budget": "1GB"},
        }
        return dry_run(make_recipe(recipe, where="test"), tmp_path / "run")["limits"]

    assert limits("exact", "near") == [
        "near: up to 62,500,000 documents that leave, of up to 8,000,000,000, by run.memory_budget"
    ]
    (of_job,) = limits("near", runner="slurm", slurm={"memory": "1GB"})
    assert of_job.endswith(", by run.slurm.memory")
    of_components = {"near": {"cluster": "components"}}
    assert limits(of_components) == [
        "near: up to 35,714,285 documents that are like others, of up to 2,666,666,666,"
        " by run.memory_budget"
    ]
    assert limits("exact", "repeated_paragraphs") == []
