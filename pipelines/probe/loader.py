"""A rank's loader: rows in training order, from files to batches of [sequences, seq_len].

raw      the bytes of the ids are read (pread), nothing more
arrow    record batches are decoded from memory maps and the ids copied into memory
full     and cut into sequences, through a shuffle buffer if the order is chunked

sequential   record batches one after another
chunked      runs of rows at random, as a loader with a shuffle buffer fetches them
random       single rows at random, through a map that is told so (MADV_RANDOM)
mmap         the same through a map that is not told: the kernel reads ahead around each
"""

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.probe.cache import device_bytes
from tokenmill.pipelines.probe.medium import Folder
from tokenmill.pipelines.probe.shards import BatchIds, BatchPlace, Shards, batch_ids, read_schema

Depth: TypeAlias = Literal["raw", "arrow", "full"]
DEPTHS: tuple[Depth, ...] = get_args(Depth)
Order: TypeAlias = Literal["sequential", "chunked", "random", "mmap"]
ORDERS: tuple[Order, ...] = get_args(Order)
READ_AHEAD = frozenset({"chunked", "mmap"})  # the kernel reads on behind what is asked for
MOST_SHUFFLED = 2**23  # pieces of which a permutation is held; of more, pieces are drawn
EPOCH_SEEDS = 1_000_003  # from one run's seed to the next: epochs of a run have seeds of their own


class Read(NamedTuple):
    """Rows [first, last) of a record batch."""

    batch: int
    first: int
    last: int


class Pieces(NamedTuple):
    """What is read at once: each batch cut into `rows` rows.  firsts: (batches + 1,) pieces."""

    rows: int
    firsts: I64
    batch_rows: I64

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def read(self, piece: int) -> Read:
        batch = int(np.searchsorted(self.firsts, piece, "right")) - 1
        first = (piece - int(self.firsts[batch])) * self.rows
        return Read(batch, first, min(first + self.rows, int(self.batch_rows[batch])))


