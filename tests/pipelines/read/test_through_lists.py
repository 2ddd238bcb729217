"""Text at a path through lists of objects, as of conversations: joined in order, alike in all."""

import gzip
import json
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.test_several import read, write_table
from tests.reference.paths import walked
from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.jsonl import cut_jsonl
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs

TALKS = [
    {"key": "a", "messages": [{"role": "user", "content": "Who?"}, {"role": "x", "content": "I."}]},
    {"key": "b", "messages": [None, {"role": "user"}, {"content": None}, {"content": "\u7b54"}]},
    {"key": "c", "messages": None},
    {"key": "d", "messages": []},
]
PARTS = [
    {"messages": [{"content": [{"text": "See"}, {"image": "i"}]}, {"content": [{"text": "it"}]}]},
    {"messages": [{"content": []}, {"content": None}, {"content": [None, {"text": "x"}]}]},
]
CHAT = "messages.content"


def jsonl(path, rows):
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.json", "t.parquet", "t.arrow"])
def test_texts_of_all_in_a_list_are_joined_in_order(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".json"):
        path.write_text(json.dumps(TALKS, indent=1))
    elif "json" in name:
        jsonl(path, TALKS)
    else:
        write_table(path, pa.Table.from_pylist(TALKS))
    documents, ((reason, _),) = read(path, CHAT)
    assert documents == [("a", "Who?\n\nI."), ("b", "\u7b54"), ("d", "")]
    assert reason == "missing_text"


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
def test_lists_in_lists_are_walked_too_and_stand_beside_other_columns(tmp_path, form):
    rows = [{"key": key, "system": "S", **row} for key, row in zip("ab", PARTS, strict=True)]
    path = tmp_path / f"t.{form}"
    made = jsonl(path, rows) if form == "jsonl" else write_table(path, pa.Table.from_pylist(rows))
    assert read(made, f"{CHAT}.text", join=" ") == ([("a", "See it"), ("b", "x")], [])
    both = read(made, ["system", f"{CHAT}.text"], join="|")
    assert both == ([("a", "S|See|it"), ("b", "S|x")], [])


texts = st.none() | st.text(st.characters(codec="utf-8"), max_size=4)
parts = st.lists(st.none() | st.fixed_dictionaries({}, optional={"text": texts}), max_size=3)
said = st.fixed_dictionaries(
    {}, optional={"content": st.none() | parts, "role": texts, "words": st.lists(texts, max_size=2)}
)
talk = st.none() | st.lists(st.none() | said, max_size=4)


@given(
    st.lists(st.none() | st.fixed_dictionaries({"messages": talk}), min_size=1, max_size=8),
    st.sampled_from(["", "\n", " \u2014 "]),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.binary()]),
    st.sampled_from([pa.list_, pa.large_list]),
    st.integers(0, 3),
)
def test_tables_and_lines_have_what_a_plain_walk_finds(
    tmp_path_factory, rows, join, kind, listed, cut
):
    folder = tmp_path_factory.mktemp("through")
    of = pa.struct([("text", kind)])
    message = pa.struct([("content", listed(of)), ("role", kind), ("words", listed(kind))])
    schema = pa.schema([("key", pa.string()), ("of", pa.struct([("messages", listed(message))]))])
    full = {"messages": [{"content": [{"text": "t"}], "role": "r", "words": ["w"]}]}
    rows = [{"key": str(i), "of": row} for i, row in enumerate([*rows, full])]
    table = pa.Table.from_pylist(rows, schema).slice(min(cut, len(rows) - 1))
    rows = rows[min(cut, len(rows) - 1) :]
    paths = [jsonl(folder / "t.jsonl", rows), write_table(folder / "t.arrow", table)]
    for tail in ("role", "words", "content.text"):
        names = ["of", "messages", *tail.split(".")]
        expected = [
            (row["key"], join.join(walked(row, names)))
            for row in rows
            if row["of"] and row["of"]["messages"] is not None
        ]
        for path in paths:
            documents, failed = read(path, ".".join(names), join=join)
            assert documents == expected, path
            assert {reason for reason, _ in failed} <= {"missing_text"}


