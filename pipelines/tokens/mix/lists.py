"""Lists of token ids, and texts, put together from wherever they lie."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, read_only, text_buffers
from tokenmill.dedup.kernels.cut import copy_to


class Spans(NamedTuple):
    """Where lists of ids lie in memory; starts, ends: (n,) bytes of each list in `data`."""

    data: U8
    starts: I64
    ends: I64


def long_columns(schema: pa.Schema) -> list[str]:
    """The columns of a token shard that are too long to be held in memory: ids and texts."""
    kinds = (pa.types.is_list, pa.types.is_large_string)
    return [field.name for field in schema if any(kind(field.type) for kind in kinds)]


def spans_of(lists: pa.ListArray | pa.LargeStringArray, data: U8 | None = None) -> Spans:
    """Where the lists of a column lie in `data`, which they are part of; None takes these alone."""
    if pa.types.is_large_string(lists.type):
        values, offsets = text_buffers(lists)
    else:
        values, offsets = np.asarray(lists.values), np.asarray(lists.offsets).astype(np.int64)
    if data is None:
        data, first = values.view(np.uint8), 0
    else:
        first = values.ctypes.data - data.ctypes.data
    at = first + offsets * values.itemsize
    return Spans(data, at[:-1], at[1:])


class Lists:
    """Lists in several places, numbered through; firsts: (n_places + 1,).  sizes: (n,), bytes."""

    def __init__(self, places: Sequence[Spans]) -> None:
        self._places = places
        self.firsts = np.cumsum([0, *(len(spans.starts) for spans in places)])
        self.sizes = np.concatenate([spans.ends - spans.starts for spans in places])

    def take(self, rows: I64, kind: pa.DataType, order: I64 | None = None) -> pa.Array:
        """The lists at some rows, in any order; each place is read from its beginning on.

        kind: a list of ids, or large_string.
        order: that sorts the rows, where it is known.
        """
        offsets = np.concatenate(([0], np.cumsum(self.sizes[rows], dtype=np.int64)))
        # of Arrow's pool, which gives memory again that has its pages already
        buffer = pa.allocate_buffer(int(offsets[-1]))
        out = np.frombuffer(buffer, np.uint8)
        order = np.argsort(rows, kind="stable") if order is None else order
        cuts = np.searchsorted(rows, self.firsts, sorter=order).tolist()
        for (data, starts, ends), first, (lo, hi) in zip(
            self._places, self.firsts[:-1], pairwise(cuts), strict=True
        ):
            here = order[lo:hi]
            which = rows[here] - first
            copy_to(read_only(data), starts[which], ends[which], offsets[here], out)
        if pa.types.is_large_string(kind):
            return pa.Array.from_buffers(kind, len(rows), [None, pa.py_buffer(offsets), buffer])
        width = kind.value_type.bit_width // 8
        ids = pa.Array.from_buffers(kind.value_type, len(out) // width, [None, buffer])
        return pa.ListArray.from_arrays(pa.array((offsets // width).astype(np.int32)), ids)
