"""One part of the inputs, read once: keys of all documents, and what becomes of those chosen.

read ── stages that change texts ──┬── all documents ── keys
                                   └── those chosen ── all stages ── ends, tokens

What only removes documents, or stands behind duplicates, is asked of documents chosen alone: of
the others it is not known whether they come to the keys (`passing`), nor what is left of them.
Besides: what documents take between two passes, as a run compresses it, and what writing takes.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, U64, Bools, text_buffers
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.core.step import StageResult, Step, passed
from tokenmill.pipelines.corpus.copies import columns_of
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.filters.images.edit import image_stats
from tokenmill.pipelines.measure.beside import ROWS, cut, rows_measured, set_down
from tokenmill.pipelines.measure.chosen import Choice, chance, chosen, moments
from tokenmill.pipelines.measure.images import IMAGES, image_row_bytes, image_rows, image_sums
from tokenmill.pipelines.measure.job import ENDS_FOLDER, IMAGES_FOLDER, LOCAL_FOLDER, MeasureJob
from tokenmill.pipelines.measure.passing import PASSES, YES, passes
from tokenmill.pipelines.measure.sample import MANY_PARTS
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.read.batch import read_stats
from tokenmill.pipelines.read.images.nodes import owners_of
from tokenmill.pipelines.read.images.stored import check_references
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.read.stream import BLOCK_BYTES
from tokenmill.pipelines.runs.folder import KEYS as KEYS_FOLDER
from tokenmill.pipelines.runs.receipt import WorkFacts
from tokenmill.pipelines.runs.work import Done
from tokenmill.pipelines.storage.files import arrow_file
from tokenmill.pipelines.tokens.images import batches_of, encode_illustrated
from tokenmill.pipelines.tokens.reference import UnencodableError
from tokenmill.pipelines.tokens.tokenize import MismatchError

BATCH_BYTES, NUMBER_BYTES = 1 << 22, 8
TOGETHER_BYTES = 1 << 24  # documents of which those chosen go through the stages as one batch
LEAST_BATCHES, MOST_BATCHES = 4, 16  # 64 MiB, .02 s; 256 took .14 to .56, 1.6 as long a byte

_found: dict[Path, float] = {}
_lock = Lock()


def write_s_per_byte(folder: Path, size: int) -> float:
    """Seconds of one core; a file is written for it, once a process, and deleted.

    size: of a large file of the run, or more.
    """
    with _lock:
        if folder not in _found:
            batches = min(max(size // BATCH_BYTES, LEAST_BATCHES), MOST_BATCHES)
            _found[folder] = _written(folder / "written.arrow", batches) / (batches * BATCH_BYTES)
        return _found[folder]


def _written(path: Path, batches: int) -> float:
    numbers = pa.array(np.arange(BATCH_BYTES // NUMBER_BYTES))
    batch = pa.record_batch([numbers], names=["number"])
    started = time.thread_time()
    with arrow_file(path, batch.schema) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    seconds = time.thread_time() - started
    path.unlink()
    return seconds


# Of each document whose keys were made, row for row with them.
# left_at: how many of the later stages it passed; -1 where it did not come to the first of them.
# end_bytes: of its text behind them all.  row_bytes: in the dataset, besides its ids.  Both are 0
# where it did not come so far.  chance: that it was chosen; 0 where it was not, and of what
# becomes of it nothing is known.
ENDS = pa.schema(
    [
        *(pa.field(n, pa.int64()) for n in ("text_bytes", "left_at", "end_bytes", "row_bytes")),
        pa.field("chance", pa.float64()),
    ]
)
# Of each document that came to the end and whose tokens were made.
# chance: that it was chosen.  tokenized: that its tokens were made, once it was.  stays: steps that
# are not predicted leave it as it is, whatever else the corpus holds.
LOCAL = pa.schema(
    [
        pa.field("doc_id", pa.uint64()),
        pa.field("end_bytes", pa.int64()),
        pa.field("tokens", pa.int64()),
        pa.field("chance", pa.float64()),
        pa.field("tokenized", pa.float64()),
        pa.field("stays", pa.bool_()),
    ]
)
KEYS, DOCUMENTS, TOKENIZE, READ = "keys", "documents", "tokenize", "read"  # what is timed
SLOWER_KEYS = "keys "  # and the name of a step: its own keys, where others count
START = "start"  # what is loaded or compiled once a process
COPIES_BYTES = 4  # of a column of how many left for a document
KEYS_BYTES = "keys_bytes "  # and the name of a step: of its columns in the key sidecar
KEY_ROWS = "key_rows "  # the same, row by row
LIST_BYTES = 4  # of a list of any length, besides what is in it
BATCHES = "batches"  # of documents, as they are read
ENCODED = "encoded_bytes"  # of the text that was tokenized
KEYED, KEYED_BYTES = "keyed_docs", "keyed_bytes"  # documents whose keys were made, their text
BESIDE = "beside_bytes"  # text of documents that were seen side by side
MOST_BESIDE, MOST_PIECES = 1 << 20, 4  # bytes of text of a part, in so many stretches
ROW = "row docs"  # bytes of a row of the dataset, of each document at the end
ROW_BYTES = 4 + 8 + 4 + 4  # of a dataset's row: offsets of ids, id and source, doc_id
T = TypeVar("T")


_per_call: dict[str, float] = {}  # seconds of no bytes, by what this process has run before


class _Tally:
    """What a part has come to: the account of each stage, CPU seconds, bytes as stored; its files.

    files: that are open.  paths: files written.
    """

    def __init__(self, job: MeasureJob, part: SourceShard, files: contextlib.ExitStack) -> None:
        self.job, self.part, self.files = job, part, files
        self.paths: list[Path] = []
        stages = (*job.first_pass.stages, *job.later_stages)
        self.stats = {
            name: StageStats() for name in (READ, *(stage.stage_name for stage in stages))
        }
        self.seconds: dict[str, float] = defaultdict(float)
        self.sums: dict[str, float] = defaultdict(float)
        self.damage: list[str] = []

    def add(self, sums: Mapping[str, float]) -> None:
        for name, value in sums.items():
            self.sums[name] += value

    def open(self, path: Path, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
        self.paths.append(path)
        return self.files.enter_context(arrow_file(path, schema))

    def timed(self, name: str, work: Callable[[pa.RecordBatch], T], batch: pa.RecordBatch) -> T:
        """Do the work, and add its seconds.

        A run has larger batches: what every call takes, however small the batch, is left out.
        """
        one, of_one = batch.slice(0, 1), 0.0
        if is_new := name not in _per_call:  # of one document: the batch may take a second
            (_, first), (_, of_one) = _clocked(work, one), _clocked(work, one)
            self.seconds[START] += max(first - of_one, 0.0)
        done, seconds = _clocked(work, batch)
        if is_new:  # what none of its bytes takes: on the line through both
            short, long = float(one["text"].nbytes), float(batch["text"].nbytes)
            at_none = (of_one * long - seconds * short) / (long - short) if long > short else 0.0
            _per_call[name] = max(at_none, 0.0)
        self.seconds[name] += max(seconds - _per_call[name], 0.0)
        return done


def _clocked(work: Callable[[pa.RecordBatch], T], batch: pa.RecordBatch) -> tuple[T, float]:
    started = time.thread_time()
    done = work(batch)
    return done, time.thread_time() - started


@dataclass(frozen=True, kw_only=True)
class PartFacts(WorkFacts):
    """Of a part of the inputs that was scanned.

    seconds: of one core, by what took them.  write_s_per_byte: seconds of writing a byte.
    sums: of documents at the end (end_bytes), of keys by step (keys_bytes), of documents with keys
        and of those tokenized, of what stages keep (`chosen.moments`) and, of a sampled part, of
        bytes as compressed (documents) and the text that they were.
    damage: what was wrong with its file, where that could not be read to its end.
    """

    seconds: Mapping[str, float]
    write_s_per_byte: float
    sums: Mapping[str, float]
    damage: Sequence[str]


def scan_part(
    job: MeasureJob, part: SourceShard, sampled: bool, checked: bool, choice: Choice
) -> Done[PartFacts]:
    """Read a part of the inputs: keys of all documents, and all steps for those chosen.

    sampled: what documents take between passes is seen too, of a few stretches of text.
    checked: so is what rows of removed ones take, and tokens are made by the reference too.
    """
    with contextlib.ExitStack() as files:
        tally = _Tally(job, part, files)
        keys = _keys(tally) if job.is_probed else None
        images, tokens = _images(tally), _tokens(tally, checked=checked)
        for batches in _together(_read(tally)):
            seen = _seen(tally, batches, choice)
            ends = _ends(seen, part, job.recipe)
            tally.sums[KEYED] += len(ends["text_bytes"])
            tally.sums[KEYED_BYTES] += int(ends["text_bytes"].sum())
            images(seen.later)
            at_end = (ends["left_at"] >= len(job.later_stages)) & (ends["chance"] > 0)
            chances = ends["chance"][at_end]
            tally.sums["end_bytes"] += float((ends["end_bytes"][at_end] / chances).sum())
            rows = ends["row_bytes"][at_end].astype(np.float64)
            tally.add(moments(ROW, np.ones(len(rows)), rows, chances))
            if keys:
                keys(seen.keyed, ends)
            if checked and not tally.sums[ROWS[0]]:
                measured = rows_measured(max(batches, key=len))
                tally.add(dict(zip(ROWS, measured, strict=True)))
            if sampled and not tally.sums[BESIDE]:
                _side_by_side(tally, seen, is_set_down=bool(job.first_pass.after))
            tokens(seen)
    facts = PartFacts(
        seconds=dict(tally.seconds),
        write_s_per_byte=write_s_per_byte(job.out, MANY_PARTS * part.bytes),
        sums=dict(tally.sums),
        damage=tally.damage,
    )
    return Done(files=tally.paths, stats=list(tally.stats.items()), facts=facts)


class _Seen(NamedTuple):
    """What becomes of some batches.

    whole: as they come to the first stage that only removes.  keyed: all that may come to the
    keys, as they do.  Neither is copied together: they are all of the text.
    ids, chances: of the documents chosen of the former, ascending.
    tokenized: of those that come to the end, the chance that they are chosen and tokens are made.
    later: of the latter, what comes to the keys, and what each later stage in turn leaves of it.
    """

    whole: list[pa.RecordBatch]
    keyed: list[pa.RecordBatch]
    ids: U64
    chances: F64
    tokenized: F64
    later: list[pa.RecordBatch]


def _seen(tally: "_Tally", batches: list[pa.RecordBatch], choice: Choice) -> _Seen:
    job = tally.job
    whole = [_through(job.counted_stages, batch, tally)[-1] for batch in batches]
    ids, sizes = _ids_of(whole), _sizes_of(whole)
    read = float(_sizes_of(batches).sum())
    chances = chance(sizes, choice, read_bytes=read)
    taken = chosen(ids, chances, job.measuring.seed)
    ids, chances = ids[taken], chances[taken]
    some = pa.concat_batches(_where(whole, taken))
    left = _through(job.filters, some, tally, ids, chances)[-1]
    later = _through(job.later_stages, left, tally, ids, chances)
    keyed = [left]
    if not taken.all():
        edits = [stage for stage in job.filters if stage.changes_text]
        keyed = [_left_by(edits, batch) for batch in whole]
    sizes, own = _sizes_of(later[-1:]), chances[np.searchsorted(ids, _ids_of(later[-1:]))]
    few = choice.of_tokens(float((sizes / own).sum()), read_bytes=read)
    tokenized = np.minimum(chance(sizes, few, read_bytes=read, of=1 / own), own)
    return _Seen(whole, keyed, ids, chances, tokenized, later)


def _left_by(stages: Iterable[Step], batch: pa.RecordBatch) -> pa.RecordBatch:
    """What stages leave, not counted."""
    for stage in stages:
        batch = passed(stage, batch).kept if batch.num_rows else batch
    return batch


def _ids_of(batches: list[pa.RecordBatch]) -> U64:
    """(n,) of all documents."""
    return np.concatenate([np.asarray(batch["doc_id"]) for batch in batches])


def _sizes_of(batches: list[pa.RecordBatch]) -> I64:
    """(n,) bytes of text of all documents."""
    sizes = [text_buffers(batch["text"]).lengths for batch in batches]
    return np.concatenate(sizes).astype(np.int64)


def _where(batches: list[pa.RecordBatch], wanted: Bools) -> list[pa.RecordBatch]:
    """The documents wanted of each batch.  wanted: (n,) of all."""
    if wanted.all():
        return batches
    cuts = np.cumsum([batch.num_rows for batch in batches])[:-1]
    parts = zip(batches, np.split(wanted, cuts), strict=True)
    return [batch.filter(pa.array(part)) for batch, part in parts]


def _read(tally: "_Tally") -> Iterator[pa.RecordBatch]:
    recipe, part = tally.job.recipe, tally.part
    batches = recipe.read(part, tally.job.identity)
    while True:
        started = time.thread_time()
        read = next(batches, None)
        tally.seconds[READ] += time.thread_time() - started
        if read is None:
            return
        tally.stats[READ] += read_stats(read)
        tally.damage += read.damage
        if read.documents.num_rows:
            tally.sums[BATCHES] += 1
            check_references(read.documents, recipe.images, part)
            yield read.documents


def _together(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Several: of each little is chosen, and every call of a stage takes its time."""
    held, size = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= TOGETHER_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _through(
    stages: tuple[Step, ...],
    batch: pa.RecordBatch,
    tally: "_Tally",
    ids: U64 | None = None,
    chances: F64 | None = None,
) -> list[pa.RecordBatch]:
    """The documents, and what each stage in turn leaves of them.

    ids, chances: of documents that were chosen, ascending, these among them; else all are there.
    """
    left = [batch]
    for step in stages:
        if left[-1].num_rows:
            name = step.stage_name
            result = tally.timed(name, partial(passed, step), left[-1])
            stats, seconds = _clocked(partial(_with_images, result=result), left[-1])
            tally.stats[name] += stats
            tally.seconds[name] += seconds
            if ids is not None and chances is not None:
                tally.add(_weighed(name, left[-1], result.kept, ids, chances))
            left.append(result.kept)
        else:
            left.append(left[-1])
    return left


