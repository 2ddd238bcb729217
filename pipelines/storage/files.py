"""Files of Arrow and Parquet that are whole or not there."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.pipelines.storage.atomic import atomic_path


@contextlib.contextmanager
def arrow_file(
    path: Path, schema: pa.Schema, *, compression: str | None = None
) -> Iterator[pa.ipc.RecordBatchFileWriter]:
    """Write an Arrow IPC file (random access by record batch), atomically."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with _sink(path) as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
        yield writer


@contextlib.contextmanager
def arrow_stream(path: Path, schema: pa.Schema) -> Iterator[pa.ipc.RecordBatchStreamWriter]:
    """Write an Arrow IPC stream, the format that `datasets` maps into memory, atomically."""
    with _sink(path) as sink, pa.ipc.new_stream(sink, schema) as writer:
        yield writer


@contextlib.contextmanager
def parquet_file(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Write a zstd-compressed Parquet file, atomically."""
    with (
        atomic_path(path) as partial,
        pq.ParquetWriter(str(partial), schema, compression="zstd") as writer,
    ):
        yield writer


@contextlib.contextmanager
def _sink(path: Path) -> Iterator[pa.OSFile]:
    with atomic_path(path) as partial, pa.OSFile(str(partial), "wb") as sink:
        yield sink
