"""The pairs of near duplicates that meet in a range of one band, from keys alone, no text read."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.lsh import Buckets, buckets, count_pairs
from tokenmill.dedup.partition import prefix_bits
from tokenmill.dedup.verify import CONTEXT_ROWS, cut_large, verified_edges
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.near import n_edges_files, write_pairs
from tokenmill.pipelines.corpus.parts import Part, Room, parts
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill import Spilled
from tokenmill.pipelines.runs.folder import PrepareJob
from tokenmill.pipelines.runs.work import Done

EDGES = pa.schema([pa.field("left", pa.uint32()), pa.field("right", pa.uint32())])
ROW_BYTES = 32  # row numbers and key 12, partition 4, members 8, their ends 4, their trees 4
LARGEST_BYTES = 36  # of a hash table at most 16, keys 8, members' places 12
SIGNED_BYTES = 280  # besides a signature: its row, sorting, place 32; at most 15.5 edges, twice
MOST_SIGNED = 1 << 20  # signatures at a time: more do not read faster
MOST_MEMBERS = 1 << 20  # of a bucket that is looked at whole: its trees take memory
LEAST_BYTES = 1 << 18  # with less memory than this, nothing is gained by trying


def find_edges(
    job: PrepareJob, pass_index: int, steps: tuple[Step, ...], band: int, number: int
) -> Done:
    """Write the pairs that meet in one band and verify, of a range (`number`) of its keys."""
    corpus = Corpus(job, pass_index, steps)
    path = job.edges(pass_index, band, number)
    tally = {"candidates": 0}
    keys = Spilled(corpus, "near", band, number)
    edges = write_pairs(path, EDGES, _edges(corpus, keys, tally))
    return Done(files=[path], facts={**tally, "edges": edges})


def _edges(
    corpus: Corpus, keys: Spilled, tally: dict[str, int]
) -> Iterator[npt.NDArray[np.uint32]]:
    """The edges of a range, some at a time; candidates are added to the tally."""
    rows, near = corpus.rows(), corpus.near
    n_works = corpus.at_once(n_edges_files(corpus))
    left = corpus.memory_left("near", keys.n, 0, least=LEAST_BYTES, at_once=n_works)
    per_signature = near.num_perm * 4 + SIGNED_BYTES
    at_once = max(min(left // 4 // per_signature, MOST_SIGNED), CONTEXT_ROWS)
    room = Room(left - at_once * per_signature, ROW_BYTES, LARGEST_BYTES)
    for part in parts(keys, room):
        whole = _buckets(part, prefix_bits(keys.n))
        tally["candidates"] += count_pairs(whole.ends)
        for same in cut_large(whole, MOST_MEMBERS):
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
