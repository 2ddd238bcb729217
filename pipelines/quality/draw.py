"""Draws for documents that depend on their ids and a seed alone.

So reruns agree, whatever the order of the documents and the number of workers.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from tokenmill.dedup.digest import digests

# the finalizer of SplitMix64 (Steele, Lea and Flood 2014)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BITS_27, BITS_30, BITS_31 = np.uint64(27), np.uint64(30), np.uint64(31)
OF_53_BITS = 2.0**-53


def uniform(ids: pa.Array, purpose: str, seed: int) -> npt.NDArray[np.float64]:
    """(n_docs,) float64, evenly in [0, 1): multiples of 2**-53, the same for equal ids.

    ids: (n_docs,) string.  purpose: draws for two purposes tell nothing of each other.
    """
    key = np.uint64(xxhash.xxh3_64_intdigest(f"{purpose} {seed}".encode()))
    x = digests(ids, "xxh3")[:, 0] ^ key
    x = (x ^ (x >> BITS_30)) * FIRST
    x = (x ^ (x >> BITS_27)) * SECOND
    x ^= x >> BITS_31
    return (x >> np.uint64(11)).astype(np.float64) * OF_53_BITS


def kept_share(scores: npt.NDArray[np.float64], alpha: float) -> npt.NDArray[np.float64]:
    """(n_docs,) float64, with what probability the Pareto rule keeps documents of such scores.

        P(pareto(alpha) > 1 - score)  =  (1 + 1 - score) ** -alpha

    `numpy.random.pareto` draws from the Lomax distribution, whose P(X > x) is (1 + x) ** -alpha.

    >>> kept_share(np.array([0.0, 0.5, 1.0]), alpha=9).round(4).tolist()
    [0.002, 0.026, 1.0]
    """
    shares: npt.NDArray[np.float64] = (2.0 - scores) ** -alpha
    return shares