def test_what_a_null_list_hides_is_no_text(tmp_path):
    said = pa.StructArray.from_arrays([pa.array(list("abcdef"))], ["content"])
    mask = pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), said, mask=mask)
    path = write_table(tmp_path / "t.arrow", pa.table({"key": ["x", "y", "z"], "messages": lists}))
    documents, ((reason, _),) = read(path, CHAT, join="")
    assert (documents, reason) == ([("x", "ab"), ("z", "ef")], "missing_text")


def test_text_among_objects_stands_for_itself_and_nothing_else_does(tmp_path):
    mixed = [{"content": "Hi"}, {"content": [{"type": "text", "text": "See"}, {"type": "image"}]}]
    rows = [{"key": "a", "messages": mixed}, {"key": "b", "messages": [{"content": 3}]}]
    path = jsonl(tmp_path / "t.jsonl", rows)
    documents, ((reason, message),) = read(path, f"{CHAT}.text", join=" ")
    assert (documents, reason) == ([("a", "Hi See")], "text_not_string")
    assert "'messages.content.text' is an array with a number in it; name another" in message
    jsonl(path, [{"key": "c", "messages": [{"content": "Hi"}]}, *rows])
    documents, ((_, message), _) = read(path, CHAT, join=" ")
    assert documents == [("c", "Hi")]
    told = "'messages.content' is an array with a string and an object in it; name text in it, as"
    jq = """`jq -c '([.] | flatten[])."messages"? | ([.] | flatten[])."content"? | arrays |"""
    assert jq in message
    assert f'{told} {{path: …, text: messages.content.text, join: "\\n\\n"}}, or `jq' in message


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_text_that_is_not_utf8_fails_its_document_alone(tmp_path, form):
    contents = pa.array([b"ok", b"\xff", b"fine"]).view(pa.string())
    said = pa.StructArray.from_arrays([contents], ["content"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), said)
    table = pa.table({"key": list("xyz"), "messages": lists, "lists": contents.cast(pa.binary())})
    flat = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), contents)
    path = write_table(tmp_path / f"t.{form}", table.append_column("flat", flat))
    for text in (CHAT, "flat"):
        documents, ((reason, _),) = read(path, text)
        assert (documents, reason) == ([("x", "ok"), ("z", "fine")], "invalid_utf8")


def test_lists_whose_ends_go_back_are_damage(tmp_path):
    said = pa.StructArray.from_arrays([pa.array(list("abcd"))], ["content"])
    for ends in ([0, 2**30, 1, 4], [0, 3, -7, 4]):
        offsets = pa.py_buffer(np.array(ends, np.int32).tobytes())
        mask = pa.py_buffer(b"\x05")
        lists = pa.ListArray.from_buffers(pa.list_(said.type), 3, [mask, offsets], children=[said])
        table = pa.table({"key": list("xyz"), "messages": lists})
        path = write_table(tmp_path / "t.arrow", table)
        _, ((reason, message),) = read(path, CHAT)
        assert reason == "damaged_arrow"
        assert "row 0: a list ends before it begins" in message


def test_views_of_one_text_in_lists_are_made_a_few_rows_at_a_time(tmp_path):
    """100 lists of one text of 8 MB, which the file has once."""
    text = pa.array(["x" * 2**23], pa.string_view())
    _, view, data = text.buffers()
    views = pa.Array.from_buffers(
        pa.string_view(), 100, [None, pa.py_buffer(bytes(view)[:16] * 100), data]
    )
    said = pa.StructArray.from_arrays([views], ["content"])
    lists = pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), said)
    path = write_table(tmp_path / "t.arrow", pa.table({"messages": lists}))
    recipe = made([{"path": str(path), "text": CHAT, "join": " "}])
    (shard,) = recipe.plan().shards
    before, batches = pa.total_allocated_bytes(), iter(recipe.read(shard))
    next(batches)
    assert pa.total_allocated_bytes() - before < 2**28


