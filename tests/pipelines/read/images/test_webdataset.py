"""Tars of samples: which documents they give, and what is counted where something is wrong."""

import gzip
import hashlib
import io
import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.shards import (
    encoded,
    gif,
    jpeg,
    picture,
    png,
    sample,
    sample_members,
    sample_tar,
    tar_bytes,
    webp,
)
from tests.pipelines.read.images.test_headers import exif
from tests.reference import webdataset as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import ILLUSTRATED, REMOVED, REMOVED_IMAGE
from tokenmill.pipelines.core.shard import Input, Plan, SourceShard
from tokenmill.pipelines.read.batch import read_stats
from tokenmill.pipelines.read.images import webdataset
from tokenmill.pipelines.read.images.sample import FACTS
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

JPEG, PNG = jpeg(8, 6), png(6, 4)
MIXED = {"npy": bytes(3000), "png": PNG}  # 4,608 bytes of a tar


class Read(NamedTuple):
    plan: Plan
    documents: list[dict]
    failed: list[dict]
    failed_images: list[dict]
    notes: Counter
    damage: list[str]
    blobs: list[bytes]

    @property
    def texts(self):
        return {d["id"]: d["text"] for d in self.documents}

    @property
    def reasons(self):
        return {f["id"]: f["reason"] for f in self.failed}

    @property
    def image_reasons(self):
        return {f["path"]: f["reason"] for f in self.failed_images}


def read(path: Path, *, images: Images | None = None, limits: Limits | None = None, **fields):
    """Read all shards, through JSON as a worker would get them, and check every batch."""
    plan = plan_inputs([Input(path=str(path), **fields)], 1 << 28, images=True)
    got = Read(plan, [], [], [], Counter(), [], [])
    for shard in plan.shards:
        there = SourceShard.from_json(json.loads(json.dumps(shard.to_json())))
        for batch in read_shard(there, limits=limits or Limits(), images=images or Images()):
            check(batch)
            documents = batch.documents.to_pylist()
            got.documents.extend(documents)
            got.failed.extend(batch.failed.to_pylist())
            got.failed_images.extend(batch.failed_images.to_pylist())
            got.notes.update(batch.notes)
            got.damage.extend(batch.damage)
            taken = [
                batch.blobs.take(i["offset"], i["bytes"]) for d in documents for i in d["images"]
            ]
            got.blobs.extend(map(bytes, taken))
    ids = [r["doc_id"] for r in got.documents + got.failed]
    assert len(set(ids)) == len(ids)
    assert [d["doc_id"] for d in got.documents] == sorted(d["doc_id"] for d in got.documents)
    return got


def check(batch) -> None:
    assert batch.documents.schema.equals(ILLUSTRATED, check_metadata=True)
    assert batch.failed.schema.equals(REMOVED, check_metadata=True)
    assert batch.failed_images.schema.equals(REMOVED_IMAGE, check_metadata=True)
    for rows in (batch.documents, batch.failed, batch.failed_images):
        rows.validate(full=True)
    read_stats(batch).check("read")


def write(folder: Path, members, name: str = "a.tar", kind: int = tarfile.GNU_FORMAT) -> Path:
    data = tar_bytes(members, kind=kind)
    path = folder / name
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(("gz", "tgz")) else data)
    return path


def test_a_sample_is_a_document_with_its_image(tmp_path):
    path = write(tmp_path, sample("000017", JPEG, "A cat", url="https://example.com/17.jpg"))
    (document,) = read(path).documents
    (image,) = document.pop("images")
    url = "https://example.com/17.jpg"
    assert document == {"doc_id": 0, "id": "000017", "url": url, "text": "A cat"}
    assert image == {
        "number": 0,
        "url": url,
        "path": "a.tar/000017.jpg",
        "source_offset": 512,
        "md5": hashlib.md5(JPEG).digest(),
        "format": "jpeg",
        "mode": "RGB",
        "width": 8,
        "height": 6,
        "bytes": len(JPEG),
        "offset": 0,
    }


pictures = st.sampled_from(
    [
        ("jpg", JPEG),
        ("png", PNG),
        ("webp", webp(5, 5)),
        ("gif", gif(3, 9)),
        ("left.jpg", jpeg(2, 2)),
    ]
)
captions = st.text(st.characters(codec="utf-8", exclude_characters="\ufffc\ufeff"), max_size=20)


