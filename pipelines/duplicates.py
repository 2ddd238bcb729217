"""The corpus-wide work: who duplicates whom, from key sidecars alone, no text read.

    keys ── exact ──────────────────────────┐
      └──── band 0 … band 13 (pairs, verified) ── near (clusters) ── duplicates, a file a shard

A duplicates file has a row for each document of its shard: null where the document is
kept, else the document that is kept in its place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.cluster import Forest, cluster_sizes
from dedup.digest import first_occurrence, last_occurrence
from dedup.minhash import pair_similarity
from dedup.partition import prefix_bits
from pipelines.arrow_files import arrow_file
from pipelines.config import Config
from pipelines.corpus import Corpus
from pipelines.edges import read_edges
from pipelines.job import Done
from pipelines.parts import KeyColumn, Room, parts
from pipelines.prepare_job import PrepareJob
from pipelines.sidecar import Rows, open_arrow

DUPLICATES = pa.schema(
    [
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
LARGEST_CLUSTERS = 20
ROWS_AT_ONCE = 1 << 20
EXACT_BYTES_PER_DOC = 14  # label 8, gone before 1, cluster size 4, gone 1
EXACT_BYTES_PER_ROW = 40  # of a part: row number 4, digest 16, first row 16, partition 4
LAST_BYTES_PER_ROW = 32  # to go through them backwards: digest 16, first row 16
EXACT_BYTES_PER_LARGEST = 32  # digest 16, of a hash table at most 16
NEAR_BYTES_PER_DOC = 13  # label 8, gone 1, and cluster size 4 or, later, similarity 4
PAIR_BYTES = 64  # of a pair besides its signatures: row numbers, sorting them, places
MOST_PAIRS = 1 << 19  # at a time: more do not read faster
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


class Equality(NamedTuple):
    """Which documents are equal, and which of them is kept.

    name: of the step.  column: of their keys.
    empty: a key of zeros is none, and equals nothing.
    similarity: what the files say of equal documents.
    """

    name: str
    column: str
    keep: Literal["first", "last"] = "first"
    empty: bool = False
    similarity: float | None = 1.0


def find_exact(
    job: PrepareJob, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Mark every document whose digest an earlier one has."""
    return find_equal(Corpus(job, pass_index, steps, shards), Equality("exact", "digest"))


def find_equal(corpus: Corpus, equality: Equality) -> Done:
    """Mark every document that equals the one kept in its place."""
    name, keep = equality.name, equality.keep
    rows = corpus.rows()
    left = corpus.memory_left(name, rows.n, EXACT_BYTES_PER_DOC, least=LEAST_BYTES)
    gone = corpus.gone_before(name, rows.n)
    label = np.arange(rows.n)

    def wanted(start: int, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        there = ~gone[start : start + len(keys)]
        return there & keys.any(axis=1) if equality.empty else there

    occurrence = first_occurrence if keep == "first" else last_occurrence
    per_row = EXACT_BYTES_PER_ROW + (LAST_BYTES_PER_ROW if keep == "last" else 0)
    room = Room(left, per_row, EXACT_BYTES_PER_LARGEST)
    for part in parts(KeyColumn(rows, equality.column, wanted), room):
        if part.all_equal:
            label[part.rows] = part.rows[0 if keep == "first" else -1]
        else:
            label[part.rows] = part.rows[occurrence(part.keys, prefix_bits(rows.n))]
    facts = _cluster_facts(rows, label)
    alike = None if equality.similarity is None else np.float32(equality.similarity)
    return Done(files=_write(corpus, name, rows, label, alike), facts=facts)


def find_near(
    job: PrepareJob, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...]
) -> Done:
    """Cluster the edges of all bands; mark every document but the first of its cluster."""
    corpus = Corpus(job, pass_index, steps, shards)
    rows = corpus.rows()
    left = corpus.memory_left("near", rows.n, NEAR_BYTES_PER_DOC, least=LEAST_BYTES)
    forest = Forest(rows.n)
    for band in range(corpus.near.lsh().bands):
        for edges in read_edges(job.edges(pass_index, band)):
            forest.join(edges)
    label = forest.labels()
    facts = _cluster_facts(rows, label)
    pairs_at_once = left // (2 * corpus.near.num_perm * 4 + PAIR_BYTES)
    similarity = _similarities(rows, label, min(pairs_at_once, MOST_PAIRS))
    return Done(files=_write(corpus, "near", rows, label, similarity), facts=facts)


