"""Arrow IPC, file or stream, cut between record batches; also what `datasets` saves to disk.

    stream:  schema | batch | batch | … | end
    file:    "ARROW1" pad | the same stream | footer | footer's size | "ARROW1"

A message is `0xFFFFFFFF, size of header, header (flatbuffer), body`; before Arrow 0.15 the
first word was missing. A file is thus read as the stream inside it, and so is what is left
of one that was cut short. Where batches lie is read from their headers alone: pyarrow gives neither
the length of a batch nor its number of rows without reading its body.

A Hugging Face dataset saved to disk is a folder with `state.json` and its Arrow streams.

Source: Arrow columnar format 1.5, "Encapsulated message format", format/Message.fbs.
"""

import json
import posixpath
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import ReadBatch
from tokenmill.pipelines.read.columns import Piece, table_columns
from tokenmill.pipelines.read.options import Limits, Reading
from tokenmill.pipelines.read.stream import DamagedError, one_line, outage_or
from tokenmill.pipelines.read.table import table_batches
from tokenmill.pipelines.storage.inputs import open_input

MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
# Fields of the flatbuffer table Message, by slot.
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_ROWS = 0  # of the table RecordBatch
END_BYTES = 8  # of the mark behind the last message
MAX_HEADER_BYTES = 256 * 1024**2


class Message(NamedTuple):
    """kind: `SCHEMA`, `DICTIONARY`, `BATCH` or another.  start, stop: bytes of the file."""

    kind: int
    start: int
    stop: int
    rows: int


class CutShortError(ValueError):
    """The file ends, or stops making sense, inside the message that begins at byte `start`."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def stream_start(file: pa.NativeFile) -> int:
    """Byte at which the stream begins: 8 in a file, 0 in a stream."""
    file.seek(0)
    return 8 if file.read(len(MAGIC)) == MAGIC else 0


def messages(file: pa.NativeFile, start: int, stop: int | None = None) -> Iterator[Message]:
    """Yield the messages that begin in [start, stop); at `start` one must begin.

    Raises:
        CutShortError: after the last whole message was yielded.
    """
    end, whole = _stream_stop(file)
    while start < (end if stop is None else stop):
        message = _message(file, start, end)
        if message is None:
            if end - start > END_BYTES and stream_start(file):  # of a file it stands at the footer
                raise CutShortError("an end before the footer", start)
            return
        yield message
        start = message.stop
    if not whole and (stop is None or start < stop):
        raise CutShortError("no footer", start)


def _stream_stop(file: pa.NativeFile) -> tuple[int, bool]:
    """Byte at which the messages end at the latest, and whether that is where they should.

    In a file they should end at its footer, and one without has been cut short.
    """
    size = int(file.size())
    if stream_start(file) == 0:
        return size, True
    if size < 18:
        return size, False
    file.seek(size - 10)
    footer_bytes, magic = struct.unpack("<i6s", file.read(10))
    whole = magic == MAGIC and 0 < footer_bytes <= size - 18
    return (size - 10 - footer_bytes if whole else size), whole


def _message(file: pa.NativeFile, start: int, file_stop: int) -> Message | None:
    """The message at `start`, or None at the mark of the end."""
    file.seek(start)
    try:
        word, size = struct.unpack("<Ii", file.read(8))
        prefix = 8 if word == CONTINUATION else 4
        size = size if word == CONTINUATION else word
        if size == 0:
            return None
        if not 0 < size <= min(MAX_HEADER_BYTES, file_stop - start):
            raise CutShortError(f"a header of {size} bytes", start)
        file.seek(start + prefix)
        header = file.read(size)
        table = _unpack("<I", header, 0)
        kind = _scalar(header, table, _HEADER_TYPE, "<B")
        body_bytes = _scalar(header, table, _BODY_LENGTH, "<q")
        rows = 0
        if kind == BATCH:
            at = _field(header, table, _HEADER)
            rows = _scalar(header, at + _unpack("<I", header, at), _ROWS, "<q")
    except struct.error as e:
        raise CutShortError(f"the file ends inside a header ({e})", start) from None
    end = start + prefix + size + body_bytes
    if body_bytes < 0 or rows < 0 or end > file_stop:
        raise CutShortError(f"a body of {body_bytes} bytes in a file of {file_stop}", start)
    return Message(kind, start, end, rows)


def _field(buffer: bytes, table: int, slot: int) -> int:
    """Byte of a table's field, 0 if it has its default."""
    vtable = table - _unpack("<i", buffer, table)
    if vtable < 0 or 4 + 2 * slot >= _unpack("<H", buffer, vtable):
        return 0
    offset = _unpack("<H", buffer, vtable + 4 + 2 * slot)
    return table + offset if offset else 0


def _scalar(buffer: bytes, table: int, slot: int, form: str) -> int:
    at = _field(buffer, table, slot)
    return _unpack(form, buffer, at) if at else 0


def _unpack(form: str, buffer: bytes, at: int) -> int:
    if at < 0:
        raise struct.error("an offset before the header")
    return int(struct.unpack_from(form, buffer, at)[0])


