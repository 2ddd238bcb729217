"""Inputs that read as damaged while a run was planned, and then do not: the same command goes on.

How a compressed file is cut follows from its first MiB: damage there makes another plan.
"""

import gzip
import os
from dataclasses import replace
from hashlib import sha256

import pyarrow as pa
import pytest
import zstandard

from tests.e2e.corpus import write_corpus
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import FORMATS, Input
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.runs.manifest import read_manifest

PACKED = {"jsonl.gz": gzip.compress, "jsonl.zst": zstandard.compress}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prose")
    write_corpus(folder)
    return (folder / "docs.jsonl").read_bytes()


def recipe_of(folder, path):
    more = {"inputs": [{"path": str(path)}], "steps": ["normalize", "exact"]}
    return load_recipe(write_corpus(folder, **more))


def damage(path):
    """Spoil the first MiB; its size and time stay. Return what mends it."""
    good, was = path.read_bytes(), path.stat()
    third = len(good) // 3
    path.write_bytes(good[:third] + bytes(third) + good[2 * third :])
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def mend():
        path.write_bytes(good)
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    return mend


def dataset(out):
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in out.rglob("dataset/**/*.arrow")}


def written(tmp_path, lines, ending):
    path = tmp_path / f"docs.{ending}"
    path.write_bytes(PACKED[ending](lines))
    return path


@pytest.mark.long_but("jsonl.zst-True")  # any format is damaged alike
@pytest.mark.parametrize(("ending", "is_newer"), [("jsonl.gz", False), ("jsonl.zst", True)])
def test_a_run_planned_over_damage_begins_anew_when_it_is_mended(tmp_path, lines, ending, is_newer):
    path = written(tmp_path, lines, ending)
    recipe, out = recipe_of(tmp_path, path), tmp_path / "run"
    mend = damage(path)
    broken = prepare(recipe, out, one_by_one)
    assert broken["damaged_shards"] or broken["failed_inputs"]
    mend()
    if is_newer:
        os.utime(path)
    report = prepare(recipe, out, one_by_one)
    assert not report["damaged_shards"]
    assert not report["failed_inputs"]
    assert report["inputs"]["shards"] > broken["inputs"]["shards"]
    other = tmp_path / "other"
    prepare(recipe, other, one_by_one)
    assert dataset(out) == dataset(other)
    for top in ("receipts", "removed"):
        names = [{p.relative_to(of) for p in (of / top).rglob("*")} for of in (out, other)]
        assert names[0] == names[1]
    assert prepare(recipe, out, one_by_one) == report


def test_a_run_planned_over_whole_files_is_kept_when_they_are_damaged(tmp_path, lines):
    path = written(tmp_path, lines, "jsonl.gz")
    recipe, out = recipe_of(tmp_path, path), tmp_path / "run"
    report = prepare(recipe, out, one_by_one)
    made = dataset(out)
    mend = damage(path)
    with pytest.raises(ConfigError, match=rf"{path} is damaged now \(damaged_gzip\)"):
        prepare(recipe, out, one_by_one)
    mend()
    assert prepare(recipe, out, one_by_one) == report
    assert dataset(out) == made


def test_another_setting_is_another_run_though_a_file_was_mended(tmp_path, lines):
    path = written(tmp_path, lines, "jsonl.gz")
    out = tmp_path / "run"
    mend = damage(path)
    prepare(recipe_of(tmp_path, path), out, one_by_one)
    was = read_manifest(out)
    mend()
    other = recipe_of(tmp_path, path).model_copy(update={"name": "other"})
    with pytest.raises(ConfigError, match=r"recipe\.name is .* there"):
        prepare(other, out, one_by_one)
    assert read_manifest(out) == was


@pytest.mark.parametrize("ending", ["jsonl.gz", "arrow"])
def test_what_was_damaged_on_its_way_alone_decides_nothing(tmp_path, lines, ending, monkeypatch):
    path = tmp_path / f"docs.{ending}"
    if ending == "arrow":
        rows = pa.record_batch({"text": lines.decode().splitlines()})
        with pa.ipc.new_file(path, rows.schema) as writer:
            for at in range(0, rows.num_rows, 50):
                writer.write_batch(rows.slice(at, 50))
    else:
        path.write_bytes(PACKED[ending](lines))
    wanted = [Input(path=str(path))]
    clean = plan_inputs(wanted, 80_000)
    mend = damage(path)
    assert plan_inputs(wanted, 80_000).identity() != clean.identity()
    name = "jsonl" if ending == "jsonl.gz" else "arrow"
    reader = FORMATS[name]

    def cut(*args):
        try:
            return reader.cut(*args)
        finally:
            mend()

    monkeypatch.setitem(FORMATS._things, name, replace(reader, cut=cut))
    assert plan_inputs(wanted, 80_000).identity() == clean.identity()


def test_a_store_that_fails_while_inputs_are_planned_leaves_no_run(
    tmp_path, lines, reached_s3, monkeypatch
):
    monkeypatch.setattr("tokenmill.pipelines.storage.inputs.PAUSES_S", ())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "docs.jsonl.gz").write_bytes(gzip.compress(lines))
    reached_s3.client().create_bucket(Bucket="corpora")
    reached_s3.upload(tmp_path / "in", "corpora")
    path = "s3://corpora/docs.jsonl.gz"
    recipe, out = recipe_of(tmp_path, path), tmp_path / "run"
    reached_s3.proxy.rates = {"reset": 1.0}
    with pytest.raises(ConfigError, match="does not answer"):
        prepare(recipe, out, one_by_one)
    assert not out.exists()
    reached_s3.proxy.forget()
    assert not prepare(recipe, out, one_by_one)["failed_inputs"]
    assert plan_run(recipe).identity().items() <= read_manifest(out)["identity"].items()
