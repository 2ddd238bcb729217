"""CSV and TSV: a document a row, a file a shard; columns by the header, or as `header` names them.

Fields of a CSV stand between commas; where its first line has none, between semicolons, tabs or
bars.
Those of a TSV have no quotes (text/tab-separated-values, as registered with IANA) but where the
recipe says so, or the file's beginning is as writers of CSV make it.

    blocks ── read_lines ──► lines ── csv.reader ──► rows ──► ReadBatch

A line end may stand between quotes, so that only reading from the beginning tells where rows are.
"""

import contextlib
import csv
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, tee
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read import stream
from tokenmill.pipelines.read.batch import Failure, ReadBatch, make_batch, text_array
from tokenmill.pipelines.read.beside import with_beside
from tokenmill.pipelines.read.columns import Piece, find_columns
from tokenmill.pipelines.read.lines import MOST_VALUES, LostLine, read_lines
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.text import BOM, to_utf8

DAMAGED = "damaged_csv"
# by format, the likeliest first: see `delimiter_of`
DELIMITERS = {"csv": (",", ";", "\t", "|"), "tsv": ("\t",)}
OLD_LINES = "new-line character seen"  # as it says of line ends that are \r alone
UNENDED = "unexpected end of data"  # as the csv module says of quotes that do not end
QUOTE = '"'
BEGINNING = 4 << 20  # characters of a TSV that tell whether its fields stand between quotes
LIKE_ROWS = 0.8  # of the lines between two quotes, if these are no quotes of a field; our choice
MOST_ROWS = 10  # lines that are rows themselves which quotes may hold, if they hold nothing else


class Row(NamedTuple):
    """cause: why it is no document, "" of one that is.  fields: of the header's columns."""

    fields: Sequence[str]
    cause: str = ""
    message: str = ""


class _Lines:
    """Lines as the csv module takes them, and what was met since a row began.

    mark: between fields.  number: of the line at hand, from 1.  first: of the row in progress.
    n_bytes: of that row, which must not be endless.  odd: the way out, if some of it is not UTF-8.
    n_columns: of the header.  alike: lines behind the row's first with so many fields.
    """

    def __init__(self, blocks: Iterator[list[bytes]], most: int) -> None:
        csv.field_size_limit(max(most, csv.field_size_limit()))  # of the whole process
        self._lines = read_lines(blocks, start=0, stop=None, max_bytes=most)
        self.mark, self._most = b",", most
        self.number = self.n_columns = 0
        self.begin()

    def begin(self) -> None:
        self.n_bytes, self.odd = 0, ""
        self.first, self.alike, self._last_alike = self.number + 1, 0, False

    @property
    def where(self) -> str:
        """The lines of the row at hand."""
        if self.number <= self.first:
            return f"line {self.number}"
        return f"lines {self.first} to {self.number}"

    @property
    def holds_rows(self) -> bool:
        """Whether all lines between the first and the last, and they are many, look like rows."""
        within = self.number - self.first - 1
        return within > MOST_ROWS and self.n_columns > 1 and self.alike - self._last_alike == within

    def __iter__(self) -> Iterator[str]:
        for group in self._lines:
            if isinstance(group, LostLine):
                cause = DAMAGED if group.cause.startswith("too_") else group.cause
                raise stream.DamagedError(cause, group.message)
            for _, line in group.pairs():
                yield self._line(line.removeprefix(BOM) if not self.number else line)

    def _line(self, line: bytes) -> str:
        self.number += 1
        self.n_bytes += len(line) + 1
        n_marks = line.count(self.mark)
        self._last_alike = self.number > self.first and n_marks + 1 == self.n_columns
        self.alike += self._last_alike
        if self.n_bytes > self._most or n_marks > MOST_VALUES:
            raise stream.DamagedError(
                DAMAGED, f"the row of line {self.first} does not end before line {self.number}"
            )
        try:
            return f"{line.decode()}\n"
        except UnicodeDecodeError:
            self.odd = to_utf8(line)
            return f"{line.decode(errors='replace')}\n"


def delimiter_of(
    first: str, form: str, header: Sequence[str] = (), quote: str | None = None
) -> str:
    """What stands between fields, by the first line of a file.

    header, quote: as `SourceShard` has them. With a header that is a row of text, in which other
    marks may stand too: the first that makes as many fields, if one does.
    """
    marks = [mark for mark in DELIMITERS[form] if mark in first] or DELIMITERS[form]
    fit = [m for m in marks if header and _n_fields(first, m, quote) == len(header)]
    return (fit or marks)[0]


def _n_fields(line: str, mark: str, quote: str | None) -> int:
    """0 of a line that is none, as of a file whose line ends are \\r alone."""
    try:
        return len(next(csv.reader([line], delimiter=mark, **_quoting(quote))))
    except csv.Error:
        return 0


