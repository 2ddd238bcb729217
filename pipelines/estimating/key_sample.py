"""Clusters of equal documents, whole, of a share of the hash space; giants counted apart.

    digests ── walk ──┬── h < p * 2^64: documents, units, first row; p is halved as it fills
                      └── heavy hitters ── walk ── the same of them, whatever their h

Memory is that of MOST_KEYS keys, however large the corpus; where it has fewer, p is 1 and every
cluster is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.estimate.heavy import Heavy, heavy
from tokenmill.pipelines.sidecar import Rows

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

MOST_KEYS = 1 << 20  # 40 MB
MOST_GIANTS = 1 << 12  # a key of more than 1 / 4,097 of all documents is one for certain
AT_ONCE = 1 << 18  # rows
ODD = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # of splitmix64
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class Clusters(NamedTuple):
    """What is known of clusters of equal documents.

    share: of the hash space whose keys were kept.  sizes: (n,) documents.
    units: (n,) how many hold one.  unit: (n,) one of these.  giant: (n,) bool, counted apart.
    first: (n,) by column of ENDS, of the first document of each.
    """

    share: float
    sizes: I64
    units: I64
    unit: I64
    giant: npt.NDArray[np.bool_]
    first: dict[str, I64]

    @property
    def stands_for(self) -> npt.NDArray[np.float64]:
        """(n,) clusters of what was read."""
        return np.where(self.giant, 1.0, 1 / self.share)


@dataclass
class Keys:
    """Keys seen, ascending: documents, units, first row and latest unit of each."""

    keys: U64
    sizes: I64
    units: I64
    first: I64
    latest: I64

    def add(self, keys: U64, rows: I64, unit: int) -> None:
        """Documents of one unit, in order; units come in order too."""
        new, at, counts = np.unique(keys, return_index=True, return_counts=True)
        place = np.searchsorted(self.keys, new)
        known = np.zeros(len(new), np.bool_)
        inside = place < len(self.keys)
        known[inside] = self.keys[place[inside]] == new[inside]
        old = place[known]
        self.sizes[old] += counts[known]
        self.units[old] += self.latest[old] != unit
        self.latest[old] = unit
        fresh = ~known
        ones = np.ones(int(fresh.sum()), np.int64)
        together = np.concatenate([self.keys, new[fresh]])
        order = np.argsort(together, kind="stable")  # two runs: linear
        self.keys = together[order]
        self.sizes = np.concatenate([self.sizes, counts[fresh]])[order]
        self.units = np.concatenate([self.units, ones])[order]
        self.first = np.concatenate([self.first, rows[at[fresh]]])[order]
        self.latest = np.concatenate([self.latest, ones * unit])[order]

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        self.keys, self.sizes, self.units = self.keys[kept], self.sizes[kept], self.units[kept]
        self.first, self.latest = self.first[kept], self.latest[kept]


@dataclass(frozen=True)
class Sampled:
    """Keys of a share of the hash space, and the giants; each giant is among these alone."""

    kept: Keys
    giants: Keys
    share: float

    @property
    def first(self) -> I64:
        """(n,) row of the first document of each."""
        return np.concatenate([self.kept.first, self.giants.first])

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Of all, giants last."""
        return {
            "sizes": np.concatenate([self.kept.sizes, self.giants.sizes]),
            "units": np.concatenate([self.kept.units, self.giants.units]),
            "unit": np.concatenate([self.kept.latest, self.giants.latest]),
            "giant": np.arange(len(self.first)) >= len(self.kept.keys),
        }


def sample_keys(rows: Rows, units: I64, *, most: int = MOST_KEYS) -> Sampled:
    """Walk over the digests of all rows, twice where there are more than `most` keys.

    units: (n_shards,) what each shard is of, ascending.
    """
    kept, found, halvings = _none(), heavy(MOST_GIANTS), 0
    for keys, at, unit in _blocks(rows, units):
        found = found.add(keys)
        here = keys < _bound(halvings)
        kept.add(keys[here], at[here], unit)
        while len(kept.keys) > most:
            halvings += 1
            kept.keep(kept.keys < _bound(halvings))
    giants = _none()
    if halvings:
        giants = _counted(rows, units, found)
        kept.keep(~np.isin(kept.keys, giants.keys))
    return Sampled(kept, giants, 0.5**halvings)


def hashed(digests: U64) -> U64:
    """(n,) uint64, even over their range, of (n, 2) digests."""
    mixed = np.zeros(len(digests), np.uint64)
    with np.errstate(over="ignore"):
        for half in range(2):
            mixed ^= digests[:, half]
            mixed = (mixed ^ (mixed >> SHIFTS[0])) * ODD[0]
            mixed = (mixed ^ (mixed >> SHIFTS[1])) * ODD[1]
            mixed ^= mixed >> SHIFTS[2]
    return mixed


def _counted(rows: Rows, units: I64, found: Heavy) -> Keys:
    """Exactly, the keys that the summary found."""
    giants = _none()
    for keys, at, unit in _blocks(rows, units):
        here = np.isin(keys, found.keys)
        giants.add(keys[here], at[here], unit)
    return giants


def _blocks(rows: Rows, units: I64) -> Iterator[tuple[U64, I64, int]]:
    """Keys and rows of batches together, each block of one unit."""
    held: list[U64] = []
    start, n, unit = 0, 0, -1
    for batch in rows.walk():
        if n and (units[batch.shard] != unit or n >= AT_ONCE):
            yield np.concatenate(held), start + np.arange(n), unit
            held, n = [], 0
        if not n:
            start, unit = batch.start, int(units[batch.shard])
        held.append(hashed(batch.values("digest")))
        n += len(held[-1])
    if n:
        yield np.concatenate(held), start + np.arange(n), unit


def _bound(halvings: int) -> np.uint64:
    return np.uint64((1 << (64 - halvings)) - 1)  # the very last key is never kept


def _none() -> Keys:
    none = np.zeros(0, np.int64)
    return Keys(np.zeros(0, np.uint64), *(none.copy() for _ in range(4)))
