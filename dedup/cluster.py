"""From verified edges to clusters of near-duplicates."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.arrays import read_only
from dedup.kernels import cluster as kernels


class Forest:
    """Documents joined by edges, as they come: what was joined before need not be kept.

    Memory: 8 bytes a document.
    """

    def __init__(self, n_docs: int) -> None:
        self._parents = np.arange(n_docs, dtype=np.int64)

    def join(self, edges: npt.NDArray[np.integer[Any]]) -> None:
        """Join the two rows of each of (n_edges, 2) edges.

        Raises:
            IndexError: an edge names a row that is not one of the documents.
        """
        if not len(edges):
            return
        n_docs = len(self._parents)
        if edges.min() < 0 or edges.max() >= n_docs:
            raise IndexError(
                f"edges name rows {edges.min()} to {edges.max()}, there are {n_docs} rows"
            )
        left, right = (edges[:, side].astype(np.int64, copy=False) for side in (0, 1))
        kernels.unite(read_only(left), read_only(right), self._parents)

    def labels(self) -> npt.NDArray[np.int64]:
        """(n_docs,) the lowest row number of each row's cluster; a view, not a copy."""
        kernels.flatten(self._parents)
        return self._parents


def clusters(n_docs: int, edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Find the connected components of documents.

    Args:
        n_docs: rows, numbered from 0.
        edges: (n_edges, 2) row numbers of verified pairs, in any order.

    Returns:
        (n_docs,) int64, the lowest row number of each row's cluster, whatever the order of
        the edges: "keep the first of each" is `labels == np.arange(n_docs)`.

    Raises:
        IndexError: an edge names a row that is not one of `n_docs`.
    """
    forest = Forest(n_docs)
    forest.join(edges)
    return forest.labels()


def merge_edges(bands: Iterable[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Put the pairs of several bands together, each pair once.

    Args:
        bands: (n_pairs, 2) int64 row numbers each, below 2**32.

    Returns:
        (n_edges, 2) int64, each (lower, higher), sorted.

    Raises:
        ValueError: a row number is negative or 2**32 or more.
    """
    packed = [_packed(pairs) for pairs in bands if len(pairs)]
    if not packed:
        return np.empty((0, 2), np.int64)
    merged = np.concatenate(packed)
    merged.sort()
    merged = merged[np.concatenate(([True], merged[1:] != merged[:-1]))]
    return np.stack([merged >> np.uint64(32), merged & np.uint64(0xFFFF_FFFF)], axis=1).astype(
        np.int64
    )


def _packed(pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """(n_pairs,) uint64, lower row number in the high half: sorts as the pairs do."""
    if pairs.min() < 0 or pairs.max() >= 1 << 32:
        raise ValueError(
            f"row numbers {pairs.min()} to {pairs.max()} do not fit 32 bits;"
            " number the rows of a run from 0"
        )
    lower = pairs.min(axis=1).astype(np.uint64)
    higher = pairs.max(axis=1).astype(np.uint64)
    packed: npt.NDArray[np.uint64] = lower << np.uint64(32) | higher
    return packed


def cluster_sizes(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Count the documents of each cluster.

    labels: (n_docs,), as `clusters` makes them.

    Returns:
        (n_docs,) uint32: at the first row of a cluster its size, elsewhere 0.
    """
    sizes = np.zeros(len(labels), np.uint32)
    kernels.cluster_sizes(read_only(labels), sizes)
    return sizes
