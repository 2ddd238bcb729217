"""Clusters as the product finds them, as a label for each row."""

import numpy as np

from tokenmill.dedup.same.cluster import Forest, Touched


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