def _quoting(quote: str | None) -> dict[str, Any]:
    none = {"quoting": csv.QUOTE_NONE} if quote == "" else {}
    return {"quotechar": quote or QUOTE, **none}


def rows_of(
    blocks: Iterator[list[bytes]],
    form: str,
    most: int,
    quote: str | None = None,
    header: Sequence[str] = (),
) -> Iterator[Row]:
    """The rows of a file, the header first; blank lines are no rows.

    most: bytes of a row.  quote, header: as `SourceShard` has them.
    DamagedError: what follows cannot be told; all before it was yielded.
    """
    lines = _Lines(blocks, most)
    if header:
        lines.n_columns = len(header)
        yield Row(header)
    text = iter(lines)
    first = next(text, "")
    delimiter = delimiter_of(first, form, header, quote)
    lines.mark = delimiter.encode()
    whole = chain([first], text)
    reader = csv.reader(whole, delimiter=delimiter, strict=True, **_quoting(quote))
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as e:
            yield _bad_row(e, lines, form)
        else:
            if fields is None:
                return
            lines.n_columns = lines.n_columns or len(fields)
            if fields:
                yield _row(fields, lines, form, quote)
        lines.begin()


def _bad_row(error: csv.Error, lines: _Lines, form: str) -> Row:
    """What the csv module took for none; raises where it goes on to the end of the file."""
    if UNENDED in str(error):
        raise stream.DamagedError(
            DAMAGED, f"{lines.where}: a quote begins a field and none ends it; {_NO_QUOTES}"
        ) from None
    old = OLD_LINES in str(error)
    why = "line ends are \\r alone; write them as \\n" if old else str(error)
    return Row((), f"invalid_{form}", f"{lines.where}: {why}")


_NO_QUOTES = "double it, or say quote: '' in the recipe if no field stands between quotes"


def _row(fields: list[str], lines: _Lines, form: str, quote: str | None) -> Row:
    cause, why = f"invalid_{form}", ""
    if lines.odd:
        cause, why = "invalid_utf8", f"not UTF-8; {lines.odd}"
    elif len(fields) != lines.n_columns:
        why = f"{len(fields)} fields, and the header has {lines.n_columns}"
        if quote == "" and any(field.startswith(QUOTE) for field in fields):
            why += f"; if fields stand between quotes, say quote: '{QUOTE}' in the recipe"
    elif quote is None and lines.holds_rows:
        why = f"between two quotes stand {lines.number - lines.first - 1:,} lines that are rows"
        why += f" themselves; {_NO_QUOTES}, or quote: '{QUOTE}' if they are one field"
    return Row(fields, cause, f"{lines.where}: {why}") if why else Row(fields)


def uses_quotes(blocks: Iterator[list[bytes]], most: int) -> bool:
    """Whether the beginning of a TSV is as writers of CSV make it, which quote what needs it.

    Every row must be one: with the header's number of fields, those that hold a quote between
    quotes and it doubled, and its lines, where it has several, not rows by themselves. And some
    field needs its quotes, for a quote, a tab or a line end in it, or all of the header stand
    between them.

    blocks: of the file, from its first byte.  most: bytes of a row.
    """
    lines = _Lines(blocks, most)
    row: list[str] = []  # lines of the one at hand
    n_columns, used = 0, False
    try:
        for fields in csv.reader(_begun(lines, row), delimiter="\t", strict=True):
            if not n_columns:
                n_columns, used = len(fields), "".join(row).count(QUOTE) == 2 * len(fields)
            if fields and not _is_written(fields, row, n_columns):
                return False
            used = used or any(mark in field for field in fields for mark in (QUOTE, "\t", "\n"))
            row.clear()
            lines.begin()
    except csv.Error as e:  # where the beginning, or a sample of a file, ends within a row
        return used and UNENDED in str(e) and not _are_rows(row, n_columns)
    except stream.DamagedError:
        return used and not _are_rows(row, n_columns)
    return used


def _begun(lines: _Lines, row: list[str]) -> Iterator[str]:
    """Lines of the beginning, each put into `row` too."""
    n_read = 0
    for line in lines:
        n_read += len(line)
        row.append(line)
        if n_read > BEGINNING:
            return
        yield line


def _is_written(fields: Sequence[str], row: Sequence[str], n_columns: int) -> bool:
    """Whether lines are as a writer of CSV makes the fields that were read from them."""
    whole, held = "".join(row), [field for field in fields if QUOTE in field]
    between = all(f'"{field.replace(QUOTE, 2 * QUOTE)}"' in whole for field in held)
    return between and len(fields) == n_columns and not _are_rows(row, n_columns)


