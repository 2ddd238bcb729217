"""Plans: which files, in which pieces, in which order."""

import gzip
import json
import os
import pickle

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.read.corpus import (
    as_jsonl,
    read_all,
    read_plan,
    write_arrow_stream,
    write_parquet,
)
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input, SourceShard
from tokenmill.pipelines.read.plan import plan_inputs, texts_from
from tokenmill.pipelines.read.readers import passed_over
from tokenmill.pipelines.runs.finished import inventory

LINE = b'{"text": "some text"}\n'


@pytest.fixture(autouse=True)
def quiet_datasets():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def test_a_plan_depends_on_the_inputs_alone(tmp_path):
    for i in range(30):
        (tmp_path / f"{i % 3}").mkdir(exist_ok=True)
        (tmp_path / f"{i % 3}" / f"{i}.jsonl").write_bytes(LINE * i)
    inputs = [Input(path=f"{tmp_path}/{k}") for k in (2, 0, 1)]
    plan = plan_inputs(inputs, 100)
    assert plan == plan_inputs(inputs, 100)
    assert [s.input for s in plan.shards] == sorted(s.input for s in plan.shards)
    assert [s.ordinal for s in plan.shards] == list(range(len(plan.shards)))
    n = len(plan.shards)
    assert [s.key for s in plan.shards] == [f"{i:05}-of-{n:05}" for i in range(n)]
    assert len(read_plan(plan).texts) == sum(range(30))


