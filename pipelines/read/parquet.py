"""Parquet, cut between row groups."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokenmill.pipelines.core.errors import InputError, ShardError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import BATCH_IMAGE_BYTES, ReadBatch
from tokenmill.pipelines.read.columns import Piece, looked_at, table_columns, type_at
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.pages import chunk_bound, chunk_bytes, chunk_place
from tokenmill.pipelines.read.stream import DamagedError, one_line, outage_or
from tokenmill.pipelines.read.table import check_layout, image_columns, table_batches
from tokenmill.pipelines.storage.bounds import CAUSE, ExpandsError
from tokenmill.pipelines.storage.inputs import open_input
from tokenmill.sizing.roots import held

PIECE_BYTES = 1024**2  # of a column with images, read at a time
# What a run writes of removed documents packs well: all of it are one another's likes.
FREE_OF_TABLE, TIMES_OF_TABLE = 96 * 1024**2, 128


def cut_parquet(file: InputFile, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    """Find the columns, and cut into consecutive row groups of about `shard_bytes` at most.

    InputError: not a whole Parquet file ("damaged_parquet"), or as `table_columns` or
        `check_layout`.
    """
    with open_input(file.path) as handle:
        parquet = _open(handle, file.path)
        columns = table_columns(parquet.schema_arrow, wanted, file.path)
        if columns.images is not None:
            shard = looked_at(file, "parquet", columns)
            first_rows = Wanted(image_columns(shard), n_bytes=PIECE_BYTES, groups=slice(1))
            tables = parquet_tables(file.path, first_rows)
            kind = type_at(parquet.schema_arrow, columns.images)
            check_layout(shard, tables, kind, limits)
        groups = [parquet.metadata.row_group(i) for i in range(parquet.metadata.num_row_groups)]
    pieces = []
    start = row = first_row = size = 0
    for i, group in enumerate(groups):
        if i > start and size + group.total_byte_size > shard_bytes:
            pieces.append(Piece(columns, start, i, bytes=size, first_row=first_row))
            start, first_row, size = i, row, 0
        size += group.total_byte_size
        row += group.num_rows
    return [*pieces, Piece(columns, start, len(groups), bytes=size, first_row=first_row)]


def parquet_rows(path: str) -> int | None:
    """How many rows the file says it has, or None if it is not readable."""
    try:
        with open_input(path) as handle:
            return int(_open(handle, path).metadata.num_rows)
    except (InputError, OSError):
        return None


def read_parquet(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's row groups.

    With images memory does not grow with the row groups, but does with their pages, which are
    decoded whole: pyarrow's writer puts 1,024 images on one unless told otherwise
    (`write_batch_size`).
    """
    illustrated = how.images is not None and shard.images is not None
    wanted = Wanted(
        shard.asked,
        slice(shard.start, shard.stop),
        filling=shard.text if shard.join is None else None,
    )
    if illustrated:
        n_bytes = BATCH_IMAGE_BYTES // 4
        wanted = Wanted(image_columns(shard), wanted.groups, None, n_bytes, PIECE_BYTES)
    return table_batches(shard, parquet_tables(shard.paths[0], wanted), how)


class Wanted(NamedTuple):
    """What is read of a file.

    columns: those of them that it has.  groups: row groups.
    n_bytes: to decode at a time, about; of the column `filling` alone, if there is one.
    buffer_bytes: to read at a time of a column; 0 reads all that a row group has of it.
    """

    columns: Sequence[str]
    groups: slice = slice(None)
    filling: str | None = None
    n_bytes: int = BATCH_BYTES
    buffer_bytes: int = 0


