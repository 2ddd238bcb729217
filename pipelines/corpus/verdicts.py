"""Verdicts: which documents of a shard leave at a step, and which are left behind it.

    rows that leave, by group ── write_verdicts ── a file a group ──┬── apply, in the next pass
                                                                    └── alive: what later steps of
                                                                        the pass look at

A file has a part for each shard of this run in the group, and in it a row for each document, a
batch for each batch.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F32, I64, U64, Bools
from tokenmill.pipelines.core.schema import needed
from tokenmill.pipelines.core.step import KEEP, keep_where
from tokenmill.pipelines.corpus.rows import ROWS, Corpus, read_shards
from tokenmill.pipelines.corpus.step import Applied, Applier, CorpusStep, Pass, Rows
from tokenmill.pipelines.runs.folder import KEYS, RunFolder
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, open_part, values, with_parts

# duplicate_of: the document that is kept in its place, of one that leaves for it.
# alive: neither this step nor one before it in the pass removes it.
VERDICTS = pa.schema(
    [
        pa.field("duplicate_of", pa.uint64()),
        pa.field("similarity", pa.float32()),
        *needed(alive=pa.bool_()),
    ]
)


class VerdictStep(CorpusStep):
    """A step that takes documents out whole, or leaves them as they are.

    Its phases write files of verdicts, for every shard of the run, by `write_verdicts`.
    """

    removes_whole = True
    cuts = False

    @property
    def reason(self) -> str:
        """Why documents leave, in their removed rows."""
        return self.name

    def applier(self, run: RunFolder, pass_index: int, key: str) -> Applier:
        verdicts = iter(verdicts_on(run, pass_index, self, key))

        def apply(documents: pa.RecordBatch, rows: Rows) -> Applied:
            found = next(verdicts).take(pa.array(rows))
            passed = np.asarray(found["alive"])
            result = keep_where(
                self.name,
                documents,
                np.where(passed, KEEP, 1).astype(np.uint8),
                (self.reason,),
                duplicate_of=found["duplicate_of"],
                similarity=found["similarity"],
            )
            return Applied(result, passed)

        return apply


class Going(NamedTuple):
    """Documents of a group that leave.

    rows: (n,) int64, ascending.  of: (n,) uint64, ids of those kept in their place; None if they
    do not leave for another.  similarity: (n,) float32, NaN if it is not known.
    """

    rows: I64
    of: U64 | None = None
    similarity: F32 | None = None


def write_verdicts(corpus: Corpus, step: VerdictStep, group: int, going: Going) -> list[Path]:
    rows, path = corpus.rows(), corpus.path(step.verdict_folder(), group=group)
    shards, of_group = corpus.group(group)
    alive = alive_before(corpus, step.name, group)
    alive[going.rows - of_group.start] = False
    mine = range(max(shards.start, corpus.shards.n_earlier), shards.stop)
    starts = [rows.starts[number] + rows.shard(number).starts for number in mine]
    schema = with_parts(VERDICTS, (len(of_shard) - 1 for of_shard in starts))
    with arrow_file(path, schema) as writer:
        for start, stop in (edge for of_shard in starts for edge in pairwise(of_shard.tolist())):
            here = alive[start - of_group.start : stop - of_group.start]
            writer.write_batch(_batch(going, start, here))
    return [path]


def _batch(going: Going, start: int, alive: Bools) -> pa.RecordBatch:
    """The verdicts on the documents from row `start`."""
    at, n = slice(*np.searchsorted(going.rows, [start, start + len(alive)])), len(alive)
    local = going.rows[at] - start
    no_other, of = np.ones(n, np.bool_), np.zeros(n, np.uint64)
    similarity = np.full(n, np.nan, np.float32)
    if going.of is not None:
        no_other[local], of[local] = False, going.of[at]
    if going.similarity is not None:
        similarity[local] = going.similarity[at]
    columns = [
        pa.array(of, mask=no_other),
        pa.array(similarity, mask=np.isnan(similarity)),
        pa.array(alive),
    ]
    return pa.record_batch(columns, schema=VERDICTS)


def verdicts_on(
    run: RunFolder, pass_index: int, step: CorpusStep, key: str
) -> list[pa.RecordBatch]:
    """The verdicts on a shard, a batch for each of its documents'."""
    group, place = read_shards(run.path(ROWS, pass_index)).place_of(key)
    return open_part(run.path(step.verdict_folder(), pass_index, group=group), place)


def last_with_verdicts(part: Pass, name: str = "") -> VerdictStep | None:
    """The last of the steps behind a pass with verdicts, or of those before that of a name."""
    found = None
    for step in part.after:
        if step.name == name:
            break
        if isinstance(step, VerdictStep):
            found = step
    return found


def alive_before(corpus: Corpus, name: str, group: int) -> Bools:
    """(n_rows,) documents of a group that no step before `name` removes, of earlier runs all."""
    shards, rows = corpus.group(group)
    alive = np.ones(len(rows), np.bool_)
    step = last_with_verdicts(corpus.part, name)
    if step is None:
        return alive
    if shards.stop > corpus.shards.n_earlier:
        at = max(corpus.shards.first_new_row - rows.start, 0)
        for batch in open_arrow(corpus.path(step.verdict_folder(), group=group))[0]:
            alive[at : at + batch.num_rows] = _alive(batch)
            at += batch.num_rows
    return alive


def alive_of(corpus: Corpus, step: VerdictStep, key: str) -> Iterator[Bools]:
    """(n_docs,) of each batch of a shard the documents that are left behind a step."""
    yield from map(_alive, verdicts_on(corpus.run, corpus.part.index, step, key))


def _alive(verdicts: pa.RecordBatch) -> Bools:
    return np.asarray(verdicts["alive"].to_numpy(zero_copy_only=False))


def removed_ids(corpus: Corpus, name: str, key: str) -> Iterator[U64] | None:
    """Ids by batch, ascending, of a shard's documents removed before `name`; None: by no step."""
    step = last_with_verdicts(corpus.part, name)
    if step is None:
        return None
    documents = open_arrow(corpus.path(KEYS, key=key))[0]
    pairs = zip(documents, alive_of(corpus, step, key), strict=True)
    return (values(batch, "doc_id")[~alive] for batch, alive in pairs)
