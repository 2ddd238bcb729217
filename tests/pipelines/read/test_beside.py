"""Columns of inputs that stay with documents, paths into what is nested, lists of text joined."""

import io
import json
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.running import one_by_one, prepare
from tokenmill.flows.cli import main
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.recipe import load_recipe, make_recipe

ROWS = [
    {"key": "a", "meta": {"text": ["x", "y"], "score": 0.5, "deep": {"topic": "law"}}, "n": "3"},
    {"key": "b", "meta": {"text": ["z"], "score": None, "deep": None}, "n": "many"},
    {"key": "c", "meta": None, "n": None},
    {"key": "d", "meta": {"text": [None, "w"], "score": 2.0, "deep": {"topic": None}}, "n": "-1"},
]
INPUT = {
    "text": "meta.text",
    "id": "key",
    "join": "\n\n",
    "columns": {"meta.score": "float64", "meta.deep.topic": "string", "n": "int64"},
}


def written(folder, form, rows=ROWS):
    path = folder / f"rows.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as f, pa.ipc.new_file(f, table.schema) as writer:
            writer.write_table(table)
    return path


def read(path, **more):
    recipe = make_recipe(
        {
            "inputs": [{"path": str(path), **INPUT, **more}],
            "tokenizer": None,
            "output": {"text": "parquet"},
        },
        where="recipe.yaml",
    )
    plan = recipe.plan()
    assert not plan.failed, plan.failed[0].message
    return [batch for shard in plan.shards for batch in recipe.read(shard)]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
def test_what_is_nested_is_read_by_its_path(tmp_path, form):
    batches = read(written(tmp_path, form))
    rows = [row for batch in batches for row in batch.documents.to_pylist()]
    assert [(r["id"], r["text"]) for r in rows] == [("a", "x\n\ny"), ("b", "z"), ("d", "w")]
    assert [r["meta_score"] for r in rows] == [0.5, None, 2.0]
    assert [r["meta_deep_topic"] for r in rows] == ["law", None, None]
    assert [r["n"] for r in rows] == [3, None, -1]
    assert sum((b.notes or {}).get("unreadable_n", 0) for b in batches) == 1
    (failed,) = [row for batch in batches for row in batch.failed.to_pylist()]
    assert failed["reason"] == "missing_text"


def test_what_a_null_list_hides_is_no_text(tmp_path):
    values, mask = pa.array(["a", None, "b", None, None, "c"]), pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), values, mask=mask)
    batch = pa.record_batch({"text": lists})
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    (found,) = read(tmp_path / "rows.arrow", text="text", id=None, columns={})
    assert found.documents["text"].to_pylist() == ["a", "c"]
    assert found.failed["reason"].to_pylist() == ["missing_text"]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_list_without_a_separator_is_refused(tmp_path, form):
    path = written(tmp_path, form, [row for row in ROWS if row["meta"]])
    with pytest.raises(AssertionError, match="say what stands between them, as"):
        read(path, join=None)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_path_that_leads_nowhere_names_what_there_is(tmp_path, form):
    beside = {"columns": {"meta.topic": "string"}}
    for wrong in ({"text": "meta.txt"}, *([beside] if form == "parquet" else [])):
        with pytest.raises(AssertionError, match=r"no column 'meta.*deep\.topic"):
            read(written(tmp_path, form), **wrong)


def test_a_column_of_another_inputs_kind_is_refused(tmp_path):
    path = str(written(tmp_path, "jsonl"))
    inputs = [{"path": path, "columns": {"n": kind}} for kind in ("int64", "string")]
    rest = {"tokenizer": None, "output": {"text": "parquet"}}
    with pytest.raises(ConfigError, match="'n' is string here, and int64 in another input"):
        make_recipe({"inputs": inputs, **rest}, where="recipe.yaml")
    with pytest.raises(ConfigError, match="every document has a 'source' of its own"):
        make_recipe(
            {"inputs": [{"path": path, "columns": {"source": "string"}}], **rest}, where="r"
        )


