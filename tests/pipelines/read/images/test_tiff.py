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
from tokenmill.pipelines.read.batch import Lost, SourceDocument, SourceImage
from tokenmill.pipelines.read.images.tiff import pages_of, tiff_pages, with_pages

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


def test_pages_in_a_circle_are_refused():
    data = bytearray(joined(DRAWN[:2]))
    (at,) = struct.unpack_from("<I", data, 4)
    (n,) = struct.unpack_from("<H", data, at)
    (second,) = struct.unpack_from("<I", data, at + 2 + 12 * n)
    (n,) = struct.unpack_from("<H", data, second)
    struct.pack_into("<I", data, second + 2 + 12 * n, at)
    assert tiff_pages(bytes(data), MOST).cause == "damaged_header"


def of_tags(*numbers):
    """A TIFF whose pages have so many tags each, of four bytes in their entries."""
    data = [struct.pack("<2sHI", b"II", 42, 8)]
    entries = b"".join(struct.pack("<HHII", tag, 1, 4, 0) for tag in range(1000, 2001))
    at = 8
    for page, n in enumerate(numbers):
        at += 2 + 12 * n + 4
        following = at if page < len(numbers) - 1 else 0
        data += [struct.pack("<H", n), entries[: 12 * n], struct.pack("<I", following)]
    return b"".join(data)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (of_tags(1000, 1000), "neither strips nor tiles"),
        (of_tags(1001, 1), "pages in a circle, or more than 10000, or of 1001 tags"),
        (of_tags(*[1] * 10_000), "neither strips nor tiles"),
        (of_tags(*[1] * 10_001), "pages in a circle, or more than 10000, or of 1 tags"),
        (of_tags(144, *[1000] * 262), "neither strips nor tiles"),
        (of_tags(145, *[1000] * 262), "pages of 262145 tags"),
    ],
    ids=["1000 tags", "1001 tags", "10000 pages", "10001 pages", "2**18 tags", "2**18 + 1 tags"],
)
def test_pages_and_tags_are_bounded(data, detail):
    assert tiff_pages(data, MOST).detail == f"TIFF of several pages: {detail}"


def test_pages_of_many_tags_are_held_one_at_a_time():
    data = of_tags(*[900] * 60)
    tracemalloc.start()
    assert tiff_pages(data, MOST).detail == "TIFF of several pages: neither strips nor tiles"
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**6  # of 650 kB; 60 pages took 26 MB
    tracemalloc.stop()


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


CODES = {1: "B", 2: "s", 3: "H", 4: "I", 5: "II", 6: "b", 7: "B", 8: "h", 9: "i", 10: "ii",
         11: "f", 12: "d", 16: "Q"}  # fmt: skip
POINTERS = (330, 34665, 34853, 40965)
GREY = {256: (3, 2), 257: (3, 1), 258: (3, 8), 259: (3, 1), 262: (3, 1), 278: (3, 1)}


