"""The clusters of near and of equal documents, by walks over all key sidecars.

    documents drawn ── walk: who shares a band and verifies? ── neighbours ── walk: who …? ── …

Of near ones (`Closure`), documents of equal band keys are one node: a million copies of one page
are one. A walk compares each document with the newest nodes only; when it finds no new one, the
clusters are whole.

    digests ── walk ──┬── h < p * 2^64: documents, units, first row; p is halved as it fills
                      └── heavy hitters ── walk ── the same of them, whatever their h

Clusters of equal documents (`sample_keys`) are whole, of a share of the hash space. Memory is that
of MOST_KEYS keys, however large the corpus; where it has fewer, p is 1 and every cluster is known.
Keys that stand in very many documents are found in one walk and little memory (Misra-Gries): a key
of more than n / (room + 1) of n documents is among so many counters, whatever the order, each too
low by that many at most; a second walk counts them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.dedup.arrays import F64, I64, U32, U64, Bools
from tokenmill.dedup.same.lsh import NO_KEY
from tokenmill.dedup.same.verify import least_equal
from tokenmill.pipelines.measure.passing import NO, PASSES, YES, Passing
from tokenmill.pipelines.storage.files import Rows

MOST_NODES = 1 << 18  # 150 MB of signatures and keys
MOST_WALKS = 30
MOST_OF_BUCKET = 64  # nodes of one band key that a document is compared with
COMPARED = 1 << 14  # signatures at a time
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd (Knuth, TAOCP 3, section 6.4)
SHIFT = np.uint64(29)


class Closure:
    """Clusters grown from drawn rows until they are whole, or memory or walks run out."""

    def __init__(
        self,
        rows: Rows,
        drawn: I64,
        units: I64,
        *,
        bands: Sequence[str],
        num_perm: int,
        verify: float,
        asked: bool = False,
    ) -> None:
        """units: (n_shards,) what each shard of the rows is of.  bands: columns of the keys.

        num_perm: of a signature.  verify: least share of it in which two are alike.
        asked: see `equal_keys`.
        """
        self._rows, self._drawn, self._units = rows, drawn, units
        self._with_asked = asked
        self._yes, self._no = np.zeros((2, 0), np.int64)  # asked, of those like each first node
        self._bands = bands
        self._least = least_equal(num_perm, verify)
        keys = self._keys_of(drawn)
        self._has_key = (keys != NO_KEY).all(axis=1)
        self._drawn_ids = idents(keys)
        self._ids = np.unique(self._drawn_ids[self._has_key])
        self._counts = np.zeros(len(self._ids), np.int64)
        self._first = np.full(len(self._ids), rows.n, np.int64)
        self._alike = np.zeros(len(self._ids), np.int64)
        self._edges: list[I64] = []  # (n, 2) of node numbers
        self._places = _pairs(self._ids[:0], self._counts[:0])  # ident, unit; each once
        drawn_keyed = drawn[self._has_key]
        _, at = np.unique(self._drawn_ids[self._has_key], return_index=True)
        self._frontier = np.arange(len(self._ids))
        self._frontier_rows = drawn_keyed[at]

    def found(self) -> dict[str, npt.NDArray[Any]]:
        """Of each row drawn: copies, the first row of its cluster, alike, whole, units."""
        from scipy.sparse import coo_array  # loads linear algebra, for `cluster: components` alone
        from scipy.sparse.csgraph import connected_components

        for _ in range(MOST_WALKS):
            if not len(self._frontier) or (self._edges and len(self._ids) > MOST_NODES):
                break
            self._walk()
        n = len(self._ids)
        edges = np.concatenate(self._edges) if self._edges else np.zeros((0, 2), np.int64)
        graph = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
        n_clusters, label = connected_components(graph, directed=False) if n else (0, edges[:, 0])
        sizes = np.bincount(label, self._counts, n_clusters).astype(np.int64)
        first = np.full(n_clusters, self._rows.n, np.int64)
        np.minimum.at(first, label, self._first)
        open_ended = np.zeros(n_clusters, np.bool_)
        open_ended[label[self._frontier]] = True
        order = np.argsort(self._ids)
        keyed = self._has_key
        node = order[np.searchsorted(self._ids[order], self._drawn_ids[keyed])]
        ones = np.ones(len(keyed), np.int64)
        columns: dict[str, npt.NDArray[Any]]
        columns = {name: ones.copy() for name in ("copies", "alike", "units")}
        columns["first"] = self._drawn.copy()
        columns["copies"][keyed] = sizes[label[node]]
        columns["first"][keyed] = first[label[node]]
        columns["alike"][keyed] = self._alike[node]
        placed = order[np.searchsorted(self._ids[order], self._places["id"])]
        spans = np.unique(np.column_stack([label[placed], self._places["other"]]), axis=0)
        found_in = np.bincount(spans[:, 0], minlength=n_clusters)
        columns["units"][keyed] = np.maximum(found_in[label[node]], 1)
        whole = np.ones(len(keyed), np.bool_)
        whole[keyed] = ~open_ended[label[node]]
        if self._with_asked and len(self._yes):
            yes, no = self._yes[node] - 1, self._no[node]  # the row drawn passes itself
            passing = Passing(yes, no)
            for name in ("copies", "alike"):
                counts = columns[name][keyed]
                columns[name] = columns[name].astype(np.float64)
                columns[name][keyed] = passing.copies(counts, np.minimum(yes, counts - 1), no)
        return {**columns, "whole": whole}

    def _walk(self) -> None:
        """Find all documents that are like a node of the frontier; new ones make the next."""
        frontier, at = self._frontier, np.argsort(self._frontier_rows)
        frontier, rows = frontier[at], self._frontier_rows[at]
        table = _Table(self._keys_of(rows), self._rows.take("signature", rows), self._least)
        met = _Met()
        alike, yes, no = np.zeros((3, len(frontier)), np.int64)
        for batch in self._rows.walk():
            keys = np.column_stack([batch.values(c) for c in self._bands])
            docs, nodes = table.alike(keys, batch.values("signature"))
            np.add.at(alike, nodes, 1)
            if self._with_asked and not self._edges:
                verdicts = batch.values(PASSES)[docs]
                np.add.at(yes, nodes, verdicts == YES)
                np.add.at(no, nodes, verdicts == NO)
            unit = int(self._units[batch.shard])
            met.add(idents(keys)[docs], batch.start + docs, nodes, unit)
        if not self._edges:
            self._alike[frontier] = alike
            self._yes, self._no = yes[np.argsort(frontier)], no[np.argsort(frontier)]
        self._join(frontier, met)

    def _join(self, frontier: I64, met: "_Met") -> None:
        ids, counts, first = met.documents()
        order = np.argsort(self._ids)
        place = np.minimum(np.searchsorted(self._ids[order], ids), len(order) - 1)
        known = self._ids[order[place]] == ids
        number = np.where(known, order[place], 0)
        number[~known] = len(self._ids) + np.arange(int((~known).sum()))
        if not self._edges:  # the nodes drawn have not been counted yet
            self._counts[number[known]] = counts[known]
            self._first[number[known]] = first[known]
        self._ids = np.concatenate([self._ids, ids[~known]])
        self._counts = np.concatenate([self._counts, counts[~known]])
        self._first = np.concatenate([self._first, first[~known]])
        self._alike = np.concatenate([self._alike, np.ones(int((~known).sum()), np.int64)])
        self._places = np.unique(np.concatenate([self._places, met.places()]))
        pairs_id, pairs_node = met.pairs()
        left = number[np.searchsorted(ids, pairs_id)]
        self._edges.append(np.column_stack([left, frontier[pairs_node]]))
        self._frontier, self._frontier_rows = number[~known], first[~known]

    def _keys_of(self, rows: I64) -> U64:
        if not len(rows):
            return np.zeros((0, len(self._bands)), np.uint64)
        return np.column_stack([self._rows.take(c, rows) for c in self._bands])


class _Met:
    """Documents that were found like nodes, walked batch by batch."""

    def __init__(self) -> None:
        none = np.zeros(0, np.int64)
        self._documents = [(none.astype(np.uint64), none, none)]
        self._pairs = [_pairs(*self._documents[0][:2])]
        self._places = [*self._pairs]

    def add(self, ids: U64, rows: I64, nodes: I64, unit: int) -> None:
        """(n,) pairs: the ident and row of a document, of one unit, and the node it is like."""
        if not len(ids):
            return
        each, at = np.unique(rows, return_index=True)
        unique, inverse = np.unique(ids[at], return_inverse=True)
        first = np.full(len(unique), each[-1], np.int64)
        np.minimum.at(first, inverse, each)
        self._documents.append((unique, np.bincount(inverse), first))
        self._pairs.append(np.unique(_pairs(ids, nodes)))
        self._places.append(_pairs(unique, np.full(len(unique), unit)))
        if len(self._pairs) > 64:
            self._pairs = [np.unique(np.concatenate(self._pairs))]
            self._places = [self.places()]
            self._documents = [self.documents()]

    def documents(self) -> tuple[U64, I64, I64]:
        """Idents ascending, the documents of each, the first row of each."""
        ids, counts, rows = (np.concatenate(c) for c in zip(*self._documents, strict=True))
        unique, inverse = np.unique(ids, return_inverse=True)
        first = np.full(len(unique), np.iinfo(np.int64).max)
        np.minimum.at(first, inverse, rows)
        return unique, np.bincount(inverse, counts).astype(np.int64), first

    def places(self) -> npt.NDArray[Any]:
        """Pairs of an ident and a unit that holds a document of it, each once."""
        return np.unique(np.concatenate(self._places))

    def pairs(self) -> tuple[U64, I64]:
        pairs = np.unique(np.concatenate(self._pairs))
        return pairs["id"], pairs["other"]


class _Table:
    """Nodes by their band keys, to find those that a document is like."""

    def __init__(self, keys: U64, signed: U32, least: int) -> None:
        self._order = np.argsort(keys, axis=0)
        self._sorted = np.take_along_axis(keys, self._order, axis=0)
        self._signed, self._least = signed, least
        self._ids = idents(keys)
        self._by_id = np.argsort(self._ids)

    def alike(self, keys: U64, signed: U32) -> tuple[I64, I64]:
        """Pairs of documents and nodes that share a band and verify; each pair once."""
        n_nodes = len(self._signed)
        candidates = [self._itself(keys)]
        for band in range(keys.shape[1]):
            low = np.searchsorted(self._sorted[:, band], keys[:, band], "left")
            high = np.searchsorted(self._sorted[:, band], keys[:, band], "right")
            counts = np.minimum(high - low, MOST_OF_BUCKET) * (keys[:, band] != NO_KEY)
            docs = np.repeat(np.arange(len(keys)), counts)
            within = np.arange(len(docs)) - np.repeat(np.cumsum(counts) - counts, counts)
            candidates.append(docs * n_nodes + self._order[low[docs] + within, band])
        pairs = np.unique(np.concatenate(candidates))
        docs, nodes = np.divmod(pairs, n_nodes)
        same = self._verified(signed, docs, nodes)
        return docs[same], nodes[same]

    def _itself(self, keys: U64) -> I64:
        """The pair of a document and the node that it is one of, however full its buckets."""
        here = idents(keys)
        at = np.minimum(np.searchsorted(self._ids[self._by_id], here), len(self._by_id) - 1)
        docs = np.flatnonzero((self._ids[self._by_id[at]] == here) & (keys != NO_KEY).all(axis=1))
        return docs * len(self._signed) + self._by_id[at[docs]]

    def _verified(self, signed: U32, docs: I64, nodes: I64) -> Bools:
        same = np.zeros(len(docs), np.bool_)
        for start in range(0, len(docs), COMPARED):
            at = slice(start, start + COMPARED)
            equal = (signed[docs[at]] == self._signed[nodes[at]]).sum(axis=1)
            same[at] = equal >= self._least
        return same


def idents(keys: U64) -> U64:
    """(n,) one number for all band keys of each row."""
    mixed = np.zeros(len(keys), np.uint64)
    with np.errstate(over="ignore"):
        for band in range(keys.shape[1]):
            mixed = (mixed ^ keys[:, band]) * MIX
            mixed ^= mixed >> SHIFT
    return mixed


def _pairs(ids: U64, others: I64) -> npt.NDArray[Any]:
    pairs = np.empty(len(ids), [("id", np.uint64), ("other", np.int64)])
    pairs["id"], pairs["other"] = ids, others
    return pairs


MOST_KEYS = 1 << 20  # 40 MB
MOST_GIANTS = 1 << 12  # a key of more than 1 / 4,097 of all documents is one for certain
AT_ONCE = 1 << 18  # rows
ODD = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # of splitmix64
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class Heavy(NamedTuple):
    """A summary of documents, by their keys.

    keys: (n,) uint64, ascending, n <= room.  counts: (n,) over 0, of each at least so many.
    """

    keys: U64
    counts: I64
    room: int

    def add(self, keys: U64) -> "Heavy":
        """With more documents, one key each."""
        unique, counts = np.unique(keys, return_counts=True)
        together, place = np.unique(np.concatenate([self.keys, unique]), return_inverse=True)
        summed = np.bincount(place, np.concatenate([self.counts, counts]), len(together))
        lowered = summed.astype(np.int64)
        if len(together) > self.room:
            lowered = lowered - np.partition(lowered, -self.room - 1)[-self.room - 1]
        left = lowered > 0
        return Heavy(together[left], lowered[left], self.room)


def heavy(room: int) -> Heavy:
    """A summary of no document, with so many counters."""
    return Heavy(np.zeros(0, np.uint64), np.zeros(0, np.int64), room)


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
    giant: Bools
    first: dict[str, I64]

    @property
    def stands_for(self) -> F64:
        """(n,) clusters of what was read."""
        return np.where(self.giant, 1.0, 1 / self.share)


# A key: documents that have it, units that hold one, the row of the first, the latest unit.
SEEN = np.dtype([("key", "u8"), ("sizes", "i8"), ("units", "i8"), ("first", "i8"), ("unit", "i8")])


class Keys:
    """Keys seen, ascending.  seen: (n,) of SEEN."""

    def __init__(self) -> None:
        self.seen = np.zeros(0, SEEN)

    def add(self, keys: U64, rows: I64, unit: int) -> None:
        """Documents of one unit, in order; units come in order too."""
        new, at, counts = np.unique(keys, return_index=True, return_counts=True)
        there = self.seen["key"]
        place = np.searchsorted(there, new)
        known = np.zeros(len(new), np.bool_)
        inside = place < len(there)
        known[inside] = there[place[inside]] == new[inside]
        old = place[known]
        self.seen["sizes"][old] += counts[known]
        self.seen["units"][old] += self.seen["unit"][old] != unit
        self.seen["unit"][old] = unit
        fresh = np.ones(int((~known).sum()), SEEN)
        fresh["key"], fresh["sizes"] = new[~known], counts[~known]
        fresh["first"], fresh["unit"] = rows[at[~known]], unit
        together = np.concatenate([self.seen, fresh])
        self.seen = together[np.argsort(together["key"], kind="stable")]  # two runs: linear


@dataclass(frozen=True)
class Sampled:
    """Keys of a share of the hash space, and the giants; each giant is among these alone."""

    kept: Keys
    giants: Keys
    share: float

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Of all, giants last."""
        both = np.concatenate([self.kept.seen, self.giants.seen])
        columns = {name: both[name].copy() for name in ("sizes", "units", "first", "unit")}
        return columns | {"giant": np.arange(len(both)) >= len(self.kept.seen)}


