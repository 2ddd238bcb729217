"""Texts and images of one document, put in order."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipelines.read.pictured import read_pictured
from tests.strategies import examples
from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.images.documents import (
    Raw,
    caption_of,
    claims_of,
    document_of,
)
from tokenmill.pipelines.read.images.folder import Folder, Place
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.options import Images

SHARD = SourceShard(
    key="",
    ordinal=0,
    input=0,
    source="",
    format="jsonl",
    paths=("/nowhere/d.jsonl",),
    names=("d.jsonl",),
)
FOLDER = Folder(SHARD, Images())
PLACE = Place("d.jsonl#0", "/nowhere/d.jsonl byte 0")
texts = st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["", " ", P, f"a{P}\n\nb"]))
urls = st.one_of(st.none(), st.integers(0, 99).map("https://a.org/{}.png".format))
positions = st.lists(st.tuples(texts, urls), max_size=8)


def page(text, images, **fields):
    values = images
    if isinstance(images, list):
        values = [None if u is None else Value(reference=u) for u in images]
    raw = Raw(0, "x", PLACE, text, values, isinstance(images, list), **fields)
    return document_of(raw, None, "join", FOLDER)


def woven(document):
    """The slow and obvious way: a node for each text and each image."""
    nodes = []
    for text, url in document:
        nodes += [text.replace(P, "\ufffd")] if text else []
        nodes += [P] if url else []
    return "\n\n".join(nodes)


@given(positions)
def test_placeholders_are_the_images_in_order(document):
    got = page([t for t, _ in document], [u for _, u in document])
    assert got.lost is None
    assert got.text == woven(document)
    assert got.text.count(P) == len(got.images)
    assert [i.url for i in got.images] == [u for _, u in document if u]


@given(positions, st.sampled_from(["texts", "images", "metadata"]))
def test_lists_of_unequal_length_fail_with_their_images(document, longer):
    lists = {
        "texts": [t for t, _ in document],
        "images": [u for _, u in document],
        "metadata": [None] * len(document),
    }
    lists[longer] = [*lists[longer], None]
    got = page(lists["texts"], lists["images"], metadata=lists["metadata"])
    assert got.lost.cause == "unequal_lists"
    assert f"{len(document) + 1} {longer}" in got.lost.detail
    assert len(got.images) == sum(u is not None for _, u in document)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(25))
@given(st.lists(positions, max_size=5), st.booleans())
def test_every_format_gives_the_same_documents(tmp_path, documents, with_metadata):
    rows = [{"texts": [t for t, _ in d], "images": [u for _, u in d]} for d in documents]
    for i, row in enumerate(rows if with_metadata else ()):
        there = [u and {"original_width": 5 + i, "format": "JPG"} for u in row["images"]]
        row["metadata"] = json.dumps(there)
        row["general_metadata"] = json.dumps({"url": f"https://a.org/{i}"})
    lines = tmp_path / "d.jsonl"
    lines.write_text("".join(json.dumps(r) + "\n" for r in rows))
    strings = pa.list_(pa.string())
    fields = [("texts", strings), ("images", strings)]
    fields += [("metadata", pa.string()), ("general_metadata", pa.string())] * with_metadata
    table = pa.Table.from_pylist(rows, schema=pa.schema(fields))
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=2)
    with pa.ipc.new_file(tmp_path / "d.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    for name in ("d.jsonl", "d.parquet", "d.arrow"):
        got = read_pictured(tmp_path / name, images="images", text="texts")
        assert got.texts == [woven(d) for d in documents]
        assert [[i["url"] for i in d] for d in got.images] == [
            [u for _, u in d if u] for d in documents
        ]
        numbered = enumerate(documents if with_metadata else ())
        facts = [[(5 + i, "jpeg")] * sum(u is not None for _, u in d) for i, d in numbered]
        if with_metadata:
            assert [[(i["width"], i["format"]) for i in d] for d in got.images] == facts
            urls_of = [f"https://a.org/{i}" for i in range(len(documents))]
            assert [d["url"] for d in got.documents] == urls_of


def test_what_obelics_tells_of_its_images_is_taken_over():
    entry = {
        "document_url": "https://a.org/page",
        "src": "https://a.org/cat.jpg",
        "alt_text": "a cat",
        "original_width": 640,
        "original_height": 480,
        "format": "jpeg",
    }
    got = page(
        [None, "text"],
        ["https://a.org/cat.jpg", None],
        metadata=json.dumps([entry, None]),
        general=json.dumps({"url": "https://a.org/page", "warc_filename": "x"}),
    )
    assert got.url == "https://a.org/page"
    assert got.images[0].claims == ("jpeg", 640, 480)
    assert (
        page(["t"], [None], url="https://own.org", general='{"url": "x"}').url == "https://own.org"
    )


@pytest.mark.parametrize("metadata", ["not JSON", '"text"', "7", 7, '{"a": 1}', None, b"\xff"])
def test_metadata_that_is_something_else_is_passed_over(metadata):
    got = page(["t"], ["https://a.org/1.png"], metadata=metadata, general=metadata)
    assert got.lost is None
    assert got.images[0].claims == (None, None, None)


def test_sides_are_whole_numbers_above_zero_and_the_original_comes_first():
    assert claims_of({"original_width": 9, "width": 3, "height": 4}) == (None, 9, 4)
    for bad in (0, -1, True, "5", None, float("nan"), float("inf"), 2**31):
        assert claims_of({"width": bad}) == (None, None, None)


def test_a_document_of_no_text_is_missing_it():
    assert page(None, None).lost.cause == "missing_text"
    assert page(None, ["https://a.org/1.png"]).lost.cause == "missing_text"
    assert page([None, None], Value(reference="https://a.org/1.png")).lost.cause == "missing_text"
    assert page([None, None], [None, "https://a.org/1.png"]).text == P


def test_captions():
    captions = ["b", None, "", "aa", "cc"]
    assert caption_of(captions) == "b\naa\ncc"
    assert caption_of(captions, "first") == "b"
    assert caption_of(captions, "longest") == "aa"
    assert caption_of(["", None]) == ""
    assert caption_of([None]) is caption_of([]) is None
