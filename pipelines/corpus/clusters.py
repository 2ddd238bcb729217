"""What is told of clusters: how many there are, and the largest, named by the document kept."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.corpus.rows import Corpus

LARGEST_CLUSTERS = 20
ROWS_AT_ONCE = 1 << 20


def cluster_facts(corpus: Corpus, kept: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How many documents, clusters of two or more, and the largest: [doc_id, documents] of each.

    kept: (n_gone,) of each document that goes the row of the one kept in its place; is sorted.
    """
    kept.sort()
    n_clusters, before = 0, -1
    rows, sizes = np.empty((2, 0), np.int64)
    for start in range(0, len(kept), ROWS_AT_ONCE):
        here = kept[start : start + ROWS_AT_ONCE + 1]
        ends = np.flatnonzero(here[1:] != here[:-1]) + start
        if start + ROWS_AT_ONCE >= len(kept):
            ends = np.append(ends, len(kept) - 1)
        found = np.diff(ends, prepend=before) + 1  # with the one that is kept
        n_clusters, before = n_clusters + len(ends), ends[-1] if len(ends) else before
        rows, sizes = np.append(rows, kept[ends]), np.append(sizes, found)
        most = np.lexsort((rows, -sizes))[:LARGEST_CLUSTERS]
        rows, sizes = rows[most], sizes[most]
    ids = corpus.ids_of(rows)
    largest = [[i, n] for i, n in zip(ids.tolist(), sizes.tolist(), strict=True)]
    docs = corpus.n - (corpus.shards.first_new_row - int(corpus.shards.starts[0]))
    return {"docs": docs, "clusters": n_clusters, "largest": largest}


def merged_facts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of all clusters, from those of disjoint parts of them.

    >>> parts = [{"docs": 9, "clusters": 1, "largest": [[5, 2]]}]
    >>> merged_facts([*parts, {"docs": 9, "clusters": 2, "largest": [[1, 3], [0, 2]]}])
    {'docs': 9, 'clusters': 3, 'largest': [[1, 3], [0, 2], [5, 2]]}
    """
    largest = [cluster for part in parts for cluster in part["largest"]]
    largest.sort(key=lambda cluster: (-cluster[1], cluster[0]))
    return {
        "docs": parts[0]["docs"],
        "clusters": sum(part["clusters"] for part in parts),
        "largest": largest[:LARGEST_CLUSTERS],
    }