def sample_keys(
    rows: Rows, units: I64, *, column: str = "digest", most: int = MOST_KEYS
) -> Sampled:
    """Walk over the digests (`column`) of all rows, twice where there are more than `most` keys.

    units: (n_shards,) what each shard is of, ascending.
    """
    kept, giants, frequent, halvings = Keys(), Keys(), heavy(MOST_GIANTS), 0
    for keys, at, unit in _blocks(rows, units, column):
        frequent = frequent.add(keys)
        here = keys < _bound(halvings)
        kept.add(keys[here], at[here], unit)
        while len(kept.seen) > most:
            halvings += 1
            kept.seen = kept.seen[kept.seen["key"] < _bound(halvings)]
    if halvings:  # exactly, the keys that the summary found
        for keys, at, unit in _blocks(rows, units, column):
            here = np.isin(keys, frequent.keys)
            giants.add(keys[here], at[here], unit)
        kept.seen = kept.seen[~np.isin(kept.seen["key"], giants.seen["key"])]
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


def _blocks(rows: Rows, units: I64, column: str) -> Iterator[tuple[U64, I64, int]]:
    """Keys and rows of batches together, each block of one unit."""
    held: list[U64] = []
    start, n, unit = 0, 0, -1
    for batch in rows.walk():
        if n and (units[batch.shard] != unit or n >= AT_ONCE):
            yield np.concatenate(held), start + np.arange(n), unit
            held, n = [], 0
        if not n:
            start, unit = batch.start, int(units[batch.shard])
        held.append(hashed(batch.values(column)))
        n += len(held[-1])
    if n:
        yield np.concatenate(held), start + np.arange(n), unit


