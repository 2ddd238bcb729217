"""Parquet, Arrow and saved datasets with a column of images."""

import base64
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.pipelines.read.images.shards import encoded, jpeg, noise, png, webp
from tests.pipelines.read.pictured import read_pictured
from tokenmill.pipelines.core.schema import PLACEHOLDER as P
from tokenmill.pipelines.read import batch
from tokenmill.pipelines.read.options import Images, Limits
from tokenmill.pipelines.read.table import image_values

MOVING = encoded(noise(32, 24), "GIF", save_all=True, append_images=[noise(32, 24, 1)])
PICTURES = [jpeg(), png(), webp(), MOVING]
CAPTIONS = ["a cat", "ein Käse", "東京", ""]
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
both = pytest.mark.parametrize("name", ["d.parquet", "d.arrow"])


def write(path, columns, rows=2):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


@both
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), IMAGE])
def test_bytes_and_captions_come_as_they_are(tmp_path, name, kind):
    values = PICTURES
    if kind == IMAGE:
        values = [{"bytes": b, "path": f"{i}.jpg"} for i, b in enumerate(PICTURES)]
    columns = {"caption": CAPTIONS, "image": pa.array(values, kind), "key": list("abcd")}
    path = write(tmp_path / name, columns)
    for shard_bytes in (1 << 28, 1):
        got = read_pictured(path, images="image", id="key", shard_bytes=shard_bytes)
        assert got.texts == CAPTIONS
        assert got.ids == list("abcd")
        assert got.blobs == [[b] for b in PICTURES]
        facts = [(i["format"], i["width"], i["height"], i["path"]) for [i] in got.images]
        formats = ["jpeg", "png", "webp", "gif"]
        assert facts == [(f, 32, 24, f"{name}#{n}") for n, f in enumerate(formats)]
        assert (got.failures, got.failed_images) == ([], [])


def test_views_of_bytes_are_read(tmp_path):
    views = pa.array(PICTURES, pa.large_binary()).cast(pa.binary_view())
    path = write(tmp_path / "d.arrow", {"caption": CAPTIONS, "image": views})
    assert read_pictured(path, images="image").blobs == [[b] for b in PICTURES]


@both
def test_urls_alone_have_what_stands_beside_them(tmp_path, name):
    columns = {
        "URL": ["https://a.org/1.jpg", "//a.org/2.jpg", None, ""],
        "TEXT": CAPTIONS,
        "WIDTH": [640, None, 3, 4],
        "height": [480.0, float("nan"), 3, 4],
    }
    got = read_pictured(write(tmp_path / name, columns), images="URL")
    assert got.texts == CAPTIONS
    first, second = got.images[0][0], got.images[1][0]
    assert (first["url"], first["width"], first["height"]) == ("https://a.org/1.jpg", 640, 480)
    assert (second["url"], second["width"], second["height"]) == ("//a.org/2.jpg", None, None)
    assert {first[n] for n in ("md5", "bytes", "offset", "mode", "format")} == {None}
    assert got.images[2:] == [[], []]
    assert [d["url"] for d in got.documents] == [*columns["URL"][:2], None, None]


@both
def test_several_captions(tmp_path, name):
    captions = [["a cat", "", None, "a black cat"], ["one"], [None, "", "x"], [""]]
    path = write(tmp_path / name, {"captions": captions, "image": PICTURES})
    texts = {how: read_pictured(path, images="image", captions=how).texts for how in HOW}
    assert texts == HOW


HOW = {
    "join": ["a cat\na black cat", "one", "x", ""],
    "first": ["a cat", "one", "x", ""],
    "longest": ["a black cat", "one", "x", ""],
}


@both
def test_lists_of_images_stand_before_a_text(tmp_path, name):
    images = pa.array([PICTURES[:2], [], None, [PICTURES[2], None]], pa.list_(pa.binary()))
    path = write(tmp_path / name, {"text": ["a", "b", f"c{P}", ""], "images": images})
    got = read_pictured(path, images="images")
    assert got.texts == [f"{P}\n\n{P}\n\na", "b", "c\ufffd", P]
    assert got.blobs == [PICTURES[:2], [], [], [PICTURES[2]]]


@both
@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_lists_of_texts_and_images_are_woven(tmp_path, name, kind):
    texts = pa.array([["a", None, "b"], [None], [f"c{P}c", None]], kind(pa.large_string()))
    images = pa.array(
        [
            [None, {"bytes": PICTURES[0]}, None],
            [{"bytes": PICTURES[1]}],
            [None, {"path": "https://x.org/y.png"}],
        ],
        kind(IMAGE),
    )
    path = write(tmp_path / name, {"texts": texts, "images": images})
    for part in (slice(None), slice(1, None)):  # a slice's lists begin within the column
        sliced = pa.table({"texts": texts, "images": images}).slice(part.start or 0)
        got = read_pictured(write(path, sliced), images="images")
        assert got.texts == [f"a\n\n{P}\n\nb", P, f"c\ufffdc\n\n{P}"][part]
        assert got.blobs == [[PICTURES[0]], [PICTURES[1]], [None]][part]