def made(inputs):
    return make_recipe(
        {"inputs": inputs, "tokenizer": None, "output": {"text": "parquet"}}, where="recipe.yaml"
    )


@pytest.mark.parametrize("form", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("rows", "text", "named"),
    [
        (TALKS[:1], None, CHAT),
        (TALKS[:1], "messages", CHAT),
        (TALKS[:1], CHAT, CHAT),
        (PARTS, None, f"{CHAT}.text"),
        (PARTS, CHAT, f"{CHAT}.text"),
        ([{"conversations": [{"from": "human", "value": "Hi"}]}], None, "conversations.value"),
        ([{"data": {"title": "T", "text": "Hi"}}], None, "data.text"),
        ([{"data": {"title": "T", "text": ["Hi"]}}], "data", "data.text"),
        ([{"data": {"title": "T", "text": ["Hi"]}}], None, "data.text"),
        ([{"data": {"a: b, c": "Hi"}}], "data", "data.a: b, c"),
    ],
)
def test_the_input_that_a_message_tells_reads_the_file(tmp_path, form, rows, text, named):
    path = tmp_path / f"a;b, text: c.{form}"
    write = jsonl if form == "jsonl" else lambda p, r: write_table(p, pa.Table.from_pylist(r))
    write(path, rows)
    (failed,) = plan_inputs([Input(path=str(path), text=text)], 2**30).failed
    told = failed.message[failed.message.index("{path: ") :].partition("}")[0] + "}"
    way = failed.with_way("as --text-column NAME").message.partition("; as --text-column ")[2]
    assert yaml.safe_load(way) == named
    recipe = made([yaml.safe_load(told)])
    assert recipe.inputs[0].text == named
    plan = recipe.plan()
    assert not plan.failed
    assert [b.failed.num_rows for shard in plan.shards for b in recipe.read(shard)] == [0]


def test_paths_of_a_long_name_are_not_each_made(tmp_path):
    """5,000 behind a name of 20 kB, 100 MB in all, of a line or a schema of 80 kB."""
    inner = {f"k{i}": 0 for i in range(5000)}
    jsonl(tmp_path / "t.jsonl", [{"text": "t", "k" * 20_000: inner}])
    struct = pa.struct([(name, pa.int8()) for name in inner])
    schema = pa.schema([("text", pa.string()), ("k" * 20_000, struct)])
    write_table(tmp_path / "t.arrow", schema.empty_table())
    for name in ("t.jsonl", "t.arrow"):
        tracemalloc.start()
        assert not plan_inputs([Input(path=str(tmp_path / name))], 2**30).failed
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**25


def test_text_in_a_wide_list_is_found_in_one_walk(tmp_path):
    """300 paths into a list of 1,200: each was looked for in all."""
    wide = {"of": [{f"k{i}": "a" for i in range(300)}, *[{}] * 900]}
    path = str(jsonl(tmp_path / "t.jsonl", [{"data": [wide]}]))
    file, calls = InputFile(path, "t.jsonl", 4000, 0), 0

    def count(_frame, event, _arg):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        with pytest.raises(InputError, match=r"text: data\.of\.k0, join"):
            cut_jsonl(file, Input(path=path, text="data"), 2**30, Limits())
    finally:
        sys.setprofile(None)
    assert calls < 30_000


def test_a_path_through_a_list_that_stays_beside_the_text_is_a_list(tmp_path):
    for form in ("jsonl", "parquet"):
        path = tmp_path / f"t.{form}"
        row = {"text": "t", "messages": [{"role": "user"}, {"role": None}]}
        jsonl(path, [row]) if form == "jsonl" else pq.write_table(pa.Table.from_pylist([row]), path)
        recipe = made([{"path": str(path), "columns": {"messages.role": "string"}}])
        (batch,) = (b for shard in recipe.plan().shards for b in recipe.read(shard))
        assert batch.documents["messages_role"].to_pylist() == ['["user",null]']
