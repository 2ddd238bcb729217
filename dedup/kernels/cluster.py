"""Union-find over edges."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U32, U64, inlined, kernel
from tokenmill.dedup.kernels.swar import n_bits
from tokenmill.dedup.kernels.u64 import ONE


@inlined
def root(parents: I64 | U32, row: int) -> int:
    """The row at the top of `row`'s tree; halves the path to it on the way."""
    while parents[row] != row:
        parents[row] = parents[parents[row]]
        row = parents[row]
    return row


@kernel
def unite(left: I64, right: I64, parents: I64) -> None:
    """Join the trees of each edge under the lower of their roots.

    left, right: (n_edges,).  parents: (n_docs,), each row its own parent at first; never
    higher than the row.
    """
    for e in range(left.shape[0]):
        x = root(parents, left[e])
        y = root(parents, right[e])
        if x < y:
            parents[y] = x
        else:
            parents[x] = y


@kernel
def flatten(parents: I64 | U32) -> None:
    """Make each row's parent the root of its tree, the lowest row of its cluster.

    parents: (n_docs,), of `unite` or `unite_marked`.
    """
    for row in range(parents.shape[0]):  # parents are lower, and so flat already
        parents[row] = parents[parents[row]]


@inlined
def place(bits: U64, before: U32, row: int) -> int:
    """The number of a marked row among those marked."""
    word = row >> 6
    below = (ONE << np.uint64(row & 63)) - ONE
    return int(before[word] + n_bits(bits[word] & below))


@kernel
def mark(rows: I64, first: int, bits: U64) -> None:
    """Set the bit of each row, which count from `first`. bits: (n_docs // 64 + 1,)."""
    for i in range(rows.shape[0]):
        row = rows[i] - first
        bits[row >> 6] |= ONE << np.uint64(row & 63)


@kernel
def marked(bits: U64, first: int, rows: I64) -> None:
    """Write the rows whose bit is set, ascending. rows: (n_marked,)."""
    n = 0
    for word in range(bits.shape[0]):
        left = bits[word]
        row = first + (word << 6)
        while left:
            if left & ONE:
                rows[n] = row
                n += 1
            left >>= ONE
            row += 1


@kernel
def unite_marked(left: I64, right: I64, first: int, bits: U64, before: U32, parents: U32) -> None:
    """Join the trees of each edge between marked rows under the lower of their roots.

    left, right: (n_edges,) rows, which count from `first`.  bits: as of `mark`.
    before: (n_words,) bits set in the words before each.
    parents: (n_marked,) places of rows among those marked, each its own at first.
    """
    for e in range(left.shape[0]):
        x = root(parents, place(bits, before, left[e] - first))
        y = root(parents, place(bits, before, right[e] - first))
        if x < y:
            parents[y] = x
        else:
            parents[x] = y
