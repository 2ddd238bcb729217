"""Documents from the columns of a table: what Parquet and Arrow files have in common."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import Failure, ReadBatch, make_batch
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Limits
from tokenmill.pipelines.read.stream import DamagedError

_BYTES_OF = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
TEXT_TYPES = {*_BYTES_OF, *_BYTES_OF.values()}
SHOWN_ERROR = 200
# What a damaged table meets: where it is read, and where its columns are looked at.
TABLE_ERRORS = (DamagedError, pa.ArrowException)


def table_documents(
    shard: SourceShard, table: pa.RecordBatch, row: int, limits: Limits
) -> Iterator[ReadBatch]:
    """Yield the rows of a record batch as documents, in batches of bounded size.

    row: number in the shard of the table's first row.

    Raises:
        ArrowInvalid: the columns are damaged.
    """
    text = table[shard.text]
    if pa.types.is_dictionary(text.type):
        text.validate(full=True)
        text = text.dictionary_decode()
    text.validate()
    sizes = np.asarray(pc.fill_null(pc.binary_length(_measurable(text)), 0)).astype(np.int64)
    for start, stop in _ranges(np.minimum(sizes, limits.max_document_bytes + 1)):
        yield _documents(
            shard,
            table.slice(start, stop - start),
            text.slice(start, stop - start),
            sizes=sizes[start:stop],
            row=row + start,
            limits=limits,
        )


def broken_off(shard: SourceShard, row: int, error: BaseException) -> Failure:
    """The document that a table breaks off at, one of `TABLE_ERRORS` being met.

    row: its number in the shard.
    """
    number = shard.first_row + row
    cause = error.cause if isinstance(error, DamagedError) else f"damaged_{shard.format}"
    message = f"{shard.paths[0]} row {number}: {one_line(error)}"
    return Failure(row, f"{shard.names[0]}#{number}", cause, message)


def one_line(error: BaseException) -> str:
    """What an error says, for the end of a message."""
    return " ".join(str(error).split())[:SHOWN_ERROR]


def _documents(
    shard: SourceShard,
    table: pa.RecordBatch,
    text: pa.Array,
    *,
    sizes: npt.NDArray[np.int64],
    row: int,
    limits: Limits,
) -> ReadBatch:
    raw(text).validate(full=True)  # a damaged file's offsets would crash what comes next
    rows = np.arange(row, row + len(text), dtype=np.int64)
    reasons: dict[int, tuple[str, str]] = {}  # by index: (reason, message)
    for i in np.flatnonzero(np.asarray(text.is_null())):
        reasons[int(i)] = ("missing_text", f"{shard.text!r} is null")
    for i in np.flatnonzero(sizes > limits.max_document_bytes):
        reasons[int(i)] = (
            "too_large",
            f"a text of {sizes[i]} bytes, limits.max_document_bytes is {limits.max_document_bytes}",
        )
    good = _without(np.arange(len(text)), reasons)
    texts = _large_strings(text.take(good) if reasons else text)
    if texts is None:
        reasons |= {i: v for i, v in _not_utf8(text).items() if i not in reasons}
        good = _without(np.arange(len(text)), reasons)
        texts = text.take(good).cast(pa.large_string())
    ids = row_ids(shard, table, row)
    urls = strings(table[shard.url]) if shard.url else None
    failures = [
        Failure(
            int(rows[i]),
            ids[i].as_py(),
            reason,
            f"{shard.paths[0]} row {shard.first_row + int(rows[i])}: {message}",
            int(sizes[i]),
        )
        for i, (reason, message) in sorted(reasons.items())
    ]
    if reasons:
        rows, ids = rows[good], ids.take(good)
        urls = urls.take(good) if urls is not None else None
    return make_batch(shard.ordinal, rows, ids=ids, urls=urls, texts=texts, failures=failures)


def _without(
    indices: npt.NDArray[np.int64], reasons: dict[int, tuple[str, str]]
) -> npt.NDArray[np.int64]:
    return np.delete(indices, sorted(reasons)) if reasons else indices


def _large_strings(text: pa.Array) -> pa.Array | None:
    """The texts as large_string, or None if some are not UTF-8."""
    try:
        text.validate(full=True)
        return text.cast(pa.large_string())
    except pa.ArrowInvalid:
        return None


def raw(column: pa.Array) -> pa.Array:
    """Strings as the bytes they are; another column as it is."""
    return column.view(_BYTES_OF[column.type]) if column.type in _BYTES_OF else column


def _not_utf8(text: pa.Array) -> dict[int, tuple[str, str]]:
    bad = {}
    for i, value in enumerate(raw(text)):
        try:
            (value.as_py() or b"").decode()
        except UnicodeDecodeError as e:
            bad[i] = ("invalid_utf8", f"byte {e.start} of the text: {e.reason}")
    return bad


def row_ids(shard: SourceShard, table: pa.RecordBatch, row: int) -> pa.Array:
    """(n_docs,) string: the table's own ids, else "name#row of the file"."""
    own = strings(table[shard.id]) if shard.id else None
    if own is not None and own.null_count == 0:
        return own
    first = shard.first_row + row
    numbers = pa.array(np.arange(first, first + table.num_rows)).cast(pa.string())
    made = pc.binary_join_element_wise(pa.scalar(shard.names[0]), numbers, "#")
    return made if own is None else pc.coalesce(own, made)


def strings(column: pa.Array) -> pa.Array:
    """Any column as strings; bytes that are not UTF-8 come as U+FFFD."""
    try:
        column.validate(full=True)
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        values = raw(column)
        values.validate(full=True)
        return pa.array([None if v is None else _shown(v) for v in values.to_pylist()], pa.string())


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _measurable(text: pa.Array) -> pa.Array:
    """Views have no length kernel."""
    if text.type in {pa.string_view(), pa.binary_view()}:
        text.validate(full=False)
        return text.cast(pa.large_binary())
    return text


def _ranges(sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of at most `BATCH_DOCS` rows and, but for one row, `BATCH_BYTES`."""
    ends = np.cumsum(sizes)
    start, done = 0, 0
    while start < len(sizes):
        stop = int(np.searchsorted(ends, done + BATCH_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_DOCS, len(sizes))
        yield start, stop
        start, done = stop, int(ends[stop - 1])