def test_values_of_a_slice_are_its_own():
    column = pa.array([[b"a"], None, [b"b", None], [], [b"c"]], pa.list_(pa.binary()))
    seen = [
        v if v is None else [x if x is None else bytes(x.data) for x in v]
        for v in image_values(column.slice(1, 3))
    ]
    assert seen == [None, [b"b", None], []]


@both
def test_what_is_wrong_with_an_image_is_named_and_its_document_stays(tmp_path, name):
    bad = [b"", b"no image", png()[:20], encoded(noise(40, 40), "PNG")]
    path = write(tmp_path / name, {"caption": list("abcd"), "image": bad})
    options = Images(max_bytes=4000)
    assert read_pictured(path, images="image", options=options).causes == ["no_image_left"] * 4
    options = options.model_copy(update={"keep_text": True})
    got = read_pictured(path, images="image", options=options)
    assert got.texts == list("abcd")
    assert got.images == [[]] * 4
    causes = ["empty_image", "not_an_image", "truncated_header", "too_large"]
    assert got.image_causes == causes
    assert [f["bytes"] for f in got.failed_images] == [len(b) for b in bad]
    assert [f["id"] for f in got.failed_images] == [f"{name}#{i}" for i in range(4)]
    for i, row in enumerate(got.failed_images):
        assert row["detail"].startswith(f"{path} row {i}: ")


@both
def test_what_is_wrong_with_a_text_takes_its_image_along(tmp_path, name):
    captions = pa.array([b"\xff", None, b"x" * 50, b"fine"], pa.binary())
    path = write(tmp_path / name, {"caption": captions, "image": PICTURES})
    got = read_pictured(path, images="image", limits=Limits(max_document_bytes=49))
    assert got.texts == ["fine"]
    assert got.causes == ["invalid_utf8", "missing_text", "too_large"]
    assert got.image_causes == ["document_failed"] * 3
    assert [f["bytes"] for f in got.failed_images] == [len(b) for b in PICTURES[:3]]
    assert "byte 0 of the text" in got.failures[0]["detail"]
    assert got.failed_images[1]["detail"] == f"{path} row 1: missing_text of its document"


@both
def test_bad_utf8_within_a_list_fails_its_document_alone(tmp_path, name):
    captions = pa.array([[b"good"], [b"x", b"\xff"], [None]], pa.list_(pa.binary()))
    as_text = captions.cast(pa.list_(pa.large_binary()))
    values = pa.Array.from_buffers(
        pa.large_string(), len(as_text.values), as_text.values.buffers(), as_text.values.null_count
    )
    column = pa.ListArray.from_arrays(as_text.offsets, values)
    path = write(tmp_path / name, {"captions": column, "image": PICTURES[:3]})
    got = read_pictured(path, images="image")
    assert got.texts == ["good"]
    assert got.causes == ["invalid_utf8", "missing_text"]


def test_files_beside_a_table_are_read_and_none_elsewhere(tmp_path):
    folder = tmp_path / "input"
    (folder / "img").mkdir(parents=True)
    (folder / "img" / "a.png").write_bytes(png())
    (tmp_path / "outside.png").write_bytes(png())
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    paths = [
        "img/a.png",
        "img/../img/a.png",
        str(folder / "img" / "a.png"),
        f"file://{folder}/img/%61.png",
        "../outside.png",
        str(folder / ".." / "outside.png"),
        f"file://{tmp_path}/outside.png",
        "link.png",
        "img/none.png",
        "img",
        "C:\\a.png",
        "x" * 300,
    ]
    images = pa.array([{"bytes": None, "path": p} for p in paths], IMAGE)
    path = write(folder / "d.parquet", {"caption": paths, "image": images})
    got = read_pictured(path, images="image")
    assert got.blobs[:4] == [[png()]] * 4
    assert [i["path"] for [i] in got.images[:4]] == ["img/a.png"] * 4
    outside, gone = ["outside_input"], ["not_found"]
    assert got.image_causes == outside * 4 + gone * 2 + outside + gone
    assert all("is not below the" in f["detail"] for f in got.failed_images[:3])
    for row, reference in zip(got.failed_images, paths[4:], strict=True):
        assert repr(reference)[1:100] in row["detail"]


def test_base64_alone_is_told_how_it_is_read(tmp_path):
    data = base64.b64encode(png() * 100).decode()
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"caption": "x", "image": data}) + "\n")
    got = read_pictured(path, images="image")
    assert got.image_causes == ["not_found"]
    told = f"{len(data):,} characters, too long for a path; what is base64 is read behind data:"
    assert told in got.failed_images[0]["detail"]


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(1 << 40)  # all of it a hole
    images = pa.array([{"path": "a.png"}], IMAGE)
    path = write(tmp_path / "d.parquet", {"caption": ["x"], "image": images})
    got = read_pictured(path, images="image", options=Images(max_bytes=100))
    assert got.image_causes == ["too_large"]
    assert got.failed_images[0]["bytes"] == 1 << 40
    assert "images.max_bytes is 100" in got.failed_images[0]["detail"]


