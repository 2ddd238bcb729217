"""The images of a part, a row for each; and of those of the documents drawn, how often they repeat.

    documents drawn ── their images ── one walk over the keys of all images for each way of
                                       counting ── what `repeated_images` takes out of them

Documents are clusters: all images of one are drawn with it, so what becomes of the document is
known too. They are those of the documents that duplicates are looked for among.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import bdtr

from tokenmill.dedup.arrays import I32, I64, U64, Bools
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.corpus.step import ImageRule
from tokenmill.pipelines.filters.images.keys import ImageKey, has_key, image_keys
from tokenmill.pipelines.measure.clusters import equal_keys
from tokenmill.pipelines.measure.job import IMAGES_FOLDER, PROBED_IMAGES_FILE, MeasureJob
from tokenmill.pipelines.read.images.nodes import BREAK, counts_of, owners_of
from tokenmill.pipelines.read.images.stored import kept_columns
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.storage.files import Rows, arrow_file, counted_rows
from tokenmill.pipelines.tokens.image_measure import UNKNOWN
from tokenmill.pipelines.tokens.images import count_places, tokens_of

KEYS: tuple[ImageKey, ...] = ("url", "md5")
SUMMED = ("bytes", "pixels", "tokens")  # 0 where it is not known
# row_bytes: in the dataset, besides the image itself.  left_at: how many of the later stages it
# passed.  placed: it stands in the text.
IMAGES = pa.schema(
    [
        pa.field("doc_id", pa.uint64()),
        *(pa.field(by, pa.list_(pa.uint64(), 2)) for by in KEYS),
        pa.field("format", pa.string()),
        *(pa.field(name, pa.int64()) for name in (*SUMMED, "row_bytes", "left_at")),
        pa.field("placed", pa.bool_()),
    ]
)
BEFORE, END = "before", "end"  # of duplicates; and of the recipe, but for duplicates
NUMBER_BITS = 32
END_BYTES = 4  # where a value of some bytes ends
SPOOLED_BYTES = 8 + 8  # offset and bytes, of an image in a token shard


def image_rows(
    later: Sequence[pa.RecordBatch], images: Images, part: SourceShard
) -> pa.RecordBatch:
    """Rows of IMAGES.

    later: the documents (schema ILLUSTRATED), and what each later stage in turn leaves of them.
    part: that they are of.
    """
    documents = later[0]
    items, owners = documents["images"].flatten(), owners_of(documents)
    named = _named(documents, documents)
    left_at = sum(
        (np.isin(named, _named(documents, left)).astype(np.int64) for left in later[1:]),
        np.zeros(len(named), np.int64),
    )
    sides = [np.asarray(items.field(n).fill_null(0)).astype(np.int64) for n in ("width", "height")]
    columns = [
        documents["doc_id"].take(pa.array(owners)),
        *(pa.FixedSizeListArray.from_arrays(image_keys(documents, by).ravel(), 2) for by in KEYS),
        items.field("format").fill_null(UNKNOWN),
        items.field("bytes").fill_null(0),
        pa.array(np.prod(sides, axis=0)),
        pa.array(tokens_of(items, images.tokens)),
        pa.array(_row_bytes(documents, images, part)),
        pa.array(left_at),
        pa.array((count_places(documents) > 0)[owners]),
    ]
    return pa.record_batch(columns, schema=IMAGES)


def image_sums(rows: pa.RecordBatch, n_later: int) -> dict[str, int]:
    """How many images of each format there are, and their sums: before duplicates, at the end."""
    sums: dict[str, int] = {}
    at_end = rows.filter(pc.greater_equal(rows["left_at"], n_later))
    for state, part in ((BEFORE, rows), (END, at_end)):
        table = pa.Table.from_batches([part]).group_by("format")
        wanted = [("format", "count"), *((name, "sum") for name in SUMMED)]
        for row in table.aggregate(wanted).to_pylist():
            name = row["format"]
            sums[sum_name(state, name, "images")] = row["format_count"]
            sums |= {sum_name(state, name, what): row[f"{what}_sum"] for what in SUMMED}
    return sums


def sum_name(state: str, kind: str, what: str) -> str:
    """Under which the sum of images of a format stands among the facts of a part."""
    return f"{state} {kind} {what}"


def formats_of(sums: Sequence[str]) -> list[str]:
    """The formats that sums of these names are of."""
    return sorted({n.split(" ")[1] for n in sums if n.startswith(f"{BEFORE} ")})


def image_row_bytes(documents: pa.RecordBatch, images: Images, part: SourceShard) -> I64:
    """(n_docs,) of the dataset's column of images, besides the images themselves."""
    each = _row_bytes(documents, images, part)
    return np.bincount(owners_of(documents), each, documents.num_rows).astype(np.int64) + END_BYTES