def parquet_tables(path: str, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are wanted, some at a time; DamagedError after the last good one."""
    with open_input(path) as handle:
        try:
            yield from _tables(handle, path, wanted)
        except (pa.ArrowException, OSError, InputError, ValueError) as e:
            cause = CAUSE if isinstance(e, ExpandsError) else "damaged_parquet"
            raise outage_or(DamagedError(cause, one_line(e)), e, path) from None


def whole_tables(handle: pa.NativeFile, name: str) -> Iterator[pa.RecordBatch]:
    """Yield all rows, some at a time; InputError, ValueError, ArrowException: unfit to be read."""
    names = _open(handle, name).schema_arrow.names
    yield from _tables(handle, name, Wanted(names))


def bounded(path: Path, columns: Sequence[str] | None = None) -> Path:
    """The path of a table to be read whole; ShardError: it takes too much, or is no Parquet."""
    try:
        with held(path) as name, pa.OSFile(name) as handle:
            file = _Ahead(handle)
            parquet, whole = _open(handle, str(path)), 0
            names = parquet.schema_arrow.names if columns is None else columns
            for i in range(parquet.metadata.num_row_groups):
                for chunk, column in _chunks(parquet, parquet.metadata.row_group(i), names):
                    whole += chunk_bytes(file.read_at, chunk, column)
            if whole > max(FREE_OF_TABLE, TIMES_OF_TABLE * handle.size()):
                raise ExpandsError(f"its rows would take {whole:,} bytes")
    except (InputError, ValueError) as e:
        raise ShardError(f"{path}: {one_line(e)}; write it again, or delete it and rerun") from None
    return path


def _tables(handle: pa.NativeFile, path: str, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    file = _Ahead(handle)
    parquet = _open(pa.PythonFile(file, "r"), path, wanted.buffer_bytes)
    names = set(parquet.schema_arrow.names)
    # of a path into a struct the whole struct
    heads = list(dict.fromkeys(c if c in names else c.split(".")[0] for c in wanted.columns))
    for i in range(parquet.metadata.num_row_groups)[wanted.groups]:
        group = parquet.metadata.row_group(i)
        rows, coded = _rows_at_a_time(group, wanted.filling, wanted.n_bytes), []
        for chunk, column in _chunks(parquet, group, heads):
            if not wanted.buffer_bytes:
                file.hold(*chunk_place(chunk))
            bound = chunk_bound(file.read_at, chunk, column, rows)
            rows = min(rows, bound.rows)
            coded += [column.path] if bound.coded else []
        reader = parquet
        if coded:
            reader = _open(pa.PythonFile(file, "r"), path, wanted.buffer_bytes, coded)
        yield from reader.iter_batches(
            batch_size=rows, row_groups=[i], columns=heads, use_threads=False
        )


class _Ahead:
    """A file, of which column chunks are looked at before they are read, and fetched but once."""

    closed = False

    def __init__(self, file: pa.NativeFile) -> None:
        self._file, self._at = file, 0
        self._held: dict[int, pa.Buffer] = {}

    def hold(self, start: int, stop: int) -> None:
        """Fetch what will be read as a whole."""
        self._file.seek(start)
        self._held[start] = self._file.read_buffer(stop - start)

    def read_at(self, size: int, at: int) -> bytes:
        for start, read in self._held.items():
            if start <= at and at + size <= start + read.size:
                return bytes(read.slice(at - start, size))
        return bytes(self._file.read_at(size, at))

    def read_buffer(self, size: int) -> pa.Buffer:
        """The next bytes; what was held is let go of."""
        held = self._held.pop(self._at, None)
        if held is None or held.size < size:
            self._file.seek(self._at)
            held = self._file.read_buffer(size)
        self._at += min(size, held.size)
        return held.slice(0, size)

    def read(self, size: int) -> bytes:
        return bytes(self.read_buffer(size))

    def seek(self, at: int, whence: int = 0) -> None:
        self._at = at if whence == 0 else self._file.size() + at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        """Nothing: who opened the file closes it."""


def _chunks(
    parquet: pq.ParquetFile, group: pq.RowGroupMetaData, columns: Sequence[str]
) -> Iterator[tuple[pq.ColumnChunkMetaData, pq.ColumnSchema]]:
    """The parts of a row group that reading some columns takes."""
    for i in range(group.num_columns):
        column = parquet.schema.column(i)
        if column.path.split(".")[0] in columns or column.path in columns:
            yield group.column(i), column


def _open(
    handle: pa.NativeFile, path: str, buffer_bytes: int = 0, coded: Sequence[str] = ()
) -> pq.ParquetFile:
    try:
        # Without pre-buffering a row group's columns are fetched page by page.
        return pq.ParquetFile(
            handle,
            pre_buffer=False,
            page_checksum_verification=True,
            buffer_size=buffer_bytes,
            read_dictionary=list(coded),
        )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        why = f"{path}: not a whole Parquet file ({one_line(e)}); fetch or write it again"
        raise outage_or(InputError(why, cause="damaged_parquet"), e, path) from None


def _rows_at_a_time(group: pq.RowGroupMetaData, filling: str | None, n_bytes: int) -> int:
    """How many rows to decode at a time so that average ones fill a batch."""
    size = group.total_byte_size
    if filling is not None:
        size = sum(
            chunk.total_uncompressed_size
            for chunk in map(group.column, range(group.num_columns))
            if chunk.path_in_schema == filling
        )
    mean_bytes = size / max(group.num_rows, 1)
    return int(min(max(n_bytes / max(mean_bytes, 1.0), 1), BATCH_DOCS))