@st.composite
def tars(draw) -> bytes:
    members = {}
    for i in range(draw(st.integers(0, 5))):
        key = draw(st.sampled_from(("", "a/", "a.b/"))) + f"{i:03}"
        parts = dict(draw(st.lists(pictures, max_size=2)))
        if draw(st.booleans()):
            parts["txt"] = draw(captions).encode()
        if draw(st.booleans()):
            fields = {
                "captions": draw(st.lists(captions, max_size=3)),
                "url": draw(captions) or None,
            }
            parts["json"] = json.dumps(fields | {"caption": draw(captions)}).encode()
        order = draw(st.permutations(sorted(parts)))
        members |= {f"{key}.{suffix}": parts[suffix] for suffix in order}
    return tar_bytes(members, kind=tarfile.PAX_FORMAT)


@given(data=tars(), name=st.sampled_from(["a.tar", "a.tar.gz", "a.tgz"]))
def test_samples_are_those_of_the_slow_twin(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("tar") / name
    path.write_bytes(data if name == "a.tar" else gzip.compress(data, mtime=0))
    got = read(path)
    expected = reference.samples(data)
    there = [s for s in expected if s["text"] or s["images"]]
    assert [(d["id"], d["text"], d["url"]) for d in got.documents] == [
        (s["key"], s["text"], s["url"]) for s in there
    ]
    blobs = iter(got.blobs)
    for document, twin in zip(got.documents, there, strict=True):
        assert [
            (i["format"], i["mode"], i["width"], i["height"], next(blobs))
            for i in document["images"]
        ] == twin["images"]
        for image in document["images"]:
            assert (image["source_offset"] is None) == (name != "a.tar")
    assert set(got.reasons.values()) <= {"empty_sample"}
    assert len(got.failed) == len(expected) - len(there)


def test_places_are_those_of_the_bytes_in_the_tar(tmp_path):
    path = write(tmp_path, sample_members(5) | sample("x" * 150, JPEG, "long name"))
    data, got = path.read_bytes(), read(path)
    images = [i for d in got.documents for i in d["images"]]
    assert len(images) == 6
    for image, blob in zip(images, got.blobs, strict=True):
        at = image["source_offset"]
        assert data[at : at + image["bytes"]] == blob
        assert hashlib.md5(blob).digest() == image["md5"]


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("join", "a cat \na black cat\nA cat, sitting"),
        ("first", "a cat "),
        ("longest", "A cat, sitting"),
    ],
)
def test_several_captions_become_one_text(tmp_path, how, text):
    members = sample(
        "1", JPEG, "a cat ", caption="a cat", captions=["a black cat", "A cat, sitting"]
    )
    assert read(write(tmp_path, members), captions=how).texts == {"1": text}


def test_fields_can_be_named(tmp_path):
    members = sample(
        "1", JPEG, "no", caption="no", alt=["a", 5, "b"], name=7, at="https://x", url="no"
    )
    got = read(write(tmp_path, members), text="alt", id="name", url="at")
    assert got.texts == {"7": "a\nb"}
    assert got.documents[0]["url"] == "https://x"
    got = read(write(tmp_path, sample("1", JPEG, url="", uri=["x"], flickr_url="https://y")))
    assert got.documents[0]["url"] == "https://y"
    got = read(write(tmp_path, {"1.caption": b"yes", "1.txt": b"no"}), text="caption")
    assert got.texts == {"1": "yes"}


def test_img2dataset_tars_are_read(tmp_path):
    fields = {
        "caption": "A cat",
        "url": "https://example.com/cat.jpg",
        "key": "000000000",
        "status": "success",
        "error_message": None,
        "width": 8,
        "height": 6,
        "original_width": 80,
        "original_height": 60,
        "exif": '{"Image Orientation": "Horizontal"}',
        "md5": hashlib.md5(JPEG).hexdigest(),
    }
    members = {
        "000000000.jpg": JPEG,
        "000000000.json": json.dumps(fields).encode(),
        "000000000.txt": b"A cat",
    }
    (document,) = read(write(tmp_path, members)).documents
    assert (document["text"], document["url"]) == ("A cat", fields["url"])


def test_ids_begin_with_the_tar_where_there_are_several(tmp_path):
    for name in ("a.tar", "b.tar"):
        sample_tar(tmp_path / name, 1)
    got = read(tmp_path)
    assert [d["id"] for d in got.documents] == ["a.tar/000000", "b.tar/000000"]
    assert [d["doc_id"] for d in got.documents] == [0, 1 << 32]
    assert [d["id"] for d in read(tmp_path / "a.tar").documents] == ["000000"]


