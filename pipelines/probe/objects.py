"""A rank's loader of a bucket: ranges of objects, several asked for at once, used in their order.

Whole record batches come as they are and are decoded; of others only the rows that are asked for.
Where these lie is read from the batch's header once an epoch, and counts as read.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.probe.loader import Loader, Read, Reading
from tokenmill.pipelines.probe.medium import AHEAD_BYTES, Bucket
from tokenmill.pipelines.probe.shards import IDS, BatchPlace, batch_ids, damaged, read_schema
from tokenmill.pipelines.storage.ipc import CutShortError, header_bytes, layout_of

CONNECTIONS = 8  # of a process, as loaders that prefetch have; ours


class _Place(NamedTuple):
    """at: byte where `bytes` of ids begin.  offsets: (rows + 1,), None where all have `seq_len`."""

    at: int
    bytes: int
    offsets: I64 | None


class ObjectLoader(Loader):
    """Endless batches from a bucket; `counters` say what they took."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        medium = reading.shards.medium
        assert isinstance(medium, Bucket)
        self._bucket = medium
        self._schemas: dict[int, pa.Schema] = {}
        self._places: dict[int, _Place] = {}
        self._counting = threading.Lock()
        self._pool = ThreadPoolExecutor(reading.connections)

    def fetched(self, reads: Iterable[Read]) -> Iterator[npt.NDArray[Any]]:
        """Two reads a connection are under way or wait to be used."""
        waiting: deque[Future[npt.NDArray[Any]]] = deque()
        try:
            for read in reads:
                waiting.append(self._pool.submit(self.fetch, read))
                if len(waiting) >= 2 * self.reading.connections:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                if not future.cancel():  # it came, or comes, and would have been used
                    with suppress(OSError, ConfigError):
                        self.counters.useful_bytes += future.result().nbytes

    def fetch(self, read: Read) -> npt.NDArray[Any]:
        """(tokens,) the ids of some rows."""
        r = self.reading
        place = r.shards.batches[read.batch]
        with self._counting:
            self.counters.reads += 1
        if (read.first, read.last) == (0, place.rows):
            return self._whole(place)
        lies = self._lies(read.batch)
        begin, end = self._span(lies, place, read.first, read.last)
        return np.frombuffer(self._part(place, begin, end), r.shards.dtype)

    def device_bytes(self) -> int | None:
        """Nothing of what is read of a bucket is held by this host."""
        return self.counters.logical_bytes

    def close(self) -> None:
        """Forget where rows lie; requests under way are waited for where reading ends."""
        self._places.clear()
        if self.stopped:
            self._pool.shutdown(cancel_futures=True)

    def _whole(self, place: BatchPlace) -> npt.NDArray[Any]:
        r = self.reading
        data = self._part(place, place.start, place.stop)
        if r.depth == "raw":
            begin, end = self._span(self._place(place, data), place, 0, place.rows)
            return np.frombuffer(data[begin - place.start : end - place.start], r.shards.dtype)
        local = place._replace(start=0, stop=len(data))
        found = batch_ids(pa.py_buffer(data), local, self._schema(place), self._path(place))
        begin, end = found.span(0, place.rows, r.shards.seq_len)
        return found.values[begin:end]

    def _span(self, lies: _Place, place: BatchPlace, first: int, last: int) -> tuple[int, int]:
        """Bytes [from, to) of the object with the ids of the rows [first, last)."""
        width, length = self.reading.shards.width, self.reading.shards.seq_len or 0
        if lies.offsets is None:
            begin, end = first * length, last * length
        else:
            begin, end = int(lies.offsets[first]), int(lies.offsets[last])
        if not 0 <= begin <= end <= lies.bytes // width:
            raise damaged(self._path(place), place.start, "rows lie outside the ids")
        return lies.at + begin * width, lies.at + end * width

    def _lies(self, batch: int) -> _Place:
        """From the header of a batch, which is fetched; twice, if two threads ask at once."""
        if batch not in self._places:
            place = self.reading.shards.batches[batch]
            stop = min(place.start + AHEAD_BYTES, place.stop)
            data = self._part(place, place.start, stop)
            if (wanted := place.start + header_bytes(data)) > stop:
                data += self._part(place, stop, min(wanted, place.stop))
            self._places[batch] = self._place(place, data)
        return self._places[batch]

    def _place(self, place: BatchPlace, data: bytes) -> _Place:
        """data: of the batch, its header at least."""
        kind = self._schema(place).field(IDS).type
        try:
            layout = layout_of(data)
            at = ids_buffer(self._schema(place))
            first, size = layout.buffers[at + (2 if pa.types.is_fixed_size_list(kind) else 3)]
            offsets = None
            if not pa.types.is_fixed_size_list(kind):
                offsets = self._offsets(place, data, layout.body, layout.buffers[at + 1], kind)
        except (CutShortError, IndexError, ValueError) as e:
            raise damaged(self._path(place), place.start, str(e)) from None
        begin = place.start + layout.body + first
        if layout.compressed or not place.start <= begin <= begin + size <= place.stop:
            raise damaged(self._path(place), place.start, "ids lie outside it, or are compressed")
        return _Place(begin, size, offsets)

    def _offsets(
        self, place: BatchPlace, data: bytes, body: int, where: tuple[int, int], kind: pa.DataType
    ) -> I64:
        dtype = np.dtype(np.int64 if pa.types.is_large_list(kind) else np.int32)
        begin, n_bytes = body + where[0], (place.rows + 1) * dtype.itemsize
        if where[1] < n_bytes or begin < body or place.start + begin + n_bytes > place.stop:
            raise ValueError("offsets of rows lie outside the batch")
        held = data[begin : begin + n_bytes]
        if len(held) < n_bytes:
            held = self._part(place, place.start + begin, place.start + begin + n_bytes)
        return np.frombuffer(held, dtype).astype(np.int64)

    def _part(self, place: BatchPlace, start: int, stop: int) -> bytes:
        try:
            part = self._bucket.store.part(self.reading.shards.files[place.file], start, stop)
        except ShardError as e:
            raise ConfigError(str(e)) from None
        with self._counting:
            self.counters.requests += 1
            self.counters.again += part.again
            self.counters.logical_bytes += len(part.data)
        return bytes(part.data)

    def _schema(self, place: BatchPlace) -> pa.Schema:
        if place.file not in self._schemas:
            name = self.reading.shards.files[place.file]
            self._schemas[place.file] = read_schema(self._bucket, name)
        return self._schemas[place.file]

    def _path(self, place: BatchPlace) -> str:
        return f"{self._bucket}/{self.reading.shards.files[place.file]}"


def ids_buffer(schema: pa.Schema) -> int:
    """The first buffer of the ids, its validity, by its number in a record batch.

    >>> ids_buffer(pa.schema({"id": pa.string(), "input_ids": pa.list_(pa.uint16())}))
    3

    ValueError: a column before it is of a kind whose buffers are not known.
    """
    return sum(_buffers(field.type) for field in list(schema)[: schema.get_field_index(IDS)])


def _buffers(kind: pa.DataType) -> int:
    """Arrow columnar format 1.5, "Buffer Listing for Each Layout"."""
    types = pa.types
    if kind.has_variadic_buffers or types.is_run_end_encoded(kind) or types.is_union(kind):
        raise ValueError(f"a column of {kind} before {IDS}; read it in the sequential order")
    below = sum(_buffers(kind.field(i).type) for i in range(kind.num_fields))
    return below + (0 if types.is_null(kind) else kind.num_buffers)
