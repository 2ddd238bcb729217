"""Sidecars: files of the same key and row order as a shard's documents, mapped, never loaded.

Each carries the parameters it was made with in its Arrow metadata; a reader that
expects others refuses it.
"""

import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
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
    """The schema with `parameters` in its metadata, for `corpus_rows` to check."""
    text = json.dumps(parameters, sort_keys=True)
    return schema.with_metadata({**(schema.metadata or {}), PARAMETERS: text.encode()})


def open_arrow(path: Path) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """The batches of an Arrow IPC file, memory-mapped, and its schema.

    Raises:
        ShardError: not a whole Arrow IPC file.
    """
    batches, schema, _ = _mapped(path)
    return batches, schema


def _mapped(path: Path) -> tuple[list[pa.RecordBatch], pa.Schema, mmap.mmap]:
    try:
        with path.open("rb") as f:
            mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    except (ValueError, OSError) as e:  # an empty file cannot be mapped; pa.ArrowInvalid
        if is_outage(e):
            raise
        raise ShardError(
            f"{path}: not a complete Arrow IPC file ({e});"
            " delete it and rerun, finished shards are kept"
        ) from e
    return batches, reader.schema, mapped


@dataclass(frozen=True)
class Rows:
    """The documents of a pass in corpus order, as one long table that is never built.

    Row `r` of the corpus is a row of one batch of one shard. batches: of all shards in
    order.  starts: (n_batches + 1,) int64, corpus row where each batch begins.
    shard_batches: (n_shards + 1,) int64, batch where each shard begins.  maps: of the
    shards' files: what was read of a file is let go of behind it, so that a walk over
    all of them takes the memory of one.
    """

    batches: Sequence[pa.RecordBatch]
    starts: npt.NDArray[np.int64]
    shard_batches: npt.NDArray[np.int64]
    maps: Sequence[mmap.mmap]

    @property
    def n(self) -> int:
        return int(self.starts[-1])

    def walk(self, touched: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, int]]:
        """Batches, in order, each with its first row: all, or those `touched` (ascending)."""
        numbers = np.arange(len(self.batches)) if touched is None else touched
        cuts = np.searchsorted(numbers, self.shard_batches)
        for shard in np.flatnonzero(np.diff(cuts)).tolist():
            for b in numbers[cuts[shard] : cuts[shard + 1]].tolist():
                yield b, int(self.starts[b])
            self.maps[shard].madvise(mmap.MADV_DONTNEED)

    def values(self, batch: int, name: str) -> npt.NDArray[Any]:
        """(n_rows,) view of a column of one batch; (n_rows, width) of a fixed-size list."""
        column = self.batches[batch][name]
        if not pa.types.is_fixed_size_list(column.type):
            return np.asarray(column)
        rows = np.asarray(column.values).reshape(-1, column.type.list_size)
        return rows[column.offset : column.offset + len(column)]

    def take(self, name: str, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """(len(rows), …) values of a column at `rows`, which ascend."""
        edges = np.searchsorted(rows, self.starts)
        touched = np.flatnonzero(np.diff(edges))
        out: npt.NDArray[Any] | None = None
        for b, start in self.walk(touched):
            values = self.values(b, name)
            if out is None:
                out = np.empty((len(rows), *values.shape[1:]), values.dtype)
            at = slice(edges[b], edges[b + 1])
            np.take(values, rows[at] - start, axis=0, out=out[at], mode="clip")
        return np.empty(0) if out is None else out


def corpus_rows(paths: Sequence[Path], parameters: Mapping[str, Any]) -> Rows:
    """The sidecars of all shards, in order, as one table of rows.

    Raises:
        ShardError: one is not a whole Arrow file, or was made with other parameters.
    """
    batches: list[pa.RecordBatch] = []
    maps, shard_batches = [], [0]
    for path in paths:
        of_shard, schema, mapped = _mapped(path)
        found = json.loads((schema.metadata or {}).get(PARAMETERS, b"{}"))
        if found != parameters:
            raise ShardError(
                f"{path}: made with {found}, this run needs {dict(parameters)}; delete it and rerun"
            )
        batches += of_shard
        mapped.madvise(mmap.MADV_DONTNEED)  # around each batch's head much was mapped
        maps.append(mapped)
        shard_batches.append(len(batches))
    starts = np.concatenate(([0], np.cumsum([batch.num_rows for batch in batches])))
    return Rows(batches, starts.astype(np.int64), np.array(shard_batches), maps)
