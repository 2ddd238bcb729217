"""Buckets: where mixed documents lie until they are laid out.

    token shards of a group ── spill ── a cell for each bucket ┐
    those of the next group ── spill ── a cell for each bucket ┴─ a bucket, in order of keys

A bucket is a range of keys, and its documents are a stretch of the split's stream: what a token
shard is to a run that mixes nothing. Cells of neighbouring buckets are batches of one file.
`Lists` takes ids and texts, in any order, from where they lie (`Spans`).
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U8, U16, U64, read_only, text_buffers
from tokenmill.dedup.kernels.cut import copy_to
from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.storage.files import open_batch, read_batch
from tokenmill.pipelines.tokens.mix.draws import KEY_BITS
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import IDS

# ids of groups of shards, each copy in the bucket of its place
BUCKETS = Folder("91-mix", "{split}/group-{group:05d}-{block:05d}.arrow", of_pass=False)
OF_COPY = (pa.field("key", pa.uint64()), pa.field("copies", pa.uint32()))
NOTHING = pa.record_batch({})
BUCKET_COUNTS = Folder("91-mix", "{split}/counts-{group:05d}.arrow", of_pass=False)
COUNTS = pa.schema([pa.field(name, pa.int64()) for name in ("docs", "tokens", "text_bytes")])


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


class Mixed(NamedTuple):
    """How one split is parted into buckets.

    groups: of token shards.  bits: of keys, that tell the bucket.  block: buckets a file.
    """

    split: str
    groups: int
    bits: int
    block: int

    @property
    def buckets(self) -> int:
        return 1 << self.bits

    def of_keys(self, keys: U64) -> U16:
        """(n,) the bucket of each key."""
        if not self.bits:
            return np.zeros(len(keys), np.uint16)
        return (keys >> np.uint64(KEY_BITS - self.bits)).astype(np.uint16)


class Buckets:
    """The documents of buckets, as `shards.Documents`; but one bucket at a time stays in memory."""

    def __init__(self, job: TokenRun, mixed: Mixed) -> None:
        self._job, self._mixed = job, mixed
        self._number, self._bucket = -1, NOTHING

    def _cells(self, number: int) -> list[tuple[Path, int]]:
        """File and batch of each group's cell, in order of the groups."""
        block, batch = divmod(number, self._mixed.block)
        split = self._mixed.split
        return [
            (self._job.path(BUCKETS, split=split, group=group, block=block), batch)
            for group in range(self._mixed.groups)
        ]

    def sizes(self, shard: int) -> I64:
        """See `Documents`; of the cells no more is read than keys and lengths."""
        keys, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for path, number in self._cells(shard):
            cell = open_batch(path, number)
            keys.append(np.array(cell["key"]))
            sizes.append(np.array(cell[IDS].value_lengths()))
        return np.concatenate(sizes)[np.argsort(np.concatenate(keys), kind="stable")]

    def rows(self, shard: int, lo: int, hi: int) -> pa.Table:
        """See `Documents`; also each one's key and how many copies of it there are."""
        if shard != self._number:
            self._bucket = NOTHING  # not two of them at a time
            self._bucket = in_order([read_batch(*cell) for cell in self._cells(shard)])
            self._number = shard
        return pa.Table.from_batches([self._bucket.slice(lo, hi - lo)])


def in_order(cells: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Documents by their keys; of equal keys in the order in which they stand."""
    order = np.argsort(np.concatenate([np.asarray(cell["key"]) for cell in cells]), kind="stable")
    schema = cells[0].schema
    long = long_columns(schema)
    rest = pa.concat_batches([cell.drop_columns(long) for cell in cells]).take(pa.array(order))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    made = dict(zip(rest.schema.names, rest.columns, strict=True))
    for name in long:
        lists = Lists([spans_of(cell[name]) for cell in cells])
        made[name] = lists.take(order, schema.field(name).type, places)
    return pa.record_batch([made[name] for name in schema.names], schema=schema)
