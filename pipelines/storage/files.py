"""Files of Arrow and Parquet: written whole or not there, mapped, not loaded; sidecars.

A sidecar is such a file, of the same key and row order as a shard's documents. It carries the
parameters it was made with in its Arrow metadata; a reader that expects others refuses it.
"""

import contextlib
import json
import mmap
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.storage.inputs import is_outage
from tokenmill.pipelines.storage.ipc import check_blocks
from tokenmill.pipelines.storage.mirror import present

# a work packs and unpacks in its own thread: there is one for each core, and of threads of
# Arrow's, an eighth of a run's CPU, no step's seconds told
READ_ALONE = pa.ipc.IpcReadOptions(use_threads=False)


@contextlib.contextmanager
def arrow_file(
    path: Path, schema: pa.Schema, *, compression: str | None = None
) -> Iterator[pa.ipc.RecordBatchFileWriter]:
    """Write an Arrow IPC file (random access by record batch), atomically."""
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
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


PARAMETERS = b"tokenmill.parameters"
MOST_OPEN = 64  # files of a corpus mapped at a time: each takes a map and a file descriptor
MOST_CHECKED = 4096  # files, of which it is known what they claim to unpack to
MOST_COUNTED = 256  # of one work that is alone, which goes over them many times

_CHECKED: set[tuple[int, ...]] = set()


def with_parameters(schema: pa.Schema, parameters: Mapping[str, Any]) -> pa.Schema:
    """The schema with `parameters` in its metadata, for `corpus_rows` to check."""
    text = json.dumps(parameters, sort_keys=True)
    return schema.with_metadata({**(schema.metadata or {}), PARAMETERS: text.encode()})


def open_arrow(path: Path) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """The batches of an Arrow IPC file, memory-mapped, and its schema; ShardError: not whole."""
    return _mapped(path)[:2]


def open_batch(path: Path, number: int) -> pa.RecordBatch:
    """One batch of an Arrow IPC file, mapped, none else read; ShardError: not whole, or too few."""
    (batch,) = _mapped(path, lambda _: (number,))[0]
    return batch


PARTS = b"tokenmill.parts"


def with_parts(schema: pa.Schema, n_batches: Iterable[int]) -> pa.Schema:
    """The schema with what `open_part` needs in its metadata: how many batches each part has."""
    return schema.with_metadata({**(schema.metadata or {}), PARTS: json.dumps([*n_batches])})


def open_part(path: Path, number: int) -> list[pa.RecordBatch]:
    """Batches of a part of an Arrow IPC file, mapped, no other read; ShardError: no such part."""

    def of_part(reader: pa.ipc.RecordBatchFileReader) -> range:
        n_batches = json.loads((reader.schema.metadata or {}).get(PARTS, b"[]"))
        if number >= len(n_batches):
            raise ValueError(f"has {len(n_batches)} parts")
        first = sum(n_batches[:number])
        return range(first, first + n_batches[number])

    return _mapped(path, of_part)[0]


def _mapped(
    path: Path, wanted: Callable[[pa.ipc.RecordBatchFileReader], Iterable[int]] | None = None
) -> tuple[list[pa.RecordBatch], pa.Schema, mmap.mmap]:
    """wanted: which of its batches; None takes all."""
    with whole_file(path), present(path).open("rb") as f:
        mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.py_buffer(mapped), options=READ_ALONE)
        numbers = [*(wanted(reader) if wanted else range(reader.num_record_batches))]
        _check_once(os.fstat(f.fileno()), mapped, numbers)
        batches = [reader.get_batch(i) for i in numbers]
    return batches, reader.schema, mapped


def _check_once(file: os.stat_result, mapped: mmap.mmap, numbers: list[int]) -> None:
    """Check a file's batches, unless this process did: a work of each band opens all sidecars."""
    key = file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, *numbers
    if key not in _CHECKED:
        check_blocks(memoryview(mapped), lambda _: numbers)
        if len(_CHECKED) >= MOST_CHECKED:
            _CHECKED.clear()
        _CHECKED.add(key)


