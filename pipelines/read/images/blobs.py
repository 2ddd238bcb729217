"""The bytes of a shard's images, found by their offset: in memory as read, or set down in a file.

    reader ── Window (a batch's own) ── stages ── spool ── Spool (a shard's, a file) ── dataset

Record batches carry facts and offsets alone, so that no stage copies bytes of images.
"""

import contextlib
import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.core.schema import with_column
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.storage.mirror import present


class Blobs(Protocol):
    """Bytes by where they begin and how many they are."""

    def take(self, offset: int, size: int) -> memoryview: ...


class Window:
    """One batch's images: successive pieces of the shard's stream; start: offset of the first."""

    def __init__(self, start: int, pieces: Sequence[bytes | memoryview]) -> None:
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        self._pieces = pieces
        self._starts = start + np.concatenate(([0], np.cumsum(sizes)))

    @property
    def offsets(self) -> I64:
        """(n,) where each piece begins."""
        return self._starts[:-1]

    @property
    def end(self) -> int:
        """Where the next window begins."""
        return int(self._starts[-1])

    def take(self, offset: int, size: int) -> memoryview:
        # an empty piece begins where the next one does, and is never asked for
        at = int(np.searchsorted(self._starts, offset, side="right")) - 1
        begin = offset - int(self._starts[at])
        return memoryview(self._pieces[at])[begin : begin + size]


class Spool:
    """The images of a shard, one behind the other in a file.

    Each is read when it is asked for: mapped, all that was ever read of a file would count as
    memory of the process (1.8 GB for 1.5 GB of images, where 0.5 are enough).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(present(path), os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def take(self, offset: int, size: int) -> memoryview:
        data = os.pread(self._file, size, offset)
        if len(data) < size:
            raise ShardError(
                f"{self._path}: ends before byte {offset + size:,}; delete it and rerun, finished"
                " shards are kept"
            )
        return memoryview(data)


class SpoolWriter:
    """Sets images down one behind the other. Make it with `spool_file`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0

    def write(self, documents: pa.RecordBatch, blobs: Blobs) -> pa.RecordBatch:
        """Set down the images of some documents; return them with the new offsets."""
        items = pa.RecordBatch.from_struct_array(documents["images"].flatten())
        placed: list[int | None] = []
        places = zip(items["offset"].to_pylist(), items["bytes"].to_pylist(), strict=True)
        for offset, size in places:
            if offset is None:
                placed.append(None)
                continue
            self._file.write(blobs.take(offset, size))
            placed.append(self._at)
            self._at += size
        moved = with_column(items, "offset", pa.array(placed, pa.int64()))
        return with_images(documents, moved.to_struct_array())


@contextlib.contextmanager
def spool_file(path: Path) -> Iterator[SpoolWriter]:
    """Write a spool, atomically."""
    with atomic_path(path) as partial, partial.open("wb") as file:
        yield SpoolWriter(file)


def with_images(documents: pa.RecordBatch, items: pa.StructArray) -> pa.RecordBatch:
    """Documents whose images are `items` (n_images,), as many to each as before."""
    counts = documents["images"].value_lengths().fill_null(0)
    ends = np.concatenate(([0], np.cumsum(np.asarray(counts)))).astype(np.int64)
    return with_column(documents, "images", pa.LargeListArray.from_arrays(pa.array(ends), items))
