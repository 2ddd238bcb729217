"""JSON Lines with images."""

import base64
import gzip
import json

import pytest

from tests.pipelines.read.images.shards import jpeg, png
from tests.pipelines.read.pictured import read_pictured
from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.read.options import Limits


def write(path, rows):
    lines = "".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in rows).encode()
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz"])
def test_samples_from_urls_files_and_base64(tmp_path, name):
    (tmp_path / "a.png").write_bytes(png())
    data = base64.b64encode(jpeg()).decode()
    images = [
        "https://a.org/1.jpg",
        "a.png",
        {"path": "a.png", "bytes": None},
        {"bytes": data, "path": "x.jpg"},
        f"data:image/jpeg;base64,{data}",
        {"url": "https://a.org/2.jpg"},
        None,
        "",
    ]
    rows = [{"id": i, "caption": str(i), "image": image} for i, image in enumerate(images)]
    path = write(tmp_path / name, rows)
    for shard_bytes in (1 << 28, 60):
        got = read_pictured(path, images="image", shard_bytes=shard_bytes)
        assert got.texts == got.ids == [str(i) for i in range(len(images))]
        a, b = png(), jpeg()
        assert got.blobs == [[None], [a], [a], [b], [b], [None], [], []]
        assert got.failed_images == []


def test_what_is_no_image_is_named(tmp_path):
    images = [7, True, {"bytes": "!"}, {"name": 1}, "data:image/png;base64,A", "data:image/png"]
    images += [{"bytes": None, "path": None}]
    images += [{"bytes": base64.b64encode(b"no image at all").decode()}]
    path = write(tmp_path / "d.jsonl", [{"text": ["t"] * 8, "images": images}])
    (row,) = read_pictured(path, images="images").documents
    assert row["text"] == "\n\n".join(["t"] * 8)
    got = read_pictured(path, images="images")
    assert [f["number"] for f in got.failed_images] == list(range(7))
    assert all(f["detail"].startswith(f"{path} byte 0: ") for f in got.failed_images)
    assert got.image_causes == [
        *["not_an_image"] * 4,
        "invalid_data_url",
        "invalid_data_url",
        "not_an_image",
    ]
    assert got.failed_images[0]["detail"] == f"{path} byte 0: a number, not an image"


def test_interleaved_documents_lose_the_places_of_failed_images(tmp_path):
    (tmp_path / "a.png").write_bytes(png())
    row = {"texts": ["one", None, None, "two"], "images": [None, "a.png", "gone.png", None]}
    got = read_pictured(write(tmp_path / "d.jsonl", [row]), images="images")
    assert got.texts == [f"one\n\n{P}\n\ntwo"]
    assert [i["number"] for i in got.images[0]] == [0]
    assert (got.image_causes, got.failed_images[0]["number"]) == (["not_found"], 1)


def test_bad_lines_fail_alone_and_take_their_images_along(tmp_path):
    url = "https://a.org/1.png"
    rows = [
        {"texts": ["good"], "images": [None]},
        "not json\n",
        "[1]\n",
        "\n",
        {"texts": ["a", None], "images": [url]},
        {"texts": None, "images": [url]},
        {"texts": 7, "images": [url]},
        {"texts": ["a", 7], "images": [url, None]},
        {"texts": ["x" * 300], "images": [url]},
        {"texts": "plain", "images": [url]},
    ]
    path = write(tmp_path / "d.jsonl", rows)
    got = read_pictured(path, images="images", limits=Limits(max_document_bytes=200))
    assert got.texts == ["good", f"{P}\n\nplain"]
    assert got.causes == [
        "invalid_json",
        "invalid_json",
        "unequal_lists",
        "missing_text",
        "text_not_string",
        "text_not_string",
        "too_large",
    ]
    assert got.image_causes == ["document_failed"] * 4
    assert {f["url"] for f in got.failed_images} == {url}
    assert [d["doc_id"] & 0xFFFFFFFF for d in got.documents] == [0, 8]


def test_without_a_column_of_images_text_has_none(tmp_path):
    path = write(tmp_path / "d.jsonl", [{"text": f"a{P}b", "images": ["x"]}])
    got = read_pictured(path)
    assert (got.texts, got.images) == (["a\ufffdb"], [[]])


def test_a_missing_column_is_named(tmp_path):
    path = write(tmp_path / "d.jsonl", [{"text": "a"}])
    (failed,) = read_pictured(path, images="images").plan.failed
    assert failed.cause == "missing_column"
    assert "name the images column in the recipe, as {path: …, images: NAME}" in failed.message


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "image": "https://a.org/1.png"}\n' * 2)
    got = read_pictured(path, images="image")
    assert got.texts == ["a", "a"]
    assert got.ids == ["d.jsonl#0", "d.jsonl#49"]
