"""Documents with their images: what becomes of images that fail, and what is claimed of others."""

import pytest

from tests.pipelines.read.images.shards import jpeg, png
from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER, doc_ids
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import Claims, Lost, SourceDocument, SourceImage
from tokenmill.pipelines.read.images.documents import (
    Raw,
    batches,
    caption_of,
    claims_of,
    document_of,
    layout_problem,
    not_downloaded,
)
from tokenmill.pipelines.read.images.folder import Folder, Place
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.options import Images

SHARD = SourceShard(
    key="k", ordinal=2, input=0, source="s", format="webdataset", paths=("/a.tar",),
    names=("a.tar",),
)  # fmt: skip
GOOD = SourceImage("a.tar/1.png", "a.tar: 1.png", data=png(5, 4), source_offset=512)
ODD = SourceImage("a.tar/2.jpg", "a.tar: 2.jpg", "http://b", b"no image")
GONE = SourceImage("a.tar/3.jpg", "a.tar: 3.jpg", lost=Lost("not_found", "a.tar: 3.jpg", 9))
LINK = SourceImage("a.tar", "a.tar", "http://c", claims=Claims("png", 7, 8))
LIES = SourceImage("a.tar/4.png", "a.tar: 4.png", data=jpeg(3, 2))


def read(*documents, **options):
    (batch,) = batches(SHARD, documents, Images(**options))
    batch.documents.validate(full=True)
    assert batch.documents.schema.equals(ILLUSTRATED)
    return batch


def test_an_image_is_told_by_its_header_and_one_of_which_there_is_an_address_by_what_is_claimed():
    batch = read(SourceDocument(3, "x", "a caption", images=[GOOD, LINK, LIES]))
    first, link, lies = batch.documents["images"][0].as_py()
    assert (first["number"], first["path"], first["source_offset"]) == (0, "a.tar/1.png", 512)
    assert (first["format"], first["mode"], first["width"], first["height"]) == ("png", "RGB", 5, 4)
    assert (first["bytes"], first["offset"], len(first["md5"])) == (len(GOOD.data), 0, 16)
    assert (link["number"], link["url"], link["format"]) == (1, "http://c", "png")
    assert (link["width"], link["height"]) == (7, 8)
    assert [link[name] for name in ("md5", "mode", "bytes", "offset")] == [None] * 4
    assert (lies["format"], lies["offset"]) == ("jpeg", len(GOOD.data))
    assert batch.notes["extension_lies"] == 1
    assert batch.documents["doc_id"].to_pylist() == [doc_ids(2, 3, 1)[0]]


def test_images_that_fail_leave_and_a_caption_of_none_with_them():
    kept = read(
        SourceDocument(0, "a", "caption", images=[GOOD, ODD, GONE]),
        SourceDocument(1, "b", "four", images=[ODD]),
        SourceDocument(2, "c", "of two", images=[GONE, ODD]),
        SourceDocument(3, "d", "no image at all"),
        SourceDocument(4, "e", lost=Lost("missing_text", "e: no text"), images=[GOOD, LINK]),
    )
    assert kept.documents["id"].to_pylist() == ["a", "d"]
    assert [len(images) for images in kept.documents["images"].to_pylist()] == [1, 0]
    told = "failed; images.keep_text: true keeps the text"
    lost = kept.failed.to_pylist()
    assert [(r["id"], r["reason"], r["detail"], r["text_bytes"]) for r in lost] == [
        ("b", "no_image_left", f"a.tar: 2.jpg: its image {told}", 4),
        ("c", "no_image_left", f"a.tar: 3.jpg: each of its 2 images {told}", 6),
        ("e", "missing_text", "e: no text", 0),
    ]  # fmt: skip
    rows = kept.failed_images.to_pylist()
    assert [(r["id"], r["number"], r["reason"], r["bytes"], r["url"]) for r in rows] == [
        ("a", 1, "not_an_image", 8, "http://b"), ("a", 2, "not_found", 9, None),
        ("b", 0, "not_an_image", 8, "http://b"), ("c", 0, "not_found", 9, None),
        ("c", 1, "not_an_image", 8, "http://b"),
        ("e", 0, "document_failed", len(GOOD.data), None),
        ("e", 1, "document_failed", 0, "http://c"),
    ]  # fmt: skip
    assert {(r["outcome"], r["stage"]) for r in rows} == {("failed", "read")}
    assert rows[0]["detail"].startswith("a.tar: 2.jpg: ")
    assert rows[5]["detail"] == "a.tar: 1.png: missing_text of its document"


