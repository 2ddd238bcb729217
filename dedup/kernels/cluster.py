"""Union-find over edges."""

from dedup.kernels._jit import I64, inlined, kernel


@inlined
def root(parents: I64, row: int) -> int:
    """The row at the top of `row`'s tree; halves the path to it on the way."""
    while parents[row] != row:
        parents[row] = parents[parents[row]]
        row = parents[row]
    return row


@kernel
def unite(left: I64, right: I64, parents: I64) -> None:
    """Join the trees of each edge under the lower of their roots, then flatten all of them.

    left, right: (n_edges,).  parents: (n_docs,), each row its own parent at first; in the
    end each row's is the lowest row of its cluster.
    """
    for e in range(left.shape[0]):
        x = root(parents, left[e])
        y = root(parents, right[e])
        if x < y:
            parents[y] = x
        else:
            parents[x] = y
    for row in range(parents.shape[0]):  # parents are lower, and so flat already
        parents[row] = parents[parents[row]]
