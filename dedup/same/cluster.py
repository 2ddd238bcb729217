"""From verified edges to clusters of near-duplicates."""

from collections.abc import Iterator

import numpy as np

from tokenmill.dedup.arrays import I64, read_only
from tokenmill.dedup.kernels import cluster as kernels

WORD_BITS = 64


class Touched:
    """The rows that edges name, of very many; takes 3 bits a row of the corpus."""

    def __init__(self, n_docs: int, first: int = 0) -> None:
        """first: the number of the corpus' first row."""
        self.n_docs, self.first = n_docs, first
        self.bits = np.zeros(n_docs // WORD_BITS + 1, np.uint64)

    def mark(self, edges: I64) -> None:
        """Mark the rows of (n_edges, 2) edges; IndexError where one is none of the documents."""
        end = self.first + self.n_docs
        if len(edges) and (edges.max() >= end or edges.min() < self.first):
            row = edges.max() if edges.max() >= end else edges.min()
            since = f" from {self.first} on" if self.first else ""
            raise IndexError(f"edges name row {row}, there are {self.n_docs} rows{since}")
        kernels.mark(read_only(edges.reshape(-1)), self.first, self.bits)

    @property
    def n(self) -> int:
        return int(np.bitwise_count(self.bits).sum(dtype=np.int64))

    def rows(self) -> I64:
        """(n,) the rows marked, ascending."""
        out = np.empty(self.n, np.int64)
        kernels.marked(read_only(self.bits), self.first, out)
        return out


class Forest:
    """Rows joined by edges as they come, if marked before; 12 bytes each, and `Touched`'s."""

    def __init__(self, touched: Touched) -> None:
        counts = np.bitwise_count(touched.bits)
        self._bits, self._first = touched.bits, touched.first
        self._before = np.cumsum(counts, dtype=np.uint32) - counts
        self.rows = touched.rows()
        self._parents = np.arange(len(self.rows), dtype=np.uint32)

    def join(self, edges: I64) -> None:
        """Join the two rows of each of (n_edges, 2) edges."""
        left, right = (read_only(edges[:, side]) for side in (0, 1))
        bits, before = read_only(self._bits), read_only(self._before)
        kernels.unite_marked(left, right, self._first, bits, before, self._parents)

    def lead(self, weights: I64, first: int) -> None:
        """Let the heaviest row of each tree, the lowest of equals, stand for it, not the lowest.

        weights: (n,) of `rows`.  first: a lowest row below it stands for its tree all the same.
        """
        kernels.flatten(self._parents)
        n_fixed = int(np.searchsorted(self.rows, first))
        best = np.arange(len(self.rows), dtype=np.uint32)
        kernels.lead(read_only(weights), n_fixed, best, self._parents)

    def trees(self, at_once: int) -> Iterator[I64]:
        """(n, 2) each row that is not the lowest of its tree, ascending, and that which is.

        Or, after `lead`, that which stands for its tree.

        at_once: rows looked at for each.
        """
        kernels.flatten(self._parents)
        for start in range(0, len(self.rows), at_once):
            lowest = self._parents[start : start + at_once]
            other = np.flatnonzero(lowest != np.arange(start, start + len(lowest)))
            yield np.column_stack([self.rows[other + start], self.rows[lowest[other]]])
