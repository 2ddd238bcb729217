"""Bytes of images: taken from memory, set down in a file, taken from there."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.read.images.blobs import Spool, Window, spool_file

PIECES = st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=12)


@given(PIECES, st.integers(0, 1000))
def test_each_piece_is_found_by_its_offset(pieces, start):
    window = Window(start, pieces)
    found = [
        bytes(window.take(int(at), len(piece)))
        for at, piece in zip(window.offsets, pieces, strict=True)
    ]
    assert found == pieces
    assert window.end == start + sum(map(len, pieces))


@given(st.lists(st.lists(st.one_of(st.none(), st.binary(min_size=1, max_size=9)), max_size=4)))
def test_what_was_set_down_is_found_by_the_new_offsets(tmp_path_factory, documents):
    pieces = [b for images in documents for b in images if b is not None]
    window = Window(77, pieces)
    offsets = iter(window.offsets.tolist())
    batch = illustrated(
        [
            (
                "text",
                [
                    image(n, offset=None, bytes=None, md5=None)
                    if data is None
                    else image(n, offset=next(offsets), bytes=len(data))
                    for n, data in enumerate(images)
                ],
            )
            for images in documents
        ]
    )
    path = tmp_path_factory.mktemp("spool") / "part.bin"
    with spool_file(path) as writer:
        placed = writer.write(batch, window)
    spool = Spool(path)
    found = [
        [
            None if i["offset"] is None else bytes(spool.take(i["offset"], i["bytes"]))
            for i in images
        ]
        for images in placed["images"].to_pylist()
    ]
    assert found == documents
    assert placed.drop_columns(["images"]).equals(batch.drop_columns(["images"]))
    assert path.stat().st_size == sum(map(len, pieces))


def test_a_spool_holds_what_is_left_of_a_filtered_batch(tmp_path):
    pieces = [b"first", b"second", b"third"]
    window = Window(0, pieces)
    images = [image(0, offset=at, bytes=n) for at, n in ((0, 5), (5, 6), (11, 5))]
    batch = illustrated([("text", [i]) for i in images]).filter(pa.array([False, True, True]))
    with spool_file(tmp_path / "part.bin") as writer:
        placed = writer.write(batch, window)
    assert (tmp_path / "part.bin").read_bytes() == b"secondthird"
    assert [images[0]["offset"] for images in placed["images"].to_pylist()] == [0, 6]


def test_a_spool_that_was_cut_short_says_so(tmp_path):
    path = tmp_path / "part.bin"
    path.write_bytes(b"first")
    assert Spool(path).take(2, 3) == b"rst"
    with pytest.raises(ShardError, match=r"part.bin: ends before byte 6; delete it and rerun"):
        Spool(path).take(2, 4)
