"""Parquet, cut between row groups."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import InputError
from pipelines.read.batch import Failure, ReadBatch, failed_batch
from pipelines.read.columns import Columns, Piece
from pipelines.read.limits import BATCH_BYTES, BATCH_DOCS, Limits
from pipelines.read.table import table_columns, table_documents
from pipelines.shard import Input, SourceShard
from pipelines.store import InputFile, is_outage, open_input, translated

SHOWN_ERROR = 200


def cut_parquet(file: InputFile, wanted: Input, *, shard_bytes: int) -> list[Piece]:
    """Find the columns, and cut into consecutive row groups of about `shard_bytes` at most.

    Raises:
        InputError: not a whole Parquet file ("damaged_parquet"), or as `table_columns`.
    """
    with open_input(file.path) as handle:
        parquet = _open(handle, file.path)
        columns = table_columns(parquet.schema_arrow, wanted, file.path)
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


def read_parquet(shard: SourceShard, limits: Limits) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's row groups."""
    path, row = shard.paths[0], 0
    with open_input(path) as handle:
        try:
            parquet = _open(handle, path)
            last = parquet.metadata.num_row_groups if shard.stop is None else shard.stop
            columns = Columns(shard.text, shard.id, shard.url).named
            for i in range(shard.start, last):
                for table in parquet.iter_batches(
                    batch_size=_rows_at_a_time(parquet.metadata.row_group(i), shard.text),
                    row_groups=[i],
                    columns=columns,
                    use_threads=False,
                ):
                    for batch in table_documents(shard, table, row, limits):
                        yield batch
                        row += batch.rows
        except (pa.ArrowException, OSError, InputError) as e:
            if isinstance(e, OSError) and is_outage(e):
                raise translated(e, path) from None
            number = shard.first_row + row
            message = f"{path} row {number}: {_one_line(e)}"
            cut = Failure(row, f"{shard.names[0]}#{number}", "damaged_parquet", message)
            yield failed_batch(shard.ordinal, [cut])


def _open(handle: pa.NativeFile, path: str) -> pq.ParquetFile:
    try:
        # Without pre-buffering a row group's columns are fetched page by page.
        return pq.ParquetFile(handle, pre_buffer=False, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as e:
        if isinstance(e, OSError) and is_outage(e):
            raise translated(e, path) from None
        raise InputError(
            f"{path}: not a whole Parquet file ({_one_line(e)}); fetch or write it again",
            cause="damaged_parquet",
        ) from None


def _rows_at_a_time(group: pq.RowGroupMetaData, text: str) -> int:
    """How many rows to decode at a time so that an average text fills a batch."""
    sizes = [
        chunk.total_uncompressed_size
        for chunk in map(group.column, range(group.num_columns))
        if chunk.path_in_schema == text
    ]
    mean_bytes = sum(sizes) / max(group.num_rows, 1)
    return int(min(max(BATCH_BYTES / max(mean_bytes, 1.0), 1), BATCH_DOCS))


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:SHOWN_ERROR]
