"""Lists of token ids, put together from wherever they lie."""

from functools import cached_property

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, read_only
from tokenmill.pipelines.tokens.kernels import copy_to


class Spans:
    """Where lists of ids lie in a stretch of memory.

    data: (n_bytes,) uint8.  starts, ends: (n,) int64, bytes of each list.
    """

    def __init__(self, data: U8, starts: I64, ends: I64) -> None:
        self.data, self.starts, self.ends = data, starts, ends

    @cached_property
    def sizes(self) -> I64:
        """(n,) bytes of each list."""
        return self.ends - self.starts


def spans_of(lists: pa.ListArray, data: U8 | None = None) -> Spans:
    """Where the lists of a column lie.

    data: memory that the column's values are part of; None takes these alone.
    """
    values, offsets = np.asarray(lists.values), np.asarray(lists.offsets).astype(np.int64)
    if data is None:
        data, first = values.view(np.uint8), 0
    else:
        first = values.ctypes.data - data.ctypes.data
    at = first + offsets * values.itemsize
    return Spans(data, at[:-1], at[1:])


class Gathered:
    """A column of lists of ids, made part by part in any order.

    sizes: (n,) int64, bytes of each list.  kind: of ids.
    """

    def __init__(self, sizes: I64, kind: pa.DataType) -> None:
        self._kind, self._width = kind, kind.bit_width // 8
        self._places = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        # of Arrow's pool, which gives memory again that has its pages already
        self._buffer = pa.allocate_buffer(int(self._places[-1]))
        self._out = np.frombuffer(self._buffer, np.uint8)

    def put(self, rows: I64, spans: Spans, which: I64) -> None:
        """Set rows of the column to lists of `spans`; rows, which: (k,)."""
        copy_to(
            read_only(spans.data),
            read_only(spans.starts[which]),
            read_only(spans.ends[which]),
            read_only(self._places[rows]),
            self._out,
        )

    def array(self) -> pa.ListArray:
        """The column."""
        offsets = self._places // self._width
        ids = pa.Array.from_buffers(self._kind, int(offsets[-1]), [None, self._buffer])
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), ids)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """All rows of a table, in memory."""
    columns = [column.combine_chunks() for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)
