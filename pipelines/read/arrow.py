"""Arrow IPC, file or stream, cut between record batches; also what `datasets` saves to disk."""

from collections.abc import Iterator

import pyarrow as pa

from tokenmill.pipelines.errors import InputError
from tokenmill.pipelines.read.batch import ReadBatch, failed_batch
from tokenmill.pipelines.read.columns import Piece
from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.read.messages import (
    BATCH,
    DICTIONARY,
    SCHEMA,
    CutShortError,
    Message,
    messages,
    stream_start,
)
from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.read.table import (
    TABLE_ERRORS,
    broken_off,
    one_line,
    table_documents,
)
from tokenmill.pipelines.read.table_columns import table_columns
from tokenmill.pipelines.shard import Input, SourceShard
from tokenmill.pipelines.store import InputFile, is_outage, open_input, resolve, translated


def cut_arrow(file: InputFile, wanted: Input, *, shard_bytes: int) -> list[Piece]:
    """Find the columns, and cut into consecutive record batches of about `shard_bytes` at most.

    A file that is cut short is planned as far as it goes; its reader says where it ends.
    Dictionaries may change on the way, so a file that has some is one shard.

    Raises:
        InputError: not Arrow IPC ("damaged_arrow"), or as `table_columns`.
    """
    with _open(file.path) as handle:
        schema = _schema(handle, file.path)
        columns = table_columns(schema, wanted, file.path)
        pieces: list[Piece] = []
        start = row = first_row = size = 0
        for message in _batches(handle, stream_start(handle)):
            if message.kind == DICTIONARY:
                return [Piece(columns, 0, None, bytes=file.bytes)]
            start = start or message.start
            n_bytes = message.stop - message.start
            if size and size + n_bytes > shard_bytes:
                pieces.append(Piece(columns, start, message.start, bytes=size, first_row=first_row))
                start, first_row, size = message.start, row, 0
            size += n_bytes
            row += message.rows
    return [*pieces, Piece(columns, start, None, bytes=size, first_row=first_row)]


def read_arrow(shard: SourceShard, limits: Limits) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's record batches.

    Memory is that of one record batch of the file, less where the file is local and not
    compressed: then it is mapped.
    """
    row = 0
    try:
        for table in arrow_tables(shard):
            for batch in table_documents(shard, table, row, limits):
                yield batch
                row += batch.rows
    except TABLE_ERRORS as e:
        yield failed_batch(shard.ordinal, [broken_off(shard, row, e)])


def arrow_tables(shard: SourceShard) -> Iterator[pa.RecordBatch]:
    """Yield a shard's record batches, all columns of them.

    Raises:
        DamagedError: after the last good one was yielded.
    """
    path = shard.paths[0]
    with _open(path) as handle:
        try:
            yield from _tables(handle, shard)
        except (pa.ArrowException, OSError, EOFError, CutShortError) as e:
            if is_outage(e) and isinstance(e, OSError):
                raise translated(e, path) from None
            cause = "truncated_arrow" if isinstance(e, CutShortError) else "damaged_arrow"
            raise DamagedError(cause, one_line(e)) from None


def _tables(handle: pa.NativeFile, shard: SourceShard) -> Iterator[pa.RecordBatch]:
    schema = _schema(handle, shard.paths[0])
    if shard.start == 0:  # the whole file: only the stream reader takes in dictionaries
        handle.seek(stream_start(handle))
        yield from pa.ipc.open_stream(handle)
        return
    for message in messages(handle, shard.start, shard.stop):
        handle.seek(message.start)
        if message.kind == BATCH:
            yield pa.ipc.read_record_batch(pa.ipc.read_message(handle), schema)


def _batches(handle: pa.NativeFile, start: int) -> Iterator[Message]:
    """Batches and dictionaries, as far as the file goes."""
    try:
        yield from (m for m in messages(handle, start) if m.kind != SCHEMA)
    except CutShortError as e:
        yield Message(BATCH, e.start, e.start, 0)


def _schema(handle: pa.NativeFile, path: str) -> pa.Schema:
    try:
        handle.seek(stream_start(handle))
        return pa.ipc.read_schema(pa.ipc.read_message(handle))
    except (pa.ArrowException, OSError, EOFError) as e:
        if is_outage(e) and isinstance(e, OSError):
            raise translated(e, path) from None
        raise InputError(
            f"{path}: not an Arrow IPC file or stream ({one_line(e)}); fetch or write it again",
            cause="damaged_arrow",
        ) from None


def _open(path: str) -> pa.NativeFile:
    handle = open_input(path)
    store, where = resolve(path)
    if store.type_name != "local" or handle.size() == 0:
        return handle
    handle.close()
    return pa.memory_map(where)