def pieces(batches: Sequence[BatchPlace], order: Order, *, ranks: int, chunk_rows: int) -> Pieces:
    """Cut the batches: whole ones in sequence, unless ranks would get none; else runs, or rows."""
    rows = np.array([batch.rows for batch in batches], np.int64)
    each = {"sequential": int(rows.max()), "chunked": chunk_rows}.get(order, 1)
    if order == "sequential" and len(rows) < ranks:
        each = max(1, int(rows.sum()) // ranks)
    firsts = np.concatenate([[0], np.cumsum(-(-rows // each))])
    return Pieces(each, firsts, rows)


def epoch(cut: Pieces, order: Order, *, rank: int, ranks: int, seed: int) -> Iterator[Read]:
    """What one rank reads of an epoch; with fewer pieces than ranks, all of them.

    seed: another one each run and epoch. In sequence it decides where reading begins.
    """
    count = len(cut)
    rank, ranks = (rank, ranks) if count >= ranks else (0, 1)
    rng = np.random.default_rng(seed)
    if order == "sequential":
        begin = int(rng.integers(count))
        for piece in range(rank, count, ranks):
            yield cut.read((begin + piece) % count)
    elif count <= MOST_SHUFFLED:
        for piece in rng.permutation(count)[rank::ranks]:
            yield cut.read(int(piece))
    else:
        own = np.random.default_rng([seed, rank])
        for _ in range(rank, count, ranks):
            yield cut.read(int(own.integers(count)))


@dataclass
class Counters:
    """logical_bytes: asked for.  useful_bytes: of ids that reached a batch, or wait to.

    reads: runs of rows that were fetched.  requests: to a store.  again: of these, repeated.
    """

    logical_bytes: int = 0
    useful_bytes: int = 0
    reads: int = 0
    epochs: int = 0
    requests: int = 0
    again: int = 0


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a rank reads.

    sequences, seq_len: of a batch.  chunk_rows: read at once in the chunked order.
    buffer: sequences that are held to be shuffled in the chunked order.
    connections: requests to a store at once.
    """

    shards: Shards
    order: Order
    depth: Depth
    rank: int
    ranks: int
    seed: int
    sequences: int
    seq_len: int
    chunk_rows: int = 1
    buffer: int = 0
    connections: int = 1


@dataclass
class _Open:
    path: str
    descriptor: int
    mapped: mmap.mmap
    schema: pa.Schema
    ids: dict[int, BatchIds] = field(default_factory=dict)


class StoppedError(Exception):
    """Reading was told to stop in the middle of a batch."""


class Loader:
    """Endless batches, epoch after epoch; `counters` say what they took.

    A file is mapped when it is first needed, and let go with its pages at the end of an epoch.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.counters = Counters()
        self.stopped = False  # set by another thread, heard between two reads
        self._open: dict[int, _Open] = {}

    def batches(self) -> Iterator[I64 | None]:
        """(sequences, seq_len) int64 a batch; None in its place where ids are only read.

        ConfigError: a file is damaged, or the dataset holds no tokens.
        StoppedError: `stopped` was set.
        """
        if self.reading.depth == "full":
            yield from self._collated()
            return
        wanted = self.reading.sequences * self.reading.seq_len
        held = 0
        for ids in self._ids():
            held += len(ids)
            while held >= wanted:
                held -= wanted
                yield None

    def fetch(self, read: Read) -> npt.NDArray[Any]:
        """(tokens,) the ids of some rows, in memory of their own."""
        r = self.reading
        opened = self._file(r.shards.batches[read.batch].file)
        ids = self._batch(opened, read.batch)
        begin, end = ids.span(read.first, read.last, r.shards.seq_len)
        n_bytes = (end - begin) * r.shards.width
        self.counters.reads += 1
        self.counters.logical_bytes += n_bytes
        if r.depth == "raw":
            held = os.pread(opened.descriptor, n_bytes, ids.at + begin * r.shards.width)
            return np.frombuffer(held, r.shards.dtype)
        return ids.values[begin:end].copy()

    def fetched(self, reads: Iterable[Read]) -> Iterator[npt.NDArray[Any]]:
        """The ids of one read after another."""
        return map(self.fetch, reads)

    def device_bytes(self) -> int | None:
        """Bytes that came from the storage so far; None where the kernel does not tell."""
        return device_bytes()

    def close(self) -> None:
        """Let go of all files."""
        for opened in self._open.values():
            opened.ids.clear()
            os.close(opened.descriptor)
        self._open.clear()  # a map goes with the last array that lies in it

    def _ids(self) -> Iterator[npt.NDArray[Any]]:
        """The ids of read after read; what is counted as useful is what arrives here."""
        r = self.reading
        cut = pieces(r.shards.batches, r.order, ranks=r.ranks, chunk_rows=r.chunk_rows)
        while True:
            seed, before = r.seed * EPOCH_SEEDS + self.counters.epochs, self.counters.useful_bytes
            reads = epoch(cut, r.order, rank=r.rank, ranks=r.ranks, seed=seed)
            for ids in self.fetched(self._unless_stopped(reads)):
                self.counters.useful_bytes += ids.nbytes
                yield ids
            if self.counters.useful_bytes == before:
                raise ConfigError(f"{r.shards.medium}: its rows hold no tokens; nothing to read")
            self.counters.epochs += 1
            self.close()
            r.shards.medium.evict(r.shards.files)

    def _unless_stopped(self, reads: Iterable[Read]) -> Iterator[Read]:
        for read in reads:
            if self.stopped:
                raise StoppedError
            yield read

    def _collated(self) -> Iterator[I64]:
        r = self.reading
        rng = np.random.default_rng([r.seed, r.rank, 1])
        pool = np.empty((r.buffer if r.order == "chunked" else 0, r.seq_len), np.int64)
        sequences = self._sequences()
        for row in pool:
            row[:] = next(sequences)
        while True:
            batch = np.empty((r.sequences, r.seq_len), np.int64)
            for row in batch:
                row[:] = next(sequences)
                if len(pool):
                    at = int(rng.integers(len(pool)))
                    row[:], pool[at] = pool[at].copy(), row.copy()
            yield batch

    def _sequences(self) -> Iterator[npt.NDArray[Any]]:
        """(seq_len,) views of ids; documents follow one another as if they were one."""
        length = self.reading.seq_len
        rest: list[npt.NDArray[Any]] = []
        held = 0
        for ids in self._ids():
            at = 0
            if held + len(ids) >= length and held:
                at = length - held
                yield np.concatenate([*rest, ids[:at]])
                rest, held = [], 0
            if held == 0:
                whole = at + (len(ids) - at) // length * length
                yield from ids[at:whole].reshape(-1, length)
                at = whole
            if at < len(ids):
                rest.append(ids[at:])
                held += len(ids) - at

    def _batch(self, opened: _Open, number: int) -> BatchIds:
        if number not in opened.ids:
            place, whole = self.reading.shards.batches[number], pa.py_buffer(opened.mapped)
            opened.ids[number] = batch_ids(whole, place, opened.schema, opened.path)
        return opened.ids[number]

    def _file(self, number: int) -> _Open:
        if number not in self._open:
            shards = self.reading.shards
            assert isinstance(shards.medium, Folder)
            name = shards.files[number]
            path = shards.medium.path / name
            schema = read_schema(shards.medium, name)
            descriptor = os.open(path, os.O_RDONLY)
            mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            if self.reading.order == "random" or self.reading.depth == "raw":
                mapped.madvise(mmap.MADV_RANDOM)  # raw reads take only headers from the map
            if self.reading.order == "random":
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
            self._open[number] = _Open(str(path), descriptor, mapped, schema)
        return self._open[number]
