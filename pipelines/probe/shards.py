"""The record batches of a dataset: where they lie in which files, and their token ids.

Files are untrusted: what an Arrow header claims is checked against the file before it is used.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import Place
from tokenmill.pipelines.probe.medium import WAY_OUT, Medium, medium_of, read_json
from tokenmill.pipelines.read.stream import one_line
from tokenmill.pipelines.storage import ipc

IDS, SPLITS = "input_ids", "dataset_dict.json"
SCANS = 16  # files whose headers are read at once
WIDTHS = {"uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint8": 1, "int16": 2}


def silent(_: str) -> None:
    """Say nothing of what is being done."""


class BatchPlace(NamedTuple):
    """A record batch: the file's number, bytes [start, stop) of it, rows."""

    file: int
    start: int
    stop: int
    rows: int


@dataclass(frozen=True)
class Shards:
    """A dataset's files and record batches.

    files: names in `medium`.  sizes: bytes of each.  dtype: of a token id.  seq_len: tokens of a
    row; None where a row is a document.
    """

    medium: Medium
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    batches: tuple[BatchPlace, ...]
    dtype: str
    seq_len: int | None

    @property
    def bytes(self) -> int:
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


def open_dataset(folder: Place, split: str | None = None) -> Shards:
    """Find the record batches of a dataset from their headers; no ids but of the first are read.

    folder: a saved dataset, a run directory, or a folder of Arrow files; or a prefix of a bucket.
    split: where there are several; "train" without one.
    ConfigError: no dataset is there, or one of its files is not what it should be.
    """
    root = _split_folder(medium_of(folder), split)
    files = _files(root)
    with ThreadPoolExecutor(SCANS if len(files) > 1 else 1) as pool:  # of a bucket, all are waits
        scanned = list(pool.map(lambda i: _scan(root, i, files[i]), range(len(files))))
    kinds = {kind for kind, _ in scanned}
    batches = [place for _, places in scanned for place in places]
    if len(kinds) > 1:
        raise ConfigError(f"{root}: files differ in their {IDS}: {sorted(map(str, kinds))}")
    if not any(batch.rows for batch in batches):
        raise ConfigError(f"{root}: the dataset has no rows; there is nothing to read")
    dtype, seq_len = kinds.pop()
    sizes = tuple(root.size(name) for name in files)
    filled = tuple(batch for batch in batches if batch.rows)
    return Shards(root, tuple(files), sizes, filled, dtype, seq_len)


def batch_ids(whole: pa.Buffer, place: BatchPlace, schema: pa.Schema, path: str) -> BatchIds:
    """The ids of a record batch, without copying them out of what holds it.

    whole: the file, or a part of it in which `place` lies.  path: of the file, for errors.
    ConfigError: the batch is damaged or compressed.
    """
    try:
        message = pa.ipc.read_message(whole.slice(place.start, place.stop - place.start))
        ipc.check_message(message)
        column = pa.ipc.read_record_batch(message, schema).column(IDS)
        column.validate()
    except (pa.ArrowException, OSError, ValueError) as e:
        raise damaged(path, place.start, one_line(e)) from None
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
            raise damaged(path, place.start, f"{len(column)} rows in {len(ids)} ids")
        return BatchIds(ids, None, at)
    offsets = np.asarray(column.offsets)
    if offsets[0] < 0 or offsets[-1] > len(ids) or (np.diff(offsets) < 0).any():
        raise damaged(path, place.start, "offsets of rows lie outside the ids")
    return BatchIds(ids, offsets, at)


def read_schema(medium: Medium, name: str) -> pa.Schema:
    """The schema of an Arrow IPC file or stream; ConfigError where it is none."""
    if medium.size(name) == 0:
        raise ConfigError(f"{medium}/{name}: has 0 bytes; fetch or write it again")
    try:
        with medium.opened(name) as handle:
            return ipc.read_schema(handle)
    except (pa.ArrowException, OSError, EOFError) as e:
        why = f"{medium}/{name}: not an Arrow IPC file or stream ({one_line(e)}); {WAY_OUT}"
        raise ConfigError(why) from None


def _scan(
    medium: Medium, number: int, name: str
) -> tuple[tuple[str, int | None], list[BatchPlace]]:
    """What kind of ids a file has, and its record batches."""
    path, schema = f"{medium}/{name}", read_schema(medium, name)
    kind = _kind(schema, path)
    places: list[BatchPlace] = []
    with medium.opened(name) as handle:
        try:
            for message in ipc.messages(handle):
                if message.kind == ipc.DICTIONARY:
                    raise ConfigError(
                        f"{path}: has dictionary-encoded columns; write it again without them"
                    )
                if message.kind == ipc.BATCH:
                    places.append(BatchPlace(number, message.start, message.stop, message.rows))
        except ipc.CutShortError as e:
            raise damaged(path, e.start, str(e)) from None
    if places:
        first = places[0]
        whole = medium.part(name, first.start, first.stop)
        batch_ids(whole, first._replace(start=0, stop=first.stop - first.start), schema, path)
    return kind, places


def _kind(schema: pa.Schema, path: str) -> tuple[str, int | None]:
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


def _split_folder(folder: Medium, split: str | None) -> Medium:
    folder.check()
    if not folder.holds("state.json") and folder.has_below("dataset"):
        folder = folder.below("dataset")  # of a run directory
    if not folder.holds(SPLITS):
        if split is not None:
            raise ConfigError(f"{folder}: has no splits; leave --split out")
        return folder
    names = read_json(folder, SPLITS).get("splits")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{folder}/{SPLITS}: lists no splits; {WAY_OUT}")
    wanted = split or ("train" if "train" in names else next(iter(names), ""))
    if wanted not in names or not _is_name(wanted):
        raise ConfigError(f"{folder}: no split {wanted!r}; it has {', '.join(names) or 'none'}")
    return folder.below(wanted)


def _files(root: Medium) -> Sequence[str]:
    if listed := root.holds("state.json"):
        entries = read_json(root, "state.json").get("_data_files")
        names: list[Any] = [e.get("filename") if isinstance(e, dict) else e for e in entries or []]
    else:
        names = [name for name in root.names() if name.endswith(".arrow")]
    if not names:
        raise ConfigError(f"{root}: not a dataset: no state.json and no .arrow files; {WAY_OUT}")
    for name in names:
        if not isinstance(name, str) or not _is_name(name):
            raise ConfigError(
                f"{root}/state.json: {name!r} is no name of a file in this folder; {WAY_OUT}"
            )
        if listed and not root.holds(name):
            raise ConfigError(f"{root}/{name}: no such file, but the dataset lists it")
    return names


def _is_name(name: str) -> bool:
    return PurePosixPath(name).name == name and name not in ("", "..")


def damaged(path: str, at: int, why: str) -> ConfigError:
    """What to say of a file that is not what it should be at a byte."""
    return ConfigError(f"{path}: damaged at byte {at} ({why}); fetch or write it again")
