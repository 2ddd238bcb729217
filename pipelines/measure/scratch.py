"""Bytes and files that a run writes in each folder, and the memory its clustering takes.

Most is counted: rows by their schema, works and files by documents as `pipelines.corpus.rows` does,
heads of files and batches as Arrow writes them; only what a text takes was measured. How many
batches there are is known no closer than between what blocks of input allow.

Pairs of near duplicates are told by the probes: documents like each, times the bands in which a
pair meets. How many bands hangs on how alike the two are, which probes do not tell, so that the
interval runs from one band to all.

What is made before the first pass, as an index of benchmarks, is made here too, and its files
counted. Left out are folders that hang on what a step finds, as `overlaps`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.same.lsh import MAX_BUCKET
from tokenmill.dedup.same.verify import ALL_PAIRS
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus import equal, near
from tokenmill.pipelines.corpus.buckets import BUCKET, BUCKETS, KEYS_AT_ONCE
from tokenmill.pipelines.corpus.copies import GATHERED, SENT, columns_of
from tokenmill.pipelines.corpus.copies import schema_of as copies_schema
from tokenmill.pipelines.corpus.edges import ALIKE, ALIKE_EDGE
from tokenmill.pipelines.corpus.pairs import FOREST, FORESTS, PAIRS_AT_ONCE
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.rows import (
    DOC_IDS,
    GROUP_ROWS,
    GROUP_SHARDS,
    IDS,
    RANGE_ROWS,
    ROWS,
    SHARDS,
    range_bits,
)
from tokenmill.pipelines.corpus.shuffle import row_schema
from tokenmill.pipelines.corpus.spill import ROW_BYTES as SPILL_BYTES
from tokenmill.pipelines.corpus.spill import SPILL, n_words_of
from tokenmill.pipelines.corpus.stars import LEADERS, LED, MOST_ROUNDS, STAR, STARS
from tokenmill.pipelines.corpus.step import CorpusStep, Pass, key_schema
from tokenmill.pipelines.corpus.verdicts import VERDICTS
from tokenmill.pipelines.measure.beside import NOUGHT_BYTES, parquet_bytes
from tokenmill.pipelines.measure.copies import Probed
from tokenmill.pipelines.measure.drawn import Drawn, around, between, exact
from tokenmill.pipelines.measure.job import MeasureJob, is_predicted
from tokenmill.pipelines.measure.scan import LIST_BYTES
from tokenmill.pipelines.read.stream import BLOCK_BYTES
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.storage.files import with_parts
from tokenmill.pipelines.tokens.dataset import dataset_schema
from tokenmill.pipelines.tokens.shards import splits, token_schema
from tokenmill.sizing.corpus import DATASET, INPUTS

BUCKET_BYTES = 16  # of a document in one: its row, and of two its key and end
NUMBER_BYTES, WORD_BYTES, PAIR_BYTES = 4, 8, 16
# of a document, times that it shares a key with one that it is not like: in chapters of a book 2e-4
UNALIKE = (1e-4, 0.5)
USUAL_EDGES = 4.0  # of a document that leaves; 0.9 in documentation, 30 where sixty are alike
NEXT_TO_NONE = 1e-3
UNPADDED_ROWS, MOST_PADDING = 64, 8.0  # of a batch of row numbers

Counts: TypeAlias = Any  # numbers of documents
NewFile: TypeAlias = Callable[[Any, pa.Schema], Any]  # of pa.ipc: of a file or a stream


def of_step(step: CorpusStep, docs: Drawn, left: Drawn, *, unknown: float) -> dict[str, Drawn]:
    """Bytes of spilled keys and of forests; of the former alone, where the step is not predicted.

    docs, left: before and behind the step.  unknown: share of which it is not known who stays.
    """
    columns, n_words = len(step.shuffled), n_words_of(step.shuffled[0])
    head, batch = _padded_head(row_schema(n_words))
    row = NUMBER_BYTES + WORD_BYTES * n_words
    spill = docs.each(lambda n: columns * (n * row + _groups(n) * batch) + _groups(n) * head)
    if not is_predicted(step):
        return {SPILL.name: spill}
    if step.decides_in_order:
        return {SPILL.name: spill, **_decided_in_order(docs, left, columns, docs * unknown)}
    forest_head, forest_batch = _padded_head(FOREST)
    # of pairs of many bands there are the forests below the last one
    files = docs.each(
        lambda n: _forests(columns * _ranges(n)) if step.joined_columns else _ranges(n)
    )
    gone = (docs - left).within(0.0)
    batches = gone.each(lambda n: np.ceil(n / PAIRS_AT_ONCE))
    most = forest_batch + MOST_PADDING
    padded = between(forest_batch, most, order=21, value=forest_batch + MOST_PADDING / 2)
    forest = gone * PAIR_BYTES + files * forest_head + batches * padded
    return {SPILL.name: spill, FORESTS.name: forest}


def _decided_in_order(docs: Drawn, left: Drawn, columns: int, crowd: Drawn) -> dict[str, Drawn]:
    """Bytes of buckets, edges and who leaves, and of leaders where there is a crowd.

    Each document that leaves has an edge, and shares a key in one column, or all. One of a crowd
    has up to as many edges as it may be compared with leaders, and may lead itself.
    """
    gone = (docs - left).within(0.0)
    files = docs.each(lambda n: columns * _ranges(n))
    of_edges = docs.each(lambda n: _works(columns, n))
    of_bucket = between(BUCKET_BYTES, BUCKET_BYTES * columns * 2, order=13)
    unalike = (docs - 1.0).within(0.0) * between(*UNALIKE, order=19) * float(BUCKET_BYTES)
    edges = between(1.0, MAX_BUCKET / 2.0, order=14, value=USUAL_EDGES)
    of_edge = float(_row_bytes(ALIKE_EDGE))
    edges_led = crowd * _up_to(LED * columns, order=16) * of_edge
    # of a crowd it is not known whether it has any: half of the draws are of one round
    most = 1.0 + MOST_ROUNDS
    rounds = between(1 / most, most, order=18).within(1.0) if crowd.value else exact(1.0)
    star = gone.each(_star_bytes)
    head, batch = map(float, _padded_head(STAR))
    leaders = crowd * _up_to(MOST_ROUNDS * columns, order=17) * float(WORD_BYTES)
    return {
        BUCKETS.name: gone * of_bucket + unalike + files * float(_file_head(BUCKET)),
        ALIKE.name: gone * edges * of_edge + of_edges * float(_file_head(ALIKE_EDGE)) + edges_led,
        STARS.name: rounds * (star + gone.within(most=1.0) * batch + head),
        **({LEADERS.name: leaders} if crowd.value else {}),
    }


def _star_bytes(n: Counts) -> Counts:
    """Of so many rows, each column of which ends at a whole word."""
    widths = [column.type.bit_width // 8 for column in STAR]
    return sum(np.ceil(n * width / WORD_BYTES) * WORD_BYTES for width in widths)


def _works(columns: int, n: Counts) -> Counts:
    """As many as `buckets.works_of` has."""
    at_once = np.maximum(KEYS_AT_ONCE // np.maximum(n, 1), 1)
    return np.ceil(columns / at_once) * _ranges(n)


def _up_to(most: int, *, order: int) -> Drawn:
    return between(NEXT_TO_NONE, float(most), order=order, value=float(most) ** 0.5)


def _file_head(schema: pa.Schema) -> int:
    return _head_bytes(_none_of(schema))[0]


def _row_bytes(schema: pa.Schema) -> int:
    return sum(column.type.bit_width // 8 for column in schema)


def _padded_head(schema: pa.Schema) -> tuple[int, int]:
    """Of a file without batches, and what a batch adds besides its rows and their padding."""
    none = {
        column.name: [0] * column.type.list_size if pa.types.is_fixed_size_list(column.type) else 0
        for column in schema
    }
    rows = pa.RecordBatch.from_pylist([none] * UNPADDED_ROWS, schema)  # these need no padding
    head, batch = _head_bytes(rows)
    return head, batch - rows.nbytes


def clustering_memory_bytes(job: MeasureJob, docs: Drawn) -> Drawn | None:
    """Peak RAM of the arrays of the corpus-wide steps: with less, keys are read in parts.

    Documents in pairs are taken to be all.
    """
    if not job.dedup:
        return None
    cores, most = job.measuring.cores, job.recipe.run.budget_bytes

    def needed(n: Counts) -> Counts:
        return np.minimum(np.max([_needed(step, n, cores) for step in job.dedup], axis=0), most)

    return docs.each(needed)


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


def _head_bytes(batch: pa.RecordBatch, make: NewFile = pa.ipc.new_file) -> tuple[int, int]:
    """Of a file without batches, and what this batch adds."""
    sizes = []
    for batches in ((), (batch,)):
        sink = pa.BufferOutputStream()
        with make(sink, batch.schema) as writer:
            for one in batches:
                writer.write_batch(one)
        sizes.append(int(sink.tell()))
    return sizes[0], sizes[1] - sizes[0]


def _none_of(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


DOC_ID_BYTES = 8
TEXT_BYTES = 8  # the column of a token shard that the dataset has not
VERDICT_BYTES = 8 + 4 + 3 / 8  # duplicate_of, similarity, whether there is one; alive
COUNT_BYTES = 8  # of a document that others left for, by step
LEFT_FOR = 1e-6  # documents that others left for, at least, for each that left: of a crowd one
SEQUENCE_BYTES = 8 + 8  # doc_id and doc_offset of a packed sequence
COMPRESSED = (0.95, 1.05)  # times as many bytes in a run's batches as in the parts measured
OF_MOST = (0.1, 1.0)  # of the bytes that columns may have for each of text, by its language


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
    keys: by step whose keys were made of all documents, the bytes of these, heads left out.
    left_for: by step, documents that others leave for, for each that leaves, as is likely.
    made_ready: by folder, what is made before the first pass.
    blocks: batches of documents.
    unknown: by step, the share of documents of which it is not known who stays.
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
    blocks: "Blocks"
    reach: Mapping[int, Drawn] = field(default_factory=dict)
    left: Mapping[str, Drawn] = field(default_factory=dict)
    of_images: Mapping[str, Drawn] = field(default_factory=dict)
    keys: Mapping[str, Drawn] = field(default_factory=dict)
    left_for: Mapping[str, float] = field(default_factory=dict)
    made_ready: Mapping[str, Drawn] = field(default_factory=dict)
    unknown: Mapping[str, float] = field(default_factory=dict)


def stored_of(job: MeasureJob, plan: Plan, written: Written) -> dict[str, Drawn]:
    """Bytes by folder of the run directory, in the order they are written."""
    images = job.recipe.images
    folders: dict[str, Drawn] = dict(written.made_ready)
    for part in passes(job.recipe.steps):
        # what decontaminate leaves for further passes is left out
        if part.after and (part.index == 0 or images is not None):
            folders |= _of_pass(part, plan, written, job.recipe.documents)
    folders |= _of_copies(job.recipe.steps, plan, written)
    ids, seq_len = written.tokens * written.width, job.recipe.output.seq_len
    rows = ids + written.row_bytes
    text_bytes = written.docs_left * TEXT_BYTES
    copies = columns_of(job.recipe.steps)
    tokens = token_schema(np.uint16, images, copies=copies)
    folders["90-tokens"] = rows + text_bytes + heads(tokens, written.blocks)
    packed = 1 + SEQUENCE_BYTES / ((seq_len or 1) * written.width)
    dataset = dataset_schema(pa.uint16(), None, images, copies=copies)
    head = heads(dataset, written.blocks, of_dataset=True)
    folders[DATASET] = rows + head if seq_len is None else ids * packed
    folders["removed"] = written.removed
    for folder, more in written.of_images.items():
        folders[folder] = folders[folder] + more if folder in folders else more
    inputs = {INPUTS: exact(sum(file.bytes for file in plan.read))}
    return inputs | {folder: folders[folder] for folder in sorted(folders)}


def _of_pass(part: Pass, plan: Plan, written: Written, schema: pa.Schema) -> dict[str, Drawn]:
    """Documents between two passes, and what finds duplicates among them."""
    share, number = written.reach.get(part.index, exact(1.0)), part.index + 1
    docs, folders = written.docs * share, {}
    if written.compressed_frac is not None:
        text_bytes = written.text_bytes * share
        size = written.compressed_frac * text_bytes * between(*COMPRESSED, order=11, value=1.0)
        folders[f"{number}0-filtered"] = size + heads(schema, written.blocks)
    if part.finders:
        size = _keys_size(part.finders, written, docs, share)
        folders[KEYS.named(part.index)] = heads(key_schema(part.finders), written.blocks) + size
        ids = heads(DOC_IDS, written.blocks, files=group_files(len(plan.shards)))
        folders[IDS.named(part.index)] = ids + docs * DOC_ID_BYTES
        folders[ROWS.named(part.index)] = exact(_rows_bytes(plan))
    there = docs
    for step in part.finders:
        if not step.shuffled:
            continue
        left = written.left.get(step.name, there)
        unknown = written.unknown.get(step.name, 0.0)
        for folder, size in of_step(step, there, left, unknown=unknown).items():
            folder = f"{number}{folder}"
            folders[folder] = folders[folder] + size if folder in folders else size
        there = left
        if step.joined_columns and not step.decides_in_order and written.edges is not None:
            folders[near.EDGES.named(part.index)] = written.edges * share
        if step.removes_whole:
            folder = step.verdict_folder().named(part.index)
            schema = with_parts(VERDICTS, [1] * min(len(plan.shards), GROUP_SHARDS))
            files = group_files(len(plan.shards))
            folders[folder] = heads(schema, written.blocks, files=files) + docs * VERDICT_BYTES
    return folders


def _keys_size(finders: Sequence[CorpusStep], written: Written, docs: Drawn, share: Drawn) -> Drawn:
    """Of key sidecars without their heads: as made of the documents, or by the schema."""
    others = [step for step in finders if step.name not in written.keys]
    made = [written.keys[step.name] for step in finders if step.name in written.keys]
    most = written.text_bytes * sum(step.keys_frac for step in others)
    of_text = most * between(*OF_MOST, order=22, value=0.45)  # English prose
    return docs * key_bytes(others) + sum(made, of_text) * share


def _rows_bytes(plan: Plan) -> float:
    """Of the list of shards; those of earlier runs are left out."""
    columns = {"key": [shard.key for shard in plan.shards], "docs": [1] * len(plan.shards)}
    return float(sum(_head_bytes(pa.RecordBatch.from_pydict(columns, SHARDS))))


def _of_copies(steps: Sequence[Step], plan: Plan, written: Written) -> dict[str, Drawn]:
    """How often documents that stay were there: as each step sends it, and gathered by shard.

    It is left out where one of these steps is not predicted.
    """
    columns = columns_of(steps)
    schema, row = copies_schema(columns), float(DOC_ID_BYTES + COUNT_BYTES * len(columns))
    folders: dict[str, Drawn] = {}
    there, gathered, is_counted = written.docs, exact(0.0), False
    for part in passes(steps) if columns else ():
        for step in part.after:
            if not (step.removes_whole and step.has_keys):
                continue
            left = written.left.get(step.name)
            if left is None:
                return {}
            is_counted = is_counted or bool(step.copies)
            before, gone, there = there, (there - left).within(0.0), left
            if not is_counted:
                continue
            likely = written.left_for.get(step.name, 1.0)
            share = around(min(LEFT_FOR, likely / 2), likely, 1.0, order=15)
            rows = (gone * share).within(most=left)
            files = float(group_files(len(plan.shards)))
            head, batch = _padded_head(schema)
            batches = exact(files).within(most=rows)
            sent = rows * row + head * files + batches * float(batch)
            folder = SENT.named(part.index)
            folders[folder] = folders[folder] + sent if folder in folders else sent
            by_chance = around(1e-3, 1.0, 10.0, order=20) * gathered * rows / before.within(1.0)
            both = by_chance.within(most=gathered).within(most=rows)  # others left for at two steps
            gathered = gathered + rows - both
    if is_counted:
        n = len(plan.shards)
        head, batch = _padded_head(with_parts(schema, [1] * min(n, GROUP_SHARDS)))
        batches = exact(float(n)).within(most=gathered)  # of a shard with rows there is one
        heads_of_files = float(head * group_files(n))
        folders[GATHERED.name] = gathered * row + batches * float(batch) + heads_of_files
    return folders


def group_files(n_shards: int) -> int:
    """Files of which there is one for each group of shards, of shards as large as they should be.

    >>> group_files(3), group_files(2500)
    (1, 3)
    """
    return -(-n_shards // GROUP_SHARDS)


def heads(
    schema: pa.Schema, blocks: "Blocks", *, of_dataset: bool = False, files: int | None = None
) -> Drawn:
    """Bytes of the heads and ends of files, and of their batches.

    of_dataset: the same batches in one file, as a stream.  files: None is one for each shard.
    """
    head, batch = _head_bytes(
        _none_of(schema), pa.ipc.new_stream if of_dataset else pa.ipc.new_file
    )
    batches = between(blocks.least, blocks.most, order=0, value=blocks.usual)
    n_files = blocks.shards if files is None else files
    return batches * float(batch + NOUGHT_BYTES) + float(head * (1 if of_dataset else n_files))


def key_bytes(finders: Sequence[CorpusStep]) -> float:
    """Of the keys of one document."""
    fields = [field.type for step in finders for field in step.key_fields()]
    return float(DOC_ID_BYTES + sum(_width(kind) for kind in fields))


def _width(kind: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size * kind.value_type.bit_width // 8)
    return LIST_BYTES if pa.types.is_list(kind) else int(kind.bit_width // 8)


def files_of(job: MeasureJob, plan: Plan, tokens: Drawn, width: int) -> Mapping[str, Drawn]:
    """Files by folder."""
    output, n_splits, n = job.recipe.output, len(splits(job)), len(plan.shards)
    folders = {INPUTS: exact(len(plan.read))}
    if job.first_pass.after:
        folders["10-filtered"] = exact(n)
    for part in passes(job.recipe.steps):
        if part.finders:
            folders[KEYS.named(part.index)] = exact(n)
        for step in part.finders:
            if step.removes_whole:
                folders[step.verdict_folder().named(part.index)] = exact(group_files(n))
    folders["90-tokens"] = exact(n * n_splits)
    row = width * (output.seq_len or 1)
    file_tokens = max(output.shard_bytes // row, 1) * (output.seq_len or 1)
    shares = [1.0] if n_splits == 1 else [1 - output.validation_frac, output.validation_frac]
    counts = [(tokens * share / file_tokens).each(np.ceil).within(1.0) for share in shares]
    folders[DATASET] = sum(counts[1:], counts[0])
    return folders


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
    head, batch = _head_bytes(_none_of(near.EDGE))
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


SOME_EMPTY = 0.5  # of the shards have documents left, at least
FURTHER = 2.0  # times as many batches as blocks: blocks of many documents are cut


class Blocks(NamedTuple):
    """Shards, and batches of all of them: how many at least, usually and at most."""

    shards: int
    least: float
    usual: float
    most: float


def blocks_of(plan: Plan, further: float) -> Blocks:
    """A batch is what some block of the input holds, as a reader has it, and at most a shard.

    A shard of which nothing is left has none.

    further: batches of all parts but one each: where documents of megabytes have one of their own.
    """
    n = len(plan.shards)
    blocks = float(sum(1 + shard.bytes // BLOCK_BYTES for shard in plan.shards))
    usual, most = max((n * blocks) ** 0.5, further), max(FURTHER * blocks, blocks + further)
    return Blocks(n, SOME_EMPTY * n, usual, most)


def row_groups(blocks: Blocks, n_stages: int, *, order: int) -> Drawn:
    """Of the receipts: each stage that takes something out of a batch writes one of its own."""
    return between(blocks.least, max(blocks.most * n_stages, blocks.least), order=order)


def file_parts(schema: pa.Schema) -> tuple[int, int]:
    """Bytes of a file of no rows, and of the first row group of one."""
    nullable = pa.schema([f.with_nullable(True) for f in schema], metadata=schema.metadata)
    one = pa.RecordBatch.from_pylist([dict.fromkeys(schema.names)], schema=nullable)
    head = parquet_bytes(schema, [])
    return head, parquet_bytes(nullable, [one]) - head


# A row as measured is one of many that follow one another. Those of a run are more, and compress
# better where one rule removes them, or come from here and there, and have what a filter measured:
# between so many times as much as of one rule and as of duplicates.
ROW_LEAST, ROW_MOST = 0.75, 2.0
UNKNOWN_ROW_BYTES = (20.0, 40.0)  # where there were no two to measure


def removed_bytes(
    job: MeasureJob, blocks: Blocks, *, rows: Drawn, row_bytes: tuple[float, float] | None
) -> Drawn:
    """Of the folder `removed`.

    rows: documents that left.  row_bytes: least and most, as measured; None where nothing was.
    """
    head, group = file_parts(REMOVED)
    # a shard has a file of the last pass, and of one before it where something leaves there
    earlier = sum(bool(p.after and (p.stages or p.before)) for p in passes(job.recipe.steps))
    n_shards = blocks.shards
    files = float(n_shards) + exact(float(n_shards * earlier)).within(most=rows)
    n_stages = len(job.first_pass.stages) + len(job.predicted) + len(job.later_stages)
    groups = row_groups(blocks, n_stages, order=1).within(most=rows)
    least, most = row_bytes or UNKNOWN_ROW_BYTES
    each = between(least * ROW_LEAST, most * ROW_MOST, order=2)
    return each * rows + groups * float(group) + files * float(head)
