"""What a run writes in each folder, and the memory its clustering takes.

What a row takes is known from its schema, what its text takes was measured, and heads of files
and batches are added. Left out is what decontaminate writes: 05-index, 15-found, 16-ignored,
overlaps and pieces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.config import Config
from tokenmill.pipelines.dataset import dataset_schema
from tokenmill.pipelines.dedup_steps import NearDedup
from tokenmill.pipelines.duplicates import DUPLICATES
from tokenmill.pipelines.estimate.drawn import Drawn, exact
from tokenmill.pipelines.estimating.blocks import between, blocks_of
from tokenmill.pipelines.estimating.job import MeasureJob
from tokenmill.pipelines.estimating.spilled import of_step
from tokenmill.pipelines.keys import is_dated, key_schema
from tokenmill.pipelines.passes import Pass, duplicate_finders, passes
from tokenmill.pipelines.shard import Plan
from tokenmill.pipelines.steps import step_name
from tokenmill.pipelines.token_shards import splits, token_schema
from tokenmill.sizing.corpus import DATASET, INPUTS

DOC_ID_BYTES, DIGEST_BYTES, HASH_BYTES, SIGNED_BYTES = 8, 16, 8, 4
TEXT_BYTES = 8  # the column of a token shard that the dataset has not
DUPLICATE_BYTES = 8 + 4 + 2 / 8  # duplicate_of, similarity, and whether there is one
SEQUENCE_BYTES = 8 + 8  # doc_id and doc_offset of a packed sequence
COMPRESSED = (0.95, 1.05)  # times as many bytes in a run's batches as in the parts measured


@dataclass(frozen=True, kw_only=True)
class Written:
    """What decides how much a run writes.

    docs, text_bytes: that duplicates are looked for among.  left: documents, by step behind it.
    compressed_frac: bytes between two passes per text byte; None where there is one pass.
    docs_left, tokens: of the dataset.  row_bytes: of its rows besides their ids.
    edges: bytes; None where near duplicates are not looked for.  removed: bytes.
    width: bytes of a token id.
    reach: by pass, the share of the documents that reaches it; all, if nothing is told.
    of_images: by folder, what there is for images.
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
    reach: Mapping[int, Drawn] = field(default_factory=dict)
    left: Mapping[str, Drawn] = field(default_factory=dict)
    of_images: Mapping[str, Drawn] = field(default_factory=dict)


def stored_of(job: MeasureJob, plan: Plan, written: Written) -> dict[str, Drawn]:
    """Bytes by folder of the run directory, in the order they are written."""
    images = job.recipe.images
    made: dict[str, Drawn] = {}
    for part in passes(job.recipe.steps):
        # what decontaminate leaves for further passes is left out
        if part.after and (part.index == 0 or images is not None):
            made |= _of_pass(part, plan, written, job.recipe.documents)
    ids, seq_len = written.tokens * written.width, job.recipe.output.seq_len
    rows = ids + written.row_bytes
    text_bytes = written.docs_left * TEXT_BYTES
    made["90-tokens"] = rows + text_bytes + heads(token_schema(np.uint16, images), plan)
    packed = 1 + SEQUENCE_BYTES / ((seq_len or 1) * written.width)
    head = heads(dataset_schema(pa.uint16(), None, images), plan, of_dataset=True)
    made[DATASET] = rows + head if seq_len is None else ids * packed
    made["removed"] = written.removed
    for folder, more in written.of_images.items():
        made[folder] = made[folder] + more if folder in made else more
    inputs = {INPUTS: exact(sum(file.bytes for file in plan.files))}
    return inputs | {folder: made[folder] for folder in sorted(made)}


def _of_pass(part: Pass, plan: Plan, written: Written, schema: pa.Schema) -> dict[str, Drawn]:
    """Documents between two passes, and what finds duplicates among them."""
    share, number = written.reach.get(part.index, exact(1.0)), part.index + 1
    docs, made = written.docs * share, {}
    if written.compressed_frac is not None:
        text_bytes = written.text_bytes * share
        size = written.compressed_frac * text_bytes * between(*COMPRESSED, order=11, value=1.0)
        made[f"{number}0-filtered"] = size + heads(schema, plan)
    finders = duplicate_finders(part.after)
    if finders:
        made[f"{number}1-keys"] = heads(key_schema(finders), plan) + docs * key_bytes(finders)
    there = docs
    for step in finders:
        name = step_name(step)
        left = written.left.get(name, there)
        for folder, size in of_step(step, there, left).items():
            folder = f"{number}2-{folder}"
            made[folder] = made[folder] + size if folder in made else size
        there = left
        if name == "near" and written.edges is not None:
            made[f"{number}2-edges"] = written.edges * share
        folder = f"{number}{4 if name == 'near' else 3}-{name}"
        made[folder] = heads(DUPLICATES, plan) + docs * DUPLICATE_BYTES
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


def key_bytes(finders: Sequence[Config]) -> float:
    """Of the keys of one document."""
    made = float(DOC_ID_BYTES)
    for step in finders:
        if isinstance(step, NearDedup):
            made += step.num_perm * SIGNED_BYTES + step.lsh().bands * HASH_BYTES
        else:
            made += DIGEST_BYTES + is_dated(step) * HASH_BYTES
    return made


def files_of(job: MeasureJob, plan: Plan, tokens: Drawn, width: int) -> Mapping[str, Drawn]:
    """Files by folder."""
    output, n_splits, n = job.recipe.output, len(splits(job)), len(plan.shards)
    made = {INPUTS: exact(len(plan.files))}
    if job.first_pass.after:
        made["10-filtered"] = exact(n)
    for part in passes(job.recipe.steps):
        finders, number = duplicate_finders(part.after), part.index + 1
        if finders:
            made[f"{number}1-keys"] = exact(n)
        for step in finders:
            name = step_name(step)
            made[f"{number}{4 if name == 'near' else 3}-{name}"] = exact(n)
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
