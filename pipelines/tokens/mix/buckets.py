"""Buckets: where mixed documents lie until they are laid out.

    token shards of a group ── spill ── a cell for each bucket ┐
    those of the next group ── spill ── a cell for each bucket ┴─ a bucket, in order of keys

A bucket is a range of keys, and its documents are a stretch of the split's stream: what a token
shard is to a run that mixes nothing. Cells of neighbouring buckets are batches of one file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.storage.files import open_batch
from tokenmill.pipelines.storage.inputs import is_outage
from tokenmill.pipelines.storage.mirror import present
from tokenmill.pipelines.tokens.mix.draws import KEY_BITS
from tokenmill.pipelines.tokens.mix.lists import Gathered, one_batch, spans_of
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import Documents

OF_COPY = (pa.field("key", pa.uint64()), pa.field("copies", pa.uint32()))
NOTHING = pa.record_batch({})
COUNTS = pa.schema([pa.field(name, pa.int64()) for name in ("docs", "tokens", "text_bytes")])


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

    def of_keys(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """(n,) the bucket of each key."""
        if not self.bits:
            return np.zeros(len(keys), np.uint16)
        return (keys >> np.uint64(KEY_BITS - self.bits)).astype(np.uint16)

    def blocks(self) -> list[range]:
        """The buckets of each file of a group."""
        return [
            range(first, min(first + self.block, self.buckets))
            for first in range(0, self.buckets, self.block)
        ]

    def documents(self, job: TokenRun) -> list[Documents]:
        """The documents of each bucket; but one at a time stays in memory."""
        loaded = Loaded(job, self)
        return [Bucket(loaded, number) for number in range(self.buckets)]


class Loaded:
    """The bucket that was read last, in order."""

    def __init__(self, job: TokenRun, mixed: Mixed) -> None:
        self._job, self._mixed = job, mixed
        self._number, self._bucket = -1, NOTHING

    def cells(self, number: int) -> list[tuple[Path, int]]:
        """File and batch of each group's cell, in order of the groups."""
        block, batch = divmod(number, self._mixed.block)
        split = self._mixed.split
        return [
            (self._job.buckets(split, group, block), batch) for group in range(self._mixed.groups)
        ]

    def bucket(self, number: int) -> pa.RecordBatch:
        """All documents of a bucket by their keys; of equal keys those first that came first."""
        if number != self._number:
            self._bucket = NOTHING  # not two of them at a time
            self._bucket = in_order([read_batch(*cell) for cell in self.cells(number)])
            self._number = number
        return self._bucket


@dataclass(frozen=True)
class Bucket:
    """The documents of one; see `token_span.Documents`."""

    loaded: Loaded
    number: int

    def sizes(self) -> npt.NDArray[np.int64]:
        """See `Documents`; of the cells no more is read than keys and lengths."""
        keys, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for path, number in self.loaded.cells(self.number):
            cell = open_batch(path, number)
            keys.append(np.array(cell["key"]))
            sizes.append(np.array(cell["input_ids"].value_lengths()))
        return np.concatenate(sizes)[np.argsort(np.concatenate(keys), kind="stable")]

    def rows(self, lo: int, hi: int) -> pa.Table:
        """See `Documents`; also each one's key and how many copies of it there are."""
        return pa.Table.from_batches([self.loaded.bucket(self.number).slice(lo, hi - lo)])


def in_order(cells: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Documents by their keys; of equal keys in the order in which they stand."""
    keys = np.concatenate([np.asarray(cell["key"]) for cell in cells])
    order = np.argsort(keys, kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    spans = [spans_of(cell["input_ids"]) for cell in cells]
    sizes = np.concatenate([s.sizes for s in spans])
    schema = cells[0].schema
    ids, at = Gathered(sizes[order], schema.field("input_ids").type.value_type), 0
    for of_cell in spans:
        n = len(of_cell.sizes)
        ids.put(places[at : at + n], of_cell, np.arange(n))
        at += n
    rest = [cell.drop_columns(["input_ids"]) for cell in cells]
    taken = one_batch(pa.Table.from_batches(rest)).take(pa.array(order))
    columns = [ids.array() if n == "input_ids" else taken[n] for n in schema.names]
    return pa.record_batch(columns, schema=schema)


def read_batch(path: Path, number: int) -> pa.RecordBatch:
    """A batch of an Arrow IPC file, in memory: no file stays open.

    Raises:
        ShardError: not a whole Arrow IPC file of more than `number` batches.
    """
    try:
        with pa.OSFile(str(present(path))) as file, pa.ipc.open_file(file) as reader:
            return reader.get_batch(number)
    except (ValueError, OSError) as e:
        if is_outage(e):
            raise
        raise ShardError(
            f"{path}: not a complete Arrow IPC file ({e});"
            " delete it and rerun, finished shards are kept"
        ) from e