def _row_bytes(documents: pa.RecordBatch, images: Images, part: SourceShard) -> I64:
    """(n_images,) of the same, of each."""
    items = kept_columns(documents, images, part)[0].flatten()
    each = np.zeros(len(items), np.int64)
    for field in items.type:
        column = items.field(field.name)
        if pa.types.is_string(field.type):
            each += END_BYTES + _lengths(column)
        else:
            each += field.type.bit_width // 8
    if images.store == "bytes":  # of SPOOLED the dataset has the path, and the ends of the bytes
        each += END_BYTES - SPOOLED_BYTES
    return each


def _lengths(column: pa.Array) -> I32:
    """(n,) bytes of strings, what stands where they are null among them."""
    ends = np.frombuffer(column.buffers()[1], np.int32)
    return np.diff(ends[column.offset : column.offset + len(column) + 1])


def _named(documents: pa.RecordBatch, left: pa.RecordBatch) -> I64:
    """(n_images,) of `left`: row of the document among `documents`, and number in it."""
    at = np.searchsorted(np.asarray(documents["doc_id"]), np.asarray(left["doc_id"]))
    numbers = np.asarray(left["images"].flatten().field("number")).astype(np.int64)
    return np.repeat(at, counts_of(left)).astype(np.int64) << NUMBER_BITS | numbers


PLAUSIBLE = 0.025  # of samples have so few of an image that is too frequent
# Of each image: place of its document among those drawn; times the corpus, or what was read of
# it, has its URL and its MD5, 0 where it has none; taken out for certain, and perhaps.
PROBED_IMAGES = pa.schema(
    [
        pa.field("doc", pa.int64()),
        *(f for f in IMAGES if f.name not in ("doc_id", *KEYS)),
        *(pa.field(by, pa.int64()) for by in KEYS),
        pa.field("out", pa.bool_()),
        pa.field("perhaps", pa.bool_()),
    ]
)


class Fates(NamedTuple):
    """What `repeated_images` makes of documents drawn, each (n_docs,).

    lost: with its last image the document goes.  perhaps: that may be, if more is read.
    cut_bytes: of its text, with the images; breaks around them, U+FFFC left out.
    cut_row_bytes: of its row in the dataset, besides the images themselves.
    """

    lost: Bools
    perhaps: Bools
    cut_bytes: I64
    cut_row_bytes: I64


def count_images(
    job: MeasureJob,
    keys: tuple[str, ...],
    doc_ids: U64,
    kept_ids: U64,
    *,
    units: I64,
    read_frac: float,
) -> Fates | None:
    """Count the images of documents, and write a row for each; what becomes of `doc_ids`, where
    the recipe takes repeated images out.

    keys: of the parts that were read.  kept_ids: documents that are left in their place.
    units: (n_parts,) what each is of.
    """
    rows, rule = (
        counted_rows([job.path(IMAGES_FOLDER, key=key) for key in keys], {}),
        job.image_rule,
    )
    wanted = np.union1d(doc_ids, kept_ids)
    probed = probe_images(
        rows,
        wanted,
        rule,
        units=units,
        read_frac=read_frac,
        behind=job.image_step is not None and job.predicted.index(job.image_step) > 0,
    )
    with arrow_file(job.out / PROBED_IMAGES_FILE, PROBED_IMAGES) as writer:
        writer.write_batch(probed)
    if rule is None:
        return None
    at = np.searchsorted(wanted, doc_ids)
    return Fates._make(column[at] for column in fates(probed, rule, len(wanted)))


