"""Edges: pairs of documents that are alike, each with what the two share; files of them.

    pairs of rows ── Comparing ── edges ── EdgeWriter ── a file, in runs ── merged ── in order:
                                                             by the later row, then the earlier

A run is as many edges as memory has room for, in order; runs of many files are read side by side.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I32, I64, U32, Bools
from tokenmill.dedup.same.images import DISTANCE, PICTURE_BYTES, same_pictures
from tokenmill.dedup.same.minhash import MinHash
from tokenmill.dedup.same.sets import Packed, Ratio, equal_slots, gathered, shared, unpack
from tokenmill.dedup.same.verify import least_equal
from tokenmill.dedup.text.shingle import Shingles
from tokenmill.pipelines.corpus.pairs import PAIRS_AT_ONCE
from tokenmill.pipelines.corpus.shuffle import RangeWriter
from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.storage.files import Rows, open_arrow

ALIKE = Folder("2-edges", "{round}-{level}-{number:05d}.arrow")
ALIKE_EDGE = pa.schema(
    {"left": pa.int64(), "right": pa.int64(), "shared": pa.uint32(), "union": pa.uint32()}
)
EDGE_BYTES = 96  # of an edge: its columns 24, gathered and in order 24 each, their order 16
SHINGLE_BYTES = 16  # of one that is compared: as it is kept, gathered, sorted, 4 each; at work
SIGNED_BYTES = 8  # of a slot of a signature: taken, and gathered
PICTURES_SHARE = 2  # of the room, its half
PAIR_BYTES = 96  # of a pair: its rows 16, these once each and where 48, what they share 32
SHINGLES, PACKED, PICTURES = "shingles", "packed", "pictures"  # columns of the key sidecar


class Edges(NamedTuple):
    """Pairs that are alike, (n,) rows left < right; their J is shared / union."""

    left: I64
    right: I64
    shared: U32
    union: U32

    def at(self, places: I64 | Bools | slice) -> "Edges":
        return Edges(*(column[places] for column in self))  # type: ignore[arg-type]


NONE = Edges(*(np.empty(0, field.type.to_pandas_dtype()) for field in ALIKE_EDGE))


def joined(parts: Iterable[Edges]) -> Edges:
    """All of some, by the later row and then the earlier, each pair once."""
    every = Edges(*(np.concatenate(columns) for columns in zip(NONE, *parts, strict=True)))
    every = every.at(np.lexsort((every.left, every.right)))
    return every.at(
        (np.diff(every.left, prepend=-1) != 0) | (np.diff(every.right, prepend=-1) != 0)
    )


# what two documents share


class Comparing:
    """Compares documents pair by pair, as many at a time as fit into memory."""

    def __init__(
        self,
        rows: Rows,
        minhash: MinHash,
        *,
        exact: bool,
        verify: float,
        room: int,
        pictures: bool = False,
    ) -> None:
        """exact: by their sets of shingles; else by their signatures.  verify: least similarity.

        pictures: only those are alike whose pictures are the same, or near, too.
        room: bytes for all that is at work at a time. A pair that alone takes more is compared all
            the same: its texts were in memory, and took more.
        """
        self._rows, self._exact, self._room = rows, exact, room
        self._pictures = pictures
        self._ratio = Ratio.of(verify) if exact else Ratio(0, 1)
        self._num_perm = minhash.num_perm
        self._least = least_equal(minhash.num_perm, verify)
        self._held: tuple[I64, Shingles] | None = None

    def hold(self, rows: I64) -> None:
        """Make the sets of rows, which ascend, once for all pairs that come until the next call.

        Not where they take more than their half of the room: these are made as pairs come.
        """
        self._held = None
        if self._exact and len(rows) and int(self._bytes_of(rows).sum()) <= self._room // 2:
            self._held = rows, sets_of(self._rows, rows)

    def edges(self, left: I64, right: I64) -> Iterator[Edges]:
        """The alike ones of (n,) pairs of rows, some at a time, in their order."""
        for found in self._of_texts(left, right):
            yield self._of_pictures(found) if self._pictures else found

    def _of_texts(self, left: I64, right: I64) -> Iterator[Edges]:
        at_once = max(self._room // 2 // PAIR_BYTES, 1)
        for start in range(0, len(left), at_once):
            x, y = left[start : start + at_once], right[start : start + at_once]
            if self._held is not None:
                rows, sets = self._held
                yield self._alike(rows, sets, np.searchsorted(rows, x), np.searchsorted(rows, y))
                continue
            wanted, where = np.unique(np.concatenate((x, y)), return_inverse=True)
            yield from self._compared(wanted, self._bytes_of(wanted), where.reshape(2, -1))

    def _bytes_of(self, rows: I64) -> I64:
        """(n,) bytes that each takes while it is compared."""
        if not self._exact:
            return np.full(len(rows), self._num_perm * SIGNED_BYTES)
        kept = self._rows.take_all((SHINGLES, PACKED), rows)
        most: I64 = np.maximum(kept[SHINGLES], kept[PACKED]).astype(np.int64)
        return most * SHINGLE_BYTES

    def _compared(self, rows: I64, size: I64, pairs: I64) -> Iterator[Edges]:
        """pairs: (2, n) places in rows."""
        here, where = np.unique(pairs, return_inverse=True)
        n = pairs.shape[1]
        if n > 1 and int(size[here].sum()) > self._room // 2:
            yield from self._compared(rows, size, pairs[:, : n // 2])
            yield from self._compared(rows, size, pairs[:, n // 2 :])
            return
        rows = rows[here]
        x, y = where.reshape(2, -1)
        if self._exact:
            yield self._alike(rows, sets_of(self._rows, rows), x, y)
            return
        least = np.full(n, self._least)
        alike = equal_slots(self._rows.take("signature", rows), x, y, least)
        yield _found(rows, x, y, alike, np.full(n, self._num_perm))

    def _of_pictures(self, edges: Edges) -> Edges:
        """Those whose pictures are the same, or near."""
        rows, where = np.unique(np.concatenate(edges[:2]), return_inverse=True)
        sizes = self._rows.take(PICTURES, rows).astype(np.int64)
        n = len(edges.left)
        if n > 1 and int(sizes.sum()) > self._room // PICTURES_SHARE:
            halves = slice(n // 2), slice(n // 2, None)
            parts = [self._of_pictures(edges.at(half)) for half in halves]
            return Edges(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        lists = self._rows.lists(PICTURES, rows)
        some = [v[b[d] : b[d + 1]] for _, v, b, docs in lists for d in docs.tolist()]
        pictures = np.concatenate([np.empty(0, np.uint8), *some]).reshape(-1, PICTURE_BYTES)
        starts = np.concatenate(([0], np.cumsum(sizes))) // PICTURE_BYTES
        return edges.at(same_pictures(pictures, starts, where[:n], where[n:], DISTANCE))

    def _alike(self, rows: I64, sets: Shingles, x: I64, y: I64) -> Edges:
        """sets: of rows.  x, y: (n,) places in them."""
        sizes = np.diff(sets.offsets)
        both = sizes[x] + sizes[y]
        alike = shared(sets, x, y, self._ratio.least_shared(both))
        return _found(rows, x, y, alike, both - alike)


def _found(rows: I64, x: I64, y: I64, alike: I64, union: I64) -> Edges:
    at = np.flatnonzero(alike >= 0)
    return Edges(rows[x[at]], rows[y[at]], alike[at].astype(np.uint32), union[at].astype(np.uint32))


def sets_of(rows: Rows, wanted: I64) -> Shingles:
    """The sets of shingles of rows, which ascend: from as they came, or as an index keeps them."""
    sizes = rows.take_all((SHINGLES, PACKED), wanted)
    return gathered(
        np.where(sizes[PACKED], sizes[PACKED], sizes[SHINGLES]).astype(np.int64),
        _plain(rows.lists(SHINGLES, wanted), sizes[PACKED].astype(np.int64)),
    )


def _plain(
    lists: Iterable[tuple[slice, U32, I32, I64]], counts: I64
) -> Iterator[tuple[U32, I32 | I64, I64]]:
    """Lists of shingles, those of an index unpacked; counts: (n,) hashes of these, 0 of others."""
    for at, values, begins, docs in lists:
        if not counts[at].any():
            yield values, begins, docs
            continue
        words = np.concatenate([values[begins[d] : begins[d + 1]] for d in docs.tolist()])
        ends = np.cumsum(begins[docs + 1] - begins[docs], dtype=np.int64)
        yield *unpack(Packed(words, np.append(0, ends), counts[at])), np.arange(len(docs))


# files of edges


class EdgeWriter:
    """Writes edges in runs, each by the later row and then the earlier."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter, room: int) -> None:
        """room: bytes for what is held."""
        self._rows = RangeWriter(writer, ALIKE_EDGE, 0, PAIRS_AT_ONCE)
        self._most = max(room // EDGE_BYTES, 1)
        self._held: list[Edges] = []
        self._n_held = self.n = 0

    def write(self, edges: Edges) -> None:
        self._held.append(edges)
        self._n_held += len(edges.left)
        self.n += len(edges.left)
        if self._n_held >= self._most:
            self.flush()

    def flush(self) -> None:
        """End a run; at the end by the caller."""
        if self._n_held:
            self._rows.write(*joined(self._held))
            self._rows.flush()
            self._held, self._n_held = [], 0


class _Run:
    """What is left of a run, of which a part is in memory; its batches are in order."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self._batches, self.held = batches[::-1], NONE
        self.more()

    @property
    def goes_on(self) -> bool:
        return bool(self._batches)

    def more(self) -> None:
        """Take the next batch to what is held."""
        next_ = _edges_of(self._batches.pop())
        columns: tuple[Any, ...] = tuple(zip(self.held, next_, strict=True))
        self.held = Edges(*map(np.concatenate, columns))

    def below(self, row: int | None) -> Edges:
        """Those whose later row is below one, or all; they are held no longer."""
        n = len(self.held.right) if row is None else int(np.searchsorted(self.held.right, row))
        found, self.held = self.held.at(slice(n)), self.held.at(slice(n, None))
        return found


def _edges_of(batch: pa.RecordBatch) -> Edges:
    return Edges(*(np.asarray(column) for column in batch.columns))


def _runs(path: Path) -> Iterator[list[pa.RecordBatch]]:
    """The batches of a file, run by run."""
    run: list[pa.RecordBatch] = []
    last = -1, -1
    for batch in open_arrow(path)[0]:
        edges = _edges_of(batch)
        if run and (int(edges.right[0]), int(edges.left[0])) <= last:
            yield run
            run = []
        run.append(batch)
        last = int(edges.right[-1]), int(edges.left[-1])
    if run:
        yield run


def merged(paths: Sequence[Path]) -> Iterator[Edges]:
    """The edges of files by later row, then earlier, each pair once, a later row's together."""
    runs = [_Run(batches) for path in paths for batches in _runs(path)]
    while runs:
        ends = [int(run.held.right[-1]) for run in runs if run.goes_on]
        bound = min(ends, default=None)
        found = joined([run.below(bound) for run in runs])
        for run in runs:
            if run.goes_on and (not len(run.held.right) or int(run.held.right[-1]) == bound):
                run.more()
        runs = [run for run in runs if len(run.held.right)]
        if len(found.right):
            yield found