def _weighed(
    name: str, before: pa.RecordBatch, after: pa.RecordBatch, ids: U64, chances: F64
) -> dict[str, float]:
    """Documents and bytes that a stage takes and leaves, by the chance of each."""
    own = np.asarray(before["doc_id"])
    at = np.searchsorted(own, np.asarray(after["doc_id"]))
    x, y = text_buffers(before["text"]).lengths.astype(np.float64), np.zeros(len(own))
    kept = y.copy()
    y[at], kept[at] = text_buffers(after["text"]).lengths, 1.0
    its = chances[np.searchsorted(ids, own)]
    docs = moments(f"{name} docs", np.ones(len(own)), kept, its)
    return docs | moments(f"{name} bytes", x, y, its)


def _with_images(before: pa.RecordBatch, result: StageResult) -> StageStats:
    """The account of a stage, of images too where documents have them."""
    if "images" not in before.schema.names:
        return result.stats
    receipts = [] if result.images is None else [result.images]
    return replace(result.stats, images=image_stats(before, result.kept, receipts))


def _ends(seen: _Seen, part: SourceShard, recipe: Recipe) -> dict[str, Any]:
    """Columns of ENDS."""
    ids = _ids_of(seen.keyed)
    columns: dict[str, Any] = {name: np.zeros(len(ids), np.int64) for name in ENDS.names}
    columns["text_bytes"] = _sizes_of(seen.keyed)
    columns["chance"] = np.zeros(len(ids))
    if len(seen.ids) and len(ids):
        at = np.minimum(np.searchsorted(seen.ids, ids), len(seen.ids) - 1)
        columns["chance"] = np.where(seen.ids[at] == ids, seen.chances[at], 0.0)
    columns["left_at"] -= 1
    for left in seen.later:
        columns["left_at"][np.searchsorted(ids, np.asarray(left["doc_id"]))] += 1
    end = seen.later[-1]
    at = np.searchsorted(ids, np.asarray(end["doc_id"]))
    images = recipe.images
    columns["end_bytes"][at] = text_buffers(written_text(end["text"], images)).lengths
    rows = ROW_BYTES + len(part.source.encode()) + text_buffers(end["id"]).lengths
    rows += COPIES_BYTES * len(columns_of(recipe.steps))
    columns["row_bytes"][at] = rows if images is None else rows + image_row_bytes(end, images, part)
    return columns


