"""What the values of a column take once each stands for itself, told before any is made.

A few bytes can say that a value of 1 MB comes a million times: by a dictionary, by runs, by views
of the same bytes, by lists of nothing. Rows are thus made a few at a time, by what they will take.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.read.columns import TEXT_TYPES
from tokenmill.pipelines.read.stream import DamagedError
from tokenmill.pipelines.storage.bounds import CAUSE

ITEM_BYTES = 64  # of a Python object, about
MADE_BYTES = 32 * 1024**2  # of the columns beside the text, at a time
MOST_TIMES = 4  # what an Arrow buffer holds becomes, where no value stands for several
VIEWS = {pa.string_view(), pa.binary_view()}


def text_lengths(text: pa.Array) -> I64:
    """(n_docs,) int64, bytes of each text, 0 for null.

    text: validated before; views and dictionaries fully.
    """
    if pa.types.is_dictionary(text.type):
        of_values = pa.array(text_lengths(text.dictionary))
        return np.asarray(pc.fill_null(of_values.take(text.indices), 0))
    if text.type not in VIEWS:
        return np.asarray(pc.fill_null(pc.binary_length(text), 0)).astype(np.int64)
    heads = np.frombuffer(text.buffers()[1] or b"", np.int32)[::4]  # views have no length kernel
    lengths: I64 = heads[text.offset : text.offset + len(text)].astype(np.int64)
    return np.where(np.asarray(text.is_null()), 0, lengths)


def made_bytes(column: pa.Array) -> int:
    """Bytes that a validated column takes as Python objects or plain text, at most."""
    kind, n = column.type, len(column)
    items = n * ITEM_BYTES
    if kind in VIEWS or (pa.types.is_dictionary(kind) and kind.value_type in TEXT_TYPES):
        return items + int(text_lengths(column).sum())
    if pa.types.is_dictionary(kind):
        return n * made_bytes(column.dictionary)
    if pa.types.is_run_end_encoded(kind):
        return n * made_bytes(column.values)
    if pa.types.is_union(kind):
        return n * sum(made_bytes(column.field(i)) for i in range(kind.num_fields))
    if isinstance(kind, pa.BaseExtensionType):
        return made_bytes(column.storage)
    if pa.types.is_struct(kind):
        return items + sum(map(made_bytes, column.flatten()))
    if not pa.types.is_nested(kind):  # each value has its own bytes
        return items + int(column.nbytes)
    held = int(pc.sum(pc.list_value_length(column)).as_py() or 0)
    if pa.types.is_fixed_size_list(kind):  # those that are null take as much
        held = n * kind.list_size
    if held * ITEM_BYTES > MADE_BYTES:  # even to look at them may be too much
        return items + held * ITEM_BYTES
    return items + made_bytes(column.flatten())


def in_bounds(table: pa.RecordBatch, names: Sequence[str | int]) -> Iterator[pa.RecordBatch]:
    """The rows of a table in parts of which some columns can be made.

    names: of the columns, or their numbers, as names may stand twice.
    DamagedError: a row would take much more than the file has of it ("expands_too_far").
    """
    columns = [table[name] for name in names]
    for column in columns:
        column.validate()  # to measure a damaged one would crash
    made = sum(map(made_bytes, columns))
    if made > MADE_BYTES and table.num_rows > 1:
        half = table.num_rows // 2
        yield from in_bounds(table.slice(0, half), names)
        yield from in_bounds(table.slice(half), names)
        return
    if made > max(MADE_BYTES, MOST_TIMES * sum(column.nbytes for column in columns)):
        named = " and ".join(repr(table.schema.field(name).name) for name in names)
        raise DamagedError(CAUSE, f"{named} would take {made:,} bytes in this row")
    yield table
