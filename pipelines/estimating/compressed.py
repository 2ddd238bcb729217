"""What documents take between two passes, compressed as a run does it."""

import numpy as np
import pyarrow as pa

LZ4_WINDOW_BYTES = 1 << 16


def set_down(batch: pa.RecordBatch) -> int:
    """Bytes of documents as a batch of their own, which is taken up again, as by the next pass."""
    compressed = _lz4(batch)
    for again in pa.ipc.open_stream(compressed):
        again.filter(pa.array(np.ones(again.num_rows, np.bool_)))
    return int(compressed.size - _empty(batch))


def within_more(batch: pa.RecordBatch) -> int:
    """Bytes of documents within a larger batch.

    A piece of what a run compresses at once lacks the text before it; its own end is given it for
    that, as long as all of it is out of the reach of lz4.
    """
    if batch["text"].nbytes <= LZ4_WINDOW_BYTES:
        return int(_lz4(batch).size - _empty(batch))
    return int(_lz4(pa.concat_batches([batch, batch])).size - _lz4(batch).size)


def _empty(batch: pa.RecordBatch) -> int:
    """Of no documents. A slice of none still has the images that stand before it."""
    is_text = "images" not in batch.schema.names
    none = batch.slice(0, 0) if is_text else pa.RecordBatch.from_pylist([], schema=batch.schema)
    return int(_lz4(none).size)


def _lz4(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()
