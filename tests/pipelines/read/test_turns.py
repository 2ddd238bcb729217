"""Several paths through one list: turn by turn, alike in every format."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.test_several import read, write_table
from tests.pipelines.read.test_through_lists import jsonl
from tests.reference.paths import in_turn
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.plan import plan_inputs

TALK = {"key": "a", "talk": [{"ask": "q1", "answer": "a1"}, {"ask": "q2", "answer": "a2"}]}
FORMS = ["t.jsonl", "t.jsonl.gz", "t.json", "t.parquet", "t.arrow", "saved"]


def written(path, rows, schema=None):
    """Rows as a file of the format that a path names; saved: a dataset's folder."""
    if path.name == "saved":
        path.mkdir(exist_ok=True)
        (path / "state.json").write_text('{"_data_files": [{"filename": "data-00000.arrow"}]}')
        (path / "dataset_info.json").write_text("{}")
        write_table(path / "data-00000.arrow", pa.Table.from_pylist(rows, schema))
    elif path.suffix in (".parquet", ".arrow"):
        write_table(path, pa.Table.from_pylist(rows, schema))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        jsonl(path, rows)
    return path


@pytest.mark.parametrize("name", FORMS)
def test_questions_and_answers_of_one_list_are_read_turn_by_turn(tmp_path, name):
    path = written(tmp_path / name, [TALK])
    assert read(path, ["talk.ask", "talk.answer"], join="|") == ([("a", "q1|a1|q2|a2")], [])
    assert read(path, ["talk.answer", "talk.ask"], join="|") == ([("a", "a1|q1|a2|q2")], [])


@pytest.mark.parametrize("name", FORMS[2:4])
def test_paths_that_others_part_or_that_share_no_list_stand_in_order(tmp_path, name):
    row = {**TALK, "meta": {"title": "T", "end": "E"}, "other": [{"note": "n1"}, {"note": "n2"}]}
    path = written(tmp_path / name, [row])
    apart = ["talk.ask", "meta.title", "talk.answer", "other.note", "meta.end"]
    assert read(path, apart, join="|") == ([("a", "q1|q2|T|a1|a2|n1|n2|E")], [])
    ordered = ["meta.title", "meta.end", "talk.ask", "other.note"]
    assert read(path, ordered, join="|") == ([("a", "T|E|q1|q2|n1|n2")], [])


texts = st.none() | st.text(st.characters(codec="utf-8"), max_size=3)
words = st.none() | st.lists(texts.filter(bool), max_size=2)
KEYS = ("ask", "answer", "words")
turn = st.none() | st.fixed_dictionaries(
    {}, optional={"ask": texts, "answer": texts, "words": st.lists(words, max_size=2)}
)
turns = st.none() | st.lists(turn, max_size=3)
session = st.none() | st.fixed_dictionaries({}, optional={"title": texts, "turns": turns})
row = st.fixed_dictionaries(
    {}, optional={"ask": texts, "talk": turns, "of": st.none() | st.lists(session, max_size=3)}
)
LEADS = (("ask",), *(("talk", key) for key in KEYS), ("of", "title"))
LEADS = (*LEADS, *(("of", "turns", key) for key in KEYS))


@given(
    st.sampled_from(["t.jsonl", "t.json", "t.parquet", "t.arrow", "saved"]),
    st.lists(row, min_size=1, max_size=5),
    st.lists(st.sampled_from(LEADS), min_size=2, max_size=5),
    st.sampled_from(["", "\n", " \u2014 "]),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.binary()]),
    st.sampled_from([pa.list_, pa.large_list]),
)
def test_every_format_has_what_a_plain_walk_finds(
    tmp_path_factory, name, rows, paths, join, kind, listed
):
    if name == "t.parquet" and kind == pa.string_view():
        kind = pa.string()  # pyarrow writes no views in lists
    said = pa.struct([("ask", kind), ("answer", kind), ("words", listed(listed(kind)))])
    of = pa.struct([("title", kind), ("turns", listed(said))])
    schema = {"key": pa.string(), "ask": kind, "talk": listed(said), "of": listed(of)}
    full = [{"ask": f"q{i}", "answer": f"a{i}", "words": [[f"w{i}", f"v{i}"]]} for i in range(2)]
    whole = {"ask": "s", "talk": full, "of": [{"title": t, "turns": full} for t in "TU"]}
    rows = [{"key": str(i), **row} for i, row in enumerate([*rows, whole])]
    expected = [
        (row["key"], join.join(filter(None, in_turn(row, paths, join))))
        for row in rows
        if any(row.get(path[0]) is not None for path in paths)
    ]
    path = written(tmp_path_factory.mktemp("turns") / name, rows, pa.schema(schema))
    documents, failed = read(path, [".".join(names) for names in paths], join=join)
    assert documents == expected
    assert {reason for reason, _ in failed} <= {"missing_text"}


