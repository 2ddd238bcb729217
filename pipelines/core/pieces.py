"""Pieces of documents: documents of their own, that know what they were part of.

A piece's doc_id is its document's, with its number in bits that no row of a shard reaches, so that
ids stay distinct whoever makes them; its id is "PARENT#piece-2".
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.schema import ROW_BITS, needed, versioned

NUMBER_BITS = 4
MOST_PIECES = (1 << NUMBER_BITS) - 1
SHIFT = ROW_BITS - NUMBER_BITS
NUMBERS = np.uint64(MOST_PIECES << SHIFT)  # the bits of a doc_id that number a piece
SUFFIX = "#piece-"

PIECE = versioned(
    "piece",
    *needed(doc_id=pa.uint64(), id=pa.string()),
    *needed(parent_doc_id=pa.uint64(), parent_id=pa.string()),
    # the first is 1, of so many; those dropped for their length count
    *needed(piece=pa.int64(), pieces=pa.int64()),
    # UTF-8 bytes of the parent's text as it came to the step
    *needed(start_byte=pa.int64(), end_byte=pa.int64()),
)


def number_pieces(documents: pa.RecordBatch, numbers: I64) -> tuple[pa.Array, pa.Array]:
    """The doc_id and id of pieces.

    documents: of each piece, its document.
    numbers: (n,) from 1; 0 leaves a document its own ids.
    ShardError: a document's row is too high for its pieces to be numbered.
    """
    doc_ids = np.asarray(documents["doc_id"])
    held = np.flatnonzero((numbers > 0) & (doc_ids & NUMBERS > 0))
    if len(held):
        raise ShardError(
            f"document {doc_ids[held[0]]} cannot be cut into pieces: of a shard's documents the"
            f" first {1 << SHIFT:,} can; give the recipe a smaller shard_bytes"
        )
    names = pc.binary_join_element_wise(
        documents["id"], pc.cast(pa.array(numbers), pa.string()), SUFFIX
    )
    return (
        pa.array(doc_ids | (numbers.astype(np.uint64) << np.uint64(SHIFT))),
        pc.if_else(pa.array(numbers > 0), names, documents["id"]),
    )


def parent_ids(documents: pa.RecordBatch) -> pa.Array:
    """(n,) string: the id of each piece's document; that of a whole document is its own."""
    is_piece = np.asarray(documents["doc_id"]) & NUMBERS > 0
    if not is_piece.any():
        return documents["id"]
    parents = pc.replace_substring_regex(documents["id"], f"{SUFFIX}[0-9]+$", "")
    return pc.if_else(pa.array(is_piece), parents, documents["id"])