def probe_images(
    rows: Rows, doc_ids: U64, rule: ImageRule | None, *, units: I64, read_frac: float, behind: bool
) -> pa.RecordBatch:
    """Rows of PROBED_IMAGES, in order.

    rows: of IMAGES.  doc_ids: of the documents drawn, ascending.  units: (n_shards,).
    read_frac: of the inputs that was read.
    behind: the step comes when duplicates are gone already, of which the images count here: then
        what it takes out is taken out perhaps.
    """
    there, own = _of_documents(rows, doc_ids)
    counts, firsts = {}, {}
    for by in KEYS:
        known = has_key(rows.take(by, there)) if len(there) else np.zeros(0, np.bool_)
        copies, first, _ = equal_keys(rows, there[known], units, column=by)
        counts[by], firsts[by] = np.zeros(len(there), np.int64), there.copy()
        counts[by][known], firsts[by][known] = copies, first
    out, perhaps = np.zeros((2, len(there)), np.bool_)
    if rule is not None:
        for key in rule.by:
            stays = (firsts[key] == there) & (rule.keep == "first")
            often, maybe = _too_many(counts[key], rule.more_than, read_frac)
            out |= often & ~stays
            perhaps |= maybe & (counts[key] > 0)
    out, perhaps = (out & False, out | perhaps) if behind else (out, perhaps & ~out)
    made = {"out": pa.array(out), "perhaps": pa.array(perhaps)}
    made |= {by: pa.array(counts[by]) for by in KEYS}
    made["doc"] = pa.array(np.searchsorted(doc_ids, np.asarray(own["doc_id"])))
    columns = [made[f.name] if f.name in made else own[f.name] for f in PROBED_IMAGES]
    return pa.record_batch(columns, schema=PROBED_IMAGES)


def _too_many(counts: I64, more_than: int, read_frac: float) -> tuple[Bools, Bools]:
    """(n,) whether an image is too frequent for certain; and whether it may be, if all is read."""
    often = counts > more_than
    if read_frac >= 1:
        return often, np.zeros(len(counts), np.bool_)
    tries = more_than + 1  # what is counted oftener is too frequent for certain
    fewer = np.asarray(bdtr(np.minimum(counts, tries), tries, read_frac)) > PLAUSIBLE
    return often, fewer & ~often


def _of_documents(rows: Rows, doc_ids: U64) -> tuple[I64, pa.RecordBatch]:
    """The rows that are images of the documents, and these rows of IMAGES."""
    there, own = [np.zeros(0, np.int64)], [pa.RecordBatch.from_pylist([], schema=IMAGES)]
    for batch in rows.walk():
        ids = batch.values("doc_id")
        at = np.minimum(np.searchsorted(doc_ids, ids), len(doc_ids) - 1)
        here = np.flatnonzero(doc_ids[at] == ids) if len(doc_ids) else np.zeros(0, np.int64)
        if len(here):
            there.append(batch.start + here)
            own.append(batch.rows.take(pa.array(here)))
    return np.concatenate(there), pa.concat_batches(own)


def fates(images: pa.RecordBatch, rule: ImageRule, n_docs: int) -> Fates:
    """What the step makes of documents. images: of PROBED_IMAGES."""
    doc = np.asarray(images["doc"])
    out, perhaps = (np.asarray(images[name]) for name in ("out", "perhaps"))
    placed = np.asarray(images["placed"])

    def per_doc(which: Bools) -> I64:
        return np.bincount(doc[which], minlength=n_docs).astype(np.int64)

    rows = np.bincount(doc[out], np.asarray(images["row_bytes"])[out], n_docs)
    left, open_ended = per_doc(~out), per_doc(perhaps)
    taken = per_doc(out)
    return Fates(
        lost=(taken > 0) & (left == 0) & rule.no_images_left,
        perhaps=(open_ended > 0) & (left == open_ended) & rule.no_images_left,
        cut_bytes=len(BREAK) * per_doc(out & placed),
        cut_row_bytes=rows.astype(np.int64),
    )


def narrowed(
    first: Mapping[str, I64], like: Mapping[str, npt.NDArray[Any]], fate: Fates, n_docs: int
) -> tuple[dict[str, I64], dict[str, npt.NDArray[Any]]]:
    """What becomes of documents, and how many are like each, where some go with their images.

    first, found: as `Copies` has them.

    A document that is lost passes none of the later stages, nor reaches them. Of others that are
    like one that stays, all stay too, as where whole pages were copied, or as many as of all
    documents do.
    """
    left_at = np.where(fate.lost, -1, first["left_at"])
    ends = np.maximum(first["end_bytes"] - fate.cut_bytes, 0)
    stay = 1 - fate.lost.mean() if len(fate.lost) else 1.0
    fewer = np.maximum(np.floor(1 + (like["alike"] - 1) * stay), 1)
    whole = like["whole"] & ~fate.perhaps & (fewer == like["alike"])
    most = np.where(fate.perhaps, n_docs, like["most"])
    narrower = {**like, "alike": fewer, "whole": whole, "most": most}
    rows = np.maximum(first["row_bytes"] - fate.cut_row_bytes, 0)
    return {**first, "end_bytes": ends, "row_bytes": rows, "left_at": left_at}, narrower
