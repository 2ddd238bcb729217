"""In which order training reads the rows of a dataset, and which of them each rank reads.

sequential   record batches one after another
chunked      runs of rows at random, as a loader with a shuffle buffer fetches them
random       single rows at random, through a map that is told so (MADV_RANDOM)
mmap         the same through a map that is not told: the kernel reads ahead around each
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.probe.shards import BatchPlace

Order: TypeAlias = Literal["sequential", "chunked", "random", "mmap"]
ORDERS: tuple[Order, ...] = get_args(Order)
READ_AHEAD = frozenset({"chunked", "mmap"})  # the kernel reads on behind what is asked for
MOST_SHUFFLED = 2**23  # pieces of which a permutation is held; of more, pieces are drawn


class Read(NamedTuple):
    """Rows [first, last) of a record batch."""

    batch: int
    first: int
    last: int


class Pieces(NamedTuple):
    """What is read at once: each batch cut into `rows` rows.  firsts: (batches + 1,) pieces."""

    rows: int
    firsts: npt.NDArray[np.int64]
    batch_rows: npt.NDArray[np.int64]

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
