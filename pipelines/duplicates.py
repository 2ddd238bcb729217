"""The corpus-wide work: who duplicates whom, from key sidecars alone, no text read.

    keys ── exact ──────────────────────────┐
      └──── band 0 … band 13 (pairs, verified) ── near (clusters) ── duplicates, a file a shard

A duplicates file has a row for each document of its shard: null where the document is
kept, else the document that is kept in its place.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
EXACT_BYTES_PER_DOC = 48  # digest 16, row numbers 8, hash table at most 24
NEAR_BYTES_PER_DOC = 56  # a band's keys 8, row numbers, sorting; union-find 8


def find_exact(
    job: Job, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Mark every document whose digest an earlier one has."""
    rows = _rows(job, pass_index, steps, shards)
    _fit(job, "exact", rows.n, EXACT_BYTES_PER_DOC)
    table = np.concatenate(
        [rows.matrix(b, "digest") for b in rows.batches] or [np.empty((0, 2), np.uint64)]
    )
    first = first_occurrence(table)
    gone = np.flatnonzero(first != np.arange(rows.n))
    similarity = np.ones(len(gone), np.float32)
    files = _write(job, pass_index, "exact", shards, rows, gone, first[gone], similarity)
    return Done(files=files, facts=_cluster_facts(rows, first))


def find_edges(
    job: Job,
    pass_index: int,
    steps: tuple[Config, ...],
    shards: tuple[str, ...],
    band: int,
) -> Done:
    """The pairs of documents that meet in one band and whose signatures verify."""
    near = _near(steps)
    rows = _rows(job, pass_index, steps, shards)
    _fit(job, "near", rows.n, NEAR_BYTES_PER_DOC)
    keys = rows.column(band_column(band), np.uint64)
    keys[_gone_before(job, pass_index, steps, shards, rows)] = 0
    present = np.flatnonzero(keys)
    pairs = candidate_pairs(keys[present], present)
    path = job.edges(pass_index, band)
    edges = 0
    with arrow_file(path, EDGES) as writer:
        for left, right, similarity in _verified(rows, pairs, near.verify):
            edges += len(left)
            writer.write_batch(pa.record_batch([left, right, similarity], schema=EDGES))
    return Done(files=[path], facts={"candidates": len(pairs), "edges": edges})


def find_near(
    job: Job, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Cluster the edges of all bands; mark every document but the first of its cluster."""
    near = _near(steps)
    rows = _rows(job, pass_index, steps, shards)
    bands = [open_arrow(job.edges(pass_index, b))[0] for b in range(near.lsh().bands)]
    edges = merge_edges([np.column_stack([b["left"], b["right"]]) for band in bands for b in band])
    label = clusters(rows.n, edges)
    gone = np.flatnonzero(label != np.arange(rows.n))
    kept = label[gone]
    similarity = np.empty(len(gone), np.float32)
    for at, alike in _similarities(rows, np.column_stack([gone, kept])):
        similarity[at] = alike
    files = _write(job, pass_index, "near", shards, rows, gone, kept, similarity)
    facts = {**_cluster_facts(rows, label), "edges": len(edges)}
    return Done(files=files, facts=facts)


def read_duplicates(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a duplicates file, a batch for each batch of documents."""
    yield from open_arrow(path)[0]


def _near(steps: Sequence[Config]) -> NearDedup:
    return next(s for s in steps if isinstance(s, NearDedup))


def _rows(job: Job, pass_index: int, steps: Sequence[Config], shards: Sequence[str]) -> Rows:
    return corpus_rows([job.keys(pass_index, key) for key in shards], key_parameters(steps))


def _fit(job: Job, step: str, docs: int, bytes_per_doc: int) -> None:
    need, budget = docs * bytes_per_doc, job.recipe.run.memory_budget
    if need > budget:
        raise ConfigError(
            f"{step}: {docs} documents need {format_memory(need)} of memory, run.memory_budget is"
            f" {format_memory(budget)}; raise it or split the corpus"
        )


def _gone_before(
    job: Job, pass_index: int, steps: Sequence[Config], shards: Sequence[str], rows: Rows
) -> npt.NDArray[np.bool_]:
    """(n,) documents that a corpus-wide step standing before `near` removes already."""
    gone = np.zeros(rows.n, np.bool_)
    before = [s for s in steps[: list(steps).index(_near(steps))] if isinstance(s, ExactDedup)]
    for _ in before:
        at = 0
        for key in shards:
            for batch in read_duplicates(job.duplicates(pass_index, "exact", key)):
                gone[at : at + batch.num_rows] |= np.asarray(batch["duplicate_of"].is_valid())
                at += batch.num_rows
    return gone


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
    job: Job,
    pass_index: int,
    step: str,
    shards: Sequence[str],
    rows: Rows,
    gone: npt.NDArray[np.int64],
    kept: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float32],
) -> list[Path]:
    """Write the duplicates file of every shard; row `gone[i]` (ascending) duplicates `kept[i]`."""
    ids = rows.column("doc_id", np.uint64)
    paths = []
    for i, key in enumerate(shards):
        path = job.duplicates(pass_index, step, key)
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
