"""Verified edges of one band, a bucket and a pair at a time."""

import numpy as np

from tests.reference.cluster import clusters


def verified_edges(buckets, signatures, verify, *, all_pairs, max_bucket, n_first, n_previous):
    """Alike pairs; in a bucket of more than `all_pairs` rows none that others join already."""
    edges = []
    for rows in buckets:
        joined = []
        for j, row in enumerate(rows):
            before = range(j)
            if len(rows) > max_bucket:
                before = sorted({*range(min(j, n_first)), *range(max(0, j - n_previous), j)})
            for i in before:
                labels = clusters(len(rows), joined)
                if len(rows) > all_pairs and labels[i] == labels[j]:
                    continue
                share = np.mean(signatures[rows[i]] == signatures[row])
                if np.float32(share) >= np.float32(verify):
                    joined.append((i, j))
        edges += [(rows[i], rows[j]) for i, j in joined]
    return edges