def test_what_is_half_there_goes_on(tmp_path):
    members = {"1.jpg": JPEG, "2.txt": b"no image", "3.txt": b"", "4.jpg": b"", "4.txt": b"words"}
    got = read(write(tmp_path, members))
    assert [(d["id"], d["text"], len(d["images"])) for d in got.documents] == [
        ("1", "", 1),
        ("2", "no image", 0),
    ]
    assert got.reasons == {"3": "empty_sample", "4": "no_image_left"}
    assert got.image_reasons == {"a.tar/4.jpg": "empty_image"}
    path = f"{tmp_path}/a.tar"
    assert [(f["detail"], f["text_bytes"]) for f in got.failed] == [
        (f"{path}: '3' has neither text nor image", 0),
        (f"{path}/4.jpg: its image failed; images.keep_text: true keeps the text", 5),
    ]
    kept = read(write(tmp_path, members), images=Images(keep_text=True))
    assert kept.texts == {"1": "", "2": "no image", "4": "words"}


ODD = {
    "hdr": b"#?RADIANCE\n",
    "svg": b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>",
    "jxl": b"\xff\x0a\0\0",
    "heic": b"\0\0\0\x18ftypheic\0\0\0\0",
    "pdf": b"%PDF-1.7\n",
    "dat": JPEG,
}


@pytest.mark.parametrize(("suffix", "data"), ODD.items(), ids=ODD)
def test_an_image_under_a_suffix_that_is_not_read_has_a_row(tmp_path, suffix, data):
    members = {f"1.{suffix}": data, "1.txt": b"words", "2.txt": b"more", "2.npy": b"\x93NUMPY"}
    got = read(write(tmp_path, members))
    assert got.texts == {"2": "more"}
    assert got.reasons == {"1": "no_image_left"}
    assert got.image_reasons == {f"a.tar/1.{suffix}": "unread_suffix"}
    kind = "jpeg" if suffix == "dat" else suffix
    detail = f"{kind} by its bytes, and .{suffix} is not read as an image"
    assert got.failed_images[0]["detail"] == f"{tmp_path}/a.tar/1.{suffix}: {detail}"


def test_photos_of_cameras_that_hold_several_are_read(tmp_path):
    got = read(write(tmp_path, {"1.mpo": JPEG, "1.txt": b"words"}))
    assert (got.texts, got.image_reasons) == ({"1": "words"}, {})


@pytest.mark.parametrize("suffix", ["svg", "heic", "jxl", "hdr", "pdf", "heif", "exr"])
def test_a_picture_that_its_bytes_do_not_tell_has_a_row_by_its_suffix(tmp_path, suffix):
    long = b"<!--" + b"-" * 2000 + b"--><svg/>"
    got = read(write(tmp_path, {f"1.{suffix}": long, "1.txt": b"words"}))
    assert got.reasons == {"1": "no_image_left"}
    assert got.image_reasons == {f"a.tar/1.{suffix}": "unread_suffix"}
    told = f"nothing known by its bytes, and .{suffix} is not read as an image"
    assert got.failed_images[0]["detail"] == f"{tmp_path}/a.tar/1.{suffix}: {told}"


