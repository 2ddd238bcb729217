"""The corpus-wide work: who duplicates whom, from keys alone, no text read.

    keys ── exact, a range of digests at a time ── equal documents ───┐
      └──── bands, a range at a time ── edges ── forests ── clusters ─┴─ a duplicates file a shard

A duplicates file has a row for each document of its shard: null where the document is
kept, else the document that is kept in its place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.digest import first_occurrence, last_occurrence, newest_occurrence
from tokenmill.dedup.minhash import pair_similarity
from tokenmill.dedup.partition import prefix_bits
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.clusters import cluster_facts
from tokenmill.pipelines.corpus.counted.steps import SAME
from tokenmill.pipelines.corpus.near import FOREST, clusters_path, trees_between, write_pairs
from tokenmill.pipelines.corpus.parts import Part, Room, parts
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill import Spilled
from tokenmill.pipelines.corpus.spill_rows import range_bits
from tokenmill.pipelines.corpus.steps import NearDedup
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.storage.sidecar import Rows, open_arrow

DUPLICATES = pa.schema(
    [
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
    ]
)
ROWS_AT_ONCE = 1 << 20
EXACT_BYTES_PER_DOC = 12  # of a range: it and the one kept 8, the ones kept in order 4
EXACT_BYTES_PER_ROW = 40  # of a part: row number 4, digest 16, first row 16, partition 4
# to go through them backwards: digest 16, first row 16; for dates, date 8, the newest 8, twice
MORE_BYTES_PER_ROW = {"first": 0, "last": 32, "newest": 32}
EXACT_BYTES_PER_LARGEST = 32  # digest 16, of a hash table at most 16
KEPT_BYTES = 24  # of a duplicate of a group: it and the one kept 8, read and sorted 16 on the way
PAIR_BYTES = 64  # of a pair besides its signatures: row numbers, sorting them, places
MOST_PAIRS = 1 << 19  # at a time: more do not read faster
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying
ROW_BITS = np.uint64(32)


class Equality(NamedTuple):
    """Which of equal documents is kept.

    similarity: what the files say of equal documents.
    """

    keep: Literal["first", "last", "newest"] = "first"
    similarity: float | None = 1.0


def equality_of(step: Step) -> Equality:
    return Equality(step.keep, None) if isinstance(step, SAME) else Equality()


def find_equal(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], name: str, number: int
) -> Done:
    """Write the documents that equal the one kept in their place, of a range of keys."""
    corpus = Corpus(job, pass_index, steps)
    keep = equality_of(corpus.step(name)).keep
    keys = Spilled(corpus, name, 0, number)
    at_once = corpus.at_once(1 << range_bits(corpus.n))
    left = corpus.memory_left(name, keys.n, EXACT_BYTES_PER_DOC, least=LEAST_BYTES, at_once=at_once)
    per_row = EXACT_BYTES_PER_ROW + MORE_BYTES_PER_ROW[keep]
    gone, n = np.empty(keys.n, np.uint64), 0
    for part in parts(keys, Room(left, per_row, EXACT_BYTES_PER_LARGEST)):
        for found in _packed(part, _kept(part, keys, keep), corpus.shards.earlier_rows):
            gone[n : n + len(found)] = found
            n += len(found)
    gone = gone[:n]
    gone.sort()
    path = job.forest(pass_index, name, 0, number)
    write_pairs(path, FOREST, _unpacked(gone))
    return Done(files=[path], facts=cluster_facts(corpus, gone.astype(np.uint32)))


def _kept(part: Part, keys: Spilled, keep: str) -> npt.NDArray[np.uint32]:
    """(n,) of each row of a part the one kept of those that equal it."""
    rows, bits = part.rows, prefix_bits(keys.n)
    if part.all_equal:
        only = _newest(rows, keys) if keep == "newest" else rows[0 if keep == "first" else -1]
        return np.broadcast_to(only, len(rows))
    if keep == "newest":
        return rows[newest_occurrence(part.keys, keys.dates(rows), bits)]
    occurrence = first_occurrence if keep == "first" else last_occurrence
    return rows[occurrence(part.keys, bits)]


def _newest(rows: npt.NDArray[np.uint32], keys: Spilled) -> np.uint32:
    """The newest of many rows, of equal ones the last."""
    newest, date = rows[-1], np.uint64(0)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        dates = keys.dates(some)
        if dates.max() >= date:
            date = dates.max()
            newest = some[len(some) - 1 - dates[::-1].argmax()]
    return np.uint32(newest)


def write_duplicates(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], name: str, group: int
) -> Done:
    """Write the duplicates file of every shard of a group."""
    corpus = Corpus(job, pass_index, steps)
    rows, step = corpus.rows(), corpus.step(name)
    pairs = _gone(corpus, name, corpus.group(group)[1])
    at_once = corpus.at_once(corpus.shards.n_groups)
    left = corpus.memory_left(
        name, len(pairs), KEPT_BYTES, least=LEAST_BYTES, at_once=at_once, of="duplicates"
    )
    names = _doc_ids(rows, pairs[:, 1])
    if isinstance(step, NearDedup):
        pairs_at_once = min(left // (2 * step.num_perm * 4 + PAIR_BYTES), MOST_PAIRS)
        alike = _similarities(rows, pairs, pairs_at_once)
    else:
        told = equality_of(step).similarity
        alike = np.full(len(pairs), np.nan if told is None else told, np.float32)
    found = Found(pairs[:, 0], names, alike)
    paths = []
    for number in corpus.group(group)[0]:
        if number >= corpus.shards.n_earlier:
            path = corpus.duplicates(name, corpus.shards.keys[number].as_py())
            _write(path, rows, number, found)
            paths.append(path)
    return Done(files=paths)


def read_duplicates(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a duplicates file, a batch for each batch of documents."""
    yield from open_arrow(path)[0]


