"""What documents that follow one another take, as a run writes them: between two passes, and as
rows of those removed.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.dedup.arrays import U8, large_strings, text_buffers
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.step import removed_rows

# What lz4 looks back, and more: of 64 KiB alone it remembers twice as many places.
BEGINNING_BYTES = (1 << 16) + 12
NOUGHT_BYTES = 24  # that the head of a batch of no rows lacks: numbers that are 0 are not written


def cut(batches: Sequence[pa.RecordBatch], begin: int, end: int) -> pa.RecordBatch:
    """The documents between two bytes of the text of batches, the first and the last cut there.

    A character at an end goes with what is after it. Only what is between them is copied.
    ArrowInvalid: there is nothing.
    """
    pieces, at = [], 0
    for batch in batches:
        data, offsets = text_buffers(batch["text"])
        first, n = int(offsets[0]), int(offsets[-1] - offsets[0])
        least, most = (_whole(data, first + min(max(x - at, 0), n)) for x in (begin, end))
        at += n
        if least < most:
            low = int(np.searchsorted(offsets, least, "right")) - 1
            high = int(np.searchsorted(offsets, most))
            text = large_strings(data, np.clip(offsets[low : high + 1], least, most))
            piece = batch.slice(low, high - low)
            pieces.append(piece.set_column(piece.schema.get_field_index("text"), "text", text))
    return pa.concat_batches(pieces)


def _whole(data: U8, at: int) -> int:
    """The byte at which the character of this one begins."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def set_down(batch: pa.RecordBatch, *, is_piece: bool) -> int:
    """Bytes of documents as a batch, which is taken up again, as by the next pass.

    is_piece: of a larger batch, where nearly all have text before them, as far as lz4 looks back:
        a byte is taken to need what one does behind the beginning, unless little is behind it.
    """
    size = text_buffers(batch["text"]).n_bytes
    rest = size - BEGINNING_BYTES
    if not is_piece or rest < BEGINNING_BYTES:
        return _taken_up(batch) - _empty(batch)
    beginning = cut([batch], 0, BEGINNING_BYTES)
    return (_taken_up(batch) - int(_lz4(beginning).size)) * size // rest


def _taken_up(batch: pa.RecordBatch) -> int:
    compressed = _lz4(batch)
    for again in pa.ipc.open_stream(compressed):
        again.filter(pa.array(np.ones(again.num_rows, np.bool_)))
    return int(compressed.size)


def _empty(batch: pa.RecordBatch) -> int:
    """Of no documents. A slice of none still has the images that stand before it."""
    is_text = "images" not in batch.schema.names
    none = batch.slice(0, 0) if is_text else pa.RecordBatch.from_pylist([], schema=batch.schema)
    return int(_lz4(none).size) + NOUGHT_BYTES


def _lz4(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


ROWS = ("removed_rows", "removed_least", "removed_most")  # what `rows_measured` gives
SEED = 0


def rows_measured(batch: pa.RecordBatch) -> tuple[int, int, int]:
    """Rows and bytes of them, besides heads, were all documents of the batch removed by one rule
    that measures nothing; and were all near duplicates.
    """
    n = batch.num_rows
    if n < 2:
        return 0, 0, 0
    rng = np.random.default_rng(SEED)
    of_near = {
        "duplicate_of": pa.array(rng.permutation(np.asarray(batch["doc_id"]))),
        "similarity": pa.array(rng.random(n, np.float32)),
    }
    sizes = []
    for more in ({}, of_near):
        lengths = text_buffers(batch["text"]).lengths
        rows = removed_rows("near", batch, ["near_duplicate"] * n, text_bytes=lengths, **more)
        one, every = (parquet_bytes(REMOVED, [rows.slice(0, m)]) for m in (1, n))
        sizes.append(every - one)
    return n - 1, *sizes


def parquet_bytes(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> int:
    """Of a file with these row groups."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
    return int(sink.tell())
