"""What token shards and the dataset hold of images: their bytes, or where these stand.

    store       token shard                           dataset
    bytes       where they stand in the spool      -> the bytes (the `Image` of `datasets`)
    reference   where they stand in the input      -> the same

Each byte is copied once, from the spool into the dataset.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import IMAGE
from tokenmill.pipelines.core.shard import SourceShard, folder_of
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.folder import located
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of
from tokenmill.pipelines.read.options import READER_PIXELS, Images
from tokenmill.pipelines.read.readers import reader_named

SPOOLED = pa.struct([IMAGE.field(name) for name in ("path", "bytes", "offset")])
STORED = pa.struct({"bytes": pa.binary(), "path": pa.string()})
# path: of the tar, or the image's file; offset, bytes: of the image's own in it. All but path are
# null where there are no bytes, and path is the URL.
REFERENCE = pa.struct(
    {"path": pa.string(), "offset": pa.int64(), "bytes": pa.int64(), "md5": pa.string()}
    | {"format": pa.string(), "width": pa.int32(), "height": pa.int32(), "url": pa.string()}
)
MOST_BYTES = np.iinfo(np.int32).max  # of images of a document, in a row of the dataset
WAY_OUT = "take images.store: bytes"


def in_dataset(images: Images) -> pa.DataType:
    return pa.list_(STORED if images.store == "bytes" else REFERENCE)


def features_of(
    schema: pa.Schema, images: Images | None, *, all_there: bool = True
) -> dict[str, Any]:
    """The `Features` that `datasets` makes of columns, as data: pictures, where there are bytes.

    all_there: no image is but a URL, which would be fetched.

    Said here, since its import takes longer than all that a small run does.
    """
    features = {field.name: _feature(field.type) for field in schema}
    if images is not None and images.store == "bytes":
        # whether `datasets` can show each image that has bytes
        all_decode = all_there and images.verify and images.max_pixels <= READER_PIXELS
        shown = {} if all_decode else {"decode": False}
        features["images"] = {"feature": {"_type": "Image", **shown}, "_type": "List"}
    return features


def _feature(of: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(of):
        return {field.name: _feature(field.type) for field in of}
    if not pa.types.is_list(of) and not pa.types.is_fixed_size_list(of):
        return {"dtype": str(of), "_type": "Value"}
    length = {"length": of.list_size} if pa.types.is_fixed_size_list(of) else {}
    return {"feature": _feature(of.value_type), **length, "_type": "List"}


def describe(image_id: int | None, images: Images | None) -> str:
    """What one has to know to train on the dataset, if not text; image_id: the engine's token."""
    if images is None:
        return ""
    rule = images.tokens
    if isinstance(rule, int):
        times = f"{rule} times for each"
    else:
        times = f"for each as often as {rule.model_dump()} tells of its size"
    return (
        f"In input_ids {image_id} ({images.token}) stands for images, in the order of the"
        f" column images: {times}."
    )


def kept_columns(
    documents: pa.RecordBatch, images: Images, shard: SourceShard
) -> tuple[pa.Array, I64]:
    """The column of a token shard, and (n_docs,) bytes of each document's images in the dataset.

    documents: schema ILLUSTRATED; with `store: bytes` offsets are those of the spool.
    ConfigError: images cannot be stored as the recipe wants.
    """
    items = documents["images"].flatten()
    counts = counts_of(documents)
    there = items.field("offset").is_valid()
    sizes = pc.if_else(there, items.field("bytes"), pa.scalar(None, pa.int64()))
    elsewhere = pc.coalesce(items.field("url"), items.field("path"))
    if images.store == "bytes":
        ends = np.concatenate(([0], np.cumsum(sizes.fill_null(0))))
        stored = np.diff(ends[np.concatenate(([0], np.cumsum(counts)))])
        _check_bytes(documents, stored)
        path = pc.if_else(there, items.field("path"), elsewhere)
        columns = {"path": path, "bytes": sizes, "offset": items.field("offset")}
        return _lists(counts, SPOOLED, columns), stored
    file = pa.scalar(shard.paths[0])
    if not reader_named(shard.format).samples:  # each is a file beside the documents
        folder = folder_of(shard.paths[0], shard.names[0])
        file = pa.array([located(folder, p) for p in items.field("path").to_pylist()], pa.string())
    columns = {name: items.field(name) for name in ("format", "width", "height", "url")} | {
        "path": pc.if_else(there, file, elsewhere),
        "offset": items.field("source_offset"),
        "bytes": sizes,
        "md5": hex_of(items.field("md5")),
    }
    return _lists(counts, REFERENCE, columns), np.zeros(documents.num_rows, np.int64)