def test_a_sparse_image_has_a_row(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in (("1.jpg", JPEG), ("1.txt", b"words"), ("2.txt", b"more")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.pax_headers = {"GNU.sparse.major": "1"} if name == "1.jpg" else {}
            tar.addfile(info, io.BytesIO(data))
    (tmp_path / "a.tar").write_bytes(out.getvalue())
    got = read(tmp_path / "a.tar")
    assert (got.texts, got.reasons) == ({"2": "more"}, {"1": "no_image_left"})
    assert got.image_reasons == {"a.tar/1.jpg": "sparse_member"}


def test_images_of_no_sample_have_a_row_where_no_sample_with_images_follows(tmp_path):
    members = {"1.jpg": JPEG, "1.txt": b"one", "2.txt": b"two", "../x.heic": JPEG, "photo": PNG}
    got = read(write(tmp_path, members))
    assert got.texts == {"1": "one", "2": "two"}
    assert got.reasons == {"a.tar#2": "no_sample"}
    assert got.image_reasons == {"a.tar/../x.heic": "unsafe_path", "a.tar/photo": "no_key"}
    detail = f"{tmp_path}/a.tar: images of no sample: {tmp_path}/a.tar/../x.heic"
    assert got.failed[0]["detail"] == detail


def test_an_image_that_does_not_decode_as_its_suffix_says_has_a_row(tmp_path):
    avif = b"\0\0\0\x18ftypavif\0\0\0\0"
    got = read(write(tmp_path, {"1.avif": avif, "1.txt": b"words"}))
    assert got.reasons == {"1": "no_image_left"}
    assert set(got.image_reasons) == {"a.tar/1.avif"}


def test_members_that_are_no_samples_are_counted_by_name(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, type_ in [
            ("folder", tarfile.DIRTYPE),
            ("1.jpg", tarfile.SYMTYPE),
            ("2.jpg", tarfile.LNKTYPE),
            ("3.jpg", tarfile.CHRTYPE),
            ("4.jpg", tarfile.FIFOTYPE),
            ("../5.jpg", tarfile.REGTYPE),
            ("a/../../6.jpg", tarfile.REGTYPE),
            ("/7.jpg", tarfile.REGTYPE),
            ("README", tarfile.REGTYPE),
            (".hidden", tarfile.REGTYPE),
            ("8.cls", tarfile.REGTYPE),
            ("8.pyd", tarfile.REGTYPE),
            ("8..jpg", tarfile.REGTYPE),
        ]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = type_, "/etc/passwd"
            data = JPEG if type_ == tarfile.REGTYPE else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (tmp_path / "a.tar").write_bytes(out.getvalue())
    got = read(tmp_path / "a.tar")
    assert got.notes == {
        "skipped_link": 2,
        "skipped_device": 2,
        "skipped_unsafe_path": 3,
        "skipped_no_key": 2,
        "skipped_.cls": 1,
        "skipped_.pyd": 1,
    }
    assert [(d["id"], len(d["images"])) for d in got.documents] == [("8", 1)]
    assert got.reasons == dict.fromkeys("1234", "no_image_left")
    assert got.image_reasons == {
        **{f"a.tar/{n}.jpg": "link_member" for n in (1, 2)},
        **{f"a.tar/{n}.jpg": "device_member" for n in (3, 4)},
        **{f"a.tar/{name}": "unsafe_path" for name in ("../5.jpg", "a/../../6.jpg", "/7.jpg")},
        **{f"a.tar/{name}": "no_key" for name in ("README", ".hidden")},
        **{f"a.tar/8.{suffix}": "unread_suffix" for suffix in ("cls", "pyd")},
    }
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar"]  # nothing was extracted


def test_a_sample_of_text_is_not_lost_for_an_image_that_leads_out_of_the_folder(tmp_path):
    members = {"1.txt": b"words", "../x.jpg": JPEG, "2.txt": b"more", "3.jpg": JPEG}
    got = read(write(tmp_path, members))
    assert got.texts == {"1": "words", "2": "more", "3": ""}
    assert got.reasons == {}
    assert got.image_reasons == {"a.tar/../x.jpg": "unsafe_path"}


def test_suffixes_beyond_count_are_counted_together(tmp_path):
    got = read(write(tmp_path, {"1.jpg": JPEG} | {f"1.s{i}": b"" for i in range(80)}))
    assert (got.notes.total(), len(got.notes), got.notes["skipped_other_suffixes"]) == (80, 51, 30)


def test_a_tar_of_nothing_known_is_not_lost(tmp_path):
    got = read(write(tmp_path, {"README": b"x"}))
    assert (got.documents, got.failed, dict(got.notes)) == ([], [], {"skipped_no_key": 1})
    assert read(write(tmp_path, {})).documents == []


@pytest.mark.parametrize("order", ["jtjt", "jjtt"])
def test_of_two_samples_with_one_key_the_second_fails(tmp_path, order):
    kinds = {"j": ("1.jpg", JPEG), "t": ("1.txt", b"words")}
    got = read(write(tmp_path, [kinds[k] for k in order] + [("2.txt", b"other")]))
    assert list(got.texts) == ["1", "2"]
    assert got.reasons == {"1": "repeated_key"}
    assert got.failed[0]["detail"] == f"{tmp_path}/a.tar: a sample '1' came before"
    assert got.image_reasons == {"a.tar/1.jpg": "document_failed"}


def test_a_key_that_comes_again_later_fails(tmp_path):
    members = [("1.txt", b"a"), ("2.txt", b"b"), ("1.jpg", JPEG), ("3.txt", b"c")]
    got = read(write(tmp_path, members))
    assert (list(got.texts), got.reasons) == (["1", "2", "3"], {"1": "repeated_key"})
    assert [f["doc_id"] for f in got.failed] == [2]


@pytest.mark.parametrize(
    ("suffix", "data", "cause", "detail"),
    [
        ("txt", b"caf\xe9", "invalid_utf8", "1.txt byte 3: unexpected end of data"),
        ("json", b'{"caption": "caf\xe9"}', "invalid_utf8", "1.json byte 16: invalid continuation"),
        ("json", b'{"caption": "\\ud800"}', "invalid_utf8", "1.json: half a character, '\\ud800'"),
        ("json", b'{"caption": ', "invalid_json", "1.json: Expecting value"),
        ("json", b"", "invalid_json", "1.json: Expecting value"),
        ("json", b"[0" + b",0" * 2**20 + b"]", "too_many_values", "1.json: over 1,048,576 JSON"),
        ("json", b"[" * 100_000, "invalid_json", "1.json: maximum recursion depth"),
        ("txt", b"x" * 1001, "too_large", "1.txt: 1001 bytes, limits.max_document_bytes is 1000"),
        ("txt.gz", b"nothing packed", "damaged_member", "1.txt.gz: not gzip"),
        (
            "txt.gz",
            gzip.compress(b"abc", mtime=0)[:-3],
            "damaged_member",
            "1.txt.gz: the gzip in it breaks",
        ),
        ("txt.gz", gzip.compress(bytes(10**5)), "too_large", "1.txt.gz: expands to more than 1000"),
    ],
)
def test_a_text_that_cannot_be_read_fails_its_sample(tmp_path, suffix, data, cause, detail):
    size = 1000 if not data.startswith(b"[") else 10**7
    path = write(tmp_path, {"0.txt": b"good", f"1.{suffix}": data, "1.jpg": JPEG, "2.txt": b"good"})
    got = read(path, limits=Limits(max_document_bytes=size))
    assert list(got.texts) == ["0", "2"]
    assert got.reasons == {"1": cause}
    assert got.failed[0]["detail"].startswith(f"{path}/{detail}")
    assert got.failed[0]["text_bytes"] == len(data)
    assert got.image_reasons == {"a.tar/1.jpg": "document_failed"}
    assert got.failed_images[0]["bytes"] == len(JPEG)


@pytest.mark.parametrize("data", [b"5", b"null", b"[1, 2]", b'{"caption": {"a": 1}}'])
def test_json_that_says_nothing_of_an_image_says_nothing(tmp_path, data):
    got = read(write(tmp_path, {"1.jpg": JPEG, "1.json": data}))
    assert got.texts == {"1": ""}


def test_json_as_python_writes_it_is_read(tmp_path):
    got = read(write(tmp_path, sample("1", JPEG, caption="words", score=float("nan"))))
    assert got.texts == {"1": "words"}


def test_a_mark_of_byte_order_is_no_text_and_a_placeholder_none_of_ours(tmp_path):
    got = read(write(tmp_path, {"1.txt": b"\xef\xbb\xbfa \xef\xbf\xbc b"}))
    assert got.texts == {"1": "a \ufffd b"}


@pytest.mark.parametrize(
    ("name", "data", "cause", "detail"),
    [
        ("1.jpg", b"", "empty_image", "0 bytes"),
        ("1.jpg", b"<html>", "not_an_image", "begins with b'<html>', as no known format does"),
        ("1.png", PNG[:20], "truncated_header", "PNG: "),
        ("1.jpg", jpeg(90, 90), "bomb", "90 x 90 pixels, images.max_pixels is 8000"),
        (
            "1.jpg",
            JPEG + bytes(2000),
            "too_large",
            f"{len(JPEG) + 2000} bytes, images.max_bytes is",
        ),
        ("1.jpg.gz", gzip.compress(bytes(10**6)), "too_large", "expands to more than 2000 bytes"),
        ("1.jpg.gz", b"nothing packed", "damaged_member", "not gzip"),
    ],
)
def test_an_image_that_cannot_be_read_leaves_its_document(tmp_path, name, data, cause, detail):
    path = write(tmp_path, {name: data, "1.txt": b"words", "1.more.png": PNG})
    got = read(path, images=Images(max_pixels=8000, max_bytes=2000))
    (document,) = got.documents
    assert [(i["number"], i["path"]) for i in document["images"]] == [(1, "a.tar/1.more.png")]
    (failed,) = got.failed_images
    assert (failed["reason"], failed["number"], failed["path"]) == (cause, 0, f"a.tar/{name}")
    assert failed["detail"].startswith(f"{path}/{name}: {detail}")
    assert failed["bytes"] == len(data)
    assert got.blobs == [PNG]


def test_the_images_of_a_sample_are_bounded_together_and_so_are_its_texts(tmp_path):
    members = {
        "1.a.png": PNG,
        "1.b.png": PNG,
        "1.c.png": PNG,
        "1.d.png.gz": gzip.compress(PNG, mtime=0),
    }
    path = write(tmp_path, members | {"1.txt": b"words"})
    got = read(path, images=Images(max_bytes=2 * len(PNG)))
    assert got.blobs == [PNG, PNG]
    details = {f["path"]: f["detail"] for f in got.failed_images}
    assert details["a.tar/1.c.png"] == (
        f"{path}/1.c.png: {len(PNG)} bytes beside {2 * len(PNG)} of others in its sample,"
        f" images.max_bytes is {2 * len(PNG)}"
    )
    assert details.keys() == {"a.tar/1.c.png", "a.tar/1.d.png.gz"}
    got = read(path, limits=Limits(max_document_bytes=5))
    assert got.texts == {"1": "words"}
    path = write(tmp_path, {"1.txt.gz": gzip.compress(b"words")}, "b.tar")
    assert read(path, limits=Limits(max_document_bytes=25)).texts == {"1": "words"}
    assert read(path, limits=Limits(max_document_bytes=24)).reasons == {"1": "too_large"}
    path = write(tmp_path, members | {"1.txt": b"words", "1.caption": b"more"})
    assert read(path, limits=Limits(max_document_bytes=8)).reasons == {"1": "too_large"}


def test_where_texts_stand_is_counted_and_told_before(tmp_path):
    about = {"caption": "more", "license": "CC-BY-4.0", "url": "http://a", "width": 3, "text": None}
    about["meta"] = {"by": "x"}
    said = json.dumps(about).encode()
    members = {"1.jpg": JPEG, "1.txt": b"words", "1.json": said, "2.jpg": JPEG, "2.json": said}
    path = write(tmp_path, {**members, "3.jpg": JPEG, "3.txt": b" "})
    assert read(path).notes == {"text_of_.txt": 1, "text_of_.json:caption": 2}
    asked = {"text": "caption", "columns": {"license": "string"}}
    mistyped = {"licence": "string", "licence.of": "string", "meta.of": "string"}
    for settings, told in (
        ({}, ([".txt", ".json:caption"], ["license", "meta"], [])),
        (asked, ([".json:caption"], ["meta"], [])),
        (asked | {"columns": {"meta.by": "string"}}, ([".json:caption"], ["license"], [])),
        (asked | {"columns": mistyped}, ([".json:caption"], ["license"], list(mistyped))),
    ):
        plan = plan_inputs([Input(path=str(path), **settings)], 100, images=True)
        assert webdataset.texts_taken(plan.shards[0], Limits()) == told


@pytest.mark.parametrize(
    ("said", "settings", "taken", "left"),
    [
        ({"conversations": [{"from": "gpt", "value": "A cat."}]}, {}, ["conversations"], []),
        ({"caption": "a", "texts": ["one", "two"]}, {}, ["caption"], ["texts"]),
        (
            {"caption": "a", "texts": ["one", "two"], "conversations": ["b"]},
            {"text": "caption"},
            ["caption"],
            ["conversations", "texts"],
        ),
        ({"caption": " ", "text": "b"}, {}, ["text"], ["caption"]),
        ({"caption": "", "texts": ["one"]}, {}, [], ["texts"]),
        (
            {"caption": "a", "texts": [None, "one"], "images": ["1.jpg", None]},
            {},
            ["texts"],
            ["caption"],
        ),
        (
            {"license": "MIT", "exif": "{}", "key": "1", "original_height": 6, "uid": "u"},
            {},
            [],
            ["license"],
        ),
        ({"meta": {"score": 0.5}, "a": 1}, {"columns": {"meta.score": "float64"}}, [], ["a"]),
        ({"meta": 2, "meta.s": 0.5}, {"columns": {"meta.s": "float64"}}, [], ["meta"]),
    ],
)
def test_what_is_told_of_fields_is_what_is_read(tmp_path, said, settings, taken, left):
    path = write(tmp_path, {"1.jpg": JPEG, "1.json": json.dumps(said).encode()})
    (shard,) = plan_inputs([Input(path=str(path), **settings)], 10**6, images=True).shards
    told = [f".json:{field}" for field in taken], left, []
    assert webdataset.texts_taken(shard, Limits()) == told


def test_text_of_nodes_is_told_as_theirs(tmp_path):
    facts = dict.fromkeys(FACTS) | {"file": "0.jpg"}
    said = {"images": [facts], "nodes": [{"image": 0}, {"text": "A cat."}], "caption": "a"}
    path = write(tmp_path, {"1.0.jpg": JPEG, "1.json": json.dumps(said).encode()})
    got = read(path)
    assert (got.texts, got.notes) == ({"1": "\ufffcA cat."}, {"text_of_.json:nodes": 1})


def test_members_of_a_sample_beyond_count_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(webdataset, "MOST_MEMBERS", 4)
    got = read(write(tmp_path, {f"1.{i}.txt": b"same" for i in range(7)} | {"2.txt": b"next"}))
    assert got.texts == {"1": "same", "2": "next"}
    assert got.notes == {"skipped_beyond_4": 3, "text_of_.txt": 5}


def test_members_that_are_packed_are_unpacked(tmp_path):
    both = gzip.compress(b"wo", mtime=0) + gzip.compress(b"rds") + bytes(3)
    members = {
        "1.txt.gz": both,
        "1.jpg.gz": gzip.compress(JPEG, mtime=0),
        "1.JSON.GZ": gzip.compress(b"{}"),
    }
    got = read(write(tmp_path, members))
    assert got.texts == {"1": "words"}
    assert got.blobs == [JPEG]
    assert got.documents[0]["images"][0]["source_offset"] is None


def test_what_is_unusual_is_noted(tmp_path):
    members = {
        "1.jpg": PNG,
        "2.jpg": encoded(picture(9, 4), "JPEG", exif=exif(6)),
        "3.gif": encoded(
            picture(9, 4), "GIF", save_all=True, append_images=[picture(9, 4, (0, 0, 0))]
        ),
        "4.JPG": JPEG,
    }
    got = read(write(tmp_path, members))
    assert got.notes == {"extension_lies": 1, "exif_rotated": 1, "animated": 1}


@pytest.mark.parametrize("keep", [0, 1, 511, 512, 600, 1024, 5_000])
def test_a_tar_cut_short_is_named_with_the_place(tmp_path, keep):
    path = write(
        tmp_path, {"0.txt": b"good", "1.jpg": JPEG, "1.txt": b"words"} | sample("2", JPEG, "x")
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    got = read(path)
    assert len(got.damage) == 1
    assert got.damage[0].startswith(("truncated_tar: ", "unended_tar: "))
    assert f"at byte {keep}" in got.damage[0]
    assert list(got.texts) == ["0", "1"][: len(got.texts)]
    assert len(got.failed) == 1


def test_a_sample_that_the_end_cuts_fails_with_its_image(tmp_path):
    path = write(tmp_path, {"0.txt": b"good", "1.jpg": JPEG, "1.txt": b"words" * 500})
    path.write_bytes(path.read_bytes()[:3_000])
    got = read(path)
    assert got.texts == {"0": "good"}
    assert got.reasons == {"1": "truncated_tar"}
    assert got.image_reasons == {"a.tar/1.jpg": "document_failed"}


def test_a_tar_without_the_mark_of_its_end_gives_all_and_is_named(tmp_path):
    path = write(tmp_path, {"0.txt": b"good", "1.txt": b"good"})
    path.write_bytes(path.read_bytes()[: 4 * 512])
    got = read(path)
    assert got.texts == {"0": "good", "1": "good"}
    assert got.damage == [f"unended_tar: {path}: no mark of its end at byte 2048, its last"]


def test_a_broken_header_ends_the_tar_with_its_place(tmp_path):
    path = write(tmp_path, {"0.txt": b"good", "1.txt": b"lost", "2.txt": b"lost"})
    data = bytearray(path.read_bytes())
    data[1024 + 3] ^= 1
    path.write_bytes(bytes(data))
    got = read(path)
    assert (got.texts, got.reasons) == ({}, {"0": "damaged_tar"})
    assert "no header of a tar at byte 1024" in got.damage[0]


@pytest.mark.parametrize(("keep", "cause"), [(-400, "truncated_gzip"), (200, "truncated_gzip")])
def test_a_packed_tar_cut_short_is_named(tmp_path, keep, cause):
    path = sample_tar(tmp_path / "a.tar.gz", 20)
    path.write_bytes(path.read_bytes()[:keep])
    got = read(path)
    assert got.damage[0].startswith(f"{cause}: ")
    assert len(got.documents) <= 20


def test_batches_hold_bounded_bytes_of_images(tmp_path, monkeypatch):
    monkeypatch.setattr("tokenmill.pipelines.read.batch.BATCH_IMAGE_BYTES", 3 * len(JPEG))
    path = write(tmp_path, {f"{i:02}.jpg": JPEG for i in range(10)})
    (shard,) = plan_inputs([Input(path=str(path))], 1 << 28, images=True).shards
    batches = list(read_shard(shard, limits=Limits(), images=Images()))
    assert [b.documents.num_rows for b in batches] == [3, 3, 3, 1]
    offsets = [i["offset"] for b in batches for d in b.documents.to_pylist() for i in d["images"]]
    assert offsets == [i * len(JPEG) for i in range(10)]


def test_batches_span_a_bounded_part_of_the_tar(tmp_path, monkeypatch):
    """Small images among large members that say nothing here keep whole blocks in memory."""
    monkeypatch.setattr("tokenmill.pipelines.read.batch.BATCH_SPAN", 10_000)
    members = {f"{i}.{kind}": data for i in range(7) for kind, data in MIXED.items()}
    (shard,) = plan_inputs([Input(path=str(write(tmp_path, members)))], 1 << 28, images=True).shards
    batches = list(read_shard(shard, limits=Limits(), images=Images()))
    assert [b.documents.num_rows for b in batches] == [2, 2, 3]


@pytest.mark.parametrize("name", ["a.tar", "a.tgz", "a.tar.gz", "a.tar.zst"])
def test_the_name_tells_the_format(tmp_path, name):
    data = tar_bytes(sample("1", JPEG, "words"))
    pack = {"a.tar": bytes, "a.tar.zst": zstandard.compress}.get(name, gzip.compress)
    (tmp_path / name).write_bytes(pack(data))
    assert read(tmp_path).texts == {"1": "words"}
    (tmp_path / name).rename(tmp_path / "other")
    if name == "a.tar":
        assert read(tmp_path / "other", format="webdataset").texts == {"1": "words"}


@pytest.mark.parametrize("fields", [{}, {"format": "webdataset"}])
def test_without_images_in_the_recipe_a_tar_is_refused(tmp_path, fields):
    path = sample_tar(tmp_path / "a.tar", 1)
    with pytest.raises(ConfigError) as e:
        plan_inputs([Input(path=str(path), **fields)], 100)
    assert str(e.value) == (
        f"inputs.0: {path}: images with texts in 'a.tar'; add images: {{}} to the recipe, and a"
        " tokenizer"
    )


def test_without_images_in_the_recipe_tars_among_other_files_are_passed_over(tmp_path):
    sample_tar(tmp_path / "a.tar", 1)
    (tmp_path / "b.txt").write_text("words")
    plan = plan_inputs([Input(path=str(tmp_path))], 100)
    assert [s.format for s in plan.shards] == ["text"]
    assert plan.skipped == (str(tmp_path / "a.tar"),)


def test_shared_shards_are_read_whole(shared_data):
    folder = shared_data / "images"
    for name, n in (("coco_ccby_wds", 51), ("openclipart_400", 400)):
        path = folder / f"{name}.tar"
        got, twins = read(path), reference.samples(path.read_bytes())
        assert (len(got.documents), got.failed, got.failed_images) == (n, [], [])
        assert [d["text"] for d in got.documents] == [t["text"] for t in twins]
        images = [i for d in got.documents for i in d["images"]]
        told = [(i["format"], i["mode"], i["width"], i["height"]) for i in images]
        assert told == [i[:4] for t in twins for i in t["images"]]
        assert got.blobs == [i[4] for t in twins for i in t["images"]]
    got = read(folder / "webdataset" / "testdata" / "*.t*")
    assert len(got.documents) == 3 + 90 + 1000
    skipped = {"skipped_.mp": 100, "skipped_.ten": 100, "skipped_.cls": 90}
    assert got.notes == {**skipped, "text_of_.txt": 1003}
    assert Counter(got.reasons.values()) == {"empty_sample": 200}
