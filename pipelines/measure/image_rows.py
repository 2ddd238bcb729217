"""The images of a part, a row for each: keys, sizes, how far it comes; and their sums by format.

They are those of the documents that duplicates are looked for among.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.filters.images.image_measure import UNKNOWN
from tokenmill.pipelines.filters.images.keys import ImageKey, image_keys
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of
from tokenmill.pipelines.read.images.stored import kept_columns
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.tokens.images import count_places, tokens_of

KEYS: tuple[ImageKey, ...] = ("url", "md5")
SUMMED = ("bytes", "pixels", "tokens")  # 0 where it is not known
# row_bytes: in the dataset, besides the image itself.  left_at: how many of the later stages it
# passed.  placed: it stands in the text.
IMAGES = pa.schema(
    [
        pa.field("doc_id", pa.uint64()),
        *(pa.field(by, pa.list_(pa.uint64(), 2)) for by in KEYS),
        pa.field("format", pa.string()),
        *(pa.field(name, pa.int64()) for name in (*SUMMED, "row_bytes", "left_at")),
        pa.field("placed", pa.bool_()),
    ]
)
BEFORE, END = "before", "end"  # of duplicates; and of the recipe, but for duplicates
NUMBER_BITS = 32
END_BYTES = 4  # where a value of some bytes ends
SPOOLED_BYTES = 8 + 8  # offset and bytes, of an image in a token shard


def image_rows(
    later: Sequence[pa.RecordBatch], images: Images, part: SourceShard
) -> pa.RecordBatch:
    """Rows of IMAGES.

    later: the documents (schema ILLUSTRATED), and what each later stage in turn leaves of them.
    part: that they are of.
    """
    documents = later[0]
    items, owners = documents["images"].flatten(), owners_of(documents)
    named = _named(documents, documents)
    left_at = sum(
        (np.isin(named, _named(documents, left)).astype(np.int64) for left in later[1:]),
        np.zeros(len(named), np.int64),
    )
    sides = [np.asarray(items.field(n).fill_null(0)).astype(np.int64) for n in ("width", "height")]
    columns = [
        documents["doc_id"].take(pa.array(owners)),
        *(pa.FixedSizeListArray.from_arrays(image_keys(documents, by).ravel(), 2) for by in KEYS),
        items.field("format").fill_null(UNKNOWN),
        items.field("bytes").fill_null(0),
        pa.array(np.prod(sides, axis=0)),
        pa.array(tokens_of(items, images.tokens)),
        pa.array(_row_bytes(documents, images, part)),
        pa.array(left_at),
        pa.array((count_places(documents) > 0)[owners]),
    ]
    return pa.record_batch(columns, schema=IMAGES)


def image_sums(rows: pa.RecordBatch, n_later: int) -> dict[str, int]:
    """How many images of each format there are, and their sums: before duplicates, at the end."""
    made: dict[str, int] = {}
    at_end = rows.filter(pc.greater_equal(rows["left_at"], n_later))
    for state, part in ((BEFORE, rows), (END, at_end)):
        table = pa.Table.from_batches([part]).group_by("format")
        wanted = [("format", "count"), *((name, "sum") for name in SUMMED)]
        for row in table.aggregate(wanted).to_pylist():
            name = row["format"]
            made[sum_name(state, name, "images")] = row["format_count"]
            made |= {sum_name(state, name, what): row[f"{what}_sum"] for what in SUMMED}
    return made


def sum_name(state: str, kind: str, what: str) -> str:
    """Under which the sum of images of a format stands among the facts of a part."""
    return f"{state} {kind} {what}"


def formats_of(sums: Sequence[str]) -> list[str]:
    """The formats that sums of these names are of."""
    return sorted({n.split(" ")[1] for n in sums if n.startswith(f"{BEFORE} ")})


def image_row_bytes(
    documents: pa.RecordBatch, images: Images, part: SourceShard
) -> npt.NDArray[np.int64]:
    """(n_docs,) of the dataset's column of images, besides the images themselves."""
    each = _row_bytes(documents, images, part)
    return np.bincount(owners_of(documents), each, documents.num_rows).astype(np.int64) + END_BYTES


def _row_bytes(
    documents: pa.RecordBatch, images: Images, part: SourceShard
) -> npt.NDArray[np.int64]:
    """(n_images,) of the same, of each."""
    items = kept_columns(documents, images, part)[0].flatten()
    each = np.zeros(len(items), np.int64)
    for field in items.type:
        column = items.field(field.name)
        if pa.types.is_string(field.type):
            each += END_BYTES + _lengths(column)
        else:
            each += field.type.bit_width // 8
    if images.store == "bytes":  # of SPOOLED the dataset has the path, and the ends of the bytes
        each += END_BYTES - SPOOLED_BYTES
    return each


def _lengths(column: pa.Array) -> npt.NDArray[np.int32]:
    """(n,) bytes of strings, what stands where they are null among them."""
    ends = np.frombuffer(column.buffers()[1], np.int32)
    return np.diff(ends[column.offset : column.offset + len(column) + 1])


def _named(documents: pa.RecordBatch, left: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """(n_images,) of `left`: row of the document among `documents`, and number in it."""
    at = np.searchsorted(np.asarray(documents["doc_id"]), np.asarray(left["doc_id"]))
    numbers = np.asarray(left["images"].flatten().field("number")).astype(np.int64)
    return np.repeat(at, counts_of(left)).astype(np.int64) << NUMBER_BITS | numbers
