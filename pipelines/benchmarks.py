"""Benchmark files as tables of items: what decontamination must not find in a corpus.

    JSONL, JSON, CSV (each also .gz, .bz2, .zst), Parquet, saved `datasets` folder
        --> rows --> fields flattened to text --> one row an item: "gsm8k:17", question, answer

Benchmarks are small (some thousand items): rows are Python objects here, and nowhere else.
"""

import json
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from pyarrow import fs
from pydantic import Field

from pipelines.config import Config, FilePath
from pipelines.errors import ConfigError, InputError
from pipelines.store import is_outage, open_input, resolve

ITEM = "item"  # the column of names, the first of a table of items
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
STATE = "state.json"  # what `Dataset.save_to_disk` leaves beside its shards
SPLITS = "dataset_dict.json"  # what `DatasetDict.save_to_disk` leaves above its splits

Row = dict[str, Any]


class Benchmark(Config):
    """Items that a model will be tested on.

    name: in receipts and reports, before the item's number: "gsm8k:17".
    path: a JSONL, JSON, CSV or Parquet file, or a folder saved by `datasets`.
    fields: the fields to look for, each by itself and all of them together; None looks for
        every field that holds text.
    """

    name: Annotated[str, Field(pattern=r"^[^\s:]+$")]
    path: FilePath
    fields: Annotated[tuple[str, ...], Field(min_length=1)] | None = None


def read_items(benchmark: Benchmark) -> pa.Table:
    """Read a benchmark's items.

    Returns:
        A row for each item: column `item`, "NAME:ROW" with rows counted from 0, then a text
        column for each field used, in the order of `benchmark.fields` or else of the file.
        Lists and structs become their strings, in order, on a line each; null is "".
        Numbers are text only in fields that the benchmark names.

    Raises:
        ConfigError: the file is not there, cannot be read as what its name says, has no
            items, or lacks a field or its text.
        OSError: the store cannot be reached.
    """
    rows = _rows(benchmark)
    if not rows:
        raise ConfigError(f"{_where(benchmark)}: holds no items; check the path")
    texts = _field_texts(benchmark, rows)
    names = [f"{benchmark.name}:{i}" for i in range(len(rows))]
    return pa.table(
        [pa.array(names, pa.string()), *(pa.array(c, pa.large_string()) for c in texts.values())],
        names=[ITEM, *texts],
    )


def item_texts(items: pa.Table) -> tuple[pa.Array, pa.Array]:
    """The texts to match of a table of `read_items`: each field, and all of them by lines.

    Returns:
        large_string texts without the empty ones, and int64 rows of the table, of equal length.
    """
    fields = [items.column(i).to_pylist() for i in range(1, items.num_columns)]
    together = ["\n".join(texts) for texts in zip(*fields, strict=True)] if len(fields) > 1 else []
    pairs = [(text, row) for texts in (*fields, together) for row, text in enumerate(texts) if text]
    return (
        pa.array([text for text, _ in pairs], pa.large_string()),
        pa.array([row for _, row in pairs], pa.int64()),
    )


def _field_texts(benchmark: Benchmark, rows: list[Row]) -> dict[str, list[str]]:
    """The texts of each field to use, one a row."""
    found = list(dict.fromkeys(name for row in rows for name in row))
    listed = f"fields are {', '.join(found)}"
    named = benchmark.fields is not None
    texts = {}
    for name in benchmark.fields or found:
        if name not in found:
            near = get_close_matches(name, found, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(f"{_where(benchmark)}: no field {name!r}; {hint}{listed}")
        column = ["\n".join(_strings(row.get(name), numbers=named)) for row in rows]
        if any(column):
            texts[name] = column
        elif named:
            raise ConfigError(f"{_where(benchmark)}: field {name!r} holds no text; {listed}")
    if not texts:
        raise ConfigError(f"{_where(benchmark)}: no field holds text; {listed}")
    return texts


def _strings(value: Any, *, numbers: bool) -> Iterator[str]:
    """The strings in a value, in order; its numbers too if asked."""
    if isinstance(value, str):
        yield value
    elif numbers and isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part, numbers=numbers)


def _where(benchmark: Benchmark) -> str:
    return f"benchmark {benchmark.name!r}: {benchmark.path}"


def _rows(benchmark: Benchmark) -> list[Row]:
    try:
        return _read(benchmark.path)
    except (InputError, ValueError, TypeError, OSError) as e:
        if is_outage(e):
            raise
        message = " ".join(str(e).split()).removeprefix(f"{benchmark.path}: ")
        raise ConfigError(f"{_where(benchmark)}: {message}") from e


def _read(path: str) -> list[Row]:
    store, where = resolve(path)
    if store.get_file_info(where).type == fs.FileType.Directory:
        return _saved_dataset(path.rstrip("/"), store, where)
    name = PurePosixPath(path)
    compression = COMPRESSIONS.get(name.suffix)
    form = name.with_suffix("").suffix if compression else name.suffix
    if form not in _READERS:
        raise ValueError(f"cannot tell its format; its name must end in {', '.join(_READERS)}")
    with open_input(path) as file:
        stream = pa.CompressedInputStream(file, compression) if compression else file
        return _READERS[form](stream.read())


def _jsonl(data: bytes) -> list[Row]:
    rows = []
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as e:
            raise ValueError(f"line {number} is not JSON: {e}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is not a JSON object")
        rows.append(row)
    return rows


def _json(data: bytes) -> list[Row]:
    """A list of objects, or an object that holds one; some files of this name are JSON Lines."""
    try:
        value = json.loads(data)
    except ValueError as e:
        if str(e).startswith("Extra data"):
            return _jsonl(data)
        raise ValueError(f"not JSON: {e}") from None
    lists = [value] if isinstance(value, list) else []
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) != 1 or not all(isinstance(row, dict) for row in lists[0]):
        raise ValueError(f"holds {len(lists)} lists of objects; it must hold one list of objects")
    return lists[0]


def _parquet(data: bytes) -> list[Row]:
    rows: list[Row] = pq.read_table(pa.BufferReader(data)).to_pylist()
    return rows


def _csv(data: bytes) -> list[Row]:
    if not data.strip():
        return []
    whole = pacsv.ParseOptions(newlines_in_values=True)
    rows: list[Row] = pacsv.read_csv(pa.BufferReader(data), parse_options=whole).to_pylist()
    return rows


_READERS: dict[str, Callable[[bytes], list[Row]]] = {
    ".jsonl": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}


def _saved_dataset(path: str, store: fs.FileSystem, where: str) -> list[Row]:
    if store.get_file_info(f"{where}/{STATE}").type != fs.FileType.File:
        if store.get_file_info(f"{where}/{SPLITS}").type != fs.FileType.File:
            raise ValueError(f"is a folder without {STATE}; name a file, or a saved dataset")
        splits = json.loads(_bytes(f"{path}/{SPLITS}")).get("splits", [])
        raise ValueError(
            f"has splits; name one: {', '.join(f'{path}/{split}' for split in splits)}"
        )
    state = json.loads(_bytes(f"{path}/{STATE}"))
    rows: list[Row] = []
    for shard in state["_data_files"]:
        with open_input(f"{path}/{shard['filename']}") as file:
            rows += pa.ipc.open_stream(file).read_all().to_pylist()
    return rows


def _bytes(path: str) -> bytes:
    with open_input(path) as file:
        data: bytes = file.read()
        return data