def _keys(tally: _Tally) -> Callable[[list[pa.RecordBatch], dict[str, Any]], None]:
    """What writes keys and ends, row for row; with the keys, who passes the filters before."""
    job, part = tally.job, tally.part
    schema = key_schema(job.dedup)
    written = schema.append(pa.field(PASSES, pa.uint8()))
    keys = tally.open(job.path(KEYS_FOLDER, key=part.key), written)
    sidecar = tally.open(job.path(ENDS_FOLDER, key=part.key), ENDS)

    def keys_of(batch: pa.RecordBatch) -> pa.RecordBatch:
        return document_keys(batch, job.dedup, schema, source=part.source)

    def write(batches: list[pa.RecordBatch], ends: dict[str, Any]) -> None:
        at = 0
        for batch in batches:
            here = slice(at, at + batch.num_rows)
            at = here.stop
            if batch.num_rows:
                write_batch(batch, {name: values[here] for name, values in ends.items()})

    def write_batch(batch: pa.RecordBatch, ends: dict[str, Any]) -> None:
        made = tally.timed(KEYS, keys_of, batch)
        verdicts = passes(ends, all_pass=not job.filters)
        keys.write_batch(pa.record_batch([*made.columns, pa.array(verdicts)], schema=written))
        there = (ends["chance"] > 0) & (verdicts == YES)
        chances = ends["chance"][there]
        for step in job.dedup:
            columns = [made[field.name] for field in step.key_fields()]
            tally.sums[KEYS_BYTES + step.name] += sum(column.nbytes for column in columns)
            sizes = sum((row_bytes(column) for column in columns), np.zeros(len(there)))
            tally.sums[KEY_ROWS + step.name] += float(sizes.sum())
            name = f"{KEY_ROWS}{step.name} docs"
            tally.add(moments(name, np.ones(len(chances)), sizes[there], chances))
        columns = [pa.array(ends[name]) for name in ENDS.names]
        sidecar.write_batch(pa.record_batch(columns, schema=ENDS))

    return write


