"""A run with images that is killed and started again ends as one that never was."""

import hashlib
import json
import signal

import pyarrow.parquet as pq
import pytest
import yaml

from tests.e2e.test_kill import run
from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import sample_members, tar_bytes
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tokenmill.pipelines.prepare.recipe import load_recipe


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """Six tars of samples; the last three hold captions that the first three have too."""
    folder = tmp_path_factory.mktemp("tars")
    for number in range(6):
        members = sample_members(20, first=20 * (number % 3), width=40 + number, height=32)
        (folder / f"{number}.tar").write_bytes(tar_bytes(members))
    settings = {
        "inputs": [{"path": str(folder / "*.tar"), "source": "tars"}],
        "steps": [
            {"images": {"action": "annotate"}},
            {"exact": {"samples": "captions"}},
            {"captions": {"action": "annotate"}},
            {"select": {"where": "captions_words == 5 and images_min_side >= 32"}},
        ],
        "tokenizer": {"path": str(train(folder))},
        "images": {"webdataset": True},
        "output": {"shard_bytes": "12kB", "text": "parquet"},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def contents(out):
    """Every byte of the run's output, and its receipts of removal."""
    folders = ("dataset", "text", "webdataset", "removed", "removed-images")
    return {
        path.relative_to(out).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted((out / folder).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def undisturbed(recipe, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    prepare(load_recipe(recipe), out, one_by_one)
    return out


MOMENTS = [
    ("spooled", 3),  # the third shard's images have their name, its receipt is not written
    ("exported", 3),  # a tar lies under its temporary name
    ("dataset", 2),
]


def test_killed_again_and_again_it_ends_byte_identical(recipe, undisturbed, tmp_path):
    out = tmp_path / "run"
    before = {}
    for moment, number in [*MOMENTS, ("never", 1)]:
        ended = run(recipe, out, moment, number)
        assert ended.returncode == (0 if moment == "never" else -signal.SIGKILL), ended.stderr
        after = receipts(out)
        assert {name: after[name] for name in before} == before, "finished work was done again"
        assert set(before) < set(after) <= set(receipts(undisturbed))
        assert (out / "dataset" / "state.json").exists() == (moment == "never")
        before = after
    assert contents(out) == contents(undisturbed)
    assert not list(out.rglob("*.partial-*"))


def test_the_undisturbed_run_has_work_of_every_kind(undisturbed):
    report = json.loads((undisturbed / "manifest.json").read_text())["report"]
    removed = {row["stage"]: row["images"]["with_document"] for row in report["ledger"]}
    assert removed["exact"] == 60
    assert report["dataset"]["splits"]["train"]["files"] >= 3
    assert len(list((undisturbed / "webdataset").rglob("*.tar"))) == 6
    assert not (undisturbed / "17-images").exists()
    texts = pq.read_table(undisturbed / "text").to_pylist()
    assert [row["text"] for row in texts] == [f"A picture of {i} things" for i in range(60)]
    assert {(row["images_max_side"], row["captions_chars"] > 19) for row in texts[:20]} == {
        (40.0, True)
    }
