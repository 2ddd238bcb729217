"""Keys that stand in very many documents, found in one walk and little memory (Misra-Gries).

    counts of keys ── add ── at most `room` counters: the largest stay, all less the next largest

A key of more than n / (room + 1) of n documents is among the counters, whatever the order; each
counter is too low by that many at most. Two summaries add up to one with the same promise
(Agarwal et al. 2012, Mergeable Summaries), so files are summed up apart. How often a key found
truly stands there a second walk tells.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.estimate.drawn import I64

U64 = npt.NDArray[np.uint64]


class Heavy(NamedTuple):
    """A summary of `docs` documents.

    keys: (n,) uint64, ascending, n <= room.  counts: (n,) over 0, of each at least so many.
    """

    keys: U64
    counts: I64
    docs: int
    room: int

    def add(self, keys: U64) -> "Heavy":
        """With more documents, one key each."""
        unique, counts = np.unique(keys, return_counts=True)
        return self._with(unique, counts.astype(np.int64), len(keys))

    def merge(self, other: "Heavy") -> "Heavy":
        """Of the documents of both."""
        return self._with(other.keys, other.counts, other.docs)

    def over(self, docs: float) -> U64:
        """Ascending keys that may stand in more than so many documents: all that do, and more.

        All that do only where docs >= self.docs / (room + 1).
        """
        error = self.docs // (self.room + 1)
        return self.keys[self.counts + error > docs]

    def _with(self, keys: U64, counts: I64, docs: int) -> "Heavy":
        together, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        summed = np.bincount(place, np.concatenate([self.counts, counts]), len(together))
        found = summed.astype(np.int64)
        if len(together) > self.room:
            found = found - np.partition(found, -self.room - 1)[-self.room - 1]
        left = found > 0
        return Heavy(together[left], found[left], self.docs + docs, self.room)


def heavy(room: int, summaries: Iterable[Heavy] = ()) -> Heavy:
    """A summary of no document, or of all those of others, with so many counters."""
    made = Heavy(np.zeros(0, np.uint64), np.zeros(0, np.int64), 0, room)
    for other in summaries:
        made = made.merge(other)
    return made