def by_hand(pages, order, big=False):
    """A TIFF of pages of two grey pixels, 7 and 8; each its further tags, by number: type, values.

    order: as struct writes it.
    """
    word = "Q" if big else "I"
    data = (b"II" if order == "<" else b"MM") + struct.pack(
        f"{order}{'HHHQ' if big else 'HI'}", *((43, 8, 0, 16) if big else (42, 8))
    )
    for number, page in enumerate(pages):
        kind = 16 if big else 4
        tags = {**GREY, 273: (kind, 0), 279: (kind, 2), **page}
        width = struct.calcsize(f"<{word}")
        values = {t: struct.pack(order + CODES[k] * (len(v) // len(CODES[k])), *v)
                  for t, (k, *v) in tags.items()}  # fmt: skip
        long = {t: value for t, value in values.items() if len(value) > width}
        at = len(data) + (8 if big else 2) + len(tags) * (4 + 2 * width) + width
        body, places = b"", {}
        for tag, value in long.items():
            places[tag] = at + len(body)
            body += value + b"\0" * (len(value) % 2)
        data += struct.pack(f"{order}{'Q' if big else 'H'}", len(tags))
        for tag in sorted(tags):
            inline = values[tag].ljust(width, b"\0")
            if tag in places or tag == 273:
                inline = struct.pack(order + word, places.get(tag, at + len(body)))
            count = len(tags[tag][1:]) // len(CODES[tags[tag][0]])
            data += struct.pack(f"{order}HH{word}", tag, tags[tag][0], count) + inline
        body += b"\7\10"
        data += struct.pack(order + word, at + len(body) if number < len(pages) - 1 else 0) + body
    return data


def tags_of(data, number=0):
    with Image.open(io.BytesIO(data)) as image:
        image.seek(number)
        return {t: v for t, v in image.tag_v2.items() if t not in (273, *POINTERS)}, np.asarray(
            image
        ).tolist()


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_pages_keep_tags_of_every_type_and_none_that_points_elsewhere(order, big):
    further = [
        {65000 + kind: (kind, *[1 if code != "s" else b"x"] * (n * len(code)))
         for kind, code in CODES.items()}
        for n in (1, 2, 9)
    ]  # fmt: skip
    data = by_hand(further, order, big)
    pages = tiff_pages(data, MOST)
    pointing = [{**tags, **{tag: (4, 9) for tag in POINTERS}} for tags in further]
    assert tiff_pages(by_hand(pointing, order, big), MOST) == pages
    assert len(pages) == 3
    for number, page in enumerate(pages):
        assert page == by_hand(further[number : number + 1], order, big)
        if not (big and order == ">"):  # which Pillow does not open
            assert tags_of(page) == tags_of(data, number)
    assert tiff_pages(by_hand([{513: (4, 9)}] * 2, order, big), MOST).cause == "damaged_header"


def test_no_value_lies_behind_the_end():
    values = (7, *bytes(100))
    data = by_hand([{}, {65000: values}], "<")
    assert len(tiff_pages(data, MOST)) == 2
    assert tiff_pages(data[:-3], MOST).detail == (
        f"TIFF of several pages: a value of 100 bytes at byte {len(data) - 102}, behind the end"
    )


@pytest.mark.parametrize("type_of_sizes", [3, 4, 16])
def test_strips_and_their_sizes_may_be_of_any_whole_numbers_and_are_as_many(type_of_sizes):
    strips = {273: (16, 0, 0), 279: (type_of_sizes, 1, 1)}
    at = len(by_hand([strips, strips], "<"))
    strips[273] = (16, at, at + 1)
    pages = tiff_pages(by_hand([strips, strips], "<") + b"\7\10", MOST)
    assert [page[-2:] for page in pages] == [b"\7\10"] * 2
    lost = tiff_pages(by_hand([{**strips, 279: (4, 1)}] * 2, "<"), MOST)
    assert lost.detail == "TIFF of several pages: 2 strips and 1 sizes of them"
    for sizes, n in (((11, 2.0), 0), ((3, *bytes(2**17)), 2**17), ((3, *bytes(2**17 + 1)), 0)):
        lost = tiff_pages(by_hand([{279: sizes}] * 2, "<"), MOST)
        assert lost.detail == f"TIFF of several pages: 1 strips and {n} sizes of them"


def test_pages_stand_where_their_image_stood():
    three, one = by_hand([{}] * 3, "<"), png()
    images = [SourceImage(f"{n}", f"at {n}", data=data, source_offset=4)
              for n, data in enumerate((one, three, b"II*", three, None))]  # fmt: skip
    names = ["0", "1#0", "1#1", "1#2", "2", "3#0", "3#1", "3#2", "4"]
    document = SourceDocument(0, "a", "a\ufffcb\ufffcc\ufffcd\ufffc\ufffce", images=images)
    found = with_pages(document, MOST)
    assert found.text == "a\ufffcb\ufffc\ufffc\ufffcc\ufffcd\ufffc\ufffc\ufffc\ufffce"
    assert [image.path for image in found.images] == names
    assert [image.where for image in found.images][1:3] == ["at 1 page 0", "at 1 page 1"]
    assert [image.source_offset for image in found.images] == [4, *[None] * 3, 4, *[None] * 3, 4]
    assert [image.data for image in found.images][1:4] == tiff_pages(three, MOST)
    beside = with_pages(document._replace(text="no places"), MOST)
    assert (beside.text, [image.path for image in beside.images]) == ("no places", names)
    for same in (
        document._replace(images=images[:1]),
        document._replace(images=images[2:3]),
        document._replace(lost=Lost("not_found", "?")),
    ):
        assert with_pages(same, MOST) is same
    (lost,) = with_pages(document._replace(images=images[1:2]), 5).images
    assert lost.lost == Lost("too_large", "at 1: 3 pages take more than 5 bytes", bytes=len(three))
    assert pages_of(images[1]._replace(lost=lost.lost), MOST) == [
        images[1]._replace(lost=lost.lost)
    ]


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
