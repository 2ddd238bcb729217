"""The bytes of a benchmark file as rows, whatever form its makers gave it.

    JSON Lines, JSON, CSV, Parquet --> objects --> one row a question

Besides lists of rows: SQuAD's articles of paragraphs of questions, DROP's passages of
questions, BIG-Bench Hard's {"examples": […]}, MATH's file an item, MMLU's CSV without header.
Benchmarks are small (some thousand items): rows are Python objects here, and nowhere else.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

Row = dict[str, Any]

# lists of objects that are the rows: of SQuAD's articles, of their paragraphs, of DROP's passages
NESTED = ("paragraphs", "qas", "qa_pairs")
MMLU_COLUMNS = ["question", "A", "B", "C", "D", "answer"]


def one_a_question(rows: Iterable[Row]) -> list[Row]:
    """Rows of many questions as a row for each, which has what they share too."""
    return [question for row in rows for question in _questions(row)]


def _questions(row: Row) -> Iterator[Row]:
    for key in NESTED:
        parts = _rows_in(row.get(key))
        if not parts or (key == "paragraphs" and "qas" not in parts[0]):
            continue
        shared = {k: v for k, v in row.items() if k != key}
        for part in parts:
            yield from _questions({**shared, **part})
        return
    if not any(row.get(key) == [] for key in NESTED[1:]):  # a passage that nobody asked about
        yield row


def _rows_in(value: Any) -> list[Row]:
    """The rows that a value is a list of; [] if it is anything else."""
    rows: list[Row] = value if isinstance(value, list) else []
    return rows if all(isinstance(row, dict) for row in rows) else []


def read_jsonl(data: bytes) -> list[Row]:
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


def read_json(data: bytes) -> list[Row]:
    """A list of objects, an object that holds one, or an item; some such files are JSON Lines."""
    try:
        value = json.loads(data)
    except ValueError as e:
        if str(e).startswith("Extra data"):
            return read_jsonl(data)
        raise ValueError(f"not JSON: {e}") from None
    if isinstance(value, dict):
        return _object(value)
    rows = _rows_in(value)
    if value != rows:
        raise ValueError("is JSON but no list of objects, nor an object that holds one")
    return rows


def _object(value: dict[str, Any]) -> list[Row]:
    parts = list(value.values())
    lists = [part for part in map(_rows_in, parts) if part]
    if len(lists) == 1:
        return lists[0]
    if all(isinstance(part, dict) and "qa_pairs" in part for part in parts):
        return parts
    if not lists and any(isinstance(part, str) for part in parts):
        return [value]
    if parts and not lists and all(isinstance(part, list | dict) for part in parts):
        raise ValueError(
            "is written by columns; write it by rows, in pandas to_json(orient='records')"
        )
    raise ValueError(f"holds {len(lists)} lists of objects; it must hold one list of objects")


def read_parquet(data: bytes) -> list[Row]:
    rows: list[Row] = pq.read_table(pa.BufferReader(data)).to_pylist()
    return rows


def read_csv(data: bytes) -> list[Row]:
    if not data.strip():
        return []
    mmlu = _headless_mmlu(data)
    if mmlu is not None:
        return mmlu
    whole = pacsv.ParseOptions(newlines_in_values=True)
    rows: list[Row] = pacsv.read_csv(pa.BufferReader(data), parse_options=whole).to_pylist()
    return rows


def _headless_mmlu(data: bytes) -> list[Row] | None:
    """Rows of a CSV as MMLU publishes it, known by its sixth and last column of A to D."""
    rows = []
    try:
        for cells in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")):
            if len(cells) != len(MMLU_COLUMNS) or cells[-1] not in {"A", "B", "C", "D"}:
                return None
            rows.append(dict(zip(MMLU_COLUMNS, cells, strict=True)))
    except csv.Error:  # a field over 128 KiB
        return None
    return rows


READERS: dict[str, Callable[[bytes], list[Row]]] = {
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
