"""Sidecars: files of the same key and row order as a shard's documents, mapped, never loaded.

Each carries the parameters it was made with in its Arrow metadata; a reader that
expects others refuses it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.errors import ShardError
from pipelines.store import is_outage

PARAMETERS = b"tokenmill.parameters"


def with_parameters(schema: pa.Schema, parameters: Mapping[str, Any]) -> pa.Schema:
    """The schema with `parameters` in its metadata, for `open_sidecar` to check."""
    text = json.dumps(parameters, sort_keys=True)
    return schema.with_metadata({**(schema.metadata or {}), PARAMETERS: text.encode()})


def open_sidecar(path: Path, parameters: Mapping[str, Any]) -> list[pa.RecordBatch]:
    """The batches of a sidecar, memory-mapped.

    Raises:
        ShardError: the file is not a whole Arrow file, or was made with other parameters.
    """
    batches, schema = open_arrow(path)
    found = json.loads((schema.metadata or {}).get(PARAMETERS, b"{}"))
    if found != parameters:
        raise ShardError(
            f"{path}: made with {found}, this run needs {dict(parameters)}; delete it and rerun"
        )
    return batches


def open_arrow(path: Path) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """The batches of an Arrow IPC file, memory-mapped, and its schema.

    Raises:
        ShardError: not a whole Arrow IPC file.
    """
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        return [reader.get_batch(i) for i in range(reader.num_record_batches)], reader.schema
    except (pa.ArrowInvalid, OSError) as e:
        if is_outage(e):
            raise
        raise ShardError(
            f"{path}: not a complete Arrow IPC file ({e});"
            " delete it and rerun, finished shards are kept"
        ) from e


@dataclass(frozen=True)
class Rows:
    """The documents of a pass in corpus order, as one long table that is never built.

    Row `r` of the corpus is a row of one batch of one shard. batches: of all shards in
    order.  starts: (n_batches + 1,) int64, corpus row where each batch begins.
    shard_starts: (n_shards + 1,) int64, the same for shards.
    """

    batches: Sequence[pa.RecordBatch]
    starts: npt.NDArray[np.int64]
    shard_starts: npt.NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.starts[-1])

    def column(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """(n,) a whole column, copied."""
        out = np.empty(self.n, dtype)
        for batch, start in zip(self.batches, self.starts, strict=False):
            out[start : start + batch.num_rows] = np.asarray(batch[name])
        return out

    def matrix(self, batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
        """(n_rows, width) view of a fixed-size-list column of one batch."""
        column = batch[name]
        width = column.type.list_size
        values = np.asarray(column.values)
        return values.reshape(-1, width)[column.offset : column.offset + len(column)]

    def take(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """(len(rows), width) rows of a fixed-size-list column; `rows` ascending."""
        edges = np.searchsorted(rows, self.starts)
        parts = []
        for i in np.flatnonzero(np.diff(edges)).tolist():
            local = rows[edges[i] : edges[i + 1]] - self.starts[i]
            parts.append(self.matrix(self.batches[i], name)[local])
        return np.concatenate(parts) if parts else np.empty((0, 0), np.uint32)


def corpus_rows(paths: Sequence[Path], parameters: Mapping[str, Any]) -> Rows:
    """The sidecars of all shards, in order, as one table of rows."""
    shards = [open_sidecar(path, parameters) for path in paths]
    counts = [batch.num_rows for shard in shards for batch in shard]
    per_shard = [sum(batch.num_rows for batch in shard) for shard in shards]
    return Rows(
        [batch for shard in shards for batch in shard],
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.concatenate(([0], np.cumsum(per_shard))).astype(np.int64),
    )
