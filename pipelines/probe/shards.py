"""The record batches of a dataset on disk: where they lie in which files, and their token ids.

Files are untrusted: what an Arrow header claims is checked against the file before it is used.
"""

import json
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import check_links
from tokenmill.pipelines.read.stream import one_line
from tokenmill.pipelines.storage.ipc import (
    BATCH,
    DICTIONARY,
    CutShortError,
    check_message,
    messages,
    stream_start,
)

IDS = "input_ids"
WIDTHS = {"uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint8": 1, "int16": 2}
MOST_STATE_BYTES = 64 * 1024**2
WAY_OUT = "give the folder that `tokenmill prepare` wrote, or one that `datasets` saved to disk"


class BatchPlace(NamedTuple):
    """A record batch: the file's number, bytes [start, stop) of it, rows."""

    file: int
    start: int
    stop: int
    rows: int


@dataclass(frozen=True)
class Shards:
    """A dataset's files and record batches.

    sizes: bytes of each file.  dtype: of a token id.  seq_len: tokens of a row; None where a row
    is a document.
    """

    folder: Path
    files: tuple[Path, ...]
    sizes: tuple[int, ...]
    batches: tuple[BatchPlace, ...]
    dtype: str
    seq_len: int | None

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(self.sizes)

    @property
    def rows(self) -> int:
        """Documents, or packed sequences."""
        return sum(batch.rows for batch in self.batches)

    @property
    def width(self) -> int:
        """Bytes of a token id."""
        return WIDTHS[self.dtype]


class BatchIds(NamedTuple):
    """Token ids of a record batch, in its file's map.

    values: (tokens,) of all rows.  offsets: (rows + 1,) where each begins; None where all have
    `seq_len`.  at: byte of the file where values begin.
    """

    values: npt.NDArray[Any]
    offsets: npt.NDArray[Any] | None
    at: int

    def span(self, first: int, last: int, seq_len: int | None) -> tuple[int, int]:
        """Tokens [from, to) of the rows [first, last)."""
        if self.offsets is None:
            width = seq_len or 0
            return first * width, last * width
        return int(self.offsets[first]), int(self.offsets[last])


def open_dataset(folder: Path, split: str | None = None) -> Shards:
    """Find the record batches of a dataset from their headers; no ids are read.

    folder: a saved dataset, a run directory, or a folder of Arrow files.
    split: where there are several; "train" without one.

    Raises:
        ConfigError: no dataset is there, or one of its files is not what it should be.
    """
    check_links(folder)
    root = _split_folder(folder, split)
    files = _files(root)
    batches: list[BatchPlace] = []
    kinds = set()
    for number, path in enumerate(files):
        kind, places = _scan(number, path)
        kinds.add(kind)
        batches += places
    if len(kinds) > 1:
        raise ConfigError(f"{root}: files differ in their {IDS}: {sorted(map(str, kinds))}")
    if not any(batch.rows for batch in batches):
        raise ConfigError(f"{root}: the dataset has no rows; there is nothing to read")
    dtype, seq_len = kinds.pop()
    sizes = tuple(path.stat().st_size for path in files)
    filled = tuple(batch for batch in batches if batch.rows)
    return Shards(root, tuple(files), sizes, filled, dtype, seq_len)


def batch_ids(mapped: mmap.mmap, place: BatchPlace, schema: pa.Schema, path: Path) -> BatchIds:
    """The ids of a record batch, without copying them out of the map.

    Raises:
        ConfigError: the batch is damaged or compressed.
    """
    try:
        whole = pa.py_buffer(mapped)
        message = pa.ipc.read_message(whole.slice(place.start, place.stop - place.start))
        check_message(message)
        column = pa.ipc.read_record_batch(message, schema).column(IDS)
        column.validate()
    except (pa.ArrowException, OSError, ValueError) as e:
        raise _damaged(path, place.start, one_line(e)) from None
    kind = column.type
    values = column.values
    data = values.buffers()[1]
    if data is None or data.size == 0:  # pyarrow has one of its own for none
        data, at = pa.py_buffer(b""), place.start
    else:
        at = data.address - whole.address
    if not place.start <= at <= at + data.size <= place.stop:
        raise ConfigError(
            f"{path}: the record batch at byte {place.start} is compressed; write the dataset"
            " without compression, as a memory map needs it"
        )
    ids = np.frombuffer(data, str(kind.value_type))[: len(values)]
    if pa.types.is_fixed_size_list(kind):
        if len(column) * kind.list_size > len(ids):
            raise _damaged(path, place.start, f"{len(column)} rows in {len(ids)} ids")
        return BatchIds(ids, None, at)
    offsets = np.asarray(column.offsets)
    if offsets[0] < 0 or offsets[-1] > len(ids) or (np.diff(offsets) < 0).any():
        raise _damaged(path, place.start, "offsets of rows lie outside the ids")
    return BatchIds(ids, offsets, at)


