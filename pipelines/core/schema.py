"""The kinds of record batch that flow through a run, and the ids of documents.

DOCUMENT       what readers make and stages pass on
CRAWLED        the same with when and as what it came, where a recipe has `html`
ILLUSTRATED    the same with the images of each document, where a recipe has `images`
REMOVED        one row for each document that left, and why
REMOVED_IMAGE  one row for each image that left a document
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import U64

SCHEMA_VERSION = "2"  # raise it when a file of a run directory changes its columns


def needed(**kinds: pa.DataType) -> list[pa.Field]:
    """Columns that hold no null."""
    return [pa.field(name, kind, nullable=False) for name, kind in kinds.items()]


def versioned(name: str, *columns: pa.Field) -> pa.Schema:
    """The schema of a table that is kept, which says its name and its version."""
    return pa.schema(columns, metadata={"tokenmill.schema": f"{name}/{SCHEMA_VERSION}"})


DOCUMENT = versioned(
    "document",
    # (shard ordinal << 32) | row: ordered by input whatever runs the shards
    *needed(doc_id=pa.uint64()),
    # the input's own id, else "file#row"
    *needed(id=pa.string()),
    pa.field("url", pa.string()),
    *needed(text=pa.large_string()),
)

# A document of the web, in runs that read web archives; others have no date and no type.
CRAWLED = versioned(
    "crawled",
    *DOCUMENT,
    pa.field("date", pa.timestamp("ms", tz="UTC")),  # of the crawl: WARC-Date
    pa.field("content_type", pa.string()),  # "text/html": of HTTP, without parameters
)
OF_PAGES = tuple(CRAWLED.field(name) for name in ("url", "date", "content_type"))  # told by crawls

REMOVED = versioned(
    "removed",
    *needed(doc_id=pa.uint64(), id=pa.string()),
    # "removed" by a rule, or "failed" for a cause
    *needed(outcome=pa.string(), stage=pa.string(), reason=pa.string()),
    # the measured quantity that decided, in the unit of the rule's threshold
    pa.field("value", pa.float64()),
    # what a reader needs beside it: the benchmark item, the parser's message
    pa.field("detail", pa.string()),
    *needed(text_bytes=pa.int64()),
    # for duplicates: the document kept in its place, and the estimated Jaccard similarity to it
    pa.field("duplicate_of", pa.uint64()),
    pa.field("similarity", pa.float32()),
    pa.field("url", pa.string()),  # as in DOCUMENT
)

IMAGE = pa.struct(
    [
        # place among the document's images as the input has them, from 0; (doc_id, number) is
        # the image's name for good
        *needed(number=pa.int32()),
        pa.field("url", pa.string()),
        # where it was read: "shard.tar/000017.jpg", "shard.parquet#17"
        *needed(path=pa.string()),
        # byte of the input file where its bytes begin, where they can be read in place
        pa.field("source_offset", pa.int64()),
        # what its header tells; all null where there are no bytes, only a URL, and nothing beside
        # it tells
        pa.field("md5", pa.binary(16)),
        pa.field("format", pa.string()),  # as Pillow says it, in lower case: "jpeg", "png", "webp"
        pa.field("mode", pa.string()),  # as Pillow says it: "RGB", "L", "CMYK", "I;16"
        pa.field("width", pa.int32()),
        pa.field("height", pa.int32()),
        pa.field("bytes", pa.int64()),
        # where its bytes begin among those of its shard's images (`pipelines.read.images.blobs`)
        pa.field("offset", pa.int64()),
    ]
)

# A document with its images. In text with images between, U+FFFC stands for each, in order; a
# sample, an image with its caption, has none of them in its text.
PLACEHOLDER = "\ufffc"
ILLUSTRATED = versioned(
    "illustrated", *DOCUMENT, pa.field("images", pa.large_list(IMAGE), nullable=False)
)

REMOVED_IMAGE = versioned(
    "removed_image",
    *needed(doc_id=pa.uint64(), number=pa.int32()),
    *needed(id=pa.string()),  # of the document
    pa.field("url", pa.string()),
    *needed(path=pa.string()),
    pa.field("md5", pa.binary(16)),
    *needed(outcome=pa.string()),  # as in REMOVED
    *needed(stage=pa.string(), reason=pa.string()),
    pa.field("value", pa.float64()),
    pa.field("detail", pa.string()),
    pa.field("bytes", pa.int64()),
    # for repeats: the image kept in its place, or the first of them where none is kept
    pa.field("duplicate_of", pa.uint64()),
    pa.field("duplicate_number", pa.int32()),
)

# Columns that a run gives documents itself; no step or input can give them others.
OWN_COLUMNS = frozenset(
    [*CRAWLED.names, "images", "source", "copies", "input_ids", "text_bytes", "size", "key"]
)
OF_RUNS = ("source", "date", "content_type")  # that the text of a run brings along
# What an annotation can be, by the name that recipes and runs have for it.
COLUMN_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "timestamp": CRAWLED.field("date").type,
}


def annotation_name(path: str) -> str:
    """What an annotation is called that an input has at a path, as "meta.score".

    >>> annotation_name("meta.score")
    'meta_score'
    """
    return path.replace(".", "_")


def column_type(kind: pa.DataType) -> str | None:
    """As what a column of a table can be an annotation; None for lists, durations and other kinds.

    >>> column_type(pa.float32())
    'float64'
    """
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    told = {
        "string": kind in (pa.string(), pa.large_string(), pa.string_view()),
        "int64": pa.types.is_integer(kind) and kind != pa.uint64(),
        "float64": pa.types.is_floating(kind) or pa.types.is_decimal(kind) or kind == pa.uint64(),
        "bool": pa.types.is_boolean(kind),
        "timestamp": pa.types.is_timestamp(kind) or pa.types.is_date(kind),
    }
    return next((name for name, fits in told.items() if fits), None)


ROW_BITS = 32


def rows_of(schema: pa.Schema, columns: Mapping[str, pa.Array | None], n: int) -> pa.RecordBatch:
    """A batch of n rows of a schema; null where the column is None."""
    arrays = [pa.nulls(n, f.type) if (c := columns[f.name]) is None else c for f in schema]
    return pa.record_batch(arrays, schema=schema)


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """The rows with another column, of the same type, in place of one."""
    at = batch.schema.get_field_index(name)
    return batch.set_column(at, batch.schema.field(at), column)


def doc_ids(ordinal: int, first_row: int, n: int) -> U64:
    """(n,) uint64: ids of rows `first_row`, `first_row + 1`, … of shard `ordinal`."""
    start = (ordinal << ROW_BITS) | first_row
    return np.arange(start, start + n, dtype=np.uint64)


def shard_and_row(doc_id: int) -> tuple[int, int]:
    """Undo `doc_ids` for one id.

    >>> shard_and_row(int(doc_ids(3, 7, 1)[0]))
    (3, 7)
    """
    return doc_id >> ROW_BITS, doc_id & ((1 << ROW_BITS) - 1)