def test_text_stays_where_it_is_asked_for_or_has_places_of_images():
    text = f"one {PLACEHOLDER} two {PLACEHOLDER} three"
    batch = read(SourceDocument(0, "a", text, images=[ODD, GOOD]),
                 SourceDocument(1, "b", text, images=[ODD, GONE]))  # fmt: skip
    first, other = batch.documents["text"].to_pylist()
    assert (first.count(PLACEHOLDER), other.count(PLACEHOLDER)) == (1, 0)
    assert first.index("two") < first.index(PLACEHOLDER)
    kept = read(SourceDocument(0, "a", "caption", images=[ODD]), keep_text=True)
    assert (kept.documents["text"].to_pylist(), kept.failed.num_rows) == (["caption"], 0)


def raw(**told):
    known = {"row": 0, "id": "a", "place": Place("f#0", "f row 0"), "text": ["x", None],
             "images": [None, Value(reference="http://a/b.png")], "listed": True}  # fmt: skip
    return Raw(**known | told)


def made(**told):
    return document_of(raw(**told), None, None, Folder(SHARD, Images()))


@pytest.mark.parametrize(
    ("metadata", "claimed"),
    [
        ([None, {"format": "JPG", "width": 3, "height": 4}], Claims("jpeg", 3, 4)),
        ([{"format": "png", "original_width": 5, "width": 1, "HEIGHT": 2}], Claims("png", 5, 2)),
        ([{"width": 1}] * 2, Claims(None, 1, None)),
        ({"width": 1}, Claims()),
        (None, Claims()),
    ],
)
def test_what_metadata_has_of_an_image_is_claimed_of_it(metadata, claimed):
    (image,) = made(metadata=metadata).images
    assert (image.url, image.claims) == ("http://a/b.png", claimed)


def test_lists_of_text_images_and_metadata_are_as_long():
    lost = made(images=[None], metadata=[None] * 3).lost
    assert lost == Lost("unequal_lists", "f row 0: 2 texts, 1 images, 3 metadata", 1)
    assert made(images=[None]).lost.detail == "f row 0: 2 texts, 1 images"
    assert made(text=None).lost == Lost("missing_text", "f row 0: no text")
    assert layout_problem(raw(text=None)) is None
    three = [None, *[Value(reference="http://a")] * 2]
    assert layout_problem(raw(images=three)).detail == "f row 0: 2 texts, 3 images"
    assert layout_problem(raw(images=[None])) is None
    odd = layout_problem(raw(images=[None, Value(other="a number")]))
    assert odd == Lost("not_an_image", "f row 0: a number, not an image")


def test_captions_and_rows_that_were_not_downloaded():
    assert caption_of(["a", None, "", "bcd", "xyz"]) == "a\nbcd\nxyz"
    assert caption_of(["a", "bcd", "xyz"], "first") == "a"
    assert caption_of(["a", "bcd", "xyz"], "longest") == "bcd"
    assert (caption_of([None, ""]), caption_of([None]), caption_of([])) == ("", None, None)
    assert not_downloaded({"status": "success"}, "w") is None
    assert not_downloaded({}, "w") is None
    failed = not_downloaded({"status": "failed", "error_message": None}, "w")
    assert failed == Lost("not_downloaded", "w: failed: no message")
    assert claims_of("nothing") == Claims()
    row = {"status": "failed_to_download", "error_message": "404"}
    document = made(text="t", images=None, listed=False, metadata=row, url="http://x")
    assert document.lost == Lost("not_downloaded", "f row 0: failed_to_download: 404")
    assert [(image.url, image.lost) for image in document.images] == [("http://x", document.lost)]