def _images(tally: _Tally) -> Callable[[list[pa.RecordBatch]], None]:
    """What writes a row for each image; takes documents, and what later stages leave of them."""
    job, part, images = tally.job, tally.part, tally.job.recipe.images
    if images is None:
        return lambda later: None
    sidecar = tally.open(job.path(IMAGES_FOLDER, key=part.key), IMAGES)

    def write(later: list[pa.RecordBatch]) -> None:
        rows = image_rows(later, images, part)
        sidecar.write_batch(rows)
        tally.add(image_sums(rows, len(job.later_stages)))

    return write


def row_bytes(column: pa.Array) -> F64:
    """(n,) bytes of each row of a column of numbers, or of lists of such."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        return np.full(len(column), kind.list_size * kind.value_type.bit_width / 8)
    if not pa.types.is_list(kind):
        return np.full(len(column), kind.bit_width / 8)
    lengths = np.asarray(column.value_lengths().fill_null(0))
    return np.asarray(LIST_BYTES + lengths * (kind.value_type.bit_width / 8), np.float64)


def _pieces(tally: _Tally, seen: _Seen) -> Iterator[pa.RecordBatch]:
    """Stretches of the text that comes to the keys, from places chosen by chance.

    Documents are cut at both ends: a long one is seen as often as its bytes are, neither left out
    for want of room nor all that there is room for. Where filters were asked of some documents
    alone it is one stretch, of which they may leave little.
    """
    filters = tally.job.filters
    is_left = not filters or len(seen.ids) == sum(batch.num_rows for batch in seen.whole)
    size = int(_sizes_of(seen.keyed).sum())
    n = min(max(size // MOST_BESIDE, 1), MOST_PIECES) if is_left else 1
    length, ids = min(MOST_BESIDE // n, size), _ids_of(seen.whole)
    rng = np.random.default_rng([tally.job.measuring.seed, *ids[:1].tolist()])
    starts = (np.arange(n) + rng.random(n)) / n * (size - length)
    for start in starts.astype(np.int64).tolist() if size else ():
        piece = cut(seen.keyed, start, start + length)
        if not is_left:
            first, last = np.asarray(piece["doc_id"])[[0, -1]]
            others = (ids >= first) & (ids <= last) & ~np.isin(ids, seen.ids)
            left = _left_by(filters, pa.concat_batches(_where(seen.whole, others)))
            passing = np.concatenate([_ids_of([left]), _ids_of(seen.later[:1])])
            piece = piece.filter(pa.array(np.isin(piece["doc_id"], passing)))
        yield piece


def _side_by_side(tally: _Tally, seen: _Seen, *, is_set_down: bool) -> None:
    """See what documents take between passes, one beside the other.

    Those that follow one another are needed for that, chosen or not. Their keys are made as the run
    makes them, to know how long that takes.
    """
    for left in _pieces(tally, seen):
        size = text_buffers(left["text"]).n_bytes
        if not size:
            continue
        tally.sums[BESIDE] += size
        for step in tally.job.first_pass.finders:
            if step.counting() != step:
                keys_of = partial(step.key_columns, source=tally.part.source)
                tally.timed(f"{SLOWER_KEYS}{step.name}", keys_of, left)
        if is_set_down:  # the run does so between two passes
            is_piece = 2 * size < min(tally.job.recipe.shard_bytes, BLOCK_BYTES)
            stored = partial(set_down, is_piece=is_piece)
            tally.sums[DOCUMENTS] += tally.timed(DOCUMENTS, stored, left)


def _tokens(tally: _Tally, *, checked: bool) -> Callable[[_Seen], None]:
    """What tokenizes documents that come to the end.

    checked: by the reference too; of small batches that takes half of the time.
    """
    job, part = tally.job, tally.part
    local = tally.open(job.path(LOCAL_FOLDER, key=part.key), LOCAL)

    def encode(batch: pa.RecordBatch) -> I64:
        return text_tokens(job, batch, checked=checked)

    def stays(batch: pa.RecordBatch) -> Bools:
        found = np.ones(batch.num_rows, np.bool_)
        for of in job.leaves:
            found &= False if of is None else of(batch)
        return found

    def write(seen: _Seen) -> None:
        end = seen.later[-1]
        at = np.searchsorted(seen.ids, np.asarray(end["doc_id"]))
        # by the same number that they were chosen by: those are among them
        taken = chosen(seen.ids[at], seen.tokenized, job.measuring.seed)
        end, own, both = end.filter(pa.array(taken)), seen.chances[at][taken], seen.tokenized[taken]
        if not len(own):
            return
        sizes = text_buffers(written_text(end["text"], job.recipe.images)).lengths.astype(np.int64)
        counts = tally.timed(TOKENIZE, encode, end)
        tally.sums[ENCODED] += int(sizes.sum())
        columns = [pa.array(values) for values in (sizes, counts, own, both / own, stays(end))]
        local.write_batch(pa.record_batch([end["doc_id"], *columns], schema=LOCAL))

    return write


def written_text(text: pa.Array, images: Images | None) -> pa.Array:
    """Text without what stands for images in it."""
    return text if images is None else pc.replace_substring(text, PLACEHOLDER, "")


def text_tokens(job: PrepareJob, documents: pa.RecordBatch, *, checked: bool = True) -> I64:
    """(n_docs,) ids of each, those that stand for images left out.

    As the run would: should the fast engine ever differ, by the reference; 0 where that gives up.
    """
    try:
        try:
            return _encoded(job.recipe, documents, checked=checked)
        except MismatchError:
            return _encoded(job.exactly().recipe, documents, checked=checked)
    except UnencodableError:
        half = documents.num_rows // 2
        if half == 0:
            return np.zeros(1, np.int64)
        parts = (documents.slice(0, half), documents.slice(half))
        return np.concatenate([text_tokens(job, part, checked=checked) for part in parts])


def _encoded(recipe: Recipe, documents: pa.RecordBatch, *, checked: bool) -> I64:
    if recipe.images is None:
        engine = recipe.tokenizing().engine()
        return np.diff(engine.encode(documents["text"], checked=checked).offsets)
    counts = [
        np.diff(encoded.tokens.offsets)
        - np.bincount(owners_of(part), encoded.per_image, part.num_rows).astype(np.int64)
        for part in batches_of(documents, recipe.images.tokens)
        for encoded in [encode_illustrated(recipe.tokenizing().engine(), part, recipe.images)]
    ]
    return np.concatenate(counts)
