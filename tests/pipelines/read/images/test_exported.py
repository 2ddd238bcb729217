"""Tars of our own export, read again."""

import base64
import json

import pytest

from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import encoded, jpeg, picture, png, sample_tar, tar_bytes
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.images.sample import FACTS, exported
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

A, B = jpeg(40, 30), png(30, 20)
URLS = ("https://a.org/0", "https://a.org/1", "https://a.org/2.webp")


def wrapped(data):
    return {"bytes": base64.b64encode(data).decode()}


def documents(path, **fields):
    """What matters of the documents of a file, and what failed."""
    (shard,) = plan_inputs([Input(path=str(path), **fields)], 1 << 28, images=True).shards
    found, failed = [], []
    for batch in read_shard(shard, limits=Limits(), images=Images()):
        failed += batch.failed.to_pylist()
        for row in batch.documents.to_pylist():
            images = [
                (i["url"], i["format"], i["width"], i["height"], i["md5"]) for i in row["images"]
            ]
            found.append((row["text"], row["url"], images))
    return found, failed


LINES = [
    {
        "url": "https://a.org/",
        "text": ["One.", None, None, "Two.\n\nThree.", None],
        "images": [None, wrapped(A), wrapped(B), None, URLS[2]],
        "metadata": [None, {"src": URLS[0]}, {"src": URLS[1]}, None, {"width": 300, "height": 9}],
    },
    {"url": "https://a.org/b", "text": [None], "images": [wrapped(A)]},
    {"text": "A caption of one.", "images": wrapped(B)},
    {"url": URLS[2], "text": "Of a URL alone.", "images": URLS[2]},
    {"text": "No image."},
    {"text": ["Text, and no image."], "images": [None]},
]


def test_an_export_gives_the_same_documents_again(tmp_path):
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(map(json.dumps, LINES)))
    several = {"1.jpg": A, "1.png": B, "1.txt": b"beside one text", "2.bmp": A}
    odd = encoded(picture(9, 9), "PPM")
    tar = tmp_path / "b.tar"
    tar.write_bytes(tar_bytes(several | {"3.ppm": odd, "3.txt": b"words"}))
    sample_tar(tmp_path / "c.tar", 3)
    settings = {
        "inputs": [{"path": str(lines), "images": "images"}, {"path": str(tmp_path / "*.tar")}],
        "tokenizer": {"path": str(train(tmp_path))},
        "images": {"webdataset": True},
    }
    prepare(make_recipe(settings, where="test"), tmp_path / "run", one_by_one)
    tars = sorted((tmp_path / "run" / "webdataset").iterdir())
    read = [documents(lines, images="images"), documents(tar), documents(tmp_path / "c.tar")]
    assert sum(len(found) for found, _ in read) == 12
    assert [documents(path) for path in tars] == read


def test_many_images_of_one_document_are_read_again(tmp_path):
    """1,000 members were the most of a sample once."""
    facts = [dict.fromkeys(FACTS) | {"file": f"{i}.png"} for i in range(1500)]
    nodes = [{"image": i} for i in range(1500)]
    members = {f"1.{i}.png": B for i in range(1500)}
    members["1.json"] = json.dumps({"images": facts, "nodes": nodes}).encode()
    (tmp_path / "a.tar").write_bytes(tar_bytes(members))
    ((text, _, images),), failed = documents(tmp_path / "a.tar")
    assert (text, len(images), failed) == ("\ufffc" * 1500, 1500, [])


def facts(**fields):
    return dict.fromkeys(FACTS) | fields


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        ({"images": [facts(file="jpg")], "nodes": [{"image": 1}]}, "1 images, not each of 1 once"),
        ({"images": [facts(file="jpg")], "nodes": [{"text": "x"}]}, "0 images, not each of 1 once"),
        ({"images": [facts(file="jpg")], "nodes": [{}]}, "node {} is neither"),
        ({"images": [facts(file="jpg")], "nodes": ["x"]}, "node x is neither"),
        ({"images": [facts(file="jpg")], "nodes": [{"text": 5}]}, "is neither"),
        ({"images": [facts(file="jpg")], "nodes": [{"text": "a", "image": 0}]}, "is neither"),
        ({"images": [facts(file="png")], "nodes": [{"image": 0}]}, "the same files (jpg, png)"),
        ({"images": [facts()], "nodes": [{"image": 0}]}, "the same files (jpg)"),
    ],
)
def test_what_contradicts_itself_fails(tmp_path, said, detail):
    members = {"0.txt": b"words", "1.jpg": A, "1.json": json.dumps(said).encode()}
    (tmp_path / "a.tar").write_bytes(tar_bytes(members))
    found, (failure,) = documents(tmp_path / "a.tar")
    assert (found, failure["reason"]) == ([("words", None, [])], "unequal_lists")
    assert detail in failure["detail"]


@pytest.mark.parametrize(
    "said",
    [
        {"images": [], "nodes": []},
        {"images": [{"file": "jpg"}]},
        {"nodes": [{"image": 0}]},
        {"images": "none"},
        facts(file="000017.png", url=URLS[0]),
        facts(url=URLS[0]),
        {"images": [facts(file="0.png")]},
    ],
)
def test_of_others_only_the_url_is_taken(tmp_path, said):
    members = {"0.txt": b"words", "1.jpg": A, "1.json": json.dumps(said).encode()}
    (tmp_path / "a.tar").write_bytes(tar_bytes(members))
    (_, (text, url, (image,))), failed = documents(tmp_path / "a.tar")
    assert (text, url, failed) == ("", said.get("url"), [])
    assert image[:4] == (said.get("url"), "jpeg", 40, 30)


def test_half_a_character_is_no_text(tmp_path):
    said = {"images": [facts(file="jpg")], "nodes": [{"image": 0}, {"text": "\ud800"}]}
    (tmp_path / "a.tar").write_bytes(tar_bytes({"1.jpg": A, "1.json": json.dumps(said).encode()}))
    found, (failure,) = documents(tmp_path / "a.tar")
    assert (found, failure["reason"]) == ([], "invalid_utf8")


def test_a_placeholder_in_text_stands_for_no_image():
    made = exported({"images": [facts()], "nodes": [{"text": "\ufffc"}, {"image": 0}]})
    assert made.text == "\ufffd\ufffc"
