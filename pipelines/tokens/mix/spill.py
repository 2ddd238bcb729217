"""Spilling: the copies of a group's documents, each into the cell of its bucket.

A document of which no epoch has a copy leaves a removed row, whose value is its draw: it would
stand in the dataset if `epochs * weight` were greater than that. What has no share at all says so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from tokenmill.dedup.arrays import F64, I64, U64
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.measured import added
from tokenmill.pipelines.core.pieces import parent_ids
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.step import removed_rows
from tokenmill.pipelines.runs.folder import Folder
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, open_sidecar, parquet_file
from tokenmill.pipelines.tokens.mix.buckets import (
    BUCKET_COUNTS,
    BUCKETS,
    COUNTS,
    OF_COPY,
    Lists,
    Mixed,
    Spans,
    long_columns,
    spans_of,
)
from tokenmill.pipelines.tokens.mix.draws import ONE, Copies, copies, draws, states
from tokenmill.pipelines.tokens.mix.weights import Weighed
from tokenmill.pipelines.tokens.run import TOKENS, Tokenizing, TokenRun
from tokenmill.pipelines.tokens.shards import IDS, schema_of

STAGE, SAMPLED_OUT, NO_SHARE = "mix", "sampled_out", "no_share"
NOT_DRAWN = Folder("removed", "part-{key}.mix.parquet", of_pass=False)


@dataclass(frozen=True, kw_only=True)
class SpillFacts(WorkFacts):
    """sources: by source, or group of the mixture, what the dataset has of these shards: docs,
    id_bytes and text_bytes.
    """

    sources: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Drawn:
    """A token shard: its ids and texts mapped, all else of it in memory, and what chance decides.

    spans: by column.  rest: the other columns.  draw: (n_docs,) of each document, in 2**-32.
    """

    shard: Weighed
    spans: Mapping[str, Spans]
    rest: pa.RecordBatch
    draw: U64
    copies: Copies


def drawn(job: TokenRun, split: str, shard: Weighed) -> Drawn:
    """A shard's documents of one split and their copies; one of each where it is not "train".

    What a validation split measures would hang on few documents if some counted often.
    """
    output = job.tokenizing.output
    opened = open_sidecar(job.path(TOKENS, split=split, key=shard.key), {})
    schema = schema_of(job.tokenizing)
    long = long_columns(schema)
    batches = [pa.RecordBatch.from_pylist([], schema), *opened.batches]
    rest = pa.concat_batches([batch.drop_columns(long) for batch in batches])
    ids, parents = rest["id"], parent_ids(rest)
    own = states(ids, seed=output.seed)
    draw = draws(own if parents.equals(ids) else states(parents, seed=output.seed))
    salt = np.uint64(xxhash.xxh3_64_intdigest(shard.salt.encode()) if shard.salt else 0)
    weight, epochs = np.ones(len(ids)), 1
    if split == "train":
        of_each = shard.weight if shard.grouping is None else shard.grouping.weights_of(rest)
        weight, epochs = of_each * rehydrated(job.tokenizing, rest), output.epochs
    data, none = np.frombuffer(opened.mapped, np.uint8), np.empty(0, np.int64)
    spans = {}
    for name in long:
        found = [spans_of(batch[name], data) for batch in opened.batches]
        starts = np.concatenate([none, *(of.starts for of in found)])
        spans[name] = Spans(data, starts, np.concatenate([none, *(of.ends for of in found)]))
    return Drawn(
        shard=shard,
        spans=spans,
        rest=rest,
        draw=draw,
        copies=copies(draw, own + salt, weight=weight, epochs=epochs),
    )


def rehydrated(settings: Tokenizing, documents: pa.RecordBatch) -> F64:
    """(n,) by how much more often than their input documents are taken."""
    n = documents.num_rows
    if settings.output.rehydrate is None:
        return np.ones(n)
    times, factors = zip(*sorted(settings.output.rehydrate.items()), strict=True)
    there = 1 + sum((np.asarray(documents[c], np.int64) for c in settings.copies), np.zeros(n))
    return np.array([1.0, *factors])[np.searchsorted(times, there, "right")]


class Group:
    """Copies of the documents of some token shards, in order; a row number is of a document.

    long: by column, ids and texts of each document.  rest: its other columns.
    counts: (n_docs,) how many copies it has.
    rows: (n_copies,) row of each copy's document, ascending.  keys, buckets: (n_copies,)
    """

    def __init__(self, shards: Sequence[Drawn], mixed: Mixed) -> None:
        self.shards = shards
        self.long = {n: Lists([s.spans[n] for s in shards]) for n in shards[0].spans}
        self.rest = pa.concat_batches([s.rest for s in shards])
        self.counts: U64 = np.concatenate([s.copies.counts for s in shards])
        rows = [
            s.copies.rows + base for s, base in zip(shards, self.long[IDS].firsts, strict=False)
        ]
        self.rows: I64 = np.concatenate(rows)
        self.keys: U64 = np.concatenate([s.copies.keys for s in shards])
        self.buckets = mixed.of_keys(self.keys)

    def cell(self, here: I64, schema: pa.Schema) -> pa.RecordBatch:
        """Some copies, as rows of `schema`.  here: (n,) their numbers, ascending."""
        rows = self.rows[here]
        rest = self.rest.take(pa.array(rows))
        made = dict(zip(rest.schema.names, rest.columns, strict=True))
        made |= {n: of.take(rows, schema.field(n).type) for n, of in self.long.items()}
        made["copies"] = pa.array(self.counts[rows].astype(np.uint32))
        made["key"] = pa.array(self.keys[here])
        return pa.record_batch([made[name] for name in schema.names], schema=schema)


def spill(
    job: TokenRun, mixed: Mixed, number: int, shards: tuple[Weighed, ...]
) -> Done[SpillFacts]:
    """Write the cells of a group, and removed rows of its documents that no epoch has."""
    group = Group([drawn(job, mixed.split, shard) for shard in shards], mixed)
    paths = list(_write_cells(job, mixed, number, group))
    paths.append(job.path(BUCKET_COUNTS, split=mixed.split, group=number))
    with arrow_file(paths[-1], COUNTS) as writer:
        writer.write_batch(_bucket_counts(job, mixed, group))
    paths += [_write_removed(job, s) for s in group.shards if not s.copies.counts.all()]
    sources = added([of for s in group.shards for of in _in_dataset(s)])
    stats = sum((_stats(s) for s in group.shards), StageStats())
    return Done(files=paths, stats=[(STAGE, stats)], facts=SpillFacts(sources=sources))


def _write_cells(job: TokenRun, mixed: Mixed, number: int, group: Group) -> Iterator[Path]:
    """Write a file for each block of buckets, a batch for each bucket; yield its path."""
    ends = np.cumsum(np.bincount(group.buckets, minlength=mixed.buckets))
    cells = np.split(np.argsort(group.buckets, kind="stable"), ends[:-1])
    schema = pa.schema([*schema_of(job.tokenizing), *OF_COPY])
    for block, first in enumerate(range(0, mixed.buckets, mixed.block)):
        path = job.path(BUCKETS, split=mixed.split, group=number, block=block)
        with arrow_file(path, schema) as writer:
            for here in cells[first : first + mixed.block]:
                writer.write_batch(group.cell(here, schema))
        yield path


def _bucket_counts(job: TokenRun, mixed: Mixed, group: Group) -> pa.RecordBatch:
    of_copy, n = group.buckets, mixed.buckets
    tokens = group.long[IDS].sizes // job.tokenizing.engine().dtype.itemsize
    text_bytes = np.asarray(group.rest["text_bytes"])
    # sums of integers below 2**53 are exact in floats
    sums = [np.bincount(of_copy, values[group.rows], n) for values in (tokens, text_bytes)]
    counts = [np.bincount(of_copy, minlength=n), *(of.astype(np.int64) for of in sums)]
    return pa.record_batch([pa.array(of_bucket) for of_bucket in counts], schema=COUNTS)


def _write_removed(job: TokenRun, shard: Drawn) -> Path:
    path = job.path(NOT_DRAWN, key=shard.shard.key)
    gone = np.flatnonzero(shard.copies.counts == 0)
    left = shard.rest.take(pa.array(gone))
    with parquet_file(path, REMOVED) as writer:
        removed = removed_rows(
            STAGE,
            left,
            _reasons(shard),
            text_bytes=np.asarray(left["text_bytes"]),
            values=shard.draw[gone] / ONE,
        )
        writer.write_batch(removed)
    return path


def _reasons(shard: Drawn) -> list[str]:
    """Of each document that no epoch has, why."""
    left = shard.rest.filter(pa.array(shard.copies.counts == 0))
    grouping = shard.shard.grouping
    if grouping is None or not left.num_rows:
        return [SAMPLED_OUT] * left.num_rows
    return [SAMPLED_OUT if weight else NO_SHARE for weight in grouping.weights_of(left)]


def _stats(shard: Drawn) -> StageStats:
    """The account: what copies add is text made longer."""
    counts, sizes = shard.copies.counts.astype(np.int64), np.asarray(shard.rest["text_bytes"])
    gone = counts == 0
    bytes_in, bytes_removed = int(sizes.sum()), int(sizes[gone].sum())
    bytes_out = int((sizes * counts).sum())
    return StageStats(
        docs_in=len(counts),
        docs_created=int((counts[~gone] - 1).sum()),
        docs_out=int(counts.sum()),
        removed=dict(sorted(Counter(_reasons(shard)).items())),
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        bytes_removed=bytes_removed,
        bytes_edited=bytes_in - bytes_removed - bytes_out,
    )


def _in_dataset(shard: Drawn) -> Iterator[dict[str, dict[str, int]]]:
    """What the dataset has of a shard by source, or group; documents with their copies."""
    counts, spans = shard.copies.counts.astype(np.int64), shard.spans[IDS]
    of_id = counts * (spans.ends - spans.starts)
    of_text = counts * np.asarray(shard.rest["text_bytes"])
    which, names = np.zeros(len(counts), np.int64), [shard.shard.source]
    if shard.shard.grouping is not None:
        which, names = shard.shard.grouping.of(shard.rest)
    for number, name in enumerate(names):
        here = which == number
        yield {
            name: {
                "docs": int(counts[here].sum()),
                "id_bytes": int(of_id[here].sum()),
                "text_bytes": int(of_text[here].sum()),
            }
        }