def cut_arrow(file: InputFile, wanted: Input, shard_bytes: int, _: Limits) -> list[Piece]:
    """Find the columns, and cut into consecutive record batches of about `shard_bytes` at most.

    A file that is cut short is planned as far as it goes; its reader says where it ends.
    Dictionaries may change on the way, so a file that has some is one shard.

    Raises:
        InputError: not Arrow IPC ("damaged_arrow"), or as `table_columns`.
    """
    with open_input(file.path, mapped=True) as handle:
        schema = _schema(handle, file.path)
        columns = table_columns(schema, wanted, file.path)
        pieces: list[Piece] = []
        start = row = first_row = size = 0
        damage = ""
        for message in _batches(handle, stream_start(handle)):
            if message.kind == DICTIONARY:
                return [Piece(columns, 0, None, bytes=file.bytes)]
            start = start or message.start
            n_bytes = message.stop - message.start
            damage = "" if n_bytes else "truncated_arrow"
            if size and size + n_bytes > shard_bytes:
                pieces.append(Piece(columns, start, message.start, bytes=size, first_row=first_row))
                start, first_row, size = message.start, row, 0
            size += n_bytes
            row += message.rows
    last = Piece(columns, start, None, bytes=size, first_row=first_row, damage=damage)
    return [*pieces, last]


def read_arrow(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's record batches.

    Memory is that of one record batch of the file, less where the file is local and not
    compressed: then it is mapped.
    """
    return table_batches(shard, _record_batches(shard), how)


def _record_batches(shard: SourceShard) -> Iterator[pa.RecordBatch]:
    """Yield a shard's record batches, all columns of them.

    Raises:
        DamagedError: after the last good one was yielded.
    """
    path = shard.paths[0]
    with open_input(path, mapped=True) as handle:
        try:
            schema = _schema(handle, path)
            if shard.start == 0:  # the whole file: only the stream reader takes in dictionaries
                handle.seek(stream_start(handle))
                yield from pa.ipc.open_stream(handle)
                for _ in messages(handle, stream_start(handle)):  # which tell of a file cut short
                    pass
                return
            for message in messages(handle, shard.start, shard.stop):
                handle.seek(message.start)
                if message.kind == BATCH:
                    yield pa.ipc.read_record_batch(pa.ipc.read_message(handle), schema)
        except (pa.ArrowException, OSError, EOFError, CutShortError) as e:
            cause = "truncated_arrow" if isinstance(e, CutShortError) else "damaged_arrow"
            raise outage_or(DamagedError(cause, one_line(e)), e, path) from None


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
        why = f"{path}: not an Arrow IPC file or stream ({one_line(e)}); fetch or write it again"
        raise outage_or(InputError(why, cause="damaged_arrow"), e, path) from None


STATE = "state.json"
DATA_FORMAT = "arrow"  # of a saved dataset's files
SIDE_FILES = frozenset({STATE, "dataset_info.json", "dataset_dict.json"})
MAX_STATE_BYTES = 64 * 1024**2


class SavedDataset(NamedTuple):
    """folder: below the input's folder, "" for itself.  files: its data, in the dataset's order."""

    folder: str
    split: str | None
    files: list[InputFile]
    missing: list[str]


def find_saved(files: Sequence[InputFile]) -> list[SavedDataset]:
    """The saved datasets among the files of a folder, sorted by folder.

    Raises:
        InputError: one was saved with an index of its rows beside it ("dataset_indices").
    """
    by_name = {f.name: f for f in files}
    found = []
    for file in files:
        if posixpath.basename(file.name) == STATE and (state := _state(file)) is not None:
            folder, above = posixpath.dirname(file.name), posixpath.dirname(file.path)
            split = state.get("_split") or posixpath.basename(folder) or None
            names = [posixpath.join(folder, d["filename"]) for d in state["_data_files"]]
            there = [by_name[n] for n in names if n in by_name]
            gone = [n for n in names if n not in by_name]
            missing = [posixpath.join(above, posixpath.basename(n)) for n in gone]
            found.append(SavedDataset(folder, split, there, missing))
    return sorted(found, key=lambda d: d.folder)


def belongs_to(file: InputFile, datasets: Sequence[SavedDataset]) -> bool:
    """Whether a file is part of one of the datasets or only describes it."""
    folder, name = posixpath.split(file.name)
    folders = {d.folder for d in datasets}
    above = {posixpath.dirname(f) for f in folders}
    return folder in folders or (folder in above and name in SIDE_FILES)


def _state(file: InputFile) -> dict[str, Any] | None:
    """What `state.json` says, or None if it is about something else."""
    with open_input(file.path) as f:
        try:
            state = json.loads(f.read(MAX_STATE_BYTES))
        except ValueError:
            return None
    if not isinstance(state, dict) or not isinstance(state.get("_data_files"), list):
        return None
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputError(
            f"{file.path}: its rows are chosen by an index; save it again after flatten_indices()",
            cause="dataset_indices",
        )
    return state
