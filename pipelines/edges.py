"""The pairs of near duplicates that meet in one band, from key sidecars alone, no text read."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.lsh import NO_KEY, Buckets, buckets, count_pairs
from dedup.partition import prefix_bits
from dedup.verify import CONTEXT_ROWS, verified_edges
from pipelines.arrow_files import arrow_file
from pipelines.config import Config
from pipelines.corpus import Corpus
from pipelines.job import Done
from pipelines.keys import band_column
from pipelines.parts import KeyColumn, Part, Room, parts
from pipelines.prepare_job import PrepareJob
from pipelines.sidecar import open_arrow

EDGES = pa.schema([pa.field("left", pa.uint32()), pa.field("right", pa.uint32())])
EDGES_AT_ONCE = 1 << 16  # in a batch of the file, whatever the memory they were found in
ROW_BYTES = 32  # row numbers and key 12, partition 4, members 8, their ends 4, their trees 4
LARGEST_BYTES = 36  # of a hash table at most 16, keys 8, members' places 12
SIGNED_BYTES = 280  # besides a signature: its row, sorting, place 32; at most 15.5 edges, twice
MOST_SIGNED = 1 << 20  # signatures at a time: more do not read faster
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


def find_edges(
    job: PrepareJob, pass_index: int, steps: tuple[Config, ...], shards: tuple[str, ...], band: int
) -> Done:
    """Write the pairs of documents that meet in one band and whose signatures verify."""
    corpus = Corpus(job, pass_index, steps, shards)
    path = job.edges(pass_index, band)
    tally = {"candidates": 0, "edges": 0}
    with arrow_file(path, EDGES) as writer:
        for block in _equal_blocks(_edges(corpus, band_column(band), tally)):
            tally["edges"] += len(block)
            left, right = (pa.array(np.ascontiguousarray(block[:, side])) for side in (0, 1))
            writer.write_batch(pa.record_batch([left, right], schema=EDGES))
    return Done(files=[path], facts=tally)


def _edges(corpus: Corpus, column: str, tally: dict[str, int]) -> Iterator[npt.NDArray[np.uint32]]:
    """The edges of a band, some at a time; candidates are added to the tally."""
    rows, near = corpus.rows(), corpus.near
    n_works = corpus.bands_at_once()
    left = corpus.memory_left("near", rows.n, 1, least=LEAST_BYTES, at_once=n_works)
    gone = corpus.gone_before("near", rows.n)

    def wanted(start: int, keys: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        here: npt.NDArray[np.bool_] = (keys != NO_KEY) & ~gone[start : start + len(keys)]
        return here

    per_signature = near.num_perm * 4 + SIGNED_BYTES
    at_once = max(min(left // 4 // per_signature, MOST_SIGNED), CONTEXT_ROWS)
    room = Room(left - at_once * per_signature, ROW_BYTES, LARGEST_BYTES)
    for part in parts(KeyColumn(rows, column, wanted), room):
        same = _buckets(part, prefix_bits(rows.n))
        tally["candidates"] += count_pairs(same.ends)
        yield from verified_edges(
            same,
            lambda wanted: rows.take("signature", wanted),
            num_perm=near.num_perm,
            verify=near.verify,
            rows_at_once=at_once,
        )


def _buckets(part: Part, bits: int) -> Buckets:
    """Rows of the corpus that share their key."""
    if part.all_equal:
        return Buckets(part.rows, np.array([len(part.rows)]))
    same = buckets(part.keys, bits)
    return same._replace(members=part.rows[same.members])


def read_edges(path: Path) -> Iterator[npt.NDArray[np.uint32]]:
    """The (n_edges, 2) edges of a band's file, some at a time."""
    for batch in open_arrow(path)[0]:
        yield np.column_stack([batch["left"], batch["right"]])


def _equal_blocks(edges: Iterable[npt.NDArray[np.uint32]]) -> Iterator[npt.NDArray[np.uint32]]:
    """The edges in blocks whose size does not depend on how they come, nor on the memory."""
    waiting: list[npt.NDArray[np.uint32]] = []
    n = 0
    for found in edges:
        waiting.append(found)
        n += len(found)
        if n >= EDGES_AT_ONCE:
            joined = np.concatenate(waiting)
            whole = n - n % EDGES_AT_ONCE
            for at in range(0, whole, EDGES_AT_ONCE):
                yield joined[at : at + EDGES_AT_ONCE]
            waiting = [joined[whole:].copy()]
            n -= whole
    if n:
        yield np.concatenate(waiting)