def with_bytes(lists: pa.Array, spool: Blobs) -> pa.Array:
    """The column of the dataset: images with their bytes. lists: of SPOOLED."""
    items = lists.flatten()
    offsets, sizes = items.field("offset"), items.field("bytes")
    there = zip(offsets.drop_null().to_pylist(), sizes.drop_null().to_pylist(), strict=True)
    data = pa.py_buffer(b"".join(spool.take(offset, size) for offset, size in there))
    ends = np.concatenate(([0], np.cumsum(sizes.fill_null(0)))).astype(np.int32)
    valid = pa.array(np.asarray(offsets.is_valid())).buffers()[1]
    blobs = pa.Array.from_buffers(pa.binary(), len(items), [valid, pa.py_buffer(ends), data])
    counts = np.asarray(lists.value_lengths())
    return _lists(counts, STORED, {"bytes": blobs, "path": items.field("path")})


def check_references(documents: pa.RecordBatch, images: Images | None, shard: SourceShard) -> None:
    """Raise ConfigError unless all images stand in the input as they are (`store: reference`)."""
    if images is None or images.store != "reference":
        return
    items = documents["images"].flatten()
    there = items.field("offset").is_valid()
    lost = pc.and_(there, items.field("source_offset").is_null())
    at = pc.index(lost, True).as_py()
    if at >= 0:
        row = owners_of(documents)[at]
        raise ConfigError(
            f"images.store: reference: image {items.field('number')[at]} of"
            f" {documents['id'][row]} ({items.field('path')[at]}) does not stand in"
            f" {shard.paths[0]} as it is, but packed, in a table or a page; {WAY_OUT}"
        )


def check_shards(images: Images | None, shards: tuple[SourceShard, ...]) -> None:
    """ConfigError, before anything is read, for input packed as a whole (`store: reference`)."""
    for shard in shards if images is not None and images.store == "reference" else ():
        if shard.compression and reader_named(shard.format).samples:
            raise ConfigError(
                f"images.store: reference: {shard.paths[0]} is compressed, and no image can be"
                f" read where it stands; unpack it, or {WAY_OUT}"
            )


def hex_of(md5: pa.Array) -> pa.Array:
    """(n,) string: digests (n,) binary(16) as they are written.

    >>> hex_of(pa.array([bytes(16), None], pa.binary(16))).to_pylist()
    ['00000000000000000000000000000000', None]
    """
    return pa.array([None if d is None else d.hex() for d in md5.to_pylist()], pa.string())


def _lists(counts: I64, kind: pa.DataType, columns: dict[str, Any]) -> pa.Array:
    items = pa.StructArray.from_arrays([columns[f.name] for f in kind], fields=list(kind))
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), items)


def _check_bytes(documents: pa.RecordBatch, stored: I64) -> None:
    if not len(stored) or stored.max() <= MOST_BYTES:
        return
    row = int(stored.argmax())
    raise ConfigError(
        f"images.store: bytes: document {documents['id'][row]} has {stored[row]:,} bytes of images,"
        f" and a row of the dataset holds {MOST_BYTES:,}; let the step `images` keep fewer of a"
        " document, or take images.store: reference"
    )
