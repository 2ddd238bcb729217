"""Images that look like one before them: found by hashes of bits, whatever the shards."""

import io
import json
from functools import cache

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_from_disk
from PIL import Image, ImageDraw, ImageOps

from tests.pipelines.corpus.repeats_corpora import batch_of
from tests.pipelines.corpus.test_repeats_runs import recipe_of
from tests.pipelines.read.images.shards import encoded, noise, png, tar_bytes
from tests.reference import images as reference
from tests.running import one_by_one, prepare
from tokenmill.dedup.same.images import stars
from tokenmill.pipelines.corpus.looks import (
    NO_BYTES,
    ON_GREY,
    ON_WHITE,
    PLAIN,
    Views,
    looks_of,
    seen,
)
from tokenmill.pipelines.read.images.blobs import Window


@cache
def pictures():
    """Noise, each picture three times: as it is, smaller and as a poor JPEG, in some order."""
    rng, made = np.random.default_rng(0), []
    for seed in range(12):
        coarse = noise(9, 9, seed).resize((120, 90), Image.Resampling.BICUBIC)
        made.append(encoded(coarse, "PNG"))
        made.append(encoded(coarse.resize((60, 45)), "PNG"))
        made.append(encoded(coarse, "JPEG", quality=20))
    return [made[i] for i in rng.permutation(len(made))]


def look(data, **views):
    return looks_of(data, 10**6, Views(**views))


def near(one, other, **views):
    """Whether the other leaves for the one."""
    both = [look(data, **views) for data in (one, other)]
    hashes, looks = (np.stack([getattr(x, name) for x in both]) for name in ("hashes", "looks"))
    return stars(hashes, looks, np.array([x.kind for x in both], np.uint8), 4).of[1] == 0


def drawing(shape, *, colour, back=(0, 0, 0, 0), size=120):
    """A shape on what is transparent unless told."""
    image = Image.new("RGBA", (size, size), back)
    draw = ImageDraw.Draw(image)
    box = [size * 0.2, size * 0.3, size * 0.8, size * 0.6]
    getattr(draw, shape)(box, fill=colour)
    return image


