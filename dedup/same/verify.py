"""From buckets of rows that share a band key to edges, the pairs whose signatures agree; from edges
to clusters of near-duplicates.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from tokenmill.dedup.arrays import I64, U32, order_of, read_only
from tokenmill.dedup.kernels import cluster as kernels
from tokenmill.dedup.same.lsh import MAX_BUCKET, PREVIOUS_ROWS, Buckets

ALL_PAIRS = 32  # rows of a bucket of which every verified pair is an edge
FIRST_ROWS = MAX_BUCKET // 2
CONTEXT_ROWS = FIRST_ROWS + PREVIOUS_ROWS  # of a bucket, that its later rows are compared with
WORD_BITS = 64


def verified_edges(
    buckets: Buckets,
    signed: Callable[[I64], U32],
    *,
    num_perm: int,
    verify: float,
    rows_at_once: int,
) -> Iterator[I64]:
    """(n_edges, 2) rows, (lower, higher), of candidate pairs (`lsh.count_pairs`) that are alike.

    In a bucket of more than ALL_PAIRS rows, pairs that others join already are left out: the
    edges connect the same rows, and a million equal documents are a million comparisons.

    buckets: of one band; edges come in their order.
    signed: (n, num_perm) signatures of (n,) ascending rows.
    verify: least similarity of an edge, as `pair_similarity` estimates it.
    rows_at_once: signatures to ask for at a time; a few more may be asked for.
    """
    members = read_only(buckets.members.astype(np.int64, copy=False))
    ends = read_only(buckets.ends)
    parents = np.arange(len(members), dtype=np.uint32)
    least = least_equal(num_perm, verify)
    for start, stop in blocks(ends, rows_at_once):
        bucket = int(np.searchsorted(ends, start, side="right"))
        begin = int(ends[bucket - 1]) if bucket else 0
        before = max(begin, start - PREVIOUS_ROWS)
        head = np.arange(begin, min(begin + FIRST_ROWS, before))
        rows = members[np.concatenate((head, np.arange(before, stop)))]
        order = order_of(rows)
        places = np.empty(len(rows), np.int64)
        places[order] = np.arange(len(rows))
        out = np.empty((_most_edges(ends, bucket, start, stop), 2), np.int64)
        given = members, ends, bucket, start, stop
        signatures = read_only(signed(rows[order])), places, len(head), start - before
        limits = ALL_PAIRS, MAX_BUCKET, FIRST_ROWS, PREVIOUS_ROWS
        n = kernels.alike(*given, *signatures, least, *limits, parents, out)
        yield out[:n]


def cut_large(buckets: Buckets, most: int) -> Iterator[Buckets]:
    """The buckets, those of more than `most` rows in pieces, which have the same candidate pairs.

    A later piece begins with the rows that its rows are compared with, so that edges between these
    may come again.

    most: above 2 * MAX_BUCKET, for a piece of no more than MAX_BUCKET would have all of its pairs.
    """
    members, ends = buckets
    begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
    done = 0
    for large in np.flatnonzero(ends - begins > most).tolist():
        if done < large:
            yield Buckets(members[begins[done] : begins[large]], ends[done:large] - begins[done])
        rows = members[begins[large] : ends[large]]
        n_pieces = -(-len(rows) // most)
        cuts = [len(rows) * piece // n_pieces for piece in range(n_pieces + 1)]
        for start, stop in pairwise(cuts):
            context = rows[:FIRST_ROWS], rows[start - PREVIOUS_ROWS : start]
            here = np.concatenate((*context, rows[start:stop])) if start else rows[:stop]
            yield Buckets(here, np.array([len(here)]))
        done = large + 1
    if done < len(ends):
        yield Buckets(members[begins[done] :], ends[done:] - begins[done])


def least_equal(num_perm: int, verify: float) -> int:
    """The least number of equal slots at which `pair_similarity` is `verify` or more.

    >>> least_equal(112, 0.7), least_equal(10, 0.5), least_equal(10, 0.0)
    (79, 5, 0)
    """
    estimates = (np.arange(num_perm + 1) / num_perm).astype(np.float32)
    return int(np.searchsorted(estimates, np.float32(verify)))


def blocks(ends: I64, rows_at_once: int) -> Iterator[tuple[int, int]]:
    """Ranges of members: whole buckets, as many as fit; one that alone does not is cut.

    Cut only where it is larger than MAX_BUCKET: the rows of a smaller one are all compared.
    """
    start, n_members = 0, int(ends[-1]) if len(ends) else 0
    while start < n_members:
        last = int(np.searchsorted(ends, start + rows_at_once, side="right"))
        stop = int(ends[last - 1]) if last else 0
        if stop <= start:  # this bucket alone is larger
            stop = int(ends[last])
            begin = int(ends[last - 1]) if last else 0
            if stop - begin > MAX_BUCKET:
                stop = min(stop, start + rows_at_once)
        yield start, stop
        start = stop


def _most_edges(ends: I64, bucket: int, start: int, stop: int) -> int:
    """A bound on the edges of a block: all pairs of small buckets; a tree of each large one."""
    last = int(np.searchsorted(ends, stop, side="left"))
    begin = int(ends[bucket - 1]) if bucket else 0
    sizes = np.diff(ends[bucket : last + 1], prepend=begin)
    small = sizes[sizes <= ALL_PAIRS]
    return int((small * (small - 1) // 2).sum()) + stop - start + CONTEXT_ROWS


class Touched:
    """The rows that edges name, of very many; takes 3 bits a row of the corpus."""

    def __init__(self, n_docs: int, first: int = 0) -> None:
        """first: the number of the corpus' first row."""
        self.n_docs, self.first = n_docs, first
        self.bits = np.zeros(n_docs // WORD_BITS + 1, np.uint64)

    def mark(self, edges: I64) -> None:
        """Mark the rows of (n_edges, 2) edges; IndexError: they name one not of the corpus."""
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
