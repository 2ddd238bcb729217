"""The kinds of record batch that flow through a run, and the ids of documents.

DOCUMENT  what readers make and stages pass on
REMOVED   one row for each document that left, and why
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SCHEMA_VERSION = "1"  # raise it when a file of a run directory changes its columns

DOCUMENT = pa.schema(
    [
        # (shard ordinal << 32) | row: ordered by input whatever runs the shards
        pa.field("doc_id", pa.uint64(), nullable=False),
        # the input's own id, else "file#row"
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("text", pa.large_string(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"document/{SCHEMA_VERSION}"},
)

REMOVED = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        # "removed" by a rule, or "failed" for a cause
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        # the measured quantity that decided, in the unit of the rule's threshold
        pa.field("value", pa.float64()),
        # what a reader needs beside it: the benchmark item, the parser's message
        pa.field("detail", pa.string()),
        pa.field("text_bytes", pa.int64(), nullable=False),
        # for duplicates: the document kept in its place, and the estimated Jaccard similarity to it
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ],
    metadata={"tokenmill.schema": f"removed/{SCHEMA_VERSION}"},
)

ROW_BITS = 32


def doc_ids(ordinal: int, first_row: int, n: int) -> npt.NDArray[np.uint64]:
    """(n,) uint64: ids of rows `first_row`, `first_row + 1`, … of shard `ordinal`."""
    start = (ordinal << ROW_BITS) | first_row
    return np.arange(start, start + n, dtype=np.uint64)


def shard_and_row(doc_id: int) -> tuple[int, int]:
    """Undo `doc_ids` for one id.

    >>> shard_and_row(int(doc_ids(3, 7, 1)[0]))
    (3, 7)
    """
    return doc_id >> ROW_BITS, doc_id & ((1 << ROW_BITS) - 1)
