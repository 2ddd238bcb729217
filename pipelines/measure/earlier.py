"""Who stays of documents drawn, where one leaves for an earlier one that stays and is like it.

    rows drawn ── walk: earlier ones that share a band ── alike ── of these the same ── … ── decided

Only earlier documents decide, so that little of a cluster must be known. A walk looks at the band
keys of all documents, and compares few: of those with one key the earliest.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tokenmill.dedup.arrays import I64, U64, Bools, read_only
from tokenmill.dedup.kernels import sets as kernels
from tokenmill.dedup.same.lsh import NO_KEY
from tokenmill.pipelines.corpus.edges import Comparing, Edges, joined
from tokenmill.pipelines.measure.clusters import idents
from tokenmill.pipelines.measure.passing import NO, PASSES, YES, Passing
from tokenmill.pipelines.storage.files import Batch, Rows

MOST_NODES = 1 << 18  # documents whose earlier ones are looked for: 60 MB of keys
MOST_WALKS = 12  # what is decided later than that hangs on a chain as long
MOST_OF_KEY = 64  # documents of one key that another one is compared with: the earliest
MOST_PAIRS = 1 << 20  # of rows, compared at a time
LOOKED_AT = 1 << 12  # rows at a time, at least: their keys are 0.5 MB
COMPARED_BYTES = 1 << 28
SLOT_BITS = 22  # of the table that tells most keys at a look
BAND = np.uint64(0x9E3779B97F4A7C15)  # so that keys of two bands differ (see `clusters.MIX`)


class Stays(NamedTuple):
    """Of documents, in order.

    stays: (n,) bool.  known: (n,) bool; if not, it hangs on what was not looked at.
    units: (n,) int64, units that hold a document that was found like each, or itself.
    """

    stays: Bools
    known: Bools
    units: I64


class Earlier:
    """Documents that earlier ones are looked for of, until it is decided who of them stays."""

    def __init__(
        self,
        rows: Rows,
        drawn: I64,
        units: I64,
        *,
        bands: list[str],
        comparing: Comparing,
        stay: Callable[[I64], Bools],
        asked: bool,
    ) -> None:
        """drawn: rows, ascending, each with keys.  units: (n_shards,) what each shard is of.

        stay: of some rows, ascending, which come to be compared, for all that steps before do.
        asked: rows drawn pass the filters before, and of others it is known only where they were
            asked: as often as those like them an earlier one is supposed to.
        """
        self._rows, self._drawn, self._units = rows, drawn, units
        self._bands, self._comparing, self._stay = bands, comparing, stay
        self._with_asked = asked
        self._passing: Passing | None = None  # as the documents drawn have it
        self._looked = np.zeros(0, np.int64)  # rows whose earlier ones are known, ascending
        self._crowded = np.zeros(0, np.int64)  # of these, where not all were compared
        self._edges = joined([])

    def found(self, *, both_ways: bool) -> Stays:
        """both_ways: later documents that are alike are looked for too, for their units."""
        frontier = self._drawn
        for _ in range(MOST_WALKS):
            if not len(frontier) or len(self._looked) + len(frontier) > MOST_NODES:
                break
            self._walk(frontier, later=both_ways and frontier is self._drawn)
            frontier = self._next()
        gone, unsure = self._decided()
        return Stays(~gone, ~unsure, self._n_units())

    def _walk(self, frontier: I64, *, later: bool) -> None:
        table = _Table(self._keys(frontier), frontier, later=later)
        made: list[Edges] = []
        last = None if later else int(np.searchsorted(self._rows.starts, frontier[-1], "right"))
        for left, right in _some(table.pairs(self._rows, self._bands, last)):
            made += list(self._comparing.edges(left, right))
        self._edges = joined([self._edges, self._of_passing(joined(made))])
        self._looked = np.union1d(self._looked, frontier)
        self._crowded = np.union1d(self._crowded, table.crowded())

    def _of_passing(self, edges: Edges) -> Edges:
        """Those whose earlier document comes to be compared."""
        left, at = np.unique(edges.left, return_inverse=True)
        edges = edges.at(self._stay(left)[at])
        if not self._with_asked or not len(edges.left):
            return edges
        left, at = np.unique(edges.left, return_inverse=True)
        right, own = np.unique(edges.right, return_inverse=True)
        verdicts = self._rows.take_in_any_order([PASSES], left)[PASSES]
        if self._passing is None:
            known = verdicts[at]
            counts = [np.bincount(own, known == v).astype(np.int64) for v in (YES, NO)]
            self._passing = Passing(*counts)
        verdicts[np.isin(left, self._drawn)] = YES
        keys, later = (idents(self._keys(rows)) for rows in (left, right))
        return edges.at(self._passing.supposed(at, own, verdicts, keys, later)[at])

    def _keys(self, rows: I64) -> U64:
        taken = self._rows.take_all(self._bands, rows)
        return np.column_stack([taken[band] for band in self._bands])

    def _next(self) -> I64:
        """Rows that must be looked at for what is not decided yet."""
        _, unsure = self._decided()
        open_rows = self._drawn[unsure]
        while True:
            earlier = self._edges.left[np.isin(self._edges.right, open_rows)]
            more = np.union1d(open_rows, earlier)
            if len(more) == len(open_rows):
                return np.setdiff1d(more, self._looked)
            open_rows = more

    def _decided(self) -> tuple[Bools, Bools]:
        """(n,) of the rows drawn: who leaves if all others stay that were not looked at, and
        whether that would be otherwise if these left.
        """
        edges = self._edges
        rows = np.union1d(self._drawn, np.union1d(edges.left, edges.right))
        open_ended = ~np.isin(rows, self._looked)
        at = np.searchsorted(rows, self._drawn)
        gone = _leaving(rows, edges)
        without = _leaving(rows, edges.at(~open_ended[np.searchsorted(rows, edges.left)]))
        crowded = np.isin(rows, self._crowded)
        unsure = (gone != without) | (crowded & ~gone)
        unsure |= open_ended & ~gone
        return gone[at], unsure[at]

    def _n_units(self) -> I64:
        rows, edges = self._drawn, self._edges
        sides = [(edges.left, edges.right), (edges.right, edges.left), (rows, rows)]
        own, other = (np.concatenate(side) for side in zip(*sides, strict=True))
        at = np.minimum(np.searchsorted(rows, own), max(len(rows) - 1, 0))
        here = rows[at] == own if len(rows) else np.zeros(0, np.bool_)
        at, other = at[here], other[here]
        shard = np.searchsorted(self._rows.starts, other, "right") - 1
        spans = np.unique(np.column_stack([at, self._units[shard]]), axis=0)[:, 0]
        return np.bincount(spans, minlength=len(rows))


def _leaving(rows: I64, edges: Edges) -> Bools:
    """(n,) who leaves, in order, of rows that ascend."""
    gone = np.zeros(len(rows) // 64 + 1, np.uint64)
    left, right = (read_only(np.searchsorted(rows, side)) for side in (edges.left, edges.right))
    shared, union = read_only(edges.shared), read_only(edges.union)
    out = np.empty(len(edges.left), np.int64)
    n = kernels.decide(left, right, shared, union, 0, gone, out)
    leaving = np.zeros(len(rows), np.bool_)
    leaving[np.searchsorted(rows, edges.right[out[:n]])] = True
    return leaving


class _Table:
    """Rows by their band keys."""

    def __init__(self, keys: U64, rows: I64, *, later: bool) -> None:
        """keys: (n, n_bands).  later: rows behind them are looked for too."""
        self._rows, self._later = rows, later
        flat = _of_bands(keys).ravel()
        self._order = np.argsort(flat, kind="stable")
        self._keys = flat[self._order]
        self._met = np.zeros(len(flat), np.int64)  # documents of each key, told at its first place
        self._full = np.full(len(flat), np.iinfo(np.int64).max)  # the first row that was too many
        self._n_bands = keys.shape[1]
        self._slots = np.zeros(1 << SLOT_BITS, np.bool_)
        self._slots[_slot(self._keys)] = True

    def pairs(self, rows: Rows, bands: list[str], last: int | None) -> Iterator[I64]:
        """(2, n) pairs of rows that share a key, the earlier one first; each once in a lot.

        last: shards that are looked at.
        """
        for start, keys in _keys_of(rows.walk(0, last), bands):
            mixed = _of_bands(keys)
            docs, band = np.nonzero(self._slots[_slot(mixed)] & (keys != NO_KEY))
            found = self._of(mixed[docs, band], start + docs)
            if found.shape[1]:
                yield _once(found)

    def _of(self, keys: U64, docs: I64) -> I64:
        low = np.searchsorted(self._keys, keys, "left")
        low[low == len(self._keys)] = 0
        there = self._keys[low] == keys
        low, docs, keys = low[there], docs[there], keys[there]
        few = self._counted(low, docs)
        low, docs = low[few], docs[few]
        counts = np.searchsorted(self._keys, keys[few], "right") - low
        other = np.repeat(docs, counts)
        within = np.arange(len(other)) - np.repeat(np.cumsum(counts) - counts, counts)
        own = self._rows[self._order[np.repeat(low, counts) + within] // self._n_bands]
        wanted = other != own if self._later else other < own
        pairs = np.stack([other[wanted], own[wanted]])
        return np.sort(pairs, axis=0)

    def _counted(self, low: I64, docs: I64) -> Bools:
        """(n,) which are among the earliest of their key."""
        order = np.argsort(low, kind="stable")
        ordered = low[order]
        begins = np.flatnonzero(np.diff(ordered, prepend=-1))
        counts = np.diff(begins, append=len(ordered))
        rank = np.arange(len(ordered)) - np.repeat(begins, counts) + self._met[ordered]
        self._met[ordered[begins]] += counts
        few = np.empty(len(low), np.bool_)
        few[order] = rank < MOST_OF_KEY
        np.minimum.at(self._full, low[~few], docs[~few])
        return few

    def crowded(self) -> I64:
        """Rows before which there are more of a key than were looked at; ascending."""
        first = np.searchsorted(self._keys, self._keys, "left")
        own = self._rows[self._order // self._n_bands]
        return np.unique(own[self._full[first] < own])


def _keys_of(batches: Iterator[Batch], bands: list[str]) -> Iterator[tuple[int, U64]]:
    """The band keys of rows that follow one another, and where they begin: of small batches some
    at a time, since each look at a table takes its time.
    """
    held, start, n = list[U64](), 0, 0
    for batch in batches:
        start = start if held else batch.start
        held.append(np.column_stack([batch.values(band) for band in bands]))
        n += len(held[-1])
        if n >= LOOKED_AT:
            yield start, np.concatenate(held)
            held, n = [], 0
    if held:
        yield start, np.concatenate(held)


def _of_bands(keys: U64) -> U64:
    """(n, n_bands) keys of which no two bands have one."""
    with np.errstate(over="ignore"):
        salts = np.arange(1, keys.shape[1] + 1, dtype=np.uint64) * BAND
    return keys ^ salts


def _slot(keys: U64) -> U64:
    return keys >> np.uint64(64 - SLOT_BITS)


def _some(pairs: Iterator[I64]) -> Iterator[tuple[I64, I64]]:
    """Pairs in larger lots, each once in a lot, in order of the earlier row."""
    held, n = [np.zeros((2, 0), np.int64)], 0
    for some in pairs:
        held.append(some)
        n += some.shape[1]
        if n >= MOST_PAIRS:
            left, right = _once(np.concatenate(held, axis=1))
            yield left, right
            held, n = [np.zeros((2, 0), np.int64)], 0
    left, right = _once(np.concatenate(held, axis=1))
    yield left, right


def _once(pairs: I64) -> I64:
    """(2, n) each pair once, in order; `np.unique` takes three times as long."""
    pairs = pairs[:, np.lexsort(pairs[::-1])]
    return pairs[:, np.append(True, np.diff(pairs).any(axis=0))] if pairs.size else pairs
