"""Candidate pairs and clusters of whole corpora, as arrays: what tests compare a run's with."""

import numpy as np

from tokenmill.dedup.same.lsh import MAX_BUCKET, NO_KEY, PREVIOUS_ROWS
from tokenmill.dedup.same.verify import Forest, Touched


def candidate_pairs(keys):
    """(n_pairs, 2) rows of (n,) keys of one band, each (lower, higher), sorted, none twice."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order])) + 1
    pairs = [np.empty((0, 2), np.int64)]
    for rows in np.split(order, starts):
        if keys[rows[0]] != NO_KEY:
            pairs.append(rows[_places(len(rows))])
    return _distinct(np.concatenate(pairs), len(keys))


def _places(n):
    """(n_pairs, 2) places of the pairs of a bucket of n rows."""
    if n <= MAX_BUCKET:
        return np.column_stack(np.triu_indices(n, 1))
    lower = np.concatenate((np.arange(MAX_BUCKET // 2), -1 - np.arange(PREVIOUS_ROWS)))
    higher = np.arange(n)[:, None]
    lower = np.where(lower < 0, higher + lower, lower)
    higher = np.broadcast_to(higher, lower.shape)
    wanted = (lower >= 0) & (lower < higher)
    return _distinct(np.column_stack((lower[wanted], higher[wanted])), n)


def _distinct(pairs, n):
    """The pairs of rows below `n`, sorted, none twice: by numbers, which is the quickest way."""
    codes = np.sort(pairs @ np.array([n, 1]))
    return np.column_stack(np.divmod(codes[np.diff(codes, prepend=-1) > 0], n))


def clusters(n_docs, edges):
    """(n_docs,) the lowest row of each row's cluster."""
    touched = Touched(n_docs)
    touched.mark(edges)
    forest = Forest(touched)
    forest.join(edges)
    labels = np.arange(n_docs)
    for trees in forest.trees(1 << 16):
        labels[trees[:, 0]] = trees[:, 1]
    return labels
