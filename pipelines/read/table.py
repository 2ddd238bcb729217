"""Documents from the columns of a table: what Parquet and Arrow files have in common.

Where the recipe has images and the input names a column of them, documents come with their images.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import (
    Failure,
    Lost,
    ReadBatch,
    SourceDocument,
    batch_of,
    make_batch,
    named_places,
)
from tokenmill.pipelines.read.beside import inside, laid_flat, raw_bytes, with_beside, with_paths
from tokenmill.pipelines.read.columns import (
    BYTES,
    holds_bytes,
    is_listed,
    refuse_unknown,
    turns_in,
)
from tokenmill.pipelines.read.images import documents as illustrated
from tokenmill.pipelines.read.images import layouts
from tokenmill.pipelines.read.images.folder import Folder, Place, unsigned
from tokenmill.pipelines.read.images.layouts import Value
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Limits, Reading
from tokenmill.pipelines.read.stream import DamagedError, UnreadableError, one_line
from tokenmill.pipelines.read.weights import VIEWS, in_bounds, text_lengths

OF_SAMPLES = (*illustrated.SIDES, illustrated.STATUS, illustrated.ERROR)
LOOKED_AT = 16  # rows, for the layout of texts and images, before a run
LOOKED_AT_ROWS = 2**20  # at a time, of a record batch that may claim any number
# What a damaged table meets: where it is read, and where its columns are looked at.
TABLE_ERRORS = (DamagedError, pa.ArrowException)


def table_batches(
    shard: SourceShard, tables: Iterator[pa.RecordBatch], how: Reading
) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's record batches; where they break off, that is the last."""
    if how.images is not None and shard.images is not None:
        folder = Folder(shard, how.images)
        documents = _illustrated(shard, tables, how.limits, folder)
        yield from illustrated.batches(shard, documents, how.images)
        return
    row, joined = 0, () if shard.join is None else shard.texts or (shard.text,)
    try:
        for table in tables:
            for part in in_bounds(with_paths(table, shard), joined):
                for batch in _batches(
                    shard, laid_flat(part, shard, table.schema.names), row, how.limits
                ):
                    yield batch
                    row += batch.rows
    except TABLE_ERRORS as e:
        yield batch_of(shard.ordinal, [_broken_off(shard, row, e)])


def image_columns(shard: SourceShard) -> list[str]:
    """Names of the columns that documents with images are made of, whether a table has them."""
    named = [*shard.asked, *filter(None, [shard.images])]
    return list(dict.fromkeys([*named, illustrated.METADATA, illustrated.GENERAL, *OF_SAMPLES]))


def _batches(
    shard: SourceShard, table: pa.RecordBatch, row: int, limits: Limits
) -> Iterator[ReadBatch]:
    """The rows of a record batch as documents, in batches of bounded size; row: of the first."""
    beside = [n for n in shard.asked if n != shard.text or n in (shard.id, shard.url)]
    for first in range(0, table.num_rows, LOOKED_AT_ROWS):
        some = table.slice(first, LOOKED_AT_ROWS)
        text = some[shard.text]
        text.validate()
        if pa.types.is_dictionary(text.type) or text.type in VIEWS:
            raw_bytes(text).validate(full=True)
        sizes = text_lengths(text)
        for start, stop in _ranges(np.minimum(sizes, limits.max_document_bytes + 1)):
            for part in in_bounds(some.slice(start, stop - start), beside):
                stop = start + part.num_rows
                yield _documents(shard, part, sizes[start:stop], row, limits)
                row, start = row + part.num_rows, stop


def _broken_off(shard: SourceShard, row: int, error: BaseException) -> SourceDocument:
    """The document that a table breaks off at, one of `TABLE_ERRORS` being met."""
    number = shard.first_row + row
    cause = error.cause if isinstance(error, DamagedError) else f"damaged_{shard.format}"
    message = f"{shard.paths[0]} row {number}: {one_line(error)}"
    return SourceDocument(row, f"{shard.names[0]}#{number}", lost=Lost(cause, message))


