"""The corpus-wide work: who duplicates whom, from key sidecars alone, no text read.

    keys ── exact ──────────────────────────┐
      └──── band 0 … band 13 (pairs, verified) ── near (clusters) ── duplicates, a file a shard

A duplicates file has a row for each document of its shard: null where the document is
kept, else the document that is kept in its place.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.cluster import clusters, merge_edges
from dedup.digest import first_occurrence
from dedup.lsh import candidate_pairs
from dedup.minhash import pair_similarity
from pipelines.atomic import arrow_file
from pipelines.config import Config
from pipelines.dedup_steps import ExactDedup, NearDedup
from pipelines.errors import ConfigError
from pipelines.job import Done, Job
from pipelines.keys import band_column, key_parameters
from pipelines.sidecar import Rows, corpus_rows, open_arrow
from sizing.units import format_memory

DUPLICATES = pa.schema(
    [
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
EDGES = pa.schema(
    [
        pa.field("left", pa.int64()),
        pa.field("right", pa.int64()),
        pa.field("similarity", pa.float32()),
    ]
)
PAIRS_AT_ONCE = 1 << 18  # their signatures: 2**18 x 2 x 448 B = 235 MB at 112 permutations
LARGEST_CLUSTERS = 20
EXACT_BYTES_PER_DOC = 80  # digests twice 32, row numbers 16, hash table at most 24
NEAR_BYTES_PER_DOC = 56  # a band's keys 8, row numbers, sorting
PAIR_BYTES = 48  # row numbers 16, sorting them, places in the gathered signatures
EDGE_BYTES = 16


class Corpus(NamedTuple):
    """The documents of a pass, shard by shard, and the corpus-wide steps that follow it."""

    job: Job
    pass_index: int
    steps: tuple[Config, ...]
    shards: tuple[str, ...]

    def rows(self) -> Rows:
        """Their key sidecars."""
        paths = [self.job.keys(self.pass_index, key) for key in self.shards]
        return corpus_rows(paths, key_parameters(self.steps))

    def duplicates(self, step: str, key: str) -> Path:
        return self.job.duplicates(self.pass_index, step, key)

    @property
    def near(self) -> NearDedup:
        return next(s for s in self.steps if isinstance(s, NearDedup))

    def gone_before(self, step: str, n: int) -> npt.NDArray[np.bool_]:
        """(n,) documents that a corpus-wide step standing before `step` removes already."""
        names = ["exact" if isinstance(s, ExactDedup) else "near" for s in self.steps]
        gone = np.zeros(n, np.bool_)
        for before in names[: names.index(step)]:
            at = 0
            for key in self.shards:
                for batch in read_duplicates(self.duplicates(before, key)):
                    found = np.asarray(batch["duplicate_of"].is_valid())
                    gone[at : at + len(found)] |= found
                    at += len(found)
        return gone

    def fit(self, step: str, need: int) -> None:
        """Refuse what would not fit into memory, before it is tried."""
        budget = self.job.recipe.run.memory_budget
        if need > budget:
            way = "; put exact before near" if step == "near" else ""
            raise ConfigError(
                f"{step}: needs {format_memory(need)} of memory, run.memory_budget is"
                f" {format_memory(budget)}; raise it, use fewer workers or split the corpus{way}"
            )


def find_exact(
    job: Job, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Mark every document whose digest an earlier one has."""
    corpus = Corpus(job, pass_index, steps, shards)
    rows = corpus.rows()
    corpus.fit("exact", rows.n * EXACT_BYTES_PER_DOC)
    table = np.concatenate(
        [rows.matrix(b, "digest") for b in rows.batches] or [np.empty((0, 2), np.uint64)]
    )
    here = np.flatnonzero(~corpus.gone_before("exact", rows.n))
    first = np.arange(rows.n)
    first[here] = here[first_occurrence(table[here])]
    gone = np.flatnonzero(first != np.arange(rows.n))
    files = _write(corpus, "exact", rows, gone, first[gone], np.ones(len(gone), np.float32))
    return Done(files=files, facts=_cluster_facts(rows, first))


