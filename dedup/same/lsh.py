"""Locality-sensitive hashing: documents that share a band of their signatures become candidates.

    signatures (n, num_perm) --> band keys (n, bands) --one band at a time--> buckets

Rows of a bucket are candidates, pairs to verify, not duplicates: without verification about half
of the pairs that LSH finds are below the wanted similarity. `verify` makes edges of them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.arrays import I64, U32, U64, read_only
from tokenmill.dedup.kernels import equal as kernels
from tokenmill.dedup.same.partition import partition

NO_KEY = np.uint64(0)  # every band's key of a document without shingles: never a candidate
MAX_BUCKET = 128  # rows of a bucket of which all pairs are made
PREVIOUS_ROWS = 8  # a row of an over-full bucket is paired with as many rows before it


@dataclass(frozen=True, kw_only=True)
class Bands:
    """How a signature is cut: `bands` bands of `rows` slots each.

    Two documents of Jaccard similarity s share a band with probability
    1 - (1 - s**rows)**bands, by default .996 of s = 0.8, and more of what is more alike.
    FineWeb and datatrove have 14 bands of 8 rows: .92 of 0.8.
    """

    bands: int = 14
    rows: int = 5

    def __post_init__(self) -> None:
        if self.bands < 1 or self.rows < 1:
            raise ValueError(
                f"need at least 1 band of 1 row, got {self.bands} bands of {self.rows} rows"
            )

    @property
    def num_perm(self) -> int:
        """Slots of a signature that the bands use."""
        return self.bands * self.rows

    def recall(self, similarity: float) -> float:
        """The probability that two documents of a Jaccard similarity share a band.

        >>> [round(Bands(bands=14, rows=5).recall(s), 3) for s in (0.7, 0.75, 0.8, 0.9)]
        [0.924, 0.977, 0.996, 1.0]
        """
        return 1.0 - (1.0 - similarity**self.rows) ** self.bands


def band_keys(signatures: U32, bands: Bands) -> U64:
    """(n_docs, bands) uint64, equal where all rows of the band are (else by odds of 2**-64).

    NO_KEY, in every band, for documents without shingles.
    signatures: (n_docs, `bands.num_perm` at least, else ValueError); more slots are not used.
    """
    if signatures.shape[1] < bands.num_perm:
        raise ValueError(
            f"{bands.bands} bands of {bands.rows} rows need {bands.num_perm} permutations,"
            f" the signatures have {signatures.shape[1]}"
        )
    out = np.empty((len(signatures), bands.bands), np.uint64)
    kernels.band_keys(read_only(signatures), bands.rows, out)
    return out


class Buckets(NamedTuple):
    """Rows that share their key, bucket after bucket.

    members: (n_members,) uint32 places among the keys, or int64 rows of a corpus, ascending within
        a bucket.
    ends: (n_buckets,) int64, where in `members` each bucket ends.
    """

    members: npt.NDArray[np.integer[Any]]
    ends: I64


def buckets(keys: U64, bits: int | None = None) -> Buckets:
    """Gather the rows of (n,) keys that share theirs with another row; NO_KEY is in no bucket.

    Buckets come in order of the top `bits` of their key, and of their first row: so that
    those of a range of prefixes are a part of those of all. Memory: see BUCKET_BYTES.
    """
    parts = partition(keys, bits)
    members, ends = np.empty(len(keys), np.uint32), np.empty(len(keys) // 2 + 1, np.int64)
    n, table = parts.largest, np.empty(parts.table_size, np.int32)
    local, first, size = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.int64)
    given = read_only(keys), *parts, table
    n_buckets, n_members = kernels.buckets(*given, local, first, size, members, ends)
    return Buckets(members[:n_members], ends[:n_buckets])


def count_pairs(ends: I64, max_bucket: int = MAX_BUCKET) -> int:
    """How many candidate pairs the buckets have that end at `ends`.

    All pairs of a bucket of up to `max_bucket` rows. In a larger one each row is paired with the
    first `max_bucket // 2` rows and with the PREVIOUS_ROWS rows before it: so that a bucket of n
    rows has at most n * (max_bucket // 2 + PREVIOUS_ROWS) pairs, and its rows are still connected,
    should they verify.
    """
    sizes = np.diff(ends, prepend=0)
    n_first = max_bucket // 2
    small = sizes * (sizes - 1) // 2
    large = _sum_of_least(sizes, n_first) + _sum_of_least(sizes - n_first, PREVIOUS_ROWS)
    return int(np.where(sizes <= max_bucket, small, large).sum())


def _sum_of_least(n: I64, cap: int) -> I64:
    """The sum of min(i, cap) over i from 0 to n - 1."""
    below = np.minimum(n, cap)
    total: I64 = below * (below - 1) // 2 + (n - below) * cap
    return total