def _bound(halvings: int) -> np.uint64:
    return np.uint64((1 << (64 - halvings)) - 1)  # the very last key is never kept


class Equal(NamedTuple):
    """Of rows drawn.

    copies: (n,) float64, rows that have its key, as so many of which one is left.
    kept: (n,) int64, the row of them that is kept.  units: (n,) int64, that these are in.
    """

    copies: F64
    kept: I64
    units: I64


def equal_keys(
    rows: Rows, drawn: I64, units: I64, *, column: str, keep: str = "first", asked: bool = False
) -> Equal:
    """What has the key of each row drawn.

    units: (n_shards,) what each shard is of, ascending.  column: of keys, pairs of uint64.
    keep: the "first" of them, or the "last".
    asked: rows drawn pass the filters, and of others it is known only where they were asked.
    """
    if not len(drawn):
        return Equal(drawn.astype(np.float64), drawn, drawn)
    digests = rows.take(column, drawn)
    halves = np.unique(digests[:, 0])  # comparing numbers first is ten times faster than pairs
    wanted, place = np.unique(_as_pairs(digests), return_inverse=True)
    counts, yes, no = np.zeros((3, len(wanted)), np.int64)
    kept = np.full(len(wanted), rows.n if keep == "first" else -1, np.int64)
    settle = np.minimum if keep == "first" else np.maximum
    spans, latest = counts.copy(), np.full(len(wanted), -1)
    for batch in rows.walk():
        here = batch.values(column)
        near = np.minimum(np.searchsorted(halves, here[:, 0]), len(halves) - 1)
        maybe = np.flatnonzero(halves[near] == here[:, 0])
        pairs = _as_pairs(here[maybe])
        at = np.minimum(np.searchsorted(wanted, pairs), len(wanted) - 1)
        same = wanted[at] == pairs
        at, there = at[same], maybe[same]
        np.add.at(counts, at, 1)
        if asked:
            verdicts = batch.values(PASSES)[there]
            np.add.at(yes, at, verdicts == YES)
            np.add.at(no, at, verdicts == NO)
            at, there = at[verdicts != NO], there[verdicts != NO]
        settle.at(kept, at, batch.start + there)
        new = np.unique(at)
        new = new[latest[new] != units[batch.shard]]
        spans[new] += 1
        latest[new] = units[batch.shard]
    copies = counts.astype(np.float64)
    if asked:  # the row drawn passes itself
        copies = Passing(yes[place] - 1, no[place]).copies(counts, yes - 1, no)
    return Equal(copies[place], kept[place], spans[place])


def _as_pairs(pairs: U64) -> npt.NDArray[Any]:
    """(n,) one sortable value for each (n, 2) key."""
    return np.ascontiguousarray(pairs).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)
