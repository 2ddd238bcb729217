"""What a run writes in each folder, and the memory its clustering takes.

What a row takes is known from its schema, what its text takes was measured, and heads of files
and batches are added. Left out is what decontaminate writes: 05-index, 15-found, 16-ignored,
overlaps and pieces.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipelines.dataset import dataset_schema
from pipelines.dedup_steps import ExactDedup, NearDedup
from pipelines.duplicates import (
    DUPLICATES,
    EXACT_BYTES_PER_DOC,
    EXACT_BYTES_PER_ROW,
    NEAR_BYTES_PER_DOC,
)
from pipelines.edges import ROW_BYTES
from pipelines.estimate.drawn import Drawn, exact
from pipelines.estimating.blocks import between, blocks_of
from pipelines.estimating.job import MeasureJob
from pipelines.keys import key_schema
from pipelines.recipe import step_name
from pipelines.schema import DOCUMENT
from pipelines.shard import Plan
from pipelines.token_shards import splits, token_schema
from sizing.corpus import DATASET, INPUTS

DOC_ID_BYTES, DIGEST_BYTES, HASH_BYTES, SIGNED_BYTES = 8, 16, 8, 4
TEXT_BYTES = 8  # the column of a token shard that the dataset has not
DUPLICATE_BYTES = 8 + 4 + 2 / 8  # duplicate_of, similarity, and whether there is one
SEQUENCE_BYTES = 8 + 8  # doc_id and doc_offset of a packed sequence
NUMBERS = {"exact": "13-exact", "near": "14-near"}


@dataclass(frozen=True, kw_only=True)
class Written:
    """What decides how much a run writes.

    docs, text_bytes: that duplicates are looked for among.
    compressed_frac: bytes between two passes per text byte; None where there is one pass.
    docs_left, tokens: of the dataset.  row_bytes: of its rows besides their ids.
    edges: bytes; None where near duplicates are not looked for.  removed: bytes.
    width: bytes of a token id.
    """

    docs: Drawn
    text_bytes: Drawn
    compressed_frac: Drawn | None
    docs_left: Drawn
    tokens: Drawn
    row_bytes: Drawn
    edges: Drawn | None
    removed: Drawn
    width: int


def stored_of(job: MeasureJob, plan: Plan, written: Written) -> dict[str, Drawn]:
    """Bytes by folder of the run directory, in the order they are written."""
    docs = written.docs
    made = {INPUTS: exact(sum(file.bytes for file in plan.files))}
    if written.compressed_frac is not None:
        made["10-filtered"] = written.compressed_frac * written.text_bytes + heads(DOCUMENT, plan)
    if job.dedup:
        made["11-keys"] = heads(key_schema(job.dedup), plan) + docs * key_bytes(job)
        if written.edges is not None:
            made["12-edges"] = written.edges
        for step in job.dedup:
            made[NUMBERS[step_name(step)]] = heads(DUPLICATES, plan) + docs * DUPLICATE_BYTES
    ids, seq_len = written.tokens * written.width, job.recipe.output.seq_len
    rows = ids + written.row_bytes
    text_bytes = written.docs_left * TEXT_BYTES
    made["90-tokens"] = rows + text_bytes + heads(token_schema(np.uint16), plan)
    packed = 1 + SEQUENCE_BYTES / ((seq_len or 1) * written.width)
    head = heads(dataset_schema(pa.uint16(), None), plan, of_dataset=True)
    made[DATASET] = rows + head if seq_len is None else ids * packed
    made["removed"] = written.removed
    return made


def heads(schema: pa.Schema, plan: Plan, *, of_dataset: bool = False) -> Drawn:
    """Bytes of the heads and ends of the shards' files, and of their batches.

    of_dataset: the same batches in one file, as a stream.
    """
    make = pa.ipc.new_stream if of_dataset else pa.ipc.new_file
    sizes = []
    for n_batches in (0, 1):
        sink = pa.BufferOutputStream()
        with make(sink, schema) as writer:
            for _ in range(n_batches):
                writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        sizes.append(sink.tell())
    blocks = blocks_of(plan)
    batches = between(blocks.least, blocks.most, order=0, value=blocks.usual)
    files = float(sizes[0] * (1 if of_dataset else len(plan.shards)))
    return batches * float(sizes[1] - sizes[0]) + files


def key_bytes(job: MeasureJob) -> float:
    """Of the keys of one document."""
    made = float(DOC_ID_BYTES)
    for step in job.dedup:
        if isinstance(step, ExactDedup):
            made += DIGEST_BYTES
        elif isinstance(step, NearDedup):
            made += step.num_perm * SIGNED_BYTES + step.lsh().bands * HASH_BYTES
    return made


def clustering_memory_bytes(job: MeasureJob, docs: Drawn) -> Drawn | None:
    """Peak RAM of the arrays of the corpus-wide steps: with less, keys are read in parts."""
    if not job.dedup:
        return None
    wanted = []
    for step in job.dedup:
        if isinstance(step, ExactDedup):
            wanted.append(EXACT_BYTES_PER_DOC + EXACT_BYTES_PER_ROW)
        elif isinstance(step, NearDedup):
            wanted.append(NEAR_BYTES_PER_DOC + job.measuring.cores * ROW_BYTES)
    most, needed = job.recipe.run.memory_budget, docs * float(max(wanted))
    return Drawn(min(needed.value, most), np.minimum(needed.draws, most))


def files_of(job: MeasureJob, plan: Plan, tokens: Drawn, width: int) -> Mapping[str, Drawn]:
    """Files by folder."""
    output, n_splits, n = job.recipe.output, len(splits(job)), len(plan.shards)
    made = {INPUTS: exact(len(plan.files))}
    if job.first_pass.after:
        made["10-filtered"] = exact(n)
    if job.dedup:
        made["11-keys"] = exact(n)
        for step in job.dedup:
            made[NUMBERS[step_name(step)]] = exact(n)
    made["90-tokens"] = exact(n * n_splits)
    row = width * (output.seq_len or 1)
    file_tokens = max(output.shard_bytes // row, 1) * (output.seq_len or 1)
    shares = [1.0] if n_splits == 1 else [1 - output.validation_frac, output.validation_frac]
    counts = [
        Drawn(
            float(max(np.ceil(tokens.value * share / file_tokens), 1.0)),
            np.maximum(np.ceil(tokens.draws * share / file_tokens), 1.0),
        )
        for share in shares
    ]
    made[DATASET] = sum(counts[1:], counts[0])
    return made
