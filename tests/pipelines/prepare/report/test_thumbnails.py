"""What a contact sheet shows: a few of each reason, upright, whatever the bytes are."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import EpsImagePlugin, Image

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.shards import encoded, jpeg, picture, png
from tokenmill.pipelines.filters.images.edit import removed_images
from tokenmill.pipelines.prepare.report import thumbnails
from tokenmill.pipelines.prepare.report.thumbnails import (
    MOST,
    MOST_KEPT,
    SIDE,
    THUMBNAIL,
    Thumbnails,
    thumbnail,
    thumbnail_file,
)
from tokenmill.pipelines.read.images.blobs import Window


def opened(data: bytes | None) -> Image.Image:
    assert data is not None
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "I", "I;16", "F"])
def test_any_mode_becomes_a_small_jpeg(mode):
    made = picture(400, 200, mode="L" if mode in ("I;16", "LA") else mode)
    made = made.convert(mode) if mode == "LA" else made
    kind = "TIFF" if mode in ("I", "F", "I;16") else "PNG"
    small = opened(thumbnail(memoryview(encoded(made, kind))))
    assert (small.format, small.mode, small.size) == ("JPEG", "RGB", (SIDE, SIDE // 2))


def test_cmyk_and_rotated_photos_are_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    rotated = encoded(picture(400, 200, mode="CMYK"), "JPEG", exif=exif)
    assert opened(thumbnail(memoryview(rotated))).size == (SIDE // 2, SIDE)


def test_transparent_pixels_are_white():
    clear = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    assert opened(thumbnail(memoryview(encoded(clear, "PNG")))).getpixel((25, 25)) == (255,) * 3


@pytest.mark.parametrize(
    "data", [b"", b"no image", jpeg()[:200], png()[:40], b"GIF89a" + b"\xff" * 9]
)
def test_what_does_not_decode_has_none(data):
    assert thumbnail(memoryview(data)) is None


def test_no_program_is_started(monkeypatch):
    """Pillow would have Ghostscript run what an EPS holds."""
    started = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *args, **kwargs: started.append(args))
    assert thumbnail(memoryview(encoded(picture(40, 30), "EPS"))) is None
    assert not started


def documents(pieces, **fields):
    window = Window(0, pieces)
    rows = zip(window.offsets.tolist(), pieces, strict=True)
    facts = [
        image(0, offset=at, bytes=len(data), width=40, height=30, **fields) for at, data in rows
    ]
    return illustrated([(f"caption {i}", [one]) for i, one in enumerate(facts)]), window


def test_no_more_than_so_many_pixels_are_decoded(monkeypatch):
    monkeypatch.setattr(thumbnails, "MOST_DECODED", 3 * 40 * 30)
    for data, n, kind in ((png(40, 30), 3, "png"), (jpeg(40, 30), 5, "jpeg")):
        batch, window = documents([data] * 5, format=kind)
        made = Thumbnails()
        made.kept(batch, window)
        assert [row["jpeg"] is not None for row in made.rows] == [True] * n + [False] * (5 - n)


def test_the_first_of_each_reason_are_shown_and_no_more(tmp_path):
    batch, window = documents([jpeg(40, 30, (i, 0, 0)) for i in range(2 * MOST + 3)])
    path = tmp_path / "part.parquet"
    with thumbnail_file(path) as made:
        for start in (0, MOST):
            here = batch.slice(start, MOST)
            reasons = ["too_small" if i % 2 else "ratio" for i in range(MOST)]
            made.removed(here, removed_images("images", here, np.arange(MOST), reasons), window)
        made.kept(batch.slice(2 * MOST), window)
    rows = pq.read_table(path)
    assert rows.schema.equals(THUMBNAIL)
    shown = [(r["reason"], r["id"]) for r in rows.to_pylist()]
    wanted = [("ratio" if i % 2 == 0 else "too_small", f"doc-{i}") for i in range(2 * MOST)]
    assert sorted(shown[:-3]) == sorted(wanted)
    assert [r["stage"] for r in rows.to_pylist()[-3:]] == [""] * 3
    assert opened(rows["jpeg"][0].as_py()).size == (40, 30)


def test_of_many_alike_only_the_first_are_decoded():
    batch, window = documents([jpeg() for _ in range(4 * MOST)])
    made = Thumbnails()
    receipts = removed_images("images", batch, np.arange(4 * MOST), ["ratio"] * 4 * MOST)
    made.removed(batch, receipts, window)
    for _ in range(3):
        made.kept(batch.slice(0, MOST), window)
    assert len(made.rows) == MOST + MOST_KEPT


def test_an_image_too_large_to_decode_is_named_alone():
    batch = illustrated([("a", [image(0, offset=0, bytes=9, width=30_000, height=20_000)])])
    made = Thumbnails()
    made.kept(batch, Window(0, [b"imaginary"]))
    made.kept(illustrated([("b", [image(1, offset=None, bytes=None, md5=None)])]), None)
    assert [(r["number"], r["jpeg"]) for r in made.rows] == [(0, None), (1, None)]