def test_kinds_that_a_table_and_json_have_alike(tmp_path):
    row = {"text": "t", "when": "2024-02-01T00:00:00Z", "ok": True, "big": 2**60, "what": [1, "a"]}
    row |= {"a.b": "its own name", "a": {"b": "of another"}}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    kinds = {"when": "timestamp", "ok": "bool", "big": "int64", "what": "string", "a.b": "string"}
    (batch,) = read(path, text="text", id=None, columns=kinds)
    (found,) = batch.documents.to_pylist()
    assert found["when"].isoformat() == "2024-02-01T00:00:00+00:00"
    assert (found["ok"], found["big"], found["what"]) == (True, 2**60, '[1,"a"]')
    assert found["a_b"] == "its own name"


def test_values_that_are_none_of_their_kind_are_null_and_counted(tmp_path):
    words = ["yes", "", "True", "false", None]
    times = ["9999-12-31T23:59:59-14:00", "soon", "2024-02-01", "0001-01-01T00:00:00+14:00", None]
    path = tmp_path / "rows.jsonl"
    rows = zip(words, times, strict=True)
    path.write_text("".join(json.dumps({"text": "t", "ok": o, "at": t}) + "\n" for o, t in rows))
    (batch,) = read(path, text="text", id=None, columns={"ok": "bool", "at": "timestamp"})
    found = batch.documents.to_pylist()
    assert [row["ok"] for row in found] == [None, None, True, False, None]
    assert [row["at"] and row["at"].isoformat() for row in found] == [
        *(None, None, "2024-02-01T00:00:00+00:00", None, None)
    ]
    assert batch.notes == {"unreadable_ok": 2, "unreadable_at": 3}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_of_a_table_are_told_to_the_millisecond(tmp_path, unit):
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    far = [10**12 * second] if unit != "ns" else [None]
    times = pa.array([second + second // 8 + 1, None, *far], pa.timestamp(unit))
    pq.write_table(pa.table({"text": ["a", "b", "c"], "at": times}), tmp_path / "rows.parquet")
    (batch,) = read(
        tmp_path / "rows.parquet", text="text", id=None, join=None, columns={"at": "timestamp"}
    )
    first, *others = batch.documents["at"].to_pylist()
    assert first.replace(microsecond=0).isoformat() == "1970-01-01T00:00:01+00:00"
    assert first.microsecond in (125_000, 126_000)
    assert others == [None, None]
    assert batch.notes == (None if unit == "ns" else {"unreadable_at": 1})


PICTURED = [
    {"key": "a", "caption": "a cat", "img": "http://a.org/1", "meta": {"score": 0.5}, "n": "3"},
    {"key": "b", "caption": None, "img": "http://a.org/2", "meta": None, "n": "1"},
    {"key": "c", "caption": "a dog", "img": "http://a.org/3", "meta": {"score": None}, "n": "x"},
    {"key": "d", "caption": "a cow", "img": "http://a.org/4", "meta": {"score": 2.0}, "n": None},
]


def pictured(folder, form):
    path = folder / f"rows.{form}"
    if form == "tar":
        with tarfile.open(path, "w") as tar:
            for row in PICTURED:
                parts = [(f"{row['key']}.json", json.dumps(row).encode()), ("b.txt", b"\xff")]
                for name, data in parts if row["key"] == "b" else parts[:1]:
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in PICTURED))
    else:
        pq.write_table(pa.Table.from_pylist(PICTURED), path)
    return path