def saved(folder, values, captions):
    """A dataset as `datasets` saves it, and what `datasets` finds in it again."""
    features = datasets.Features(image=datasets.Image(), caption=datasets.Value("string"))
    made = datasets.Dataset.from_dict({"image": values, "caption": captions}, features=features)
    made.save_to_disk(str(folder), num_shards=2)
    again = datasets.load_from_disk(str(folder)).cast_column("image", datasets.Image(decode=False))
    return again[:]


def test_a_saved_dataset_gives_what_datasets_gives(tmp_path):
    (tmp_path / "own.jpg").write_bytes(jpeg(40, 30))
    values = [*[{"bytes": b, "path": None} for b in PICTURES], noise(20, 30), None]
    values += [str(tmp_path / "own.jpg"), Image.new("L", (9, 8))]
    captions = [f"caption {i}" for i in range(len(values))]
    there = saved(tmp_path / "saved", values, captions)
    got = read_pictured(tmp_path / "saved", images="image")
    assert got.texts == there["caption"] == captions
    theirs = [[] if i is None else [i["bytes"]] for i in there["image"]]
    assert got.blobs == theirs
    assert theirs[6] == [jpeg(40, 30)]  # embedded, not a path on this machine


def test_a_dataset_written_as_parquet_gives_the_same(tmp_path):
    features = datasets.Features(
        images=datasets.Sequence(datasets.Image()), text=datasets.Value("string")
    )
    images = [[{"bytes": b, "path": None} for b in PICTURES], []]
    made = datasets.Dataset.from_dict({"images": images, "text": ["a", "b"]}, features=features)
    made.to_parquet(str(tmp_path / "d.parquet"))
    got = read_pictured(tmp_path / "d.parquet", images="images")
    assert got.blobs == [PICTURES, []]


@both
def test_a_wrong_column_is_one_clear_line(tmp_path, name):
    columns = {"caption": ["a"], "image": PICTURES[:1], "n": [1], "t": [[["a"], ["b"]]]}
    path = write(tmp_path / name, columns)
    for fields, cause, message in [
        (
            {"images": "jpg"},
            "missing_column",
            "no column 'jpg' among: caption, image, n, t; name the",
        ),
        ({"images": "n"}, "no_images", "column 'n' is int64, not images: bytes, structs of"),
        ({"images": "image", "text": "n"}, "text_not_string", "column 'n' is int64, not text"),
        ({"images": "image", "text": "t", "join": " "}, "text_not_string", "column 't' is"),
    ]:
        (failed,) = read_pictured(path, **fields).plan.failed
        assert failed.cause == cause
        assert failed.message.startswith(f"{path}: {message}")
        assert "{path: …, " in failed.message  # another column, not the one that was given


def test_a_file_cut_short_or_damaged_says_where(tmp_path):
    captions = [f"caption {i}" for i in range(40)]
    pictures = [encoded(noise(8, 8, i), "PNG") for i in range(40)]
    table = pa.table({"caption": captions, "image": pictures})
    path = tmp_path / "d.arrow"
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    path.write_bytes(path.read_bytes()[:-300])
    got = read_pictured(path, images="image")
    assert got.texts == captions[:30]
    assert got.causes == ["truncated_arrow"]
    path = tmp_path / "d.parquet"
    pq.write_table(table, path, row_group_size=10, write_page_checksum=True, compression="none")
    data = bytearray(path.read_bytes())
    data[data.index(pictures[25]) + 20] ^= 255
    path.write_bytes(data)
    got = read_pictured(path, images="image")
    assert got.texts == captions[:20]
    assert got.causes == ["damaged_parquet"]
    assert got.failures[0]["detail"].startswith(f"{path} row 20: ")


@both
def test_batches_hold_a_bounded_number_of_bytes(tmp_path, name, monkeypatch):
    monkeypatch.setattr(batch, "BATCH_IMAGE_BYTES", 20_000)
    pictures = [encoded(noise(40, 40, i), "PNG") for i in range(20)]
    columns = {"caption": [str(i) for i in range(20)], "image": pictures}
    got = read_pictured(write(tmp_path / name, columns, rows=20), images="image")
    assert got.blobs == [[b] for b in pictures]
    assert len(got.batches) > 4
    assert max(got.batches) <= 20_000


def test_rows_that_were_not_downloaded_are_named(tmp_path):
    columns = {
        "jpg": [PICTURES[0], None, None],
        "caption": ["a", "b", None],
        "url": ["https://a.org/1", "https://a.org/2", "https://a.org/3"],
        "key": ["000", "001", "002"],
        "status": ["success", "failed_to_download", "failed_to_resize"],
        "error_message": [None, "HTTP Error 404", None],
    }
    got = read_pictured(write(tmp_path / "d.parquet", columns), images="jpg", id="key")
    assert got.ids == ["000"]
    assert got.images[0][0]["url"] == "https://a.org/1"
    assert got.causes == got.image_causes == ["not_downloaded"] * 2
    assert [f["url"] for f in got.failed_images] == ["https://a.org/2", "https://a.org/3"]
    assert got.failures[0]["detail"].endswith("row 1: failed_to_download: HTTP Error 404")
