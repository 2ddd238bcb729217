"""Benchmarks as tables of items: what must not be found in a corpus.

rows --> fields to look for --> their texts --> one row an item: "gsm8k:17", question, answer
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from tokenmill.pipelines.contamination.items.rows import Row, read_rows
from tokenmill.pipelines.contamination.items.spec import Benchmark, Known, find
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.read.columns import ID
from tokenmill.pipelines.storage.inputs import is_outage

ITEM = "item"  # the column of names, the first of a table of items


def read_items(benchmark: Benchmark) -> pa.Table:
    """A row for each item of a benchmark: column `item`, "NAME:ROW" with rows counted from 0 in all
    files, then a text column for each field used, in the order of `benchmark.fields`, of the known
    benchmark (passage, question, choices, answer) or else of the file, but for ids where it has
    others. Lists and structs become their strings, in order, on a line each; null is "". Numbers
    are text only in fields that the benchmark names.
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


def item_texts(items: pa.Table) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts to match of a table of `read_items`: each field, and all of them by lines.

    Returns:
        large_string texts without the empty ones, int64 rows of the table, and int64 columns of it
        (that behind the last is all of them together), of equal length.
    """
    fields = [items.column(i).to_pylist() for i in range(1, items.num_columns)]
    if len(fields) > 1:
        fields.append(["\n".join(texts) for texts in zip(*fields, strict=True)])
    found = [
        (text, row, column)
        for column, texts in enumerate(fields, 1)
        for row, text in enumerate(texts)
        if text
    ]
    texts, rows, columns = zip(*found, strict=True) if found else ((), (), ())
    return (
        pa.array(texts, pa.large_string()),
        pa.array(rows, pa.int64()),
        pa.array(columns, pa.int64()),
    )


def _rows(benchmark: Benchmark) -> list[Row]:
    try:
        return read_rows(benchmark.path)
    except (InputError, ValueError, TypeError, KeyError, OSError) as e:
        if is_outage(e):
            raise
        message = " ".join(str(e).split()).removeprefix(f"{benchmark.path}: ")
        raise ConfigError(f"{_where(benchmark)}: {message}") from e


def _where(benchmark: Benchmark) -> str:
    return f"benchmark {benchmark.name!r}: {benchmark.path}"


def _field_texts(benchmark: Benchmark, rows: list[Row]) -> dict[str, list[str]]:
    """The texts of each field to use, one a row."""
    if benchmark.fields is not None:
        return _named_texts(benchmark, rows)
    known = find(benchmark.name)
    fields = _columns(rows) if known is None else _known_fields(benchmark, known, rows)
    texts = {f: _column(rows, f, numbers=known is not None) for f in fields}
    texts = {f: column for f, column in texts.items() if any(column)}
    if known is None:
        texts = {f: texts[f] for f in texts if not _is_id(f)} or texts
    if not texts:
        raise ConfigError(f"{_where(benchmark)}: no field holds text; {_listed(rows)}")
    return texts


def _named_texts(benchmark: Benchmark, rows: list[Row]) -> dict[str, list[str]]:
    texts = {}
    for field in benchmark.fields or ():
        if not _has(rows, field):
            near = get_close_matches(field, _columns(rows), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(f"{_where(benchmark)}: no field {field!r}; {hint}{_listed(rows)}")
        texts[field] = _column(rows, field, numbers=True)
        if not any(texts[field]):
            raise ConfigError(
                f"{_where(benchmark)}: field {field!r} holds no text; {_listed(rows)}"
            )
    return texts


def _known_fields(benchmark: Benchmark, known: Known, rows: list[Row]) -> tuple[str, ...]:
    """The fields of the first export that the rows have whole, or else but for the answer."""
    for export in known.exports:
        if all(_has(rows, field) for field in export.fields):
            return export.fields
    for export in known.exports:
        if all(_has(rows, field) for field in export.needed):
            return tuple(field for field in export.fields if _has(rows, field))
    forms = " or ".join(dict.fromkeys(", ".join(e.needed) for e in known.exports))
    raise ConfigError(
        f"{_where(benchmark)}: lacks the fields of {known.name} ({forms});"
        f" name those to look for, as {benchmark.name}=PATH:FIELD,FIELD or as `fields` in a"
        f" recipe, or give it a name that is not {known.name} with or without a split behind;"
        f" {_listed(rows)}"
    )


def _is_id(field: str) -> bool:
    """Whether a field names an item, by its name.

    >>> _is_id("question_ID"), _is_id("idea")
    (True, False)
    """
    name = field.casefold()
    return name in ID or name.endswith("_id")


def _columns(rows: list[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row))


def _listed(rows: list[Row]) -> str:
    return f"fields are {', '.join(_columns(rows))}"


def _column(rows: list[Row], field: str, *, numbers: bool) -> list[str]:
    """The text of a field in each row."""
    return [
        "\n".join(s for value in _values(row, field) for s in _strings(value, numbers=numbers))
        for row in rows
    ]


def _has(rows: list[Row], field: str) -> bool:
    return any(True for row in rows for _ in _values(row, field))


def _values(part: Any, field: str) -> Iterator[Any]:
    """What stands in a field: of an object, or of each object of a list."""
    if isinstance(part, list):
        for element in part:
            yield from _values(element, field)
    elif isinstance(part, dict) and field in part:
        yield part[field]
    elif isinstance(part, dict):
        outer, _, inner = field.partition(".")
        if inner and outer in part:
            yield from _values(part[outer], inner)


def _strings(value: Any, *, numbers: bool) -> Iterator[str]:
    """The strings in a value, in order; its numbers too if asked."""
    if isinstance(value, str):
        # JSON can escape half of a surrogate pair, which is no character of any text
        yield value.encode("utf-8", "replace").decode() if not value.isascii() else value
    elif numbers and isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part, numbers=numbers)
