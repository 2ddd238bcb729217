"""Pages of a TIFF against Pillow's frames, and files that should not be trusted."""

import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.pipelines.read.images.shards import encoded, noise, picture, png
from tokenmill.pipelines.read.batch import Lost
from tokenmill.pipelines.read.images import tiff
from tokenmill.pipelines.read.images.tiff import tiff_pages

MOST = 10**7
DRAWN = [noise(30, 20), picture(40, 33, mode="L"), picture(9, 70, mode="1"), picture(20, 20)]


def joined(images, **options):
    return encoded(images[0], "TIFF", save_all=True, append_images=images[1:], **options)


def pixels(data, number=0):
    with Image.open(io.BytesIO(data)) as image:
        image.seek(number)
        return image.mode, np.asarray(image).tolist()


@pytest.mark.parametrize("compression", [None, "packbits", "tiff_lzw", "tiff_deflate"])
@pytest.mark.parametrize("big_tiff", [False, True])
def test_pages_are_the_frames_of_pillow(compression, big_tiff):
    data = joined(DRAWN, compression=compression, big_tiff=big_tiff)
    for given_as in (data, memoryview(data)):
        pages = tiff_pages(given_as, MOST)
        assert [pixels(page) for page in pages] == [pixels(data, n) for n in range(len(DRAWN))]
        assert [tiff_pages(page, MOST) for page in pages] == [[]] * len(DRAWN)


def test_what_has_one_page_or_is_none_stays():
    for data in (joined(DRAWN[:1]), png(), b"", b"II", b"II*\0", b"MM\0*\0\0\0\x09", b"IM*\0" * 9):
        assert tiff_pages(data, MOST) == []


def with_kind(data, number, kind):
    """The file, with the first tag of a page as NewSubfileType, or SubfileType, of a kind."""
    tag, value = kind
    (at,) = struct.unpack_from("<I", data, 4)
    for _ in range(number):
        (n,) = struct.unpack_from("<H", data, at)
        (at,) = struct.unpack_from("<I", data, at + 2 + 12 * n)
    made = bytearray(data)
    struct.pack_into("<HHII", made, at + 2 + 12 * 3, tag, 4, 1, value)  # in place of another
    return bytes(made)


def in_tiles(data):
    """The file, with the tags of strips as those of tiles."""
    made, (at,) = bytearray(data), struct.unpack_from("<I", data, 4)
    while at:
        (n,) = struct.unpack_from("<H", data, at)
        for entry in range(at + 2, at + 2 + 12 * n, 12):
            (tag,) = struct.unpack_from("<H", data, entry)
            struct.pack_into("<H", made, entry, {273: 324, 279: 325}.get(tag, tag))
        (at,) = struct.unpack_from("<I", data, at + 2 + 12 * n)
    return bytes(made)


def test_pages_of_tiles_have_their_bytes_as_pages_of_strips_have():
    data = joined([noise(30, 20, seed) for seed in range(3)])
    strips, tiles = (tiff_pages(one, MOST) for one in (data, in_tiles(data)))
    assert [page[-1_000:] for page in tiles] == [page[-1_000:] for page in strips]
    assert [len(page) for page in tiles] == [len(page) for page in strips]


@pytest.mark.parametrize("kind", [(254, 1), (254, 4), (254, 5), (255, 2)])
def test_reduced_copies_and_masks_are_no_pages(kind):
    data = joined([noise(30, 20, seed) for seed in range(3)])
    assert len(tiff_pages(with_kind(data, 1, (254, 2)), MOST)) == 3  # a page of several
    (first, last) = tiff_pages(with_kind(data, 1, kind), MOST)
    assert (pixels(first), pixels(last)) == (pixels(data, 0), pixels(data, 2))
    assert len(tiff_pages(with_kind(data, 0, kind), MOST)) == 3  # the first is there in any case


def test_pages_in_a_circle_and_pages_without_end_are_refused(monkeypatch):
    data = bytearray(joined(DRAWN[:2]))
    (at,) = struct.unpack_from("<I", data, 4)
    (n,) = struct.unpack_from("<H", data, at)
    (second,) = struct.unpack_from("<I", data, at + 2 + 12 * n)
    (n,) = struct.unpack_from("<H", data, second)
    struct.pack_into("<I", data, second + 2 + 12 * n, at)
    assert tiff_pages(bytes(data), MOST).cause == "damaged_header"
    monkeypatch.setattr(tiff, "MOST_PAGES", 3)
    assert "more than 3" in tiff_pages(joined(DRAWN), MOST).detail


def test_pages_of_many_tags_are_held_one_at_a_time_and_all_of_them_are_bounded(monkeypatch):
    number, n, data = 60, 900, struct.pack("<2sHI", b"II", 42, 8)
    tags = b"".join(struct.pack("<HHII", tag, 1, 4, 0) for tag in range(1000, 1000 + n))
    for page in range(number):
        following = len(data) + 2 + len(tags) + 4 if page < number - 1 else 0
        data += struct.pack("<H", n) + tags + struct.pack("<I", following)
    tracemalloc.start()
    assert tiff_pages(data, MOST).detail == "TIFF of several pages: neither strips nor tiles"
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**6  # of 650 kB; 60 pages took 26 MB
    tracemalloc.stop()
    monkeypatch.setattr(tiff, "MOST_ALL_TAGS", number * n - 1)
    assert tiff_pages(data, MOST).detail == "TIFF of several pages: pages of 54000 tags"


def test_pages_that_share_their_bytes_take_no_more_than_an_image_may():
    data = joined([noise(90, 90, seed) for seed in range(4)])
    assert len(tiff_pages(data, len(data) + 2000)) == 4
    for most in (100, len(data) // 2, len(data) - 4000):
        lost = tiff_pages(data, most)
        assert lost == Lost("too_large", f"4 pages take more than {most} bytes")


def sharing(n, side=64):
    """A TIFF of n grey pages, all of one strip."""
    tags = [(256, side), (257, side), (258, 8), (259, 1), (262, 1), (273, 8), (278, side)]
    tags.append((279, side * side))
    at, pages = 8 + side * side, []
    for page in range(n):
        after = at + 2 + 12 * len(tags) + 4
        entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags]
        following = after if page < n - 1 else 0
        pages.append(
            struct.pack("<H", len(tags)) + b"".join(entries) + struct.pack("<I", following)
        )
        at = after
    return b"II*\0" + struct.pack("<I", 8 + side * side) + bytes(side * side) + b"".join(pages)


def test_pages_that_are_one_page_again_and_again_are_refused():
    assert len(tiff_pages(sharing(3), MOST)) == 3
    data = sharing(1_000)
    detail = f"1000 pages take more than {4 * len(data)} bytes"
    assert tiff_pages(data, MOST) == Lost("too_large", detail)


@given(st.data(), st.booleans())
def test_a_damaged_file_is_named_or_gives_as_many_pages(data, big_tiff):
    whole = joined(DRAWN[:3], big_tiff=big_tiff)
    made = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4)) if made else 0):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    found = tiff_pages(bytes(made), MOST)
    if isinstance(found, Lost):
        assert found.cause in ("damaged_header", "too_large")
    else:
        assert sum(map(len, found)) <= MOST