def find_edges(
    job: Job, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...], band: int
) -> Done:
    """The pairs of documents that meet in one band and whose signatures verify."""
    corpus = Corpus(job, pass_index, steps, shards)
    rows = corpus.rows()
    bands_at_once = job.recipe.run.workers or os.cpu_count() or 1
    corpus.fit("near", bands_at_once * rows.n * NEAR_BYTES_PER_DOC)
    keys = rows.column(band_column(band), np.uint64)
    keys[corpus.gone_before("near", rows.n)] = 0
    present = np.flatnonzero(keys)
    pairs = candidate_pairs(keys[present], present)
    corpus.fit("near", bands_at_once * len(pairs) * PAIR_BYTES)
    path = job.edges(pass_index, band)
    edges = 0
    with arrow_file(path, EDGES) as writer:
        for left, right, similarity in _verified(rows, pairs, corpus.near.verify):
            edges += len(left)
            writer.write_batch(pa.record_batch([left, right, similarity], schema=EDGES))
    return Done(files=[path], facts={"candidates": len(pairs), "edges": edges})


def find_near(
    job: Job, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Cluster the edges of all bands; mark every document but the first of its cluster."""
    corpus = Corpus(job, pass_index, steps, shards)
    rows = corpus.rows()
    label = np.arange(rows.n)
    for band in range(corpus.near.lsh().bands):
        # a band's edges and the forest of the bands before: never the edges of all at once
        found = [
            np.column_stack([b["left"], b["right"]])
            for b in open_arrow(job.edges(pass_index, band))[0]
        ]
        corpus.fit("near", (3 * rows.n + 2 * sum(map(len, found))) * EDGE_BYTES)
        joined = np.flatnonzero(label != np.arange(rows.n))
        label = clusters(rows.n, merge_edges([*found, np.column_stack([label[joined], joined])]))
    gone = np.flatnonzero(label != np.arange(rows.n))
    kept = label[gone]
    similarity = np.empty(len(gone), np.float32)
    for at, alike in _similarities(rows, np.column_stack([gone, kept])):
        similarity[at] = alike
    files = _write(corpus, "near", rows, gone, kept, similarity)
    return Done(files=files, facts=_cluster_facts(rows, label))


def read_duplicates(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a duplicates file, a batch for each batch of documents."""
    yield from open_arrow(path)[0]


def _verified(
    rows: Rows, pairs: npt.NDArray[np.int64], verify: float
) -> Iterator[tuple[Any, Any, Any]]:
    for at, similarity in _similarities(rows, pairs):
        good = similarity >= np.float32(verify)
        block = pairs[at][good]
        yield pa.array(block[:, 0]), pa.array(block[:, 1]), pa.array(similarity[good])


def _similarities(
    rows: Rows, pairs: npt.NDArray[np.int64]
) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Estimated Jaccard similarity of pairs, a block at a time, from the mapped sidecars."""
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        at = slice(start, start + PAIRS_AT_ONCE)
        wanted, where = np.unique(pairs[at], return_inverse=True)
        sides = where.reshape(-1, 2)
        signed = rows.take("signature", wanted)
        yield at, pair_similarity(signed, sides[:, 0], sides[:, 1])


def _cluster_facts(rows: Rows, label: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How many documents, clusters of two or more, and the largest, named by their first id."""
    size = np.bincount(label, minlength=rows.n) if rows.n else np.zeros(0, np.int64)
    order = np.lexsort((np.arange(len(size)), -size))[:LARGEST_CLUSTERS]
    ids = rows.column("doc_id", np.uint64)
    largest = [[int(ids[r]), int(size[r])] for r in order if size[r] > 1]
    return {"docs": rows.n, "clusters": int((size > 1).sum()), "largest": largest}


def _write(
    corpus: Corpus,
    step: str,
    rows: Rows,
    gone: npt.NDArray[np.int64],
    kept: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float32],
) -> list[Path]:
    """Write the duplicates file of every shard; row `gone[i]` (ascending) duplicates `kept[i]`."""
    ids = rows.column("doc_id", np.uint64)
    paths = []
    for i, key in enumerate(corpus.shards):
        path = corpus.duplicates(step, key)
        batches = np.searchsorted(rows.starts, rows.shard_starts[i : i + 2])
        with arrow_file(path, DUPLICATES) as writer:
            for b in range(batches[0], batches[1]):
                start, stop = rows.starts[b], rows.starts[b + 1]
                lo, hi = np.searchsorted(gone, (start, stop))
                n = int(stop - start)
                of = np.zeros(n, np.uint64)
                alike = np.zeros(n, np.float32)
                missing = np.ones(n, np.bool_)
                local = gone[lo:hi] - start
                of[local], alike[local], missing[local] = ids[kept[lo:hi]], similarity[lo:hi], False
                writer.write_batch(
                    pa.record_batch(
                        [pa.array(of, mask=missing), pa.array(alike, mask=missing)],
                        schema=DUPLICATES,
                    )
                )
        paths.append(path)
    return paths