def read_schema(path: Path) -> pa.Schema:
    """The schema of an Arrow IPC file or stream.

    Raises:
        ConfigError: it is none.
    """
    if path.stat().st_size == 0:
        raise ConfigError(f"{path}: has 0 bytes; fetch or write it again")
    try:
        with pa.OSFile(str(path)) as handle:
            handle.seek(stream_start(handle))
            return pa.ipc.read_schema(pa.ipc.read_message(handle))
    except (pa.ArrowException, OSError, EOFError) as e:
        why = one_line(e)
        raise ConfigError(f"{path}: not an Arrow IPC file or stream ({why}); {WAY_OUT}") from None


def _scan(number: int, path: Path) -> tuple[tuple[str, int | None], list[BatchPlace]]:
    """What kind of ids a file has, and its record batches."""
    schema = read_schema(path)
    kind = _kind(schema, path)
    places: list[BatchPlace] = []
    with pa.OSFile(str(path)) as handle:
        try:
            for message in messages(handle, stream_start(handle)):
                if message.kind == DICTIONARY:
                    raise ConfigError(
                        f"{path}: has dictionary-encoded columns; write it again without them"
                    )
                if message.kind == BATCH:
                    places.append(BatchPlace(number, message.start, message.stop, message.rows))
        except CutShortError as e:
            raise _damaged(path, e.start, str(e)) from None
    if places:
        with path.open("rb") as f:
            mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        batch_ids(mapped, places[0], schema, path)
    return kind, places


def _kind(schema: pa.Schema, path: Path) -> tuple[str, int | None]:
    if IDS not in schema.names:
        raise ConfigError(
            f"{path}: has no column {IDS!r}, but {', '.join(schema.names) or 'none'}; probe reads"
            " tokenized datasets"
        )
    kind = schema.field(IDS).type
    is_packed = pa.types.is_fixed_size_list(kind)
    is_list = is_packed or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or str(kind.value_type) not in WIDTHS or (is_packed and kind.list_size < 1):
        raise ConfigError(f"{path}: {IDS} is {kind}, not lists of token ids")
    return str(kind.value_type), kind.list_size if is_packed else None


def _split_folder(folder: Path, split: str | None) -> Path:
    if not folder.is_dir():
        why = "a file, not a folder" if folder.exists() else "no such folder"
        raise ConfigError(f"{folder}: {why}; {WAY_OUT}")
    if not (folder / "state.json").exists() and (folder / "dataset").is_dir():
        folder = folder / "dataset"  # of a run directory
    listed = folder / "dataset_dict.json"
    if not listed.exists():
        if split is not None:
            raise ConfigError(f"{folder}: has no splits; leave --split out")
        return folder
    names = read_json(listed).get("splits")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{listed}: lists no splits; {WAY_OUT}")
    wanted = split or ("train" if "train" in names else next(iter(names), ""))
    if wanted not in names or Path(wanted).name != wanted or wanted == "..":
        raise ConfigError(f"{folder}: no split {wanted!r}; it has {', '.join(names) or 'none'}")
    return folder / wanted


def _files(root: Path) -> Sequence[Path]:
    state = root / "state.json"
    if state.exists():
        entries = read_json(state).get("_data_files")
        names: list[Any] = [e.get("filename") if isinstance(e, dict) else e for e in entries or []]
    else:
        names = sorted(path.name for path in root.glob("*.arrow"))
    if not names:
        raise ConfigError(f"{root}: not a dataset: no state.json and no .arrow files; {WAY_OUT}")
    paths = []
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise ConfigError(f"{state}: {name!r} is no name of a file in this folder; {WAY_OUT}")
        if not (root / name).is_file():
            raise ConfigError(f"{root / name}: no such file, but the dataset lists it")
        paths.append(root / name)
    return paths


def read_json(path: Path) -> dict[str, Any]:
    """A file that describes a dataset; without keys if it describes something else.

    Raises:
        ConfigError: it is not JSON.
    """
    try:
        with path.open("rb") as f:
            data = json.loads(f.read(MOST_STATE_BYTES))
    except (OSError, ValueError) as e:
        raise ConfigError(f"{path}: cannot be read as JSON ({e}); {WAY_OUT}") from None
    return data if isinstance(data, dict) else {}


def _damaged(path: Path, at: int, why: str) -> ConfigError:
    return ConfigError(f"{path}: damaged at byte {at} ({why}); fetch or write it again")
