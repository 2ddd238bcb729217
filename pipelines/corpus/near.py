"""Clusters from edges: spanning forests, joined in a tree until there is one.

    edges of every band and range ── 16 of them ── a forest ┐
                                     16 of them ── a forest ┴─ 16 of them ── … ── the clusters

A forest has a row for each document that is not the lowest of its tree, and names that one. It is
edges again, and fewer than joined it: no more than there are documents in pairs.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.cluster import Forest, Touched
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.clusters import cluster_facts
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill_rows import range_bits
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import open_arrow, values

Pairs = npt.NDArray[np.uint32]

FOREST = pa.schema([pa.field("row", pa.uint32()), pa.field("of", pa.uint32())])
PAIRS_AT_ONCE = 1 << 16  # in a batch of a file, whatever the memory they were found in
FAN_IN = 16
TOUCHED_BYTES = 16  # of a row in pairs: its number 4, its tree 4, the row kept for it twice 8
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


def write_pairs(path: Path, schema: pa.Schema, pairs: Iterable[Pairs]) -> int:
    """Write (n, 2) pairs as the two columns of a file; return how many there were."""
    n = 0
    with arrow_file(path, schema) as writer:
        for block in _equal_blocks(pairs):
            n += len(block)
            columns = [pa.array(np.ascontiguousarray(block[:, side])) for side in (0, 1)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return n


def read_pairs(path: Path) -> Iterator[Pairs]:
    """The (n, 2) pairs of a file, some at a time."""
    for batch in open_arrow(path)[0]:
        yield np.column_stack([batch[0], batch[1]])


def trees_between(path: Path, lo: int, hi: int) -> Pairs:
    """The (n, 2) rows of a forest, which ascend, from `lo` to before `hi`."""
    found = [np.empty((0, 2), np.uint32)]
    for batch in open_arrow(path)[0]:
        rows = values(batch, "row")
        if rows[-1] >= lo and rows[0] < hi:
            start, stop = np.searchsorted(rows, [lo, hi]).tolist()
            found.append(np.column_stack([rows[start:stop], values(batch, "of")[start:stop]]))
    return np.concatenate(found)


def levels(n_edges: int) -> list[int]:
    """Files of each level: of edges, and of forests until there is one.

    >>> levels(14), levels(280), levels(1)
    ([14, 1], [280, 18, 2, 1], [1, 1])
    """
    made = [n_edges]
    while len(made) == 1 or made[-1] > 1:
        made.append(-(-made[-1] // FAN_IN))
    return made


def n_edges_files(corpus: Corpus) -> int:
    return corpus.near.lsh().bands << range_bits(corpus.n)


def join_forests(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], level: int, number: int
) -> Done:
    """Join some of the files of the level below; the last one of all also tells what was found.

    Documents of earlier runs join others, but in the last forest none of them has a row: they
    stay, whatever they are like.
    """
    corpus = Corpus(job, pass_index, steps)
    counts = levels(n_edges_files(corpus))
    below = range(number * FAN_IN, min((number + 1) * FAN_IN, counts[level - 1]))
    paths = [_path(corpus, level - 1, n) for n in below]
    touched = Touched(corpus.n)
    for path in paths:
        for pairs in read_pairs(path):
            touched.mark(pairs)
    at_once, least = corpus.at_once(counts[level]), LEAST_BYTES + corpus.n * 3 // 8
    corpus.memory_left(
        "near", touched.n, TOUCHED_BYTES, least=least, at_once=at_once, of="documents in pairs"
    )
    forest = Forest(touched)
    for path in paths:
        for pairs in read_pairs(path):
            forest.join(pairs)
    path, is_last = _path(corpus, level, number), level == len(counts) - 1
    kept: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]

    def trees() -> Iterator[Pairs]:
        for found in forest.trees(PAIRS_AT_ONCE):
            if is_last:
                found = found[found[:, 0] >= corpus.shards.earlier_rows]
                kept.append(found[:, 1].copy())
            yield found

    write_pairs(path, FOREST, trees())
    facts = cluster_facts(corpus, np.concatenate(kept)) if is_last else {}
    return Done(files=[path], facts=facts)


def clusters_path(corpus: Corpus) -> Path:
    """The forest of all pairs of near duplicates."""
    return _path(corpus, len(levels(n_edges_files(corpus))) - 1, 0)


def _path(corpus: Corpus, level: int, number: int) -> Path:
    """A file of a level: of edges, band by band and range by range; of forests in order."""
    job, pass_index = corpus.job, corpus.pass_index
    if level:
        return job.forest(pass_index, "near", level, number)
    band, of_range = divmod(number, 1 << range_bits(corpus.n))
    return job.edges(pass_index, band, of_range)


def _equal_blocks(pairs: Iterable[Pairs]) -> Iterator[Pairs]:
    """The pairs in blocks whose size does not depend on how they come, nor on the memory."""
    waiting: list[Pairs] = []
    n = 0
    for found in pairs:
        waiting.append(found)
        n += len(found)
        if n >= PAIRS_AT_ONCE:
            joined = np.concatenate(waiting)
            whole = n - n % PAIRS_AT_ONCE
            for at in range(0, whole, PAIRS_AT_ONCE):
                yield joined[at : at + PAIRS_AT_ONCE]
            waiting = [joined[whole:].copy()]
            n -= whole
    if n:
        yield np.concatenate(waiting)