def read_batch(path: Path, number: int) -> pa.RecordBatch:
    """As `open_batch`, in memory: no file stays open."""
    with (
        whole_file(path),
        pa.OSFile(str(present(path))) as f,
        pa.ipc.open_file(f, options=READ_ALONE) as reader,
    ):
        return reader.get_batch(number)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[None]:
    """ShardError for what cannot be read of an Arrow IPC file, but for an outage of its store."""
    try:
        yield
    except (ValueError, OSError) as e:  # an empty file cannot be mapped; pa.ArrowInvalid
        if is_outage(e):
            raise
        raise ShardError(
            f"{path}: not a complete Arrow IPC file ({e});"
            " delete it and rerun, finished shards are kept"
        ) from e


class Opened(NamedTuple):
    """A sidecar, mapped.

    starts: (n_batches + 1,) int64, row of the file where each batch begins.
    views: columns that were looked at, by the number of their batch, and their names.
    """

    batches: Sequence[pa.RecordBatch]
    starts: I64
    mapped: mmap.mmap
    views: dict[tuple[int, str], npt.NDArray[Any]]

    def view(self, number: int, name: str) -> npt.NDArray[Any]:
        """`values` of a batch; to make them takes longer than to take a few rows of them."""
        found = self.views.get((number, name))
        if found is None:
            found = self.views[number, name] = values(self.batches[number], name)
        return found

    @property
    def n(self) -> int:
        return int(self.starts[-1])


class Batch(NamedTuple):
    """A batch of a shard's sidecar; start: row of the corpus where it begins."""

    shard: int
    start: int
    rows: pa.RecordBatch

    def values(self, name: str) -> npt.NDArray[Any]:
        """(n_rows,) view of a column; (n_rows, width) of a fixed-size list."""
        return values(self.rows, name)


