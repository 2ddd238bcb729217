"""What a run writes of the documents that left: a row for each, in Parquet."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.measure.between import between, blocks_of
from tokenmill.pipelines.measure.drawn import Drawn
from tokenmill.pipelines.measure.job import MeasureJob

ROWS = ("removed_rows", "removed_bytes")  # what `rows_measured` gives
# A row as measured is one of many that follow one another, all duplicates; those of a run come
# from here and there, and have what a filter measured. Between so many times as much.
ROW_LEAST, ROW_MOST = 0.5, 2.0
UNKNOWN_ROW_BYTES = 40.0  # of one, where there were no two to measure
SEED = 0


def rows_measured(batch: pa.RecordBatch) -> tuple[int, int]:
    """Rows and bytes of them, besides heads, were all documents of the batch near duplicates."""
    n = batch.num_rows
    if n < 2:
        return 0, 0
    rng = np.random.default_rng(SEED)
    told: dict[str, pa.Array] = {
        "doc_id": batch["doc_id"],
        "id": batch["id"],
        "outcome": _same("removed", n),
        "stage": _same("near", n),
        "reason": _same("near_duplicate", n),
        "text_bytes": pa.array(text_buffers(batch["text"]).lengths, pa.int64()),
        "duplicate_of": pa.array(rng.permutation(np.asarray(batch["doc_id"]))),
        "similarity": pa.array(rng.random(n, np.float32)),
    }
    columns = [told.get(f.name, pa.nulls(n, f.type)) for f in REMOVED]
    rows = pa.record_batch(columns, schema=REMOVED)
    return n - 1, _written([rows]) - _written([rows.slice(0, 1)])


def removed_bytes(job: MeasureJob, plan: Plan, *, rows: Drawn, row_bytes: float | None) -> Drawn:
    """Of the folder `removed`.

    rows: documents that left.  row_bytes: as measured; None where nothing was.

    Each stage that drops documents of a batch writes a row group of its own.
    """
    head, group = file_parts(REMOVED)
    n_passes = 2 if job.first_pass.after else 1
    if job.recipe.images is not None:
        n_passes = len(passes(job.recipe.steps))
    n_stages = len(job.first_pass.stages) + len(job.predicted) + len(job.later_stages)
    blocks = blocks_of(plan)
    groups = between(blocks.least, max(blocks.most * n_stages, blocks.least), order=1)
    groups = Drawn(min(groups.value, rows.value), np.minimum(groups.draws, rows.draws))
    each = (UNKNOWN_ROW_BYTES if row_bytes is None else row_bytes) * between(
        ROW_LEAST, ROW_MOST, order=2
    )
    return each * rows + groups * float(group) + float(head * len(plan.shards) * n_passes)


def file_parts(schema: pa.Schema) -> tuple[int, int]:
    """Bytes of a file of no rows, and of the first row group of one."""
    one = pa.RecordBatch.from_pylist([dict.fromkeys(schema.names)], schema=_nullable(schema))
    head, first = (_written([one] * n, schema) for n in range(2))
    return head, first - head


def _written(batches: list[pa.RecordBatch], of: pa.Schema = REMOVED) -> int:
    sink = pa.BufferOutputStream()
    schema = batches[0].schema if batches else of
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
    return int(sink.tell())


def _same(text: str, n: int) -> pa.Array:
    return pa.array([text] * n, pa.string())


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_nullable(True) for f in schema], metadata=schema.metadata)