def _documents(
    shard: SourceShard, table: pa.RecordBatch, sizes: I64, row: int, limits: Limits
) -> ReadBatch:
    text = table[shard.text]
    if not pa.types.is_dictionary(text.type):
        raw_bytes(text).validate(full=True)  # a damaged file's offsets would crash what comes next
    rows = np.arange(row, row + len(text), dtype=np.int64)
    reasons: dict[int, tuple[str, str]] = {}  # by index: (reason, message)
    for i in np.flatnonzero(_nulls(text)):
        reasons[int(i)] = ("missing_text", f"{shard.text!r} is null")
    for i in np.flatnonzero(sizes > limits.max_document_bytes):
        reasons[int(i)] = (
            "too_large",
            f"a text of {sizes[i]} bytes, limits.max_document_bytes is {limits.max_document_bytes}",
        )
    good = np.delete(np.arange(len(text)), sorted(reasons))
    texts = _large_strings(_taken(text, good) if reasons else text)
    if texts is None:
        reasons |= {i: v for i, v in _not_utf8(text).items() if i not in reasons}
        good = np.delete(np.arange(len(text)), sorted(reasons))
        texts = _plain(_taken(text, good)).cast(pa.large_string())
    ids = _row_ids(shard, table, row)
    urls = strings(table[shard.url]) if shard.url else None
    failures = [
        Failure(
            int(rows[i]),
            ids[i].as_py(),
            reason,
            f"{shard.paths[0]} row {shard.first_row + int(rows[i])}: {message}",
            int(sizes[i]),
            None if urls is None else urls[i].as_py(),
        )
        for i, (reason, message) in sorted(reasons.items())
    ]
    if reasons:
        rows, ids = rows[good], ids.take(good)
        urls = urls.take(good) if urls is not None else None
    batch = make_batch(shard.ordinal, rows, ids=ids, urls=urls, texts=texts, failures=failures)
    return with_beside(
        batch, shard, lambda path: table[path].take(good) if reasons else table[path]
    )


def _large_strings(text: pa.Array) -> pa.Array | None:
    """The texts as large_string, or None if some are not UTF-8."""
    try:
        text = _plain(text)
        text.validate(full=True)
        return text.cast(pa.large_string())
    except pa.ArrowInvalid:
        return None


def _taken(text: pa.Array, rows: I64) -> pa.Array:
    """Some texts, of views too, of which Arrow takes none."""
    if text.type not in VIEWS:
        return text.take(rows)
    return pa.concat_arrays([text.slice(0, 0), *(text.slice(int(i), 1) for i in rows)])


def _nulls(column: pa.Array) -> Bools:
    """(n_docs,) whether a value is null, be it only in its dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary.is_valid().take(column.indices)
        return ~np.asarray(pc.fill_null(column, False))
    return np.asarray(column.is_null()) if column.null_count else np.zeros(len(column), np.bool_)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _not_utf8(text: pa.Array) -> dict[int, tuple[str, str]]:
    bad = {}
    for i, value in enumerate(raw_bytes(text)):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError as e:
            bad[i] = ("invalid_utf8", f"byte {e.start} of the text: {e.reason}")
    return bad


def _row_ids(shard: SourceShard, table: pa.RecordBatch, row: int) -> pa.Array:
    """(n_docs,) string: the table's own ids, else "name#row of the file"."""
    own = strings(table[shard.id]) if shard.id else None
    if own is not None and own.null_count == 0:
        return own
    first = shard.first_row + row
    made = named_places(shard.names[0], np.arange(first, first + table.num_rows))
    return made if own is None else pc.coalesce(own, made)


def strings(column: pa.Array) -> pa.Array:
    """Any column as strings; bytes that are not UTF-8 come as U+FFFD."""
    try:
        column.validate(full=True)
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        values = raw_bytes(column)
        values.validate(full=True)
        return pa.array([None if v is None else _shown(v) for v in values.to_pylist()], pa.string())


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _ranges(sizes: I64) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of at most `BATCH_DOCS` rows and, but for one row, `BATCH_BYTES`."""
    ends = np.cumsum(sizes)
    start, done = 0, 0
    while start < len(sizes):
        stop = int(np.searchsorted(ends, done + BATCH_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_DOCS, len(sizes))
        yield start, stop
        start, done = stop, int(ends[stop - 1])


def _illustrated(
    shard: SourceShard, tables: Iterator[pa.RecordBatch], limits: Limits, folder: Folder
) -> Iterator[SourceDocument]:
    row = 0
    try:
        for table in tables:
            for part in _parts(with_paths(table, shard), shard):
                for raw, lost in _raws(shard, part, row, limits):
                    yield illustrated.document_of(raw, lost, shard.captions, folder)
                    row += 1
    except TABLE_ERRORS as e:
        yield _broken_off(shard, row, e)


def _parts(table: pa.RecordBatch, shard: SourceShard) -> Iterator[pa.RecordBatch]:
    """Rows at a time that are small enough to be made Python objects, images' bytes aside."""
    names = [n for n in image_columns(shard) if n in table.schema.names]
    for name in names:
        table[name].validate()  # to measure a damaged one would crash
    mean_bytes = sum(table[n].nbytes for n in names if n != shard.images) / max(table.num_rows, 1)
    rows = int(min(max(BATCH_BYTES / max(mean_bytes, 1.0), 1), BATCH_DOCS))
    for start in range(0, table.num_rows, rows):
        yield from in_bounds(table.slice(start, rows), names)


