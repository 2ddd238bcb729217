"""Images on their way from a shard's spool into the dataset."""

import hashlib

import PIL.Image
import pyarrow as pa
import pytest
from datasets import Dataset, Features, Image, List
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.shards import png
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.images.blobs import Window
from tokenmill.pipelines.read.images.stored import (
    MOST_BYTES,
    check_references,
    describe,
    features_of,
    hex_of,
    in_dataset,
    kept_columns,
    with_bytes,
)
from tokenmill.pipelines.read.options import READER_PIXELS, Images, Patches
from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.tokenize import load_engine

SHARD = SourceShard(
    key="00000-of-00001",
    ordinal=0,
    input=0,
    source="tars",
    format="webdataset",
    paths=("/data/shard.tar",),
    names=("shard.tar",),
)
blobs = st.one_of(st.none(), st.binary(max_size=9))


def documents_of(pieces):
    """Documents with images of these bytes, None for a URL alone; and where their bytes are."""
    window = Window(0, [b for images in pieces for b in images if b is not None])
    offsets = iter(window.offsets.tolist())
    made = []
    for images in pieces:
        items = []
        for n, data in enumerate(images):
            none = {"bytes": None, "md5": None, "offset": None}
            there = data is not None and {
                "bytes": len(data),
                "md5": hashlib.md5(data).digest(),
                "offset": next(offsets),
                "source_offset": 512,
            }
            items.append(image(n, **(there or none)))
        made.append(("text", items))
    return illustrated(made), window


@given(st.lists(st.lists(blobs, max_size=4), max_size=6), st.integers(0, 3), st.integers(0, 6))
def test_bytes_arrive_as_they_were(pieces, first, n):
    pieces = [[b or None for b in images] for images in pieces]
    documents, window = documents_of(pieces)
    lists, sizes = kept_columns(documents, Images(), SHARD)
    assert sizes.tolist() == [sum(len(b or b"") for b in images) for images in pieces]
    column = with_bytes(lists.slice(first, n), window)
    assert column.type == in_dataset(Images())
    column.validate(full=True)
    expected = [
        [
            {
                "bytes": b,
                "path": f"https://example.org/{i}.jpg" if b is None else f"shard.tar/{i}.jpg",
            }
            for i, b in enumerate(images)
        ]
        for images in pieces
    ]
    assert column.to_pylist() == expected[first : first + n]


@given(st.lists(st.lists(blobs, max_size=4), max_size=6))
def test_references_say_where_each_image_stands(pieces):
    pieces = [[b or None for b in images] for images in pieces]
    documents, _ = documents_of(pieces)
    options = Images(store="reference")
    lists, sizes = kept_columns(documents, options, SHARD)
    assert sizes.tolist() == [0] * len(pieces)
    assert lists.type == in_dataset(options)
    for images, found in zip(pieces, lists.to_pylist(), strict=True):
        for i, (data, row) in enumerate(zip(images, found, strict=True)):
            if data is None:
                assert (row["path"], row["offset"]) == (f"https://example.org/{i}.jpg", None)
                assert (row["bytes"], row["md5"]) == (None, None)
            else:
                assert (row["path"], row["offset"]) == ("/data/shard.tar", 512)
                assert (row["bytes"], row["md5"]) == (len(data), hashlib.md5(data).hexdigest())


def test_a_document_of_more_bytes_than_a_row_holds_is_refused():
    half = MOST_BYTES // 2 + 1
    documents = illustrated([("a", [image(bytes=half)]), ("b", [image(0, bytes=half)] * 2)])
    kept_columns(documents.slice(0, 1), Images(), SHARD)
    kept_columns(documents, Images(store="reference"), SHARD)
    with pytest.raises(ConfigError, match=r"doc-1 has 2,147,483,648 bytes of images, .*reference"):
        kept_columns(documents, Images(), SHARD)


def test_an_image_that_does_not_stand_in_the_input_is_named():
    there = image(0, source_offset=512)
    documents = illustrated([("a", [there]), ("b", [there, image(1)])])
    options = Images(store="reference")
    check_references(documents.slice(0, 1), options, SHARD)
    check_references(documents, Images(), SHARD)
    check_references(illustrated([("a", [image(offset=None)])]), options, SHARD)
    with pytest.raises(ConfigError) as e:
        check_references(documents, options, SHARD)
    assert str(e.value) == (
        "images.store: reference: image 1 of doc-1 (shard.tar/1.jpg) does not stand in"
        " /data/shard.tar as it is, but packed, in a table or a page; take images.store: bytes"
    )


@given(st.lists(st.one_of(st.none(), st.binary(min_size=16, max_size=16)), max_size=5))
def test_digests_are_written_as_md5sum_does(digests):
    expected = [None if d is None else d.hex() for d in digests]
    assert hex_of(pa.array(digests, pa.binary(16))).to_pylist() == expected


def test_datasets_shows_pictures():
    documents, window = documents_of([[png(4, 5)], []])
    column = with_bytes(kept_columns(documents, Images(), SHARD)[0], window)
    table = pa.table({"images": column})
    features = Features.from_dict(features_of(table.schema, Images(verify=True)))
    assert features.arrow_schema.field("images").type == table.schema.field("images").type
    dataset = Dataset(table, info=None).cast(features)
    assert [[i.size for i in images] for images in dataset["images"]] == [[(4, 5)], []]


@pytest.mark.parametrize("store", ["bytes", "reference", None])
@pytest.mark.parametrize("of_pages", [False, True])
@pytest.mark.parametrize("seq_len", [None, 2048])
@pytest.mark.parametrize("id_type", [pa.uint16(), pa.int32(), pa.uint32()])
def test_columns_are_described_as_datasets_itself_does(id_type, seq_len, of_pages, store):
    images = None if store is None else Images(store=store, verify=True)
    schema = dataset_schema(id_type, seq_len, images, of_pages=of_pages)
    expected = Features.from_arrow_schema(schema)
    if store == "bytes" and seq_len is None:
        expected["images"] = List(Image())
    if store != "bytes" or seq_len is None:  # packed sequences have no column of images
        assert features_of(schema, images) == expected.to_dict()


@pytest.mark.parametrize(
    ("options", "all_there"),
    [
        (Images(), True),
        (Images(verify=True), False),
        (Images(verify=True, max_pixels=READER_PIXELS + 1), True),
    ],
)
def test_images_of_which_one_might_not_be_shown_are_bytes(options, all_there):
    schema = dataset_schema(pa.uint16(), None, options)
    features = Features.from_dict(features_of(schema, options, all_there=all_there))
    assert features["images"] == List(Image(decode=False))


def test_the_most_pixels_are_those_that_datasets_shows():
    assert Images().max_pixels == READER_PIXELS == 2 * PIL.Image.MAX_IMAGE_PIXELS


def test_the_dataset_says_what_stands_for_images(tokenizer_path):
    image_id = load_engine(Tokenizer(path=str(tokenizer_path)), "auto", "<image>").image_id
    assert describe(image_id, None) == ""
    assert describe(image_id, Images(tokens=3)) == (
        "In input_ids 600 (<image>) stands for images, in the order of the column images:"
        " 3 times for each."
    )
    assert "'patch': 14" in describe(image_id, Images(tokens=Patches()))
