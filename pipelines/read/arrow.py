"""Arrow IPC, file or stream, cut between record batches; also what `datasets` saves to disk.

A file is read as the stream inside it (see `storage.ipc`), and so is what is left of one that was
cut short.

A Hugging Face dataset saved to disk is a folder with `state.json` and its Arrow streams.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.batch import ReadBatch
from tokenmill.pipelines.read.columns import Piece, looked_at, table_columns, type_at
from tokenmill.pipelines.read.options import Limits, Reading
from tokenmill.pipelines.read.stream import DamagedError, one_line, outage_or
from tokenmill.pipelines.read.table import check_layout, table_batches
from tokenmill.pipelines.storage import ipc
from tokenmill.pipelines.storage.bounds import CAUSE, ExpandsError, check_expansion
from tokenmill.pipelines.storage.inputs import open_input
from tokenmill.sizing.strict import parse_json


def cut_arrow(file: InputFile, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    """Find the columns, and cut into consecutive record batches of about `shard_bytes` at most.

    A file that is cut short is planned as far as it goes; its reader says where it ends.
    Dictionaries may change on the way, so a file that has some is one shard.
    InputError: not Arrow IPC ("damaged_arrow"), or as `table_columns` or `check_layout`.
    """
    with open_input(file.path, mapped=True) as handle:
        schema = _schema(handle, file.path)
        columns = table_columns(schema, wanted, file.path)
        pieces: list[Piece] = []
        start = row = first_row = size = 0
        damage = ""
        for message in _batches(handle):
            if message.kind == ipc.DICTIONARY:
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
    if columns.images is not None and start:
        shard = replace(looked_at(file, "arrow", columns), start=[*pieces, last][0].start)
        check_layout(shard, _record_batches(shard), type_at(schema, columns.images), limits)
    return [*pieces, last]


def read_arrow(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's record batches.

    Memory is that of one record batch of the file, less where the file is local and not
    compressed: then it is mapped.
    """
    return table_batches(shard, _record_batches(shard), how)


def _record_batches(shard: SourceShard) -> Iterator[pa.RecordBatch]:
    """A shard's record batches, all columns of them; what breaks them off is raised behind."""
    path = shard.paths[0]
    with open_input(path, mapped=True) as handle:
        try:
            schema = _schema(handle, path)
            if shard.start == 0:  # the whole file: only the stream reader takes in dictionaries
                check_stream(handle)
                yield from pa.ipc.open_stream(handle)
                for _ in ipc.messages(handle):  # which tell of a file cut short
                    pass
                return
            for message in ipc.messages(handle, shard.start, shard.stop):
                if message.kind == ipc.BATCH:
                    whole, _ = _checked(handle, message)
                    yield pa.ipc.read_record_batch(whole, schema)
        except (pa.ArrowException, OSError, EOFError, ExpandsError, ipc.CutShortError) as e:
            cause = "truncated_arrow" if isinstance(e, ipc.CutShortError) else "damaged_arrow"
            cause = CAUSE if isinstance(e, ExpandsError) else cause
            raise outage_or(DamagedError(cause, one_line(e)), e, path) from None


def _checked(handle: pa.NativeFile, place: ipc.Message) -> tuple[pa.ipc.Message, int]:
    """A message that unpacks to no more than it may, and to how much."""
    handle.seek(place.start)
    message = pa.ipc.read_message(handle)
    return message, ipc.check_message(message)


def check_stream(handle: pa.NativeFile) -> None:
    """Check a stream's messages, and rewind; ExpandsError: one, or dictionaries, are too large."""
    dictionaries = 0
    try:
        for place in ipc.messages(handle):
            _, unpacked = _checked(handle, place)
            dictionaries += unpacked if place.kind == ipc.DICTIONARY else 0
    except ipc.CutShortError:
        pass  # the reader tells that, behind what is whole
    check_expansion(dictionaries, handle.size(), "all dictionaries of a file")
    handle.seek(ipc.stream_start(handle))


def _batches(handle: pa.NativeFile) -> Iterator[ipc.Message]:
    """Batches and dictionaries, as far as the file goes."""
    try:
        yield from (m for m in ipc.messages(handle) if m.kind != ipc.SCHEMA)
    except ipc.CutShortError as e:
        yield ipc.Message(ipc.BATCH, e.start, e.start, 0)


def _schema(handle: pa.NativeFile, path: str) -> pa.Schema:
    try:
        return ipc.read_schema(handle)
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
    """Saved datasets among a folder's files, by folder; InputError: one has "dataset_indices"."""
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


def strays(files: Sequence[InputFile], datasets: Sequence[SavedDataset]) -> list[str]:
    """Paths of files in the folders of datasets that are no part of them, caches aside."""
    folders = {d.folder for d in datasets}
    parts = {f.path for d in datasets for f in d.files}
    made = []
    for file in files:
        folder, name = posixpath.split(file.name)
        known = file.path in parts or name in SIDE_FILES or name.startswith("cache-")
        made += [file.path] if folder in folders and not known else []
    return made


def _state(file: InputFile) -> dict[str, Any] | None:
    """What `state.json` says, or None if it is about something else."""
    with open_input(file.path) as f:
        try:
            state = parse_json(f.read(MAX_STATE_BYTES))
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