@pytest.mark.parametrize("name", FORMS)
def test_lists_of_lists_are_read_one_after_another(tmp_path, name):
    talk, of = [["q1", "a1"], [], None, ["q2", "a2"]], [[{"ask": "q"}, {"answer": "a"}], []]
    path = written(tmp_path / name, [{"key": "a", "talk": talk, "of": [{"turns": of}], "end": "E"}])
    assert read(path, "talk", join="|") == ([("a", "q1|a1|q2|a2")], [])
    texts = ["talk", "of.turns.ask", "of.turns.answer", "end"]
    assert read(path, texts, join="|") == ([("a", "q1|a1|q2|a2|q|a|E")], [])
    (failed, *_) = plan_inputs([Input(path=str(path), text="talk")], 2**30).failed
    assert 'text: talk, join: "' in failed.message


@pytest.mark.parametrize(
    ("said", "told"), [(3, "an array with a number"), ([[3]], "an array with a number")]
)
def test_what_is_no_text_in_a_turn_fails_its_document_and_is_named(tmp_path, said, told):
    odd = {"key": "b", "talk": [{"ask": "q"}, {"answer": said}]}
    path = written(tmp_path / "t.jsonl", [TALK, odd])
    documents, ((reason, message),) = read(path, ["talk.ask", "talk.answer"], join="|")
    assert (documents, reason) == ([("a", "q1|a1|q2|a2")], "text_not_string")
    assert f"'talk.answer' is {told}" in message


def test_text_among_turns_stands_for_itself_once(tmp_path):
    rows = [{"key": "b", "talk": ["Hi", {"ask": "q", "answer": None}]}, TALK]
    path = written(tmp_path / "t.jsonl", rows)
    documents, _ = read(path, ["talk.ask", "talk.answer"], join="|")
    assert documents == [("b", "Hi|q"), ("a", "q1|a1|q2|a2")]


@pytest.mark.parametrize("name", ["t.jsonl", "t.arrow"])
def test_a_column_whose_name_has_a_dot_stands_alone(tmp_path, name):
    path = written(tmp_path / name, [{**TALK, "talk.answer": "whole"}])
    assert read(path, ["talk.ask", "talk.answer"], join="|") == ([("a", "q1|q2|whole")], [])


def test_what_a_null_list_hides_is_no_turn(tmp_path):
    parts = [pa.array(list("abcdef")), pa.array(list("ABCDEF"))]
    said = pa.StructArray.from_arrays(parts, ["ask", "answer"])
    mask = pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), said, mask=mask)
    path = write_table(tmp_path / "t.arrow", pa.table({"key": ["x", "y", "z"], "talk": lists}))
    documents, ((reason, _),) = read(path, ["talk.ask", "talk.answer"], join="")
    assert (documents, reason) == ([("x", "aAbB"), ("z", "eEfF")], "missing_text")


def test_a_line_that_is_no_object_is_no_document(tmp_path):
    path = tmp_path / "t.jsonl"
    for line in ('["a", "b"]', '"talk"', "3"):
        path.write_text('{"talk": ["x"], "a": {"b": "y"}}\n' + line)
        for text in ("talk", "a.b", ["talk", "a.b"]):
            documents, failed = read(path, text, id=None)
            assert (len(documents), [reason for reason, _ in failed]) == (1, ["invalid_json"])
