"""Union-find over edges."""

import numpy as np

from dedup.kernels._jit import I64, U32, inlined, kernel

U32_1 = np.uint32(1)


@inlined
def root(parents: I64, row: int) -> int:
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
def flatten(parents: I64) -> None:
    """Make each row's parent the root of its tree, the lowest row of its cluster.

    parents: (n_docs,), of `unite`.
    """
    for row in range(parents.shape[0]):  # parents are lower, and so flat already
        parents[row] = parents[parents[row]]


@kernel
def cluster_sizes(labels: I64, sizes: U32) -> None:
    """Add to `sizes[label]` each row that has the label.

    labels: (n_docs,).  sizes: (n_docs,), all zero at first.
    """
    for row in range(labels.shape[0]):
        sizes[labels[row]] += U32_1
