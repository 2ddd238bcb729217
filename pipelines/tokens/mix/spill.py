"""Spilling: the copies of a group's documents, each into the cell of its bucket.

A document of which no epoch has a copy leaves a removed row, whose value is its draw: it would
stand in the dataset if `epochs * weight` were greater than that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.step import removed_rows
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file, parquet_file
from tokenmill.pipelines.tokens.mix.buckets import COUNTS, OF_COPY, Mixed
from tokenmill.pipelines.tokens.mix.draws import ONE
from tokenmill.pipelines.tokens.mix.group import Drawn, Group, drawn
from tokenmill.pipelines.tokens.mix.weights import Weighed
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import token_schema

STAGE, SAMPLED_OUT = "mix", "sampled_out"


@dataclass(frozen=True, kw_only=True)
class SpillFacts(WorkFacts):
    """sources: by source the docs, id_bytes and text_bytes of a group that the dataset has."""

    sources: Mapping[str, Mapping[str, int]]


def spill(
    job: TokenRun, mixed: Mixed, number: int, shards: tuple[Weighed, ...]
) -> Done[SpillFacts]:
    """Write the cells of a group, and removed rows of its documents that no epoch has."""
    group = Group([drawn(job, mixed.split, shard) for shard in shards])
    paths = list(_write_cells(job, mixed, number, group))
    paths.append(job.bucket_counts(mixed.split, number))
    with arrow_file(paths[-1], COUNTS) as writer:
        writer.write_batch(_bucket_counts(job, mixed, group))
    paths += [_write_removed(job, s) for s in group.shards if not s.copies.counts.all()]
    stats = sum((_stats(s) for s in group.shards), StageStats())
    return Done(files=paths, stats=[(STAGE, stats)], facts=SpillFacts(sources=_by_source(group)))


def _write_cells(job: TokenRun, mixed: Mixed, number: int, group: Group) -> Iterator[Path]:
    """Write a file for each block of buckets, a batch for each bucket; yield its path."""
    of_copy = mixed.of_keys(group.keys)
    order = np.argsort(of_copy, kind="stable")
    ends = np.cumsum(np.bincount(of_copy, minlength=mixed.buckets))
    of_pages = job.tokenizing.of_pages
    schema = pa.schema([*token_schema(job.tokenizing.engine().dtype, of_pages=of_pages), *OF_COPY])
    for block, buckets in enumerate(mixed.blocks()):
        path = job.buckets(mixed.split, number, block)
        with arrow_file(path, schema) as writer:
            for bucket in buckets:
                first = ends[bucket - 1] if bucket else 0
                writer.write_batch(group.cell(order[first : ends[bucket]], schema))
        yield path


def _bucket_counts(job: TokenRun, mixed: Mixed, group: Group) -> pa.RecordBatch:
    """A row of COUNTS for each bucket."""
    of_copy, n = mixed.of_keys(group.keys), mixed.buckets
    tokens = group.sizes // job.tokenizing.engine().dtype.itemsize
    counts = {
        "docs": np.bincount(of_copy, minlength=n),
        # sums of integers below 2**53 are exact in floats
        "tokens": np.bincount(of_copy, tokens[group.rows], n).astype(np.int64),
        "text_bytes": np.bincount(
            of_copy, np.asarray(group.rest["text_bytes"])[group.rows], n
        ).astype(np.int64),
    }
    return pa.record_batch([pa.array(counts[name]) for name in COUNTS.names], schema=COUNTS)


def _write_removed(job: TokenRun, shard: Drawn) -> Path:
    path, gone = job.sampled_out(shard.shard.key), np.flatnonzero(shard.copies.counts == 0)
    left = shard.rest.take(pa.array(gone))
    with parquet_file(path, REMOVED) as writer:
        removed = removed_rows(
            STAGE,
            left,
            [SAMPLED_OUT] * len(gone),
            text_bytes=np.asarray(left["text_bytes"]),
            values=shard.draw[gone] / ONE,
        )
        writer.write_batch(removed)
    return path


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
        removed={SAMPLED_OUT: int(gone.sum())} if gone.any() else {},
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        bytes_removed=bytes_removed,
        bytes_edited=bytes_in - bytes_removed - bytes_out,
    )


def _by_source(group: Group) -> dict[str, dict[str, int]]:
    """What the dataset has of each source, documents with their copies."""
    made: dict[str, dict[str, int]] = {}
    for shard in group.shards:
        counts, rest = shard.copies.counts.astype(np.int64), shard.rest
        found = {
            "docs": counts.sum(),
            "id_bytes": (counts * shard.spans.sizes).sum(),
            "text_bytes": (counts * np.asarray(rest["text_bytes"])).sum(),
        }
        of_source = made.setdefault(shard.shard.source, dict.fromkeys(found, 0))
        for name, n in found.items():
            of_source[name] += int(n)
    return made
