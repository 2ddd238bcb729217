"""What a run writes in each folder, and the memory its clustering takes.

What a row takes is known from its schema, what its text takes was measured, and heads of files
and batches are added. Left out is what decontaminate writes: 05-index, 15-found, 16-ignored,
overlaps and pieces.

What finding duplicates sets down besides keys and findings, and the memory it takes.

Works and files are counted as `pipelines.corpus.rows` does, by documents alone.

What a run writes of pairs of near duplicates, told by what the probes are like.

    probes ── documents like each ── pairs ── times the bands in which a pair meets ── bytes

In how many bands a pair meets hangs on how alike the two are; probes do not tell, so the interval
runs from one band to all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.same.verify import ALL_PAIRS
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.corpus import equal, near
from tokenmill.pipelines.corpus.keys import key_schema
from tokenmill.pipelines.corpus.pairs import FOREST, FORESTS, PAIRS_AT_ONCE
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.rows import GROUP_ROWS, RANGE_ROWS, range_bits
from tokenmill.pipelines.corpus.shuffle import row_schema
from tokenmill.pipelines.corpus.spill import ROW_BYTES as SPILL_BYTES
from tokenmill.pipelines.corpus.spill import SPILL, n_words_of
from tokenmill.pipelines.corpus.step import CorpusStep, Pass
from tokenmill.pipelines.corpus.verdicts import VERDICTS
from tokenmill.pipelines.measure.between import between, blocks_of
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import Drawn, exact
from tokenmill.pipelines.measure.job import MeasureJob
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.pipelines.tokens.shards import splits, token_schema
from tokenmill.sizing.corpus import DATASET, INPUTS

NUMBER_BYTES, WORD_BYTES, PAIR_BYTES = 4, 8, 16
UNPADDED_ROWS, MOST_PADDING = 64, 8.0  # of a batch of row numbers

Counts: TypeAlias = Any  # a number of documents, or (n_draws,) of them


def of_step(step: CorpusStep, docs: Drawn, left: Drawn) -> dict[str, Drawn]:
    """Bytes of spilled keys and of forests.

    docs, left: before and behind the step.
    """
    columns, n_words = len(step.shuffled), n_words_of(step.shuffled[0])
    head, batch = _head_bytes(_rows_of(row_schema(n_words)))
    row = NUMBER_BYTES + WORD_BYTES * n_words
    spill = _of(docs, lambda n: columns * (n * row + _groups(n) * batch) + _groups(n) * head)
    head, batch = _head_bytes(_rows_of(FOREST))
    if step.joined_columns:  # the forests below the last one: pairs of many bands
        files = _of(docs, lambda n: _forests(columns * _ranges(n)))
    else:
        files = _of(docs, _ranges)
    gone = docs + left * -1.0
    gone = Drawn(max(gone.value, 0.0), np.maximum(gone.draws, 0.0))
    batches = _of(gone, lambda n: np.ceil(n / PAIRS_AT_ONCE))
    padded = between(batch, batch + MOST_PADDING, order=12, value=batch + MOST_PADDING / 2)
    forest = gone * PAIR_BYTES + files * head + batches * padded
    return {SPILL.name: spill, FORESTS.name: forest}


def _rows_of(schema: pa.Schema) -> pa.RecordBatch:
    """As many rows of zeros as need no padding."""
    columns = []
    for column in schema:
        is_list = pa.types.is_fixed_size_list(column.type)
        kind, width = column.type, 1
        if is_list:
            kind, width = column.type.value_type, column.type.list_size
        flat = pa.array(np.zeros(UNPADDED_ROWS * width), kind)
        columns.append(pa.FixedSizeListArray.from_arrays(flat, width) if is_list else flat)
    return pa.record_batch(columns, schema=schema)


def clustering_memory_bytes(job: MeasureJob, docs: Drawn) -> Drawn | None:
    """Peak RAM of the arrays of the corpus-wide steps: with less, keys are read in parts.

    Documents in pairs are taken to be all.
    """
    if not job.dedup:
        return None
    cores, most = job.measuring.cores, job.recipe.run.memory_budget

    def needed(n: Counts) -> Counts:
        return np.minimum(np.max([_needed(step, n, cores) for step in job.dedup], axis=0), most)

    return _of(docs, needed)


def _needed(step: CorpusStep, n: Counts, cores: int) -> Counts:
    if not step.shuffled:
        return np.zeros_like(n)
    groups, ranges = _groups(n), _ranges(n)
    per_row = SPILL_BYTES + 2 * WORD_BYTES * n_words_of(step.shuffled[0])
    spill = np.minimum(cores, groups) * np.minimum(n, GROUP_ROWS) * per_row
    if step.joined_columns:
        works = np.minimum(cores, step.joined_columns * ranges)
        of_pairs = n * near.TOUCHED_BYTES
        return np.max([spill, works * n / ranges * near.ROW_BYTES, of_pairs], axis=0)
    per_row = equal.DOC_BYTES + equal.ROW_BYTES
    return np.maximum(spill, np.minimum(cores, ranges) * n / ranges * per_row)


def _of(drawn: Drawn, how: Callable[[Counts], Counts]) -> Drawn:
    return Drawn(float(how(np.float64(drawn.value))), np.asarray(how(drawn.draws), np.float64))


def _groups(n: Counts) -> Counts:
    return np.ceil(n / GROUP_ROWS)


def _ranges(n: Counts) -> Counts:
    return np.exp2(np.ceil(np.log2(np.maximum(n / RANGE_ROWS, 1.0))))


def _forests(n_edges: Counts) -> Counts:
    """Files of all levels, as `pipelines.corpus.near.levels` counts them."""
    total = files = np.ceil(n_edges / near.FAN_IN)
    while np.any(files > 1):
        files = np.where(files > 1, np.ceil(files / near.FAN_IN), 0.0)
        total = total + files
    return total


def _head_bytes(example: pa.RecordBatch) -> tuple[int, int]:
    """Of a file without batches, and what a batch adds besides its rows and their padding.

    example: of as many rows as need no padding.
    """
    sizes = []
    for n_batches in (0, 1):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, example.schema) as writer:
            for _ in range(n_batches):
                writer.write_batch(example)
        sizes.append(int(sink.tell()))
    return sizes[0], sizes[1] - sizes[0] - example.nbytes


DOC_ID_BYTES = 8
TEXT_BYTES = 8  # the column of a token shard that the dataset has not
VERDICT_BYTES = 8 + 4 + 3 / 8  # duplicate_of, similarity, whether there is one; alive
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
    if part.finders:
        size = docs * key_bytes(part.finders)
        made[KEYS.named(part.index)] = heads(key_schema(part.finders), plan) + size
    there = docs
    for step in part.finders:
        if not step.shuffled:
            continue
        left = written.left.get(step.name, there)
        for folder, size in of_step(step, there, left).items():
            folder = f"{number}{folder}"
            made[folder] = made[folder] + size if folder in made else size
        there = left
        if step.joined_columns and written.edges is not None:
            made[near.EDGES.named(part.index)] = written.edges * share
        if step.removes_whole:
            folder = step.verdict_folder().named(part.index)
            made[folder] = heads(VERDICTS, plan) + docs * VERDICT_BYTES
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


def key_bytes(finders: Sequence[CorpusStep]) -> float:
    """Of the keys of one document."""
    fields = [field.type for step in finders for field in step.key_fields()]
    return float(DOC_ID_BYTES + sum(_width(kind) for kind in fields))


def _width(kind: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size * kind.value_type.bit_width // 8)
    return int(kind.bit_width // 8)


def files_of(job: MeasureJob, plan: Plan, tokens: Drawn, width: int) -> Mapping[str, Drawn]:
    """Files by folder."""
    output, n_splits, n = job.recipe.output, len(splits(job)), len(plan.shards)
    made = {INPUTS: exact(len(plan.files))}
    if job.first_pass.after:
        made["10-filtered"] = exact(n)
    for part in passes(job.recipe.steps):
        if part.finders:
            made[KEYS.named(part.index)] = exact(n)
        for step in part.finders:
            if step.removes_whole:
                made[step.verdict_folder().named(part.index)] = exact(n)
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


EDGE_BYTES = 8 + 8
# bands that a pair meets in where it is only just taken for alike: 14 * 0.7^8 of 14, and 1 at least
FEWEST_BANDS = 1.4
UNSEEN = 3.7  # pairs that there may be at 97.5 % where none was seen (Poisson)


def edge_bytes(bands: int, probed: Probed, docs: Drawn) -> Drawn:
    """Of the folder of edges.

    bands: columns of keys in which pairs meet.  docs: that duplicates are looked for among.
    """
    least, usual, most = _pairs_per_doc(probed)
    value = usual * (FEWEST_BANDS * bands) ** 0.5
    most = max(most, usual) + UNSEEN / len(probed.doc_id)
    per_doc = between(max(least, 1e-12), most * bands, order=3, value=value)
    head, batch = _pair_head_bytes(0), _pair_head_bytes(1) - _pair_head_bytes(0)
    edges = docs * per_doc
    files = bands << range_bits(int(docs.value))
    return edges * (EDGE_BYTES + batch / PAIRS_AT_ONCE) + float(files * head)


def _pairs_per_doc(probed: Probed) -> tuple[float, float, float]:
    """At least, as is likely, and at most.

    Of equal documents only one is compared; how many of those like a probe are equal to one
    another is not known: as many as to the probe is likely. In large buckets a tree of pairs is
    all that is written.
    """
    steps = list(probed.steps.values())
    alike = steps[-1].alike
    equal = steps[0].copies if len(steps) > 1 else np.ones_like(alike)
    weight = probed.scale / equal
    others = [
        alike > equal,  # one of a tree
        np.minimum(alike / equal - 1, ALL_PAIRS - 1),
        np.minimum(alike - equal, ALL_PAIRS - 1),
    ]
    total = float(probed.scale.sum())
    least, usual, most = (float((weight * np.maximum(o, 0)).sum()) / 2 / total for o in others)
    return least, usual, most


def _pair_head_bytes(n_batches: int) -> int:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, near.EDGE) as writer:
        for _ in range(n_batches):
            writer.write_batch(pa.RecordBatch.from_pylist([], schema=near.EDGE))
    return int(sink.tell())