@pytest.mark.parametrize(
    ("form", "named"), [("jsonl", 1), ("parquet", 1), ("tar", 0), ("jsonl", 0)]
)
def test_columns_stay_with_documents_that_have_images_or_stand_beside_such(tmp_path, form, named):
    columns = {"columns": {"meta.score": "float64", "n": "int64"}}
    columns["columns"] |= {"topic": "string"} if form != "parquet" else {}
    fields = {"text": "caption", "id": "key", **columns, **({"images": "img"} if named else {})}
    source = {"path": str(pictured(tmp_path, form)), **fields}
    data = {"inputs": [source], "images": {}, "tokenizer": {"path": "owner/name"}}
    recipe = make_recipe(data, where="recipe.yaml")
    batches = [batch for shard in recipe.plan().shards for batch in recipe.read(shard)]
    assert all(batch.documents.schema.equals(recipe.documents) for batch in batches)
    rows = [row for batch in batches for row in batch.documents.to_pylist()]
    assert [len(r["images"]) for r in rows] == [named] * 3
    told = [(r["id"], r["meta_score"], r["n"]) for r in rows]
    assert told == [("a", 0.5, 3), ("c", None, None), ("d", 2.0, None)]
    assert sum((b.notes or {}).get("unreadable_n", 0) for b in batches) == 1
    absent = sum((b.notes or {}).get("not_there_topic", 0) for b in batches)
    assert absent == (0 if form == "parquet" else 3)


def test_a_column_that_no_document_has_is_told(tmp_path, capsys):
    columns = {"topc": "string", "n": "int64", "meta.score": "float64"}
    inputs = [{"path": str(pictured(tmp_path, "jsonl")), "text": "caption", "columns": columns}]
    data = {"inputs": inputs, "tokenizer": None, "output": {"text": "parquet"}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(data))
    out = tmp_path / "run"
    report = prepare(load_recipe(tmp_path / "recipe.yaml"), out, one_by_one)
    assert report["notes"] == {"not_there_topc": 3, "unreadable_n": 1}
    assert main(["prepare", str(tmp_path / "recipe.yaml"), "--out", str(out)]) == 0
    first = f"{tmp_path / 'rows.jsonl'} byte "
    assert report["first_failed"]["missing_text"].startswith(first)
    shown, page = capsys.readouterr().out, (out / "report.html").read_text()
    for told in (
        f"1 document failed as missing_text, the first: {first}",
        "No document has a column 'topc' of those that inputs.columns names",
    ):
        assert told.replace(" ", "") in "".join(shown.split())  # in lines
    assert told in (out / "report.md").read_text()
    assert first in page
    assert ">1 document<" in page.replace(" ", " ").replace(" <", "<")


def test_files_that_have_no_columns_are_refused_where_some_are_named(tmp_path):
    (tmp_path / "page.md").write_text("text")
    with pytest.raises(ConfigError, match="inputs.0: columns: files of format text have none"):
        read(tmp_path / "page.md", text=None, id=None, join=None)


def test_a_time_that_no_millisecond_counts_to_is_null_and_counted(tmp_path):
    seconds = pa.array([0, 2**62, -(2**62), None], pa.timestamp("s"))
    table = pa.table({"text": ["a", "b", "c", "d"], "at": seconds})
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)
    of = {"text": "text", "id": None, "columns": {"at": "timestamp"}}
    batches = read(tmp_path / "rows.arrow", **of)
    rows = [row for batch in batches for row in batch.documents.to_pylist()]
    assert [row["text"] for row in rows] == ["a", "b", "c", "d"]
    assert [row["at"] and row["at"].year for row in rows] == [1970, None, None, None]
    assert sum(batch.notes["unreadable_at"] for batch in batches) == 2


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_text_beside_that_is_no_utf8_is_null_and_counted(tmp_path, form):
    odd = pa.array([b"a", b"\xff", None, b"d"], pa.binary())
    column = pa.StringArray.from_buffers(4, odd.buffers()[1], odd.buffers()[2], odd.buffers()[0])
    table = pa.Table.from_pylist(ROWS).append_column("odd", column)
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as f, pa.ipc.new_file(f, table.schema) as writer:
            writer.write_table(table)
    (batch,) = read(path, columns={"odd": "string"})
    batch.documents.validate(full=True)
    assert batch.documents["odd"].to_pylist() == ["a", None, "d"]  # c has no text
    assert batch.notes == {"unreadable_odd": 1}
