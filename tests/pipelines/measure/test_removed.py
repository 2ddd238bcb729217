import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.pipelines.core.schema import DOCUMENT, REMOVED
from tokenmill.pipelines.core.step import keep_where
from tokenmill.pipelines.measure.beside import rows_measured


def documents(n):
    columns = {
        "doc_id": pa.array(np.arange(n), pa.uint64()),
        "id": pa.array([f"https://example.org/page/{i}" for i in range(n)]),
        "text": pa.array(["word " * (i % 50) for i in range(n)]),
    }
    made = [columns.get(f.name, pa.nulls(n, f.type)) for f in DOCUMENT]
    return pa.record_batch([c.cast(f.type) for c, f in zip(made, DOCUMENT, strict=True)], DOCUMENT)


def written(rows):
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, REMOVED, compression="zstd") as writer:
        writer.write_batch(rows)
    return sink.tell()


def test_rows_take_about_what_a_run_writes_of_duplicates():
    batch = documents(5_000)
    rng = np.random.default_rng(0)
    gone = rng.random(5_000) < 0.3
    removed = keep_where(
        "near",
        batch,
        gone.astype(np.uint8),
        ("near_duplicate",),
        duplicate_of=pa.array(rng.integers(0, 5_000, 5_000).astype(np.uint64), mask=~gone),
        similarity=pa.array(rng.random(5_000, np.float32), mask=~gone),
    ).removed
    rows, size = rows_measured(batch)
    assert rows == 4_999
    assert removed.num_rows == gone.sum()
    assert 0.5 <= size / rows / (written(removed) / removed.num_rows) <= 2


def test_one_document_tells_nothing_of_a_row():
    assert rows_measured(documents(1)) == (0, 0)