def check_layout(
    shard: SourceShard, tables: Iterator[pa.RecordBatch], kind: pa.DataType | None, limits: Limits
) -> None:
    """Look whether texts and images of some first rows fit; what is damaged the run will tell.

    kind: of the column of images. Where it holds their bytes, nothing is looked at.
    InputError: those of none do ("unknown_layout").
    """
    problems = []
    try:
        table = None if kind is None or holds_bytes(kind) else next(tables, None)
        part = None if table is None else next(_parts(with_paths(table, shard), shard), None)
        rows = () if part is None else _raws(shard, part.slice(0, LOOKED_AT), 0, limits)
        for raw, lost in rows:
            problem = lost or illustrated.layout_problem(raw)
            if problem is None or problem.cause != "unequal_lists":
                return
            problems.append(problem.detail)
    except (*TABLE_ERRORS, InputError, OSError):
        return
    if problems:
        refuse_unknown(shard.paths[0], problems, f"{shard.images}: {kind}")


def _raws(
    shard: SourceShard, table: pa.RecordBatch, row: int, limits: Limits
) -> Iterator[tuple[illustrated.Raw, Lost | None]]:
    """What each row says of a document, and why its text could not be read."""
    assert shard.images is not None
    ids = _row_ids(shard, table, row).to_pylist()
    urls = strings(table[shard.url]).to_pylist() if shard.url else [None] * len(ids)
    laid = _Layout(table[shard.text], table[shard.images], shard.text)
    texts = _bytes_of(laid.text).to_pylist()
    values = image_values(table[shard.images])
    listed = is_listed(table[shard.images].type)
    metadata, general = _beside(table, listed)
    columns = {path: _plain_list(table[path]) for path, _ in shard.columns}
    for i, id_ in enumerate(ids):
        number = shard.first_row + row + i
        place = Place(f"{shard.names[0]}#{number}", f"{shard.paths[0]} row {number}")
        text, lost = _decoded(texts[i], place, limits)
        text, images, lost = laid.row(i, text, values[i], place, lost)
        made = illustrated.Raw(
            row + i, id_, place, text, images, listed, urls[i], metadata[i], general[i]
        )
        made = made._replace(beside={path: values[i] for path, values in columns.items()})
        yield made, lost


class _Layout:
    """What is to be done with texts and images of rows in the layout of a published corpus.

    text: the column of texts, of conversations lists of what is said.
    """

    def __init__(self, text: pa.Array, images: pa.Array, name: str) -> None:
        self.text, self._talks = text, turns_in(text.type) is not None
        if self._talks:
            self.text = inside(text, [layouts.TURN])
        self._places: list[Any] | None = None
        if name.rpartition(".")[2] == layouts.SENTENCES and is_listed(images.type):
            of = images.type.value_type
            matched_to = pa.types.is_struct(of) and of.get_field_index(layouts.MATCHED) >= 0
            self._places = _plain_list(images) if matched_to else None

    def row(
        self, i: int, text: illustrated.Texts, images: Any, place: Place, lost: Lost | None
    ) -> tuple[illustrated.Texts, Any, Lost | None]:
        """Text and images of a row as `Raw` takes them."""
        if lost is not None or not isinstance(text, list):
            return text, images, lost
        if self._talks:
            return layouts.conversation(text), images, None
        if self._places is not None:
            try:
                there = images or []
                places = [told[layouts.MATCHED] for told in self._places[i] or ()]
                return *layouts.matched(text, there, places), None
            except UnreadableError as e:
                return None, images, Lost(e.cause, f"{place.where}: {e}")
        return text, images, None


