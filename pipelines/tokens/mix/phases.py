"""The phases of mixing: the copies of documents to buckets, and how much each bucket holds.

    90-tokens of a group ── spill ── 91-mix: cells of all buckets ─┐
    …                                                              ├─ counts ── the split's stream
    90-tokens of another ── spill ── 91-mix: cells of all buckets ─┘

Groups and buckets follow from the sizes of the token shards, and the dataset from neither: how
keys are cut into ranges, and who writes which, changes no order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.runs.receipt import Receipt, WorkFacts
from tokenmill.pipelines.runs.work import Done, Finished, Phase, Phases, Work, do_one, do_phase
from tokenmill.pipelines.storage.files import open_batch
from tokenmill.pipelines.tokens.mix.buckets import BUCKET_COUNTS, COUNTS, Mixed
from tokenmill.pipelines.tokens.mix.groups import (
    CUTS,
    GROUPS,
    CutFacts,
    GroupFacts,
    count_groups,
    find_cuts,
)
from tokenmill.pipelines.tokens.mix.spill import SpillFacts, spill
from tokenmill.pipelines.tokens.mix.weights import Weighed, weighed
from tokenmill.pipelines.tokens.run import TokenRun
from tokenmill.pipelines.tokens.shards import TokenShard, splits

GROUP_BYTES = 1 << 30  # of ids, that one work takes to the buckets
LEAST_GROUPS = 64  # so that there is work for all, where there are as many shards
MOST_SHARDS = 32  # of a group: each takes a file descriptor while it is worked on
BUCKET_BYTES = 1 << 26  # of ids: what is in memory three times while a bucket is put in order
MOST_BITS = 12  # of a bucket's number; buckets of 1 TB are of 256 MB
BLOCK_BYTES = 1 << 28  # of ids in a file: of its buckets a worker elsewhere needs but some


def mix(
    job: TokenRun, made: Sequence[Receipt], finished: Finished
) -> Phases[list[tuple[tuple[TokenShard, ...], Mixed]]]:
    """Mix the documents of all splits; return the stream of each, bucket by bucket, and its place.

    made: receipts of the last pass, which make the token shards.
    ConfigError: see `weights`.
    """
    inputs = digest_of([job.identity, *(receipt.digest for receipt in made)])
    if job.tokenizing.grouped:
        inputs = yield from _group(job, made, finished, inputs)
    shards, width = weighed(job, made, finished), job.tokenizing.engine().dtype.itemsize
    parts = {split: list(groups_of(shards, split, width)) for split in splits(job)}
    plans = {
        split: mixed_of(split, groups, width, job.tokenizing.output.epochs)
        for split, groups in parts.items()
    }
    works = tuple(
        Work(
            step="mix",
            key=f"{split}-{number:05d}",
            inputs=inputs,
            facts=SpillFacts,
            call=spill,
            args=(plans[split], number, group),
        )
        for split, groups in parts.items()
        for number, group in enumerate(groups)
    )
    spilled = yield from do_phase(Phase(name="mix", works=works, whole=True), finished)
    inputs = digest_of(receipt.digest for receipt in spilled.values())
    counts = tuple(
        Work(step="buckets", key=split, inputs=inputs, facts=BucketFacts, call=count, args=(mixed,))
        for split, mixed in plans.items()
    )
    counted = yield from do_phase(Phase(name="mix counts", works=counts, whole=True), finished)
    streams = []
    for split, mixed in plans.items():
        of = counted[split].facts
        rows = zip(of.tokens, of.docs, of.text_bytes, of.tokens, strict=True)
        streams.append(
            (tuple(TokenShard(f"bucket {n}", *row) for n, row in enumerate(rows)), mixed)
        )
    return streams


def _group(job: TokenRun, made: Sequence[Receipt], finished: Finished, inputs: str) -> Phases[str]:
    """Find the groups of documents and count them; return a digest of what was found."""
    mix, keys = job.tokenizing.mix, tuple(receipt.key for receipt in made)
    cuts: Mapping[str, Sequence[float]] = {}
    if mix is not None and mix.buckets:
        n_docs = sum(receipt.facts["measured"]["docs"]["train"] for receipt in made)
        work = Work(
            step=CUTS, key="all", inputs=inputs, facts=CutFacts, call=find_cuts, args=(keys, n_docs)
        )
        cuts = (yield from do_one(work, finished)).facts.cuts
    works = tuple(
        Work(
            step=GROUPS,
            key=key,
            inputs=inputs,
            facts=GroupFacts,
            call=count_groups,
            args=(key, cuts),
        )
        for key in keys
    )
    phase = Phase(name="mix groups", works=works, whole=True)
    counted = yield from do_phase(phase, finished)
    return digest_of([inputs, *(repr(counted[key].facts.to_json()) for key in keys)])


@dataclass(frozen=True, kw_only=True)
class BucketFacts(WorkFacts):
    """What each bucket of a split holds, bucket by bucket: the columns of COUNTS."""

    docs: Sequence[int]
    tokens: Sequence[int]
    text_bytes: Sequence[int]


def count(job: TokenRun, mixed: Mixed) -> Done[BucketFacts]:
    """Add up what the groups have put into each bucket."""
    total = {name: np.zeros(mixed.buckets, np.int64) for name in COUNTS.names}
    for group in range(mixed.groups):
        found = open_batch(job.path(BUCKET_COUNTS, split=mixed.split, group=group), 0)
        for name, counts in total.items():
            counts += np.asarray(found[name])
    return Done(facts=BucketFacts(**{name: counts.tolist() for name, counts in total.items()}))


def groups_of(shards: Sequence[Weighed], split: str, width: int) -> Iterator[tuple[Weighed, ...]]:
    """Cut token shards into groups of about GROUP_BYTES, or less where these would be few."""
    total = sum(shard.tokens[split] for shard in shards) * width
    most = min(GROUP_BYTES, total / LEAST_GROUPS)
    group: list[Weighed] = []
    size = 0
    for shard in shards:
        if group and (size >= most or len(group) == MOST_SHARDS):
            yield tuple(group)
            group, size = [], 0
        group.append(shard)
        size += shard.tokens[split] * width
    if group:
        yield tuple(group)


def mixed_of(split: str, groups: Sequence[Sequence[Weighed]], width: int, epochs: int) -> Mixed:
    """How a split is parted, by how many bytes of ids are to be expected.

    >>> mixed_of("train", [], 2, 1)
    Mixed(split='train', groups=0, bits=0, block=1)
    """
    times = epochs if split == "train" else 1
    expected = sum(
        (shard.weight * times if split == "train" else 1) * shard.tokens[split] * width
        for group in groups
        for shard in group
    )
    bits = min(max(int(np.ceil(np.log2(max(expected, 1) / BUCKET_BYTES))), 0), MOST_BITS)
    blocks = min(max(-(-expected // (BLOCK_BYTES * max(len(groups), 1))), 1), 1 << bits)
    return Mixed(split, len(groups), bits, -(-(1 << bits) // int(blocks)))