@given(lines=st.integers(0, 50), shard_bytes=st.integers(1, 500))
def test_plain_jsonl_is_cut_into_even_ranges(tmp_path_factory, lines, shard_bytes):
    path = tmp_path_factory.mktemp("plan") / "d.jsonl"
    path.write_bytes(LINE * lines)
    shards = plan_inputs([Input(path=str(path))], shard_bytes).shards
    size = lines * len(LINE)
    assert len(shards) == max(1, -(-size // shard_bytes))
    assert [s.stop for s in shards[:-1]] == [s.start for s in shards[1:]]
    assert (shards[0].start, shards[-1].stop) == (0, None)
    assert sum(s.bytes for s in shards) == size
    assert max(s.bytes for s in shards) <= shard_bytes


def test_compressed_jsonl_is_cut_by_its_measured_ratio(tmp_path):
    data = as_jsonl([os.urandom(50).hex() for _ in range(40_000)])
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(data))
    shards = plan_inputs([Input(path=str(path))], len(data) // 8).shards
    assert len(shards) in (8, 9)
    assert shards[0].compression == "gzip"
    assert shards[-1].stop is None
    assert abs(sum(s.bytes for s in shards) / len(data) - 1) < 0.05


@pytest.mark.parametrize("write", [write_parquet, write_arrow_stream])
def test_groups_are_cut_between(tmp_path, write):
    path = write(tmp_path, [str(i) * 100 for i in range(30)])
    one = plan_inputs([Input(path=str(path))], 1).shards
    few = plan_inputs([Input(path=str(path))], 5000).shards
    assert len(one) == (15 if write is write_parquet else 10)
    assert 1 < len(few) < len(one)
    assert {s.start for s in few} <= {s.start for s in one}
    assert [s.first_row for s in one] == list(range(0, 30, 30 // len(one)))


def test_a_shard_survives_json_and_pickle(tmp_path):
    (tmp_path / "d.jsonl").write_bytes(LINE)
    (shard,) = plan_inputs([Input(path=str(tmp_path), source="s")], 100).shards
    assert SourceShard.from_json(json.loads(json.dumps(shard.to_json()))) == shard
    assert pickle.loads(pickle.dumps(shard)) == shard
    assert hash(shard) == hash(pickle.loads(pickle.dumps(shard)))


def test_a_bad_file_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINE)
    (tmp_path / "b.jsonl").write_bytes(b"no json\n")
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    (tmp_path / "d.jsonl").write_bytes(LINE)
    (tmp_path / "LICENSE").write_bytes(b"free")
    got = read_all(tmp_path)
    assert got.texts == ["some text"] * 2
    assert [(os.path.basename(f.path), f.cause, f.bytes, f.docs) for f in got.plan.failed] == [
        ("b.jsonl", "invalid_json", 8, None),
        ("c.parquet", "damaged_parquet", 4, None),
    ]
    assert got.plan.skipped == (f"{tmp_path}/LICENSE",)
    assert len(got.plan.files) == 5
    told = inventory(got.plan, {})  # of what is read, and could not be
    assert (told.files, told.bytes) == (4, 2 * len(LINE) + 12)


def test_a_file_that_one_input_reads_and_another_skips_counts(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINE)
    (tmp_path / "b.csv").write_bytes(b"text\nword\n")
    inputs = [Input(path=str(tmp_path), format=kind) for kind in ("jsonl", "csv")]
    told = inventory(plan_inputs(inputs, 100), {})  # what is called csv is read by any name
    assert (told.files, told.bytes) == (3, 2 * len(LINE) + 10)


def test_a_failed_file_says_how_many_documents_it_has_where_it_tells(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    (failed,) = plan_inputs([Input(path=str(path))], 100).failed
    assert (failed.cause, failed.bytes, failed.docs) == ("missing_column", path.stat().st_size, 3)


def test_a_folder_of_several_formats_keeps_the_order_of_paths(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.jsonl").write_bytes(LINE)
    (tmp_path / "c.md").write_text("c")
    (tmp_path / "d.rst").write_text("d")
    got = read_all(tmp_path)
    assert got.texts == ["a", "some text", "c", "d"]
    assert [s.format for s in got.plan.shards] == ["text", "jsonl", "text"]


def test_a_format_passes_over_what_is_named_otherwise(tmp_path):
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "b.jsonl").write_bytes(LINE)
    assert read_all(tmp_path, format="jsonl").texts == ["some text"]
    (tmp_path / "part-0").write_bytes(LINE)
    assert read_all(tmp_path / "part-0", format="jsonl").texts == ["some text"]


def test_a_name_that_tells_no_format_is_refused(tmp_path):
    (tmp_path / "LICENSE").write_bytes(b"free")
    for path, names in [(tmp_path / "LICENSE", "'LICENSE'"), (tmp_path, "'LICENSE'")]:
        with pytest.raises(ConfigError) as e:
            plan_inputs([Input(path=str(path))], 100)
        assert str(e.value) == (
            f"inputs.0: {path}: {names} tells no format;"
            " say which in the recipe, as {path: …, format: text}"
        )


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["*.bak.jsonl"], ["a.jsonl", "drafts/b.jsonl", "drafts/old/c.jsonl"]),
        (["drafts"], ["a.bak.jsonl", "a.jsonl"]),
        (["drafts/", "a.*"], []),
        (["old", "a.jsonl"], ["a.bak.jsonl", "drafts/b.jsonl"]),
        (["drafts/*.jsonl"], ["a.bak.jsonl", "a.jsonl"]),
        (["**/*.jsonl"], []),
        (["**/old", "**/a.bak.*"], ["a.jsonl", "drafts/b.jsonl"]),
        (["draft", "/a.jsonl", "A.jsonl"], None),
    ],
)
def test_excluded_files_are_no_input(tmp_path, exclude, left):
    names = ["a.bak.jsonl", "a.jsonl", "drafts/b.jsonl", "drafts/old/c.jsonl"]
    (tmp_path / "drafts" / "old").mkdir(parents=True)
    for name in names:
        (tmp_path / name).write_bytes(LINE)
    given = Input(path=str(tmp_path), exclude=exclude)
    if left == []:
        with pytest.raises(ConfigError) as e:
            plan_inputs([given], 100)
        why = f"all 4 files are excluded by {', '.join(exclude)}; check exclude"
        assert str(e.value) == f"inputs.0: {tmp_path}: {why}"
    else:
        plan = plan_inputs([given], 100)
        assert [f.name for f in plan.files] == (names if left is None else left)
        none = exclude if left is None else []
        told = [f"inputs.0: {tmp_path}: nothing matches {of!r} of exclude" for of in none]
        assert list(plan.idle) == told
    alone = Input(path=str(tmp_path / "drafts" / "b.jsonl"), exclude=["drafts", "*.jsonl"])
    assert [f.name for f in plan_inputs([alone], 100).files] == ["b.jsonl"]


def test_files_of_a_folder_that_are_not_read_are_told_by_why(tmp_path):
    for name in ("a.jsonl", "LICENSE", "b.warc.gz", "c.tar", "d.tar", "NOTICE"):
        (tmp_path / name).write_bytes(LINE)
    plan = plan_inputs([Input(path=str(tmp_path))], 100)
    assert texts_from(plan) == {tmp_path.name: {"text": 1}}
    assert passed_over(plan.skipped, 1) == [
        f"not read, for their names tell no format: {tmp_path}/LICENSE and 1 more",
        f"not read without html: {{}} in a recipe: {tmp_path}/b.warc.gz",
        f"not read without images: {{}} in a recipe: {tmp_path}/c.tar and 1 more",
    ]
    plan = plan_inputs([Input(path=str(tmp_path), format="jsonl")], 100, images=True, html=True)
    assert passed_over(plan.skipped, 1, plan.other_format) == [
        f"not read, for their names tell no format: {tmp_path}/LICENSE and 1 more",
        f"not read, of another format or dataset: {tmp_path}/b.warc.gz and 2 more",
    ]


def saved(texts):
    return datasets.Dataset.from_dict({"text": texts})


def test_a_saved_dataset_is_read_in_its_own_order(tmp_path):
    saved(["b", "a", "c"]).save_to_disk(str(tmp_path / "d"), num_shards=2)
    state = json.loads((tmp_path / "d" / "state.json").read_text())
    state["_data_files"].reverse()
    (tmp_path / "d" / "state.json").write_text(json.dumps(state))
    for fields in ({}, {"format": "dataset"}):
        got = read_all(tmp_path / "d", **fields)
        assert got.texts == datasets.load_from_disk(str(tmp_path / "d"))["text"][:]
        assert got.plan.skipped == ()


def test_what_lies_in_the_folder_of_a_saved_dataset_is_told(tmp_path):
    saved(["a"]).save_to_disk(str(tmp_path / "d"))
    names = ["README.md", "data-00001-of-00002.arrow", "more.jsonl", "more.tar", "more.warc"]
    for name in (*names, "cache-1.arrow"):
        (tmp_path / "d" / name).write_bytes(LINE)
    got = read_all(tmp_path)
    assert got.texts == ["a"]
    strays = [f"{tmp_path}/d/{name}" for name in names]
    told = f"not read, of another format or dataset: {', '.join(strays)}"
    assert passed_over(got.plan.skipped, 5, got.plan.other_format) == [told]


def test_the_splits_of_a_saved_dataset(tmp_path):
    both = datasets.DatasetDict(train=saved(["x", "y"]), test=saved(["z"]))
    both.save_to_disk(str(tmp_path / "d"))
    assert read_all(tmp_path / "d").texts == ["z", "x", "y"]
    assert read_all(tmp_path / "d", split="train").texts == ["x", "y"]
    with pytest.raises(ConfigError, match=r"no split 'dev'; there are: test, train"):
        read_all(tmp_path / "d", split="dev")


def test_a_saved_dataset_with_a_lost_file_fails_in_part(tmp_path):
    saved(["a", "b"]).save_to_disk(str(tmp_path / "d"), num_shards=2)
    (tmp_path / "d" / "data-00000-of-00002.arrow").unlink()
    got = read_all(tmp_path / "d")
    assert got.texts == ["b"]
    assert [f.cause for f in got.plan.failed] == ["not_found"]


def test_a_folder_that_is_no_saved_dataset_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINE)
    with pytest.raises(ConfigError, match=r"no saved dataset, it would have a state\.json"):
        read_all(tmp_path, format="dataset")


@pytest.mark.parametrize("weight", [0, -1.0, 1001])
def test_a_source_is_repeated_some_times(weight):
    assert Input(path="x").weight == 1.0
    with pytest.raises(ValidationError, match="weight"):
        Input(path="x", weight=weight)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/books.jsonl.gz", "books"),
        ("a/books/", "books"),
        ("s3://b/crawl/**/*.parquet", "crawl"),
        ("*.jsonl", "input"),
        ("~/*.jsonl", "input"),
    ],
)
def test_a_source_is_named_by_its_path(path, name):
    assert Input(path=path).source_name == name
    assert Input(path=path, source="mine").source_name == "mine"
