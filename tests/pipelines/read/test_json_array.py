"""A file that is one JSON array: each of its objects is a document, by its byte in the file."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.corpus import read_all
from tokenmill.pipelines.read.json_array import array_lines, is_no_lines
from tokenmill.pipelines.read.lines import LostLine
from tokenmill.pipelines.read.options import Limits

strings = st.text(st.sampled_from('a"\\[]{},\n é'), max_size=6)
values = st.recursive(strings, lambda of: st.lists(of, max_size=3) | st.dictionaries(strings, of))
objects = st.lists(st.dictionaries(strings, values, max_size=3), min_size=1, max_size=5)


def pieces_of(data, size):
    return iter([[data[at : at + size]] for at in range(0, len(data), size)])


@given(objects, st.sampled_from([None, 1, "\t"]), st.integers(1, 50), st.booleans())
def test_objects_come_whole_and_at_their_bytes_however_the_file_is_cut(made, indent, size, bom):
    data = b"\xef\xbb\xbf" * bom + json.dumps(made, indent=indent, ensure_ascii=False).encode()
    first = data.index(b"{") + 1
    blocks = pieces_of(data, size) if size >= first else iter([[data[:first], data[first:]]])
    got = [(at, line) for group in array_lines(blocks, 10**6) for at, line in group.pairs()]
    assert [json.loads(line) for _, line in got] == made
    assert all(data[at : at + len(line.rstrip())] == line.rstrip() for at, line in got)


@given(objects, st.integers(1, 50), st.data())
def test_one_that_is_cut_short_tells_so(made, size, data):
    whole = json.dumps(made).encode()
    cut = whole[: data.draw(st.integers(2, len(whole) - 1))]
    *items, last = array_lines(iter([[cut[:2]], *pieces_of(cut[2:], size)]), 10**6)
    there = [json.loads(line) for group in items for line in group.lines]
    assert there == made[: len(there)]
    assert isinstance(last, LostLine)
    assert last.cause == "damaged_json"


@pytest.mark.parametrize("name", ["d.json", "d.json.gz"])
def test_the_documents_of_an_array(tmp_path, name):
    rows = [{"id": n, "text": f"text {n}", "of": [{"n": n}]} for n in range(3)]
    data = json.dumps(rows, indent=2).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    got = read_all(tmp_path / name, shard_bytes=10)
    assert got.texts == [row["text"] for row in rows]
    assert len(got.plan.shards) == 1


def test_what_is_no_object_fails_alone(tmp_path):
    data = b'[{"text": "a"}, 7, {"text": "b"} {"text": "c"}, {"text": 1}, {"text": "d"}] behind'
    (tmp_path / "d.json").write_bytes(data)
    got = read_all(tmp_path / "d.json")
    assert got.texts == ["a", "b", "c", "d"]
    assert got.reasons == ["invalid_json", "text_not_string", "invalid_json"]
    details = [f["detail"] for f in got.failures]
    assert details[0].endswith("d.json byte 14: not an object: '7'")
    assert details[2].endswith("byte 74: behind the end of the array: '] behind'")


def test_an_object_that_is_too_large_fails_and_ends_the_file_where_it_cannot_be_held(tmp_path):
    data = json.dumps([{"text": "a"}, {"text": "b" * 300}, {"text": "c"}]).encode()
    (tmp_path / "d.json").write_bytes(data)
    got = read_all(tmp_path / "d.json", limits=Limits(max_document_bytes=200))
    assert (got.texts, got.reasons) == (["a", "c"], ["too_large"])
    first, last = array_lines(pieces_of(data, 50), 200)
    assert (first.lines, last.cause, last.offset) == ([b'{"text": "a"}'], "damaged_json", 14)


def test_what_is_too_large_fails_alone_in_a_block_of_many_pieces():
    data = json.dumps([{"text": "a"}, {"text": "b" * 300}, {"text": "c"}]).encode()
    block = [data[at : at + 7] for at in range(0, len(data), 7)]
    first, large, last = array_lines(iter([block]), 200)
    assert json.loads(first.lines[0]) == {"text": "a"}
    assert (large.cause, last.lines) == ("too_large", [b'{"text": "c"}'])


@given(objects, st.sampled_from([0, 1, "\t"]), st.sampled_from(["\n", "\r\n"]), st.integers(60, 90))
def test_objects_over_lines_are_those_of_the_file(made, indent, ends, size):
    made = [{"a": 1, **of} for of in made]
    lines = [json.dumps(of, indent=indent, ensure_ascii=False) for of in made]
    data = ends.join("\n".join([*lines, ""]).split("\n")).encode()
    assert is_no_lines(data)
    got = [
        (at, line)
        for group in array_lines(pieces_of(data, size), 10**6)
        for at, line in group.pairs()
    ]
    assert [json.loads(line) for _, line in got] == made
    assert all(data[at : at + len(line.rstrip())] == line.rstrip() for at, line in got)


def test_a_document_a_file_over_lines(tmp_path):
    rows = [{"id": n, "text": f"text {n}", "of": [{"n": n}]} for n in range(2)]
    for row in rows:
        (tmp_path / f"{row['id']}.json").write_text(json.dumps(row, indent=2))
    assert read_all(tmp_path).texts == [row["text"] for row in rows]
    (tmp_path / "1.json").write_text(json.dumps(rows[1], indent=2)[:-1])
    got = read_all(tmp_path / "*.json")
    assert (got.texts, [f.cause for f in got.plan.failed]) == (["text 0"], ["damaged_json"])
    assert "1.json: byte 0: the object does not end: '{" in got.plan.failed[0].message


def test_what_begins_a_file_that_is_no_lines():
    others = (
        b"\xef\xbb\xbf [ {",
        b"{\n",
        b'{"a": [\r\n 1',
        b'{"a\\",": 1,\n',
        b'{"a":\n',
        b'{"a": [\n{"b": 1},\n',
        b'{"a": [{"b": "]}"},\r\n{"b',
    )
    assert all(map(is_no_lines, others))
    lines = (
        b'{"a": [{',
        b"[",
        b"[[{",
        b'["a"',
        b"",
        b'{"a": 1}\n{',
        b'{"cut,\n{',
        b'{"a": 1\n',
        b"{",
        b'{\n{"text": "a"}\n',
        b'{"text": "a",\r\n{"text": "b"}\n',
        b'{"text": "a"},\n{"text": "b"},\n',
        b'{"text": "a", "of": {"n": [1]},\n{"text": "b"}\n',
    )
    assert not any(map(is_no_lines, lines))


@pytest.mark.parametrize("first", ["{", '{"text": "a",', '{"text": "a"},'])
def test_lines_of_which_the_first_is_cut_short_stay_lines(tmp_path, first):
    (tmp_path / "d.jsonl").write_text(f'{first}\n{{"text": "b"}}\n{{"text": "c"}}\n')
    got = read_all(tmp_path / "d.jsonl")
    assert (got.texts, got.reasons) == (["b", "c"], ["invalid_json"])


def test_blanks_between_objects_cost_no_square_of_their_number(tmp_path):
    (tmp_path / "d.json").write_bytes(b'{\n"text": "a"}' + b" " * 10**6 + b'x{"text": "b"}')
    got = read_all(tmp_path / "d.json")  # would be most of an hour
    assert (got.texts, got.reasons) == (["a", "b"], ["invalid_json"])


@pytest.mark.parametrize(
    ("behind", "texts", "details"),
    [
        ("\n]", ["a"], ["byte 14: not an object: ']'"]),
        ('\n}\n{"text": "b"}\n', ["a", "b"], ["byte 14: not an object: '}'"]),
        ("\ntail", ["a"], ["byte 14: not an object: 'tail'"]),
        ('\n{"text": "b"', ["a"], ['byte 14: the object does not end: \'{"text": "b"\'']),
        (",\n", ["a"], []),
    ],
)
def test_what_stands_behind_objects_over_lines(tmp_path, behind, texts, details):
    (tmp_path / "d.json").write_text('{\n"text": "a"}' + behind)
    got = read_all(tmp_path / "d.json")
    assert got.texts == texts
    assert [f["detail"].partition("d.json ")[2] for f in got.failures] == details
