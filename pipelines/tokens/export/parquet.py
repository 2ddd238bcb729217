"""Parquet: `train-00000.parquet`, …, the columns of the dataset as they are, images too, compressed
by zstd. `load_dataset("tokens")`, Arrow and DuckDB open it.

Ids are written plainly and compressed: a dictionary of them, Parquet's default, takes a quarter
more (0.64 of the bytes of uint16 ids against 0.52 on English text). Splitting their bytes apart
saves nothing, and older readers do not know it for integers.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.pipelines.runs.receipt import file_entry
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.tokens.export.exported import File, Part
from tokenmill.pipelines.tokens.export.rows import Tokens, ids_of

GROUP_BYTES = 1 << 25  # of a row group, as it lies in memory
REPEATED = ("source", "content_type")  # columns of few values, for which a dictionary is right


def write_parquet(
    out: Path,
    split: str,
    tokens: Tokens,
    batches: Iterator[pa.RecordBatch],
    *,
    shard_bytes: int,
    first: int,
) -> Iterator[Part]:
    """Write the rows of a split as `train-00000.parquet`, …; a part for each file.

    A file ends with the row group in which it reaches `shard_bytes`.

    first: number of the first file.
    """
    schema = _schema(tokens)
    groups = _groups(batches, schema, min(GROUP_BYTES, shard_bytes))
    group = next(groups, None)
    if group is None and first == 0:
        group = schema.empty_table()
    while group is not None:
        path = out / f"{split}-{first:05d}.parquet"
        rows = n_tokens = 0
        with (
            atomic_path(path) as partial,
            pa.OSFile(str(partial), "wb") as sink,
            pq.ParquetWriter(
                sink,
                schema,
                compression="zstd",
                use_dictionary=[name for name in REPEATED if name in schema.names],
            ) as writer,
        ):
            while group is not None and (rows == 0 or sink.tell() < shard_bytes):
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
                rows += group.num_rows
                n_tokens += sum(len(ids_of(b).values) for b in group.to_batches())
                group = next(groups, None)
        yield Part(split, (File(*file_entry(out, path)),), rows, n_tokens)
        first += 1


def _groups(batches: Iterator[pa.RecordBatch], schema: pa.Schema, most: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most:
            yield pa.Table.from_batches(held).replace_schema_metadata(schema.metadata)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held).replace_schema_metadata(schema.metadata)


def _schema(tokens: Tokens) -> pa.Schema:
    """That of the dataset, with what `datasets` needs to know of images and fixed lengths."""
    features = {"info": {"features": tokens.features}}
    return tokens.schema.with_metadata({"huggingface": json.dumps(features, sort_keys=True)})