def _are_rows(lines: Sequence[str], n_columns: int) -> bool:
    """Whether lines, which quotes hold together, are rows by themselves, or nearly all are."""
    n_rows = sum(line.count("\t") + 1 == n_columns for line in lines)
    return n_rows > 1 and n_rows >= LIKE_ROWS * len(lines)


def _is_quoted(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == QUOTE


def cut_delimited(
    file: InputFile, wanted: Input, _: int, limits: Limits, *, form: str
) -> list[Piece]:
    """Find columns by the header, in one piece; InputError ("missing_column"): not there."""
    compression, damage, size = stream.compression_of(file.name), "", file.bytes
    quote, most = wanted.quote, limits.max_document_bytes
    try:
        with contextlib.closing(stream.read_blocks(file.path, compression, limits=limits)) as read:
            blocks, again = tee(read)
            if quote is None and form == "tsv":
                quote = None if uses_quotes(blocks, most) else ""
            rows = rows_of(again, form, most, quote, wanted.header)
            header = first = next(rows, Row(()))
            if wanted.header:
                first = next(rows, first)
    except stream.DamagedError as e:
        raise InputError(f"{file.path}: {e}", cause=e.cause) from None
    if first.cause and (first is header or first.cause == "invalid_utf8"):
        raise InputError(f"{file.path}: {first.message}", cause=first.cause)
    if compression is not None:
        ratio, damage = stream.expansion_ratio(file.path, compression, limits)
        size = int(size * ratio)
    if quote == "" and header.fields and all(map(_is_quoted, header.fields)):
        why = f"the header stands between quotes; say quote: '{QUOTE}' in the recipe"
        raise InputError(f"{file.path}: line 1: {why}", cause=f"invalid_{form}")
    try:
        columns = find_columns(dict.fromkeys(header.fields, False), wanted, file.path)
    except InputError as e:
        if wanted.header or wanted.text is not None or e.cause != "missing_column":
            raise
        raise InputError(f"{e}, or header: [NAME, …] if line 1 is a row", cause=e.cause) from None
    if columns.images is not None:
        why = f"images in column {columns.images!r} of a {form.upper()} are not read"
        way = "write it as Parquet or JSON Lines, or leave out images"
        raise InputError(f"{file.path}: {why}; {way}", cause="no_images")
    return [Piece(columns, 0, None, bytes=size, damage=damage, quote=quote)]


def read_delimited(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    limits = how.limits
    blocks = stream.read_blocks(shard.paths[0], shard.compression, limits=limits, run=how.run)
    with contextlib.closing(blocks):
        most = limits.max_document_bytes
        rows = rows_of(blocks, shard.format, most, shard.quote, shard.header)
        yield from _batches(shard, rows)


def _batches(shard: SourceShard, rows: Iterator[Row]) -> Iterator[ReadBatch]:
    at: dict[str, int] = {}
    held: list[Row] = []
    row = size = 0
    try:
        at = {name: i for i, name in reversed(list(enumerate(next(rows, Row(())).fields)))}
        for found in rows:
            held.append(found)
            size += sum(map(len, found.fields))
            if len(held) >= BATCH_DOCS or size >= BATCH_BYTES:
                yield _batch(shard, at, held, row)
                row, held, size = row + len(held), [], 0
    except stream.DamagedError as e:
        held.append(Row((), e.cause, str(e)))
    if held:
        yield _batch(shard, at, held, row)


def _batch(shard: SourceShard, at: dict[str, int], rows: Sequence[Row], first: int) -> ReadBatch:
    name = shard.names[0]
    good = [i for i, row in enumerate(rows) if not row.cause]
    failures = [
        Failure(first + i, f"{name}#{first + i}", row.cause, f"{shard.paths[0]} {row.message}")
        for i, row in enumerate(rows)
        if row.cause
    ]

    def column(path: str) -> list[Any]:
        return [rows[i].fields[at[path]] or None for i in good]

    own = column(shard.id) if shard.id else [None] * len(good)
    ids = [f"{name}#{first + i}" if v is None else v for i, v in zip(good, own, strict=True)]
    named = zip(*map(column, shard.texts or (shard.text,)), strict=True)
    parts = [[field for field in fields if field] for fields in named]
    texts = [(shard.join or "").join(part) for part in parts]
    quoted = sum(any(map(_is_quoted, part)) for part in parts) if shard.quote == "" else 0
    batch = make_batch(
        shard.ordinal,
        first + np.array(good, np.int64),
        ids=pa.array(ids, pa.string()),
        urls=pa.array(column(shard.url), pa.string()) if shard.url else None,
        texts=text_array(texts),
        failures=failures,
    )
    batch = batch._replace(notes={"texts_between_quotes": quoted} if quoted else None)
    return with_beside(batch, shard, column)


cut_csv, cut_tsv = (partial(cut_delimited, form=form) for form in DELIMITERS)