def read_duplicates(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a duplicates file, a batch for each batch of documents."""
    yield from open_arrow(path)[0]


def _similarities(
    rows: Rows, label: npt.NDArray[np.int64], pairs_at_once: int
) -> npt.NDArray[np.float32]:
    """(n,) estimated Jaccard similarity of each document to the one kept in its place."""
    similarity = np.ones(rows.n, np.float32)
    for gone in _gone(label, pairs_at_once):
        wanted, where = np.unique(np.concatenate((label[gone], gone)), return_inverse=True)
        signed = rows.take("signature", wanted)
        similarity[gone] = pair_similarity(signed, where[: len(gone)], where[len(gone) :])
    return similarity


def _gone(label: npt.NDArray[np.int64], at_once: int) -> Iterator[npt.NDArray[np.int64]]:
    """Rows that are not the first of their cluster, ascending, `at_once` at a time."""
    waiting = np.empty(0, np.int64)
    for start in range(0, len(label), at_once):
        stop = min(start + at_once, len(label))
        found = np.flatnonzero(label[start:stop] != np.arange(start, stop)) + start
        waiting = np.concatenate((waiting, found))
        if len(waiting) >= at_once:
            yield waiting[:at_once]
            waiting = waiting[at_once:]
    if len(waiting):
        yield waiting


def _cluster_facts(rows: Rows, label: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How many documents, clusters of two or more, and the largest, named by their first id."""
    sizes = cluster_sizes(label)
    n_clusters = 0
    largest = np.empty(0, np.int64)
    for start in range(0, rows.n, ROWS_AT_ONCE):
        found = np.flatnonzero(sizes[start : start + ROWS_AT_ONCE] > 1) + start
        n_clusters += len(found)
        largest = np.concatenate((largest, found))
        largest = largest[np.lexsort((largest, -sizes[largest].astype(np.int64)))]
        largest = largest[:LARGEST_CLUSTERS]
    order = np.sort(largest)
    ids = dict(zip(order.tolist(), rows.take("doc_id", order).tolist(), strict=True))
    named = [[int(ids[r]), int(sizes[r])] for r in largest.tolist()]
    return {"docs": rows.n, "clusters": n_clusters, "largest": named}


def _name_kept(rows: Rows, label: npt.NDArray[np.int64], at_once: int) -> npt.NDArray[np.bool_]:
    """(n,) documents that are not the first of their cluster; their label becomes its id."""
    gone = np.zeros(rows.n, np.bool_)
    for at in _gone(label, at_once):
        wanted, where = np.unique(label[at], return_inverse=True)
        label[at] = rows.take("doc_id", wanted).view(np.int64)[where]
        gone[at] = True
    return gone


def _write(
    corpus: Corpus,
    step: str,
    rows: Rows,
    label: npt.NDArray[np.int64],
    similarity: npt.NDArray[np.float32] | np.float32 | None,
) -> list[Path]:
    """Write the duplicates file of every shard; row `r` duplicates `label[r]`, if another.

    label: (n,), used up.  similarity: (n,) of each row to that, or one of all; None: not known.
    """
    alike = np.broadcast_to(np.float32(np.nan) if similarity is None else similarity, rows.n)
    gone = _name_kept(rows, label, ROWS_AT_ONCE)
    of = label.view(np.uint64)
    paths = []
    for shard, key in enumerate(corpus.shards):
        path = corpus.duplicates(step, key)
        with arrow_file(path, DUPLICATES) as writer:
            for b in range(*rows.shard_batches[shard : shard + 2].tolist()):
                at = slice(rows.starts[b], rows.starts[b + 1])
                kept = ~gone[at]
                columns = [
                    pa.array(np.where(kept, 0, of[at]), mask=kept),
                    pa.array(
                        np.where(kept, np.float32(0), alike[at]), mask=kept | np.isnan(alike[at])
                    ),
                ]
                writer.write_batch(pa.record_batch(columns, schema=DUPLICATES))
        paths.append(path)
    return paths