def test_what_does_not_decode_or_is_too_large_has_no_hash():
    good = pictures()[0]
    assert look(good).kind == ON_WHITE
    assert look(good[: len(good) // 2]).kind == NO_BYTES
    assert look(b"nothing").kind == NO_BYTES
    assert looks_of(good, 30 * 30, Views()).kind == NO_BYTES


@pytest.mark.parametrize("colour", ["black", "white"])
def test_drawings_on_what_is_transparent_are_told_by_what_they_draw(colour):
    box, round_ = (encoded(drawing(s, colour=colour), "PNG") for s in ("rectangle", "ellipse"))
    assert look(box).kind == (ON_WHITE if colour == "black" else ON_GREY)
    assert near(box, encoded(drawing("rectangle", colour=colour, size=90), "PNG"))
    assert not near(box, round_)


@pytest.mark.parametrize(
    "image",
    [
        Image.new("RGB", (50, 50), (200, 30, 30)),
        Image.new("RGBA", (50, 50), (0, 0, 0, 0)),
        noise(7, 40, 1),
    ],
    ids=["of one colour", "nothing to see", "tiny"],
)
def test_a_plain_image_is_told_and_like_no_other(image):
    data = encoded(image, "PNG")
    assert look(data).kind == PLAIN
    assert not look(data).hashes.any()


def test_shapes_of_other_colours_are_others_and_a_grey_copy_is_near():
    red, green = (drawing("ellipse", colour=c, back="white") for c in ("#c83c3c", "#3c78c8"))
    grey = red.convert("L")
    assert not near(encoded(red, "PNG"), encoded(green, "PNG"))
    assert near(encoded(red, "PNG"), encoded(grey, "PNG"))
    assert not near(encoded(grey.point(lambda v: v * 0.7), "PNG"), encoded(red, "PNG"))


def picture():
    return noise(20, 20, 5).resize((160, 120), Image.Resampling.BICUBIC)


@pytest.mark.parametrize(
    ("views", "rule"),
    [
        ({"flips": True}, ImageOps.mirror),
        ({"rotations": True}, lambda image: image.transpose(Image.Transpose.ROTATE_90)),
        ({"rotations": True}, lambda image: image.transpose(Image.Transpose.ROTATE_180)),
        ({"flips": True, "rotations": True}, lambda i: i.transpose(Image.Transpose.TRANSVERSE)),
        ({"crops": True}, lambda image: image.crop((0, 0, 152, 114))),
        ({"crops": True}, lambda image: image.crop((4, 3, 156, 117))),
    ],
    ids=["flip", "90", "180", "transverse", "corner", "middle"],
)
def test_what_is_mirrored_turned_or_cropped_is_near_if_asked(views, rule):
    one, other = encoded(picture(), "PNG"), encoded(rule(picture()), "PNG")
    assert not near(one, other)
    assert near(one, other, **views)
    assert near(other, one, **views)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_an_image_is_seen_turned_as_exif_asks(orientation):
    turned = Image.Exif()
    turned[0x0112] = orientation
    file = io.BytesIO()
    picture().save(file, "JPEG", quality=95, exif=turned)
    shown = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
    assert near(encoded(shown, "PNG"), file.getvalue())
    assert not near(encoded(picture(), "PNG"), file.getvalue())


@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize("size", [(621, 1526), (622, 1310), (928, 2115)], ids=str)
def test_edges_of_a_page_weigh_what_they_cover_however_it_is_encoded(size, orientation):
    page, (width, height) = Image.new("L", size, 248), size
    draw = ImageDraw.Draw(page)
    for line in range(30, height - 30, 18):
        draw.line((30, line, width - 30 - 7 * line % 150, line), 40, 5)
    draw.rectangle((width - 3, 0, width, height), 60)
    draw.rectangle((0, height - 3, width, height), 60)
    turned, file = Image.Exif(), io.BytesIO()
    turned[0x0112] = orientation
    page.save(file, "JPEG", quality=95, exif=turned)
    shown = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
    one, other = (look(data).looks[0, :256] for data in (encoded(shown, "PNG"), file.getvalue()))
    assert np.abs(one.astype(np.int64) - other).max() <= 8  # 12 and more with edges counted twice


def test_sixteen_bits_are_seen_as_eight():
    grey = picture().convert("L")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    assert near(encoded(grey, "PNG"), encoded(deep, "PNG"))


def test_images_without_bytes_have_no_hash():
    some = [{"number": i, "url": f"u{i}", "md5": None} for i in range(4)]
    batch = batch_of([{"doc_id": 1, "url": None, "text": "a", "images": some}])
    pieces = [pictures()[0], b"broken", png(colour=(0, 0, 0))]
    window = Window(100, pieces)
    rows = batch.to_pylist()
    for image, offset, data in zip(
        rows[0]["images"], window.offsets.tolist(), pieces, strict=False
    ):
        image |= {"offset": offset, "bytes": len(data)}
    batch = type(batch).from_pylist(rows, schema=batch.schema)
    kinds, hashes, _ = seen(batch, window, Views(), 10**6)
    assert kinds.tolist() == [ON_WHITE, NO_BYTES, PLAIN, NO_BYTES]
    assert hashes.tolist() == [look(pieces[0]).hashes.tolist(), [0], [0], [0]]
    kinds, _, _ = seen(batch, None, Views(), 10**6)
    assert kinds.tolist() == [NO_BYTES] * 4


def write_samples(folder):
    """Tar shards of samples, the first without a picture that decodes, and captions that come
    again; all in order.
    """
    data = [*(d[: len(d) // 2] for d in pictures()[:2]), *pictures()]
    for shard in range(4):
        members = {}
        for i in range(shard, len(data), 4):
            ext = "png" if data[i].startswith(b"\x89PNG") else "jpg"
            members |= {f"{i:04d}.{ext}": data[i], f"{i:04d}.txt": f"caption {i % 30}".encode()}
        (folder / f"{shard}.tar").write_bytes(tar_bytes(members))
    return [i for shard in range(4) for i in range(shard, len(data), 4)], data


@pytest.mark.long_but("[]-reference", "exact-bytes")  # each store once, and a step before
@pytest.mark.parametrize("store", ["bytes", "reference"])
@pytest.mark.parametrize(
    "before",
    [[], [{"exact": {"samples": "captions"}}], [{"repeated_images": {"more_than": 1}}]],
    ids=["[]", "exact", "repeated_images"],
)
def test_samples_that_look_like_one_before_leave(tmp_path, tokenizer_path, before, store):
    order, data = write_samples(tmp_path)
    by_caption = {i % 30: i for i in reversed(order)}
    gone = {i for i in order if by_caption[i % 30] != i} if "exact" in str(before) else set()
    looks = {i: look(data[i]) for i in order if i not in gone}
    hashed = [i for i in looks if looks[i].kind == ON_WHITE]
    hashes = {i: int(looks[i].hashes[0]) for i in hashed}
    each = [[looks[i].looks[0]] for i in hashed]
    found = reference.stars([[hashes[i]] for i in hashed], each, [1] * len(hashed), 4)
    leaving = {hashed[k]: hashed[f[0]] for k, f in enumerate(found) if f is not None}
    assert len(leaving) == (16 if gone else 24)
    inputs = [{"path": str(tmp_path / "*.tar")}]
    steps = [*before, "near_images"]
    recipe = recipe_of(tmp_path, tokenizer_path, steps, inputs=inputs, images={"store": store})
    report = prepare(recipe, tmp_path / "run", one_by_one)
    kept = {
        row["doc_id"]: int(row["id"].rpartition("/")[2])
        for row in load_from_disk(str(tmp_path / "run" / "dataset")).select_columns(
            ["doc_id", "id"]
        )
    }
    assert list(kept.values()) == [i for i in looks if i not in leaving]
    rows = [
        row
        for path in sorted((tmp_path / "run" / "removed-images").iterdir())
        for row in pq.read_table(path).to_pylist()
    ]
    assert {r["reason"] for r in rows} == {"near_image"}
    ids = {r["doc_id"]: int(r["id"].rpartition("/")[2]) for r in rows}
    assert sorted(ids.values()) == sorted(leaving)
    for row in rows:
        i = ids[row["doc_id"]]
        assert row["value"] == (hashes[i] ^ hashes[leaving[i]]).bit_count()
        assert kept[row["duplicate_of"]] == leaving[i]
    (ledger,) = [row for row in report["ledger"] if row["stage"] == "near_images"]
    assert ledger["removed"] == {"no_images_left": len(leaving)}
    assert ledger["images"]["removed"] == {"near_image": len(leaving)}
    (facts,) = [
        json.loads(path.read_text())["facts"]
        for path in (tmp_path / "run" / "receipts").glob("near_images-*/all.json")
    ]
    without = {"without_hash": len(looks) - len(hashed), "plain": 0, "given_up": 0}
    assert facts == {"images": len(looks), "near": len(leaving), **without}
