"""Pairs of rows in files, edges or who leaves for whom; and what is told of the clusters they make.

A forest has a row for each document that is not the one kept of those it is joined with, and names
that one; its rows ascend.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F32, I64
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.shuffle import range_file, rows_between
from tokenmill.pipelines.corpus.verdicts import Going, VerdictStep, write_verdicts
from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import open_arrow

Pairs = I64
Clusters = Sequence[tuple[int, int]]  # id of the document that stays, documents with it

FORESTS = Folder("2-forest", "{step}-{level}-{number:05d}.arrow")
FOREST = pa.schema([pa.field("row", pa.int64()), pa.field("of", pa.int64())])
KEPT_BYTES = 36  # of a duplicate of a group: it and the one kept 16, read 16, its similarity 4
PAIRS_AT_ONCE = 1 << 16  # in a batch of a file, whatever the memory they were found in


def write_pairs(path: Path, schema: pa.Schema, pairs: Iterable[Pairs]) -> int:
    """Write (n, 2) pairs as the two columns of a file; return how many there were."""
    n = 0
    with range_file(path, schema, 0, PAIRS_AT_ONCE) as rows:
        for some in pairs:
            rows.write(*some.T)
            n += len(some)
    return n


def read_pairs(path: Path) -> Iterator[Pairs]:
    """The (n, 2) pairs of a file, some at a time."""
    for batch in open_arrow(path)[0]:
        yield np.column_stack([batch[0], batch[1]])


LARGEST_CLUSTERS = 20
CLOSEST = 6  # pairs of the least similarity that are told
PERCENTS = 101
ROWS_AT_ONCE = 1 << 20


def write_kept(
    corpus: Corpus,
    step: VerdictStep,
    group: int,
    paths: Sequence[Path],
    similarity: Callable[[Pairs, int], F32],
    largest: Clusters | None = None,
) -> Done:
    """Write the verdicts on every shard of a group.

    paths: forests of who leaves for whom.
    similarity: (n,) of (n, 2) pairs of rows, with so many bytes of memory.
    largest: clusters of which a pair is told; None tells of none.
    """
    of_group = corpus.group(group)[1]
    between = rows_between(paths, "row", [of_group.start, of_group.stop])
    found = [np.column_stack([batch[0], batch[1]]) for batch in between]
    pairs = np.concatenate([np.empty((0, 2), np.int64), *found])
    left = corpus.memory_left(
        step.name, len(pairs), KEPT_BYTES, works=corpus.shards.n_groups, of="duplicates"
    )
    pairs = pairs if len(paths) == 1 else pairs[np.argsort(pairs[:, 0])]
    going = Going(pairs[:, 0], corpus.ids_of(pairs[:, 1]), similarity(pairs, left))
    facts = {} if largest is None else pair_facts(corpus, going, largest)
    return Done(files=write_verdicts(corpus, step, group, going), facts=facts)


def pair_facts(corpus: Corpus, going: Going, largest: Clusters) -> dict[str, Any]:
    """Of documents that leave for another that is as similar as is known: how many by hundredths of
    similarity, and pairs of ids that a reader may want to see, [leaves, stays, similarity].

    closest: those least alike.  of_largest: of each of some clusters the one least alike.
    """
    rows, of, similarity = going
    if of is None or similarity is None:
        return {}
    percent = np.floor(similarity.astype(np.float64) * 100 + 1e-5).astype(np.int64)
    members = [np.flatnonzero(of == doc_id) for doc_id, _ in largest]
    least = [at[np.argsort(similarity[at], kind="stable")[:1]] for at in members]
    wanted = {
        "closest": np.argsort(similarity, kind="stable")[:CLOSEST],
        "of_largest": np.concatenate([np.empty(0, np.int64), *least]),
    }

    def pairs(at: I64) -> list[list[float]]:
        columns = corpus.ids_of(rows[at]), of[at], similarity[at]
        return [list(pair) for pair in zip(*(c.tolist() for c in columns), strict=True)]

    counts = np.bincount(percent, minlength=PERCENTS).tolist()
    return {"percents": counts, **{name: pairs(at) for name, at in wanted.items()}}


def merged_pairs(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of `pair_facts` of all groups; nothing where none has any."""
    found = [part for part in parts if part]
    if not found:
        return {}
    names = ("closest", "of_largest")
    every = {n: sorted((p for f in found for p in f[n]), key=lambda p: (p[2], p[0])) for n in names}
    of_cluster = {stays: [leaves, stays, s] for leaves, stays, s in reversed(every["of_largest"])}
    return {
        "percents": np.sum([f["percents"] for f in found], axis=0).tolist(),
        "closest": every["closest"][:CLOSEST],
        "of_largest": list(of_cluster.values()),
    }


def cluster_facts(corpus: Corpus, kept: I64) -> dict[str, Any]:
    """How many documents, clusters of two or more, and the largest: [doc_id, documents] of each.

    kept: (n_gone,) of each document that goes the row of the one kept in its place; is sorted.
    """
    kept.sort()
    n_clusters, before = 0, -1
    rows, sizes = np.empty((2, 0), np.int64)
    for start in range(0, len(kept), ROWS_AT_ONCE):
        here = kept[start : start + ROWS_AT_ONCE + 1]
        ends = np.flatnonzero(here[1:] != here[:-1]) + start
        if start + ROWS_AT_ONCE >= len(kept):
            ends = np.append(ends, len(kept) - 1)
        found = np.diff(ends, prepend=before) + 1  # with the one that is kept
        n_clusters, before = n_clusters + len(ends), ends[-1] if len(ends) else before
        rows, sizes = np.append(rows, kept[ends]), np.append(sizes, found)
        most = np.lexsort((rows, -sizes))[:LARGEST_CLUSTERS]
        rows, sizes = rows[most], sizes[most]
    ids = corpus.ids_of(rows)
    largest = [[i, n] for i, n in zip(ids.tolist(), sizes.tolist(), strict=True)]
    docs = corpus.n - (corpus.shards.first_new_row - int(corpus.shards.starts[0]))
    return {"docs": docs, "clusters": n_clusters, "largest": largest}


def merged_facts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of all clusters, from those of disjoint parts of them.

    >>> parts = [{"docs": 9, "clusters": 1, "largest": [[5, 2]]}]
    >>> merged_facts([*parts, {"docs": 9, "clusters": 2, "largest": [[1, 3], [0, 2]]}])
    {'docs': 9, 'clusters': 3, 'largest': [[1, 3], [0, 2], [5, 2]]}
    """
    largest = [cluster for part in parts for cluster in part["largest"]]
    largest.sort(key=lambda cluster: (-cluster[1], cluster[0]))
    return {
        "docs": parts[0]["docs"],
        "clusters": sum(part["clusters"] for part in parts),
        "largest": largest[:LARGEST_CLUSTERS],
    }
