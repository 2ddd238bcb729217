"""Text of several columns: joined in order without what is null or empty, in every format alike."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input, SourceShard
from tokenmill.pipelines.prepare.recipe import make_recipe

ROWS = [
    {"key": "a", "ask": "Who?", "meta": {"more": "In 1812."}, "answer": "Nobody."},
    {"key": "b", "ask": "Why?", "meta": {"more": None}, "answer": "So."},
    {"key": "c", "ask": None, "meta": {"more": None}, "answer": None},
    {"key": "d", "ask": None, "meta": None, "answer": "\u7b54"},
]
TEXTS = ["ask", "meta.more", "answer"]
JOINED = [("a", "Who?\n\nIn 1812.\n\nNobody."), ("b", "Why?\n\nSo."), ("d", "\u7b54")]


def write(path, rows):
    form = path.suffix[1:]
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form in ("csv", "tsv"):
        with path.open("w", newline="") as f:
            made = csv.DictWriter(f, rows[0], delimiter={"csv": ",", "tsv": "\t"}[form])
            made.writeheader()
            made.writerows(rows)
    else:
        write_table(path, pa.Table.from_pylist(rows))
    return path


def write_table(path, table):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


def read(path, text=TEXTS, **more):
    """Documents as (id, text), and why others are none as (reason, message)."""
    given = {"path": str(path), "id": "key", "join": "\n\n", "text": text, **more}
    recipe = make_recipe(
        {"inputs": [given], "tokenizer": None, "output": {"text": "parquet"}}, where="recipe.yaml"
    )
    plan = recipe.plan()
    assert not plan.failed, plan.failed[0].message
    for shard in plan.shards:
        assert SourceShard.from_json(json.loads(json.dumps(shard.to_json()))) == shard
    batches = [batch for shard in plan.shards for batch in recipe.read(shard)]
    documents = [row for batch in batches for row in batch.documents.to_pylist()]
    failed = [row for batch in batches for row in batch.failed.to_pylist()]
    return [(d["id"], d["text"]) for d in documents], [(f["reason"], f["detail"]) for f in failed]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
def test_columns_are_joined_in_their_order_without_what_is_null(tmp_path, form):
    documents, ((reason, message),) = read(write(tmp_path / f"rows.{form}", ROWS))
    assert documents == JOINED
    assert reason == "missing_text"
    assert "'ask + meta.more + answer' is null" in message


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow", "csv", "tsv"])
def test_columns_are_joined_without_those_that_are_empty(tmp_path, form):
    rows = [{"key": "a", "ask": "Who?", "answer": ""}, {"key": "b", "ask": "Why?", "answer": "So"}]
    rows.append({"key": "c", "ask": "", "answer": ""})
    documents, failed = read(write(tmp_path / f"rows.{form}", rows), ["answer", "ask"])
    assert documents == [("a", "Who?"), ("b", "So\n\nWhy?"), ("c", "")]
    assert not failed


@given(
    st.lists(
        st.tuples(st.none() | st.text(max_size=5), st.none() | st.text(max_size=5)),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(["", "\n", " \u2014 "]),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), "dictionary", pa.binary()]),
)
def test_tables_and_lines_have_the_same_texts(tmp_path_factory, rows, join, kind):
    folder = tmp_path_factory.mktemp("several")
    rows = [{"key": str(i), "a": a, "b": b} for i, (a, b) in enumerate(rows)]
    expected = [
        (row["key"], join.join(t for t in (row["a"], row["b"]) if t))
        for row in rows
        if (row["a"], row["b"]) != (None, None)
    ]
    lines = [{k: v for k, v in row.items() if v is not None} for row in rows]
    (folder / "rows.jsonl").write_text(
        '{"key": "x", "a": null, "b": null}\n' + "".join(json.dumps(line) + "\n" for line in lines)
    )
    columns = {"key": [row["key"] for row in rows], "b": pa.array([r["b"] for r in rows])}
    column = pa.array([row["a"] for row in rows], pa.string())
    columns["a"] = column.dictionary_encode() if kind == "dictionary" else column.cast(kind)
    write_table(
        folder / "rows.arrow",
        pa.table(columns).cast(
            pa.schema({"key": pa.string(), "b": pa.string(), "a": columns["a"].type})
        ),
    )
    for name in ("rows.jsonl", "rows.arrow"):
        documents, failed = read(folder / name, ["a", "b"], join=join)
        assert documents == expected
        assert {reason for reason, _ in failed} <= {"missing_text"}


def test_lists_in_them_are_joined_too(tmp_path):
    rows = [{"key": "a", "ask": ["Who", None, "is it?"], "answer": "I."}]
    for form in ("jsonl", "parquet"):
        path = write(tmp_path / f"rows.{form}", rows)
        assert read(path, ["ask", "answer"], join="|") == ([("a", "Who|is it?|I.")], [])


def test_what_is_no_text_fails_alone_and_is_named(tmp_path):
    rows = [
        {"key": "a", "ask": "Who?", "answer": "I."},
        {"key": "b", "ask": "How many?", "answer": 3},
    ]
    documents, ((reason, message),) = read(write(tmp_path / "r.jsonl", rows), ["ask", "answer"])
    assert documents == [("a", "Who?\n\nI.")]
    assert (reason, "'answer' is a number" in message) == ("text_not_string", True)
    table = pa.table({"key": ["a", "b"], "ask": pa.array([b"\xff", b"ok"]), "answer": ["x", None]})
    for form in ("parquet", "arrow"):
        made = read(write_table(tmp_path / f"bad.{form}", table), ["ask", "answer"])
        assert made[0] == [("b", "ok")]
        assert [reason for reason, _ in made[1]] == ["invalid_utf8"]


def test_a_dictionary_that_would_expand_is_read_a_few_rows_at_a_time(tmp_path):
    """2,000 rows of one value of 8 MB, which the file has once."""
    few = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 2**23]))
    table = pa.table({"key": pa.array(["k"] * 2000), "a": few, "b": few})
    path = write_table(tmp_path / "rows.arrow", table)
    recipe = make_recipe(
        {
            "inputs": [{"path": str(path), "id": "key", "text": ["a", "b"], "join": " "}],
            "tokenizer": None,
            "output": {"text": "parquet"},
        },
        where="r",
    )
    (shard,) = recipe.plan().shards
    first = next(iter(recipe.read(shard)))
    assert first.documents.nbytes < 2**29


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"text": ["ask", "answer"]},
            r'say what stands between the columns of text, as join: "\n\n"',
        ),
        ({"text": ["ask", "answer"], "join": " ", "images": "i"}, "not read beside images"),
        ({"text": []}, "several names, as [question, answer]"),
        ({"text": ["ask", 3], "join": " "}, "several names, as [question, answer]"),
        ({"text": 3}, "text"),
    ],
)
def test_mistakes_are_told_in_a_line(more, told):
    with pytest.raises(ConfigError) as e:
        make_recipe({"inputs": [{"path": "x.jsonl", **more}]}, where="recipe.yaml")
    assert told in str(e.value)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv"])
def test_a_column_that_is_not_there_is_named(tmp_path, form):
    path = write(tmp_path / f"rows.{form}", [{"key": "a", "ask": "x"}])
    (failed,) = (
        make_recipe(
            {
                "inputs": [{"path": str(path), "text": ["ask", "reply"], "join": " "}],
                "tokenizer": None,
                "output": {"text": "parquet"},
            },
            where="r",
        )
        .plan()
        .failed
    )
    assert "no column 'reply' among: key, ask" in failed.message


def test_its_name_tells_the_columns():
    assert Input(path="x", text=("a", "b.c"), join="").text_name == "a + b.c"
    assert Input(path="x", text="a").text_name == "a"


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv"])
def test_a_list_of_one_is_that_column(tmp_path, form):
    path = write(tmp_path / f"rows.{form}", [{"key": "a", "ask": "Who?"}])
    assert read(path, ["ask"], join=None) == ([("a", "Who?")], [])


def test_a_column_that_has_the_name_of_several_is_refused(tmp_path):
    path = write(tmp_path / "rows.parquet", [{"key": "a", "ask": "x", "b": "y", "ask + b": "z"}])
    with pytest.raises(AssertionError, match="a column is called 'ask . b'"):
        read(path, ["ask", "b"])


def test_fields_between_quotes_are_counted_each(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text('key\task\tanswer\na\t"Who?"\tI\nb\tWhy?\tSo\nc\t"\tSo\n')
    given = {"path": str(path), "text": ["ask", "answer"], "join": " ", "quote": ""}
    recipe = make_recipe(
        {"inputs": [given], "tokenizer": None, "output": {"text": "parquet"}}, where="r"
    )
    (shard,) = recipe.plan().shards
    (batch,) = recipe.read(shard)
    assert batch.notes == {"texts_between_quotes": 1}
