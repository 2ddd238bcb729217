"""How often: of each document that stays, how many left this run for it.

    verdicts of a step ── send: a group of shards a work ── who stays, and what left for it ┐
    of the next one    ── send, with what had left for those that leave now ────────────────┤
                                gather: a group a work ── a file a group, a part a shard: whom
                                others left for

What left for a document that leaves for another counts for that one, and what left for a document
that was cut, for each of its pieces. What earlier runs hold is not counted: its dataset is written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, U64
from tokenmill.pipelines.core.pieces import NUMBERS
from tokenmill.pipelines.core.schema import ROW_BITS
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.rows import ROWS, Corpus, read_shards
from tokenmill.pipelines.corpus.shuffle import rows_between
from tokenmill.pipelines.corpus.step import Chain, CorpusStep, Pass, Size, group_works
from tokenmill.pipelines.runs.folder import KEYS, Folder, RunFolder
from tokenmill.pipelines.runs.work import Done, Finished, Phases
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, open_part, values, with_parts

SENT = Folder("5-copies", "{step}-{group:05d}.arrow")
GATHERED = Folder("89-copies", "{group:05d}.arrow", of_pass=False)
LEAVING_BYTES = 72  # of a document that leaves: it and whom it leaves for 32, order 8, lookup 32
COUNT_BYTES = 48  # of a column: what is sent, in order and added up, and what was sent before
ROWS_AT_ONCE = 1 << 16  # in a batch of a file
HELD = 1 << 18  # rows that are added up at a time, at least, and documents that leave, at most

Sender: TypeAlias = tuple[int, str]  # pass and name of a step whose verdicts were sent


def columns_of(steps: Iterable[Step]) -> tuple[str, ...]:
    """The columns that a dataset has for how often each document was there."""
    return tuple(dict.fromkeys(step.copies for step in steps if step.copies))


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """A row for a document that others left for; each batch in order of their ids."""
    counts = [pa.field(name, pa.int64()) for name in columns]
    return pa.schema([pa.field("doc_id", pa.uint64()), *counts])


class Counts(NamedTuple):
    """ids: (n,) uint64, ascending, each once.  counts: (n, n_columns) int64."""

    ids: U64
    counts: I64

    def of(self, ids: U64) -> I64:
        """(n, n_columns) what left for documents in any order, or for what each was cut from."""
        found = self._of(ids)
        pieces = np.flatnonzero(ids & NUMBERS)
        found[pieces] += self._of(ids[pieces] & ~NUMBERS)
        return found

    def _of(self, ids: U64) -> I64:
        found = np.zeros((len(ids), self.counts.shape[1]), np.int64)
        if len(self.ids):
            at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            there = self.ids[at] == ids
            found[there] = self.counts[at[there]]
        return found


def added(ids: U64, counts: I64) -> Counts:
    """Counts of documents in any order, those of each added up."""
    order = np.argsort(ids, kind="stable")
    each, starts = np.unique(ids[order], return_index=True)
    if not len(each):
        return Counts(each, counts[:0])
    return Counts(each, np.add.reduceat(counts[order], starts, axis=0))


def counted(parts: Sequence[Pass], finished: Finished, inputs: str) -> Phases[str]:
    """Write for each shard whom others left for; return a digest of it.

    parts: the passes before the last.  inputs: digest of what they found.
    """
    columns = columns_of(step for part in parts for step in part.after)
    before: tuple[Sender, ...] = ()
    chain = Chain(parts[-1], (), finished, inputs)
    for part in parts if columns else ():
        for step in (s for s in part.after if s.removes_whole and s.has_keys):
            if step.copies or before:
                chain = replace(chain, part=part)
                works = group_works(_groups(part, finished), step.name, columns, before)
                yield from chain.phase("copies", f"copies-{step.name}", send, works)
                before = (*before, (part.index, step.name))
    if before:
        chain = replace(chain, part=parts[-1])
        works = group_works(_groups(parts[-1], finished), columns, before)
        yield from chain.phase("copies", "gathered", gather, works)
    return chain.inputs


def _groups(part: Pass, finished: Finished) -> range:
    (rows,) = finished.of(f"rows-{part.index}")
    return Size(**rows.facts).new


def send(
    run: RunFolder,
    part: Pass,
    name: str,
    columns: tuple[str, ...],
    before: tuple[Sender, ...],
    group: int,
) -> Done:
    """Write for whom the documents of a group leave at a step, and how many with each."""
    corpus, step = Corpus(run, part), part.step(name, CorpusStep)
    left = corpus.memory_left(name, 0, 0, works=corpus.shards.n_groups)
    at_once = min(left // (LEAVING_BYTES + COUNT_BYTES * len(columns)), HELD)
    path = corpus.path(SENT, step=name, group=group)
    with arrow_file(path, schema_of(columns)) as writer:
        for ids, of in _leaving(corpus, step, group, at_once):
            counts = np.zeros((len(ids), len(columns)), np.int64)
            if step.copies:
                counts[:, columns.index(step.copies)] = 1
            if before:
                counts += _received_by(corpus, before, columns, ids)
            some = counts.any(axis=1)
            for batch in _batches(added(of[some], counts[some]), columns):
                writer.write_batch(batch)
    return Done(files=[path])


def _leaving(
    corpus: Corpus, step: CorpusStep, group: int, at_once: int
) -> Iterator[tuple[U64, U64]]:
    """Documents of a group that leave at a step for another of this run, and that one.

    at_once: the most of them at a time; never none.
    """
    first = np.uint64(corpus.first_ordinal << ROW_BITS)
    verdicts = open_arrow(corpus.path(step.verdict_folder(), group=group))[0]
    documents = (b for k in _keys(corpus, group) for b in open_arrow(corpus.path(KEYS, key=k))[0])
    parts, n = [np.empty((2, 0), np.uint64)], 0
    for verdict, batch in zip(verdicts, documents, strict=True):
        found = verdict["duplicate_of"]
        others = np.asarray(found.fill_null(0))
        gone = np.asarray(found.is_valid()) & (others >= first)
        parts.append(np.stack([values(batch, "doc_id")[gone], others[gone]]))
        n += parts[-1].shape[1]
        if n >= at_once:
            held = np.concatenate(parts, axis=1)
            for start in range(0, n - at_once + 1, at_once):
                yield held[0, start : start + at_once], held[1, start : start + at_once]
            n %= at_once
            parts = [held[:, held.shape[1] - n :].copy()]
    if n:
        ids, of = np.concatenate(parts, axis=1)
        yield ids, of


def _keys(corpus: Corpus, group: int) -> list[str]:
    """Of the shards of a group that are of this run."""
    shards, _ = corpus.group(group)
    return [corpus.shards.keys[n].as_py() for n in shards if n >= corpus.shards.n_earlier]


def _received_by(corpus: Corpus, before: Sequence[Sender], columns: Sequence[str], ids: U64) -> I64:
    """(n, n_columns) of what was sent for documents, or for what they were cut from."""
    shards, wanted = ids >> np.uint64(ROW_BITS), np.unique([ids, ids & ~NUMBERS])
    first, last = int(shards.min()), int(shards.max())
    return _received(corpus, before, columns, first, last, wanted).of(ids)


def _received(
    corpus: Corpus,
    before: Sequence[Sender],
    columns: Sequence[str],
    first: int,
    last: int,
    wanted: U64 | None = None,
) -> Counts:
    """What was sent for documents of the shards from `first` to `last`, by ordinal.

    wanted: (n,), ascending, ids of those that are asked for; None is all.
    """
    bounds = np.array([first << ROW_BITS, (last + 1) << ROW_BITS], np.uint64)
    total = Counts(np.empty(0, np.uint64), np.empty((0, len(columns)), np.int64))
    held, n_held = [total], 0
    for batch in rows_between(_sent(corpus, before), "doc_id", bounds):
        counts = _counts_of(batch, columns)
        if wanted is not None:
            some = np.isin(counts.ids, wanted)
            counts = Counts(counts.ids[some], counts.counts[some])
        held.append(counts)
        n_held += len(counts.ids)
        if n_held > max(HELD, len(held[0].ids)):
            held, n_held = [_joined(held)], 0
    return _joined(held)


def _sent(corpus: Corpus, before: Sequence[Sender]) -> Iterator[Path]:
    for index, name in before:
        of_pass = replace(corpus, part=replace(corpus.part, index=index))
        for group in range(of_pass.shards.first_new_group, of_pass.shards.n_groups):
            yield of_pass.path(SENT, step=name, group=group)


def _joined(parts: Sequence[Counts]) -> Counts:
    ids, counts = zip(*parts, strict=True)
    return added(np.concatenate(ids), np.concatenate(counts))


def _counts_of(batch: pa.RecordBatch, columns: Sequence[str]) -> Counts:
    return Counts(values(batch, "doc_id"), np.column_stack([values(batch, n) for n in columns]))


def _batches(counts: Counts, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(counts.ids), ROWS_AT_ONCE):
        at = slice(start, start + ROWS_AT_ONCE)
        arrays = [pa.array(counts.ids[at]), *(pa.array(c[at]) for c in counts.counts.T)]
        yield pa.record_batch(arrays, schema=schema_of(columns))


def gather(
    run: RunFolder, part: Pass, columns: tuple[str, ...], before: tuple[Sender, ...], group: int
) -> Done:
    """Write for every shard of a group whom others left for."""
    corpus = Corpus(run, part)
    shards = [corpus.ordinal(key) for key in _keys(corpus, group)]
    counts = _received(corpus, before, columns, shards[0], shards[-1])
    firsts = np.array([*shards, shards[-1] + 1], np.uint64) << np.uint64(ROW_BITS)
    starts = np.searchsorted(counts.ids, firsts)
    n_batches = -(-np.diff(starts) // ROWS_AT_ONCE)
    path = run.path(GATHERED, group=group)
    with arrow_file(path, with_parts(schema_of(columns), n_batches.tolist())) as writer:
        for start, stop in pairwise(starts.tolist()):
            of_shard = Counts(counts.ids[start:stop], counts.counts[start:stop])
            for batch in _batches(of_shard, columns):
                writer.write_batch(batch)
    return Done(files=[path])


def read_counts(run: RunFolder, pass_index: int, key: str, columns: Sequence[str]) -> Counts:
    """What `gather` wrote of a shard.  pass_index: that before the last."""
    none = Counts(np.empty(0, np.uint64), np.empty((0, len(columns)), np.int64))
    group, place = read_shards(run.path(ROWS, pass_index)).place_of(key)
    batches = open_part(run.path(GATHERED, group=group), place)
    return _joined([none, *(_counts_of(batch, columns) for batch in batches)])
