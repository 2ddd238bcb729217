"""Union-find over edges."""

import numpy as np

from tokenmill.dedup.kernels._jit import I64, U32, U64, inlined, kernel

U64_1 = np.uint64(1)
U64_2 = np.uint64(2)
U64_4 = np.uint64(4)
U64_56 = np.uint64(56)
ODD_BITS = np.uint64(0x5555555555555555)
PAIRS = np.uint64(0x3333333333333333)
NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES = np.uint64(0x0101010101010101)


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
def ones(word: np.uint64) -> np.uint64:
    """How many bits of a word are set (Hacker's Delight, 5-1)."""
    word -= (word >> U64_1) & ODD_BITS
    word = (word & PAIRS) + ((word >> U64_2) & PAIRS)
    word = (word + (word >> U64_4)) & NIBBLES
    return (word * BYTES) >> U64_56


@inlined
def place(bits: U64, before: U32, row: int) -> int:
    """The number of a marked row among those marked."""
    word = row >> 6
    below = (U64_1 << np.uint64(row & 63)) - U64_1
    return int(before[word] + ones(bits[word] & below))


@kernel
def mark(rows: I64, first: int, bits: U64) -> None:
    """Set the bit of each row, which count from `first`. bits: (n_docs // 64 + 1,)."""
    for i in range(rows.shape[0]):
        row = rows[i] - first
        bits[row >> 6] |= U64_1 << np.uint64(row & 63)


@kernel
def marked(bits: U64, first: int, rows: I64) -> None:
    """Write the rows whose bit is set, ascending. rows: (n_marked,)."""
    n = 0
    for word in range(bits.shape[0]):
        left = bits[word]
        row = first + (word << 6)
        while left:
            if left & U64_1:
                rows[n] = row
                n += 1
            left >>= U64_1
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
