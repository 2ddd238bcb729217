"""The clusters that near duplicates of some documents belong to, by walks over all key sidecars.

    documents drawn ── walk: who shares a band and verifies? ── neighbours ── walk: who …? ── …

Documents of equal band keys are one node: a million copies of one page are one. A walk compares
each document with the newest nodes only; when it finds no new one, the clusters are whole.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tokenmill.dedup.lsh import NO_KEY
from tokenmill.dedup.verify import least_equal
from tokenmill.pipelines.dedup_steps import NearDedup
from tokenmill.pipelines.keys import band_column
from tokenmill.pipelines.sidecar import Rows

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]

MOST_NODES = 1 << 18  # 150 MB of signatures and keys
MOST_WALKS = 30
MOST_OF_BUCKET = 64  # nodes of one band key that a document is compared with
COMPARED = 1 << 14  # signatures at a time
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd (Knuth, TAOCP 3, section 6.4)
SHIFT = np.uint64(29)


class Closure:
    """Clusters grown from drawn rows until they are whole, or memory or walks run out."""

    def __init__(self, rows: Rows, drawn: I64, step: NearDedup, units: I64) -> None:
        """units: (n_shards,) what each shard of the rows is of."""
        self._rows, self._drawn, self._units = rows, drawn, units
        self._bands = step.lsh().bands
        self._least = least_equal(step.num_perm, step.verify)
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
        made = {name: ones.copy() for name in ("copies", "alike", "units")}
        made["first"] = self._drawn.copy()
        made["copies"][keyed] = sizes[label[node]]
        made["first"][keyed] = first[label[node]]
        made["alike"][keyed] = self._alike[node]
        placed = order[np.searchsorted(self._ids[order], self._places["id"])]
        spans = np.unique(np.column_stack([label[placed], self._places["other"]]), axis=0)
        found_in = np.bincount(spans[:, 0], minlength=n_clusters)
        made["units"][keyed] = np.maximum(found_in[label[node]], 1)
        whole = np.ones(len(keyed), np.bool_)
        whole[keyed] = ~open_ended[label[node]]
        return {**made, "whole": whole}

    def _walk(self) -> None:
        """Find all documents that are like a node of the frontier; new ones make the next."""
        frontier, at = self._frontier, np.argsort(self._frontier_rows)
        frontier, rows = frontier[at], self._frontier_rows[at]
        table = _Table(self._keys_of(rows), self._rows.take("signature", rows), self._least)
        met = _Met()
        alike = np.zeros(len(frontier), np.int64)
        for batch in self._rows.walk():
            keys = np.column_stack([batch.values(c) for c in self._columns()])
            docs, nodes = table.alike(keys, batch.values("signature"))
            np.add.at(alike, nodes, 1)
            unit = int(self._units[batch.shard])
            met.add(idents(keys)[docs], batch.start + docs, nodes, unit)
        if not self._edges:
            self._alike[frontier] = alike
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

    def _columns(self) -> list[str]:
        return [band_column(b) for b in range(self._bands)]

    def _keys_of(self, rows: I64) -> U64:
        if not len(rows):
            return np.zeros((0, self._bands), np.uint64)
        return np.column_stack([self._rows.take(c, rows) for c in self._columns()])


class _Met:
    """Documents that were found like nodes, walked batch by batch."""

    def __init__(self) -> None:
        self._documents: list[tuple[U64, I64, I64]] = []
        self._pairs: list[npt.NDArray[Any]] = []
        self._places: list[npt.NDArray[Any]] = []

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
        if not self._documents:
            return np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        ids, counts, rows = (np.concatenate(c) for c in zip(*self._documents, strict=True))
        unique, inverse = np.unique(ids, return_inverse=True)
        first = np.full(len(unique), np.iinfo(np.int64).max)
        np.minimum.at(first, inverse, rows)
        return unique, np.bincount(inverse, counts).astype(np.int64), first

    def places(self) -> npt.NDArray[Any]:
        """Pairs of an ident and a unit that holds a document of it, each once."""
        none = _pairs(np.zeros(0, np.uint64), np.zeros(0, np.int64))
        return np.unique(np.concatenate([none, *self._places]))

    def pairs(self) -> tuple[U64, I64]:
        if not self._pairs:
            return np.zeros(0, np.uint64), np.zeros(0, np.int64)
        found = np.unique(np.concatenate(self._pairs))
        return found["id"], found["other"]


class _Table:
    """Nodes by their band keys, to find those that a document is like."""

    def __init__(self, keys: U64, signed: npt.NDArray[np.uint32], least: int) -> None:
        self._order = np.argsort(keys, axis=0)
        self._sorted = np.take_along_axis(keys, self._order, axis=0)
        self._signed, self._least = signed, least
        self._ids = idents(keys)
        self._by_id = np.argsort(self._ids)

    def alike(self, keys: U64, signed: npt.NDArray[np.uint32]) -> tuple[I64, I64]:
        """Pairs of documents and nodes that share a band and verify; each pair once."""
        n_nodes = len(self._signed)
        found = [self._itself(keys)]
        for band in range(keys.shape[1]):
            low = np.searchsorted(self._sorted[:, band], keys[:, band], "left")
            high = np.searchsorted(self._sorted[:, band], keys[:, band], "right")
            counts = np.minimum(high - low, MOST_OF_BUCKET) * (keys[:, band] != NO_KEY)
            docs = np.repeat(np.arange(len(keys)), counts)
            within = np.arange(len(docs)) - np.repeat(np.cumsum(counts) - counts, counts)
            found.append(docs * n_nodes + self._order[low[docs] + within, band])
        pairs = np.unique(np.concatenate(found))
        docs, nodes = np.divmod(pairs, n_nodes)
        same = self._verified(signed, docs, nodes)
        return docs[same], nodes[same]

    def _itself(self, keys: U64) -> I64:
        """The pair of a document and the node that it is one of, however full its buckets."""
        here = idents(keys)
        at = np.minimum(np.searchsorted(self._ids[self._by_id], here), len(self._by_id) - 1)
        docs = np.flatnonzero((self._ids[self._by_id[at]] == here) & (keys != NO_KEY).all(axis=1))
        return docs * len(self._signed) + self._by_id[at[docs]]

    def _verified(self, signed: npt.NDArray[np.uint32], docs: I64, nodes: I64) -> BoolArray:
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
    made = np.empty(len(ids), [("id", np.uint64), ("other", np.int64)])
    made["id"], made["other"] = ids, others
    return made