class Rows:
    """The documents of a pass in corpus order, as one long table that is never built.

    Row `r` of the corpus is a row of one batch of one shard. Files are opened when they are come
    to, and few are held open: of a corpus of 100,000 shards not all could be mapped at once. What
    was read of a file is let go of behind it, so that a walk over all takes the memory of one.
    """

    def __init__(
        self, starts: I64, opening: Callable[[int], Opened], *, most_open: int = MOST_OPEN
    ) -> None:
        """starts: (n_shards + 1,) corpus rows.  opening: by number.  most_open: files at a time."""
        self.starts = starts
        self._opening, self._most = opening, most_open
        self._open: OrderedDict[int, Opened] = OrderedDict()

    @property
    def n(self) -> int:
        return int(self.starts[-1] - self.starts[0])

    @property
    def n_shards(self) -> int:
        return len(self.starts) - 1

    def shard(self, number: int) -> Opened:
        """A shard's sidecar.

        ShardError: it is not a whole Arrow file, was made with other parameters, or has
            another number of rows than it should.
        """
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        opened = self._open[number] = self._opening(number)
        if len(self._open) > self._most:
            self._open.popitem(last=False)
        return opened

    def walk(self, first: int = 0, last: int | None = None) -> Iterator[Batch]:
        """The batches of all shards in order, or of those from `first` to before `last`."""
        for number in range(first, self.n_shards if last is None else last):
            if self.starts[number] == self.starts[number + 1]:
                continue
            opened, start = self.shard(number), int(self.starts[number])
            for begin, batch in zip(opened.starts.tolist(), opened.batches, strict=False):
                yield Batch(number, start + begin, batch)
            opened.mapped.madvise(mmap.MADV_DONTNEED)

    def take(self, name: str, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """(len(rows), …) values of a column at `rows`, which ascend; of lists their lengths."""
        return self.take_all((name,), rows)[name]

    def take_all(
        self, names: Sequence[str], rows: npt.NDArray[np.integer[Any]]
    ) -> dict[str, npt.NDArray[Any]]:
        """As `take`, of some columns."""
        out: dict[str, npt.NDArray[Any]] = {}
        for at, opened, number, here in self._batches_of(rows):
            for name in names:
                column = opened.view(number, name)
                if name not in out:
                    out[name] = np.empty((len(rows), *column.shape[1:]), column.dtype)
                column.take(here, 0, out[name][at], "clip")
        return {name: out.get(name, np.empty(0)) for name in names}

    def take_in_any_order(
        self, names: Sequence[str], rows: npt.NDArray[np.integer[Any]]
    ) -> dict[str, npt.NDArray[Any]]:
        """As `take_all`, at rows in any order, some of them again and again."""
        each, place = np.unique(rows, return_inverse=True)
        return {name: column[place] for name, column in self.take_all(names, each).items()}

    def lists(
        self, name: str, rows: npt.NDArray[np.integer[Any]]
    ) -> Iterator[tuple[slice, npt.NDArray[Any], npt.NDArray[np.int32], I64]]:
        """Where the lists of a column at `rows`, which ascend, lie; nothing is copied.

        Which of `rows`; of their batch all values, (n + 1,) where in them each list begins, and
        their places in it.
        """
        for at, opened, number, here in self._batches_of(rows):
            column = opened.batches[number][name]
            yield at, np.asarray(column.values), np.asarray(column.offsets), here

    def _batches_of(
        self, rows: npt.NDArray[np.integer[Any]]
    ) -> Iterator[tuple[slice, Opened, int, I64]]:
        """Which of `rows`, which ascend, are of a batch, its file, number, and places in it."""
        edges = np.searchsorted(rows, self.starts)
        for number in np.flatnonzero(np.diff(edges)).tolist():
            opened = self.shard(number)
            local = rows[edges[number] : edges[number + 1]] - self.starts[number]
            cuts = np.searchsorted(local, opened.starts)
            for b in np.flatnonzero(np.diff(cuts)).tolist():
                at = slice(edges[number] + cuts[b], edges[number] + cuts[b + 1])
                yield at, opened, b, local[cuts[b] : cuts[b + 1]] - opened.starts[b]
            opened.mapped.madvise(mmap.MADV_DONTNEED)


def values(batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    """(n_rows,) view of a column; (n_rows, width) of a fixed-size list; lengths of other lists."""
    column = batch[name]
    if pa.types.is_list(column.type):
        return np.asarray(column.value_lengths())
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column)
    rows = np.asarray(column.values).reshape(-1, column.type.list_size)
    return rows[column.offset : column.offset + len(column)]


def open_sidecar(path: Path, parameters: Mapping[str, Any]) -> Opened:
    """A sidecar made with these parameters at least; ShardError: with others, or no Arrow file."""
    batches, schema, mapped = _mapped(path)
    found = json.loads((schema.metadata or {}).get(PARAMETERS, b"{}"))
    if {name: found.get(name) for name in parameters} != parameters:
        raise ShardError(
            f"{path}: made with {found}, this run needs {dict(parameters)}; delete it and rerun"
        )
    mapped.madvise(mmap.MADV_DONTNEED)  # around each batch's head much was mapped
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)], dtype=np.int64)
    return Opened(batches, starts, mapped, {})


def corpus_rows(
    path_of: Callable[[int], Path],
    counts: Sequence[int] | I64,
    parameters: Mapping[str, Any],
    *,
    first: int = 0,
    most_open: int = MOST_OPEN,
) -> Rows:
    """The sidecars of all shards, in order, as one table of rows.

    path_of: a shard's sidecar, by its number.  counts: (n_shards,) rows of each.
    first: the number of the first row.  most_open: files at a time.
    """
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64) + first

    def opening(number: int) -> Opened:
        path = path_of(number)
        opened = open_sidecar(path, parameters)
        if opened.n != starts[number + 1] - starts[number]:
            raise ShardError(
                f"{path}: has {opened.n:,} rows, its shard"
                f" {starts[number + 1] - starts[number]:,}; delete it and rerun"
            )
        return opened

    return Rows(starts, opening, most_open=most_open)


def counted_rows(paths: Sequence[Path], parameters: Mapping[str, Any]) -> Rows:
    """As `corpus_rows`, with rows told by all the files; ShardError as `open_sidecar`."""
    counts = [open_sidecar(path, parameters).n for path in paths]
    return corpus_rows(paths.__getitem__, counts, parameters, most_open=MOST_COUNTED)