class Found(NamedTuple):
    """Duplicates: (n,) rows, ascending; ids of the documents kept; similarity, NaN if not known."""

    rows: npt.NDArray[np.uint32]
    of: npt.NDArray[np.uint64]
    alike: npt.NDArray[np.float32]


def _packed(
    part: Part, kept: npt.NDArray[np.uint32], earlier_rows: int
) -> Iterator[npt.NDArray[np.uint64]]:
    """Rows that are not kept, each `row << 32 | row kept`; none of the first `earlier_rows`."""
    for start in range(0, len(kept), ROWS_AT_ONCE):
        rows, of = (a[start : start + ROWS_AT_ONCE].astype(np.uint64) for a in (part.rows, kept))
        gone = (rows != of) & (rows >= earlier_rows)
        yield rows[gone] << ROW_BITS | of[gone]


def _unpacked(packed: npt.NDArray[np.uint64]) -> Iterator[npt.NDArray[np.uint32]]:
    for start in range(0, len(packed), ROWS_AT_ONCE):
        here = packed[start : start + ROWS_AT_ONCE]
        yield np.column_stack([here >> ROW_BITS, here.astype(np.uint32)]).astype(np.uint32)


def _gone(corpus: Corpus, name: str, of_group: range) -> npt.NDArray[np.uint32]:
    """(n, 2) the rows of a group that go, ascending, and those kept in their place."""
    if name == "near":
        paths = [clusters_path(corpus)]
    else:
        numbers = range(1 << range_bits(corpus.n))
        paths = [corpus.job.forest(corpus.pass_index, name, 0, number) for number in numbers]
    found = np.concatenate([trees_between(p, of_group.start, of_group.stop) for p in paths])
    return found if len(paths) == 1 else found[np.argsort(found[:, 0])]


def _doc_ids(rows: Rows, wanted: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """(n,) ids of rows in any order."""
    ids = np.empty(len(wanted), np.uint64)
    for start in range(0, len(wanted), ROWS_AT_ONCE):
        each, where = np.unique(wanted[start : start + ROWS_AT_ONCE], return_inverse=True)
        ids[start : start + ROWS_AT_ONCE] = rows.take("doc_id", each)[where]
    return ids


def _similarities(
    rows: Rows, pairs: npt.NDArray[np.uint32], pairs_at_once: int
) -> npt.NDArray[np.float32]:
    """(n,) estimated Jaccard similarity of the documents of each pair."""
    alike = np.empty(len(pairs), np.float32)
    for start in range(0, len(pairs), pairs_at_once):
        gone, kept = pairs[start : start + pairs_at_once].T
        wanted, where = np.unique(np.concatenate((kept, gone)), return_inverse=True)
        signed = rows.take("signature", wanted)
        here = pair_similarity(signed, where[: len(gone)], where[len(gone) :])
        alike[start : start + pairs_at_once] = here
    return alike


def _write(path: Path, rows: Rows, number: int, found: Found) -> None:
    """Write the duplicates file of one shard, a batch for each of its sidecar."""
    starts = rows.starts[number] + rows.shard(number).starts
    cuts = np.searchsorted(found.rows, starts.astype(np.uint32))
    with arrow_file(path, DUPLICATES) as writer:
        for b, start in enumerate(starts[:-1].tolist()):
            at, n = slice(cuts[b], cuts[b + 1]), int(starts[b + 1]) - start
            local = found.rows[at] - start
            kept, of, alike = np.ones(n, np.bool_), np.zeros(n, np.uint64), np.zeros(n, np.float32)
            kept[local], of[local], alike[local] = False, found.of[at], found.alike[at]
            columns = [pa.array(of, mask=kept), pa.array(alike, mask=kept | np.isnan(alike))]
            writer.write_batch(pa.record_batch(columns, schema=DUPLICATES))