def _beside(table: pa.RecordBatch, listed: bool) -> tuple[list[Any], list[Any]]:
    """What is told of the images of each document, and of the document itself."""
    names = (illustrated.METADATA, illustrated.GENERAL) if listed else OF_SAMPLES
    told = {n: _plain_list(table[n]) for n in names if n in table.schema.names}
    nothing = [None] * table.num_rows
    if listed:
        return told.get(illustrated.METADATA, nothing), told.get(illustrated.GENERAL, nothing)
    return [{n: values[i] for n, values in told.items()} for i in range(len(nothing))], nothing


def _plain_list(column: pa.Array) -> list[Any]:
    """Values as Python's own; nothing where they are damaged: they are told beside the rest."""
    try:
        column.validate(full=True)
        return list(column.to_pylist())
    except pa.ArrowInvalid:
        return [None] * len(column)


def _decoded(
    value: bytes | list[bytes | None] | None, place: Place, limits: Limits
) -> tuple[illustrated.Texts, Lost | None]:
    """The text of a document, or why it has none."""
    parts = value if isinstance(value, list) else [value]
    size = sum(len(p) for p in parts if p is not None)
    if size > limits.max_document_bytes:
        limit = f"limits.max_document_bytes is {limits.max_document_bytes}"
        return None, Lost("too_large", f"{place.where}: a text of {size} bytes, {limit}", size)
    try:
        texts = [None if p is None else p.decode() for p in parts]
    except UnicodeDecodeError as e:
        message = f"{place.where}: byte {e.start} of the text: {e.reason}"
        return None, Lost("invalid_utf8", message, size)
    return (texts if isinstance(value, list) else texts[0]), None


def image_values(column: pa.Array) -> list[Any]:
    """(n_docs,) an image's stand-in, or lists of such, views of the column's bytes; None: null."""
    if not is_listed(column.type):
        return _flat_values(column)
    column.validate()
    lengths = column.value_lengths().to_pylist()
    flat = _flat_values(column.flatten())
    ends = accumulate((n or 0 for n in lengths), initial=0)
    return [
        None if n is None else flat[a:b] for n, (a, b) in zip(lengths, pairwise(ends), strict=True)
    ]


def _flat_values(column: pa.Array) -> list[Value | None]:
    column = _plain(column)
    if pa.types.is_struct(column.type):
        column.validate()
        parts = dict(zip((f.name for f in column.type), column.flatten(), strict=True))
        nulls = pa.nulls(len(column))
        paths = [_references(parts[name]) for name in layouts.PATHS if name in parts]
        said = [next(filter(None, of), None) for of in zip(*paths, strict=True)]
        pairs = zip(_views(parts.get(BYTES, nulls)), said or [None] * len(column), strict=True)
        return [None if b is None and not p else Value(b, p) for b, p in pairs]
    if pa.types.is_binary(column.type) or column.type in (pa.large_binary(), pa.binary_view()):
        return [None if b is None else Value(b) for b in _views(column)]
    return [Value(reference=r) if r else None for r in _references(column)]


def _views(column: pa.Array) -> list[memoryview | None]:
    """The values of a column of bytes, none of them copied."""
    column.validate(full=True)  # a damaged file's offsets would point anywhere
    column = _plain(column)
    if column.null_count == len(column):
        return [None] * len(column)
    large = column.cast(pa.large_binary())
    _, offsets, data = large.buffers()
    ends = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1].tolist()
    view = unsigned(data) if data is not None else memoryview(b"")
    valid = large.is_valid().to_pylist()
    return [view[a:b] if ok else None for ok, (a, b) in zip(valid, pairwise(ends), strict=True)]


def _references(column: pa.Array) -> Sequence[str | None]:
    values = _bytes_of(column).to_pylist()
    return [v.decode(errors="replace") if isinstance(v, bytes) else None for v in values]


def _bytes_of(column: pa.Array) -> pa.Array:
    """Text, or lists of it, as the bytes it is."""
    column.validate()
    if pa.types.is_dictionary(column.type):
        column.validate(full=True)
        column = _plain(column)
    kind = pa.large_list(pa.large_binary()) if is_listed(column.type) else None
    values = column.cast(kind) if kind is not None else raw_bytes(column)
    values.validate(full=True)
    return values
