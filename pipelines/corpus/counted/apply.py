"""Documents less what was found to be too frequent in them: images, paragraphs.

documents, FOUND of them ── without_images ──► StageResult, receipts of images in it
                         └─ without_paragraphs ──► StageResult, a row of PARAGRAPH for each
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.core.rules import Rule
from tokenmill.pipelines.core.schema import SCHEMA_VERSION
from tokenmill.pipelines.core.stage import StageResult, with_texts
from tokenmill.pipelines.corpus.counted.paragraph_keys import split_units
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.counted.steps import NearImages, RepeatedImages, Repeats
from tokenmill.pipelines.filters.images.edit import drop_images, edited_where, removed_images
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of

NO_IMAGES, NO_TEXT = "no_images_left", "no_text_left"  # reasons
NUMBER_BITS = 32

PARAGRAPH = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),  # of the document
        # place among the paragraphs, or lines, of the text as it came to the step, from 0
        pa.field("number", pa.int32(), nullable=False),
        pa.field("text_bytes", pa.int64(), nullable=False),
        # times that its domain, the corpus, … has it, or documents that do; of a later copy that
        # leaves its document by `count: documents`: times that this has it
        pa.field("count", pa.uint32(), nullable=False),
        # the first of them, which stays by `keep: first`, and in its document
        pa.field("of_doc_id", pa.uint64(), nullable=False),
        pa.field("of_number", pa.int32(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"removed_paragraph/{SCHEMA_VERSION}"},
)


class Cut(NamedTuple):
    """result: as of any stage.  paragraphs: schema PARAGRAPH, those taken out."""

    result: StageResult
    paragraphs: pa.RecordBatch | None = None


def without_repeats(step: Repeats, documents: pa.RecordBatch, found: pa.RecordBatch) -> Cut:
    """Take out what was found too often (schema FOUND) in these documents."""
    if isinstance(step, RepeatedParagraphs):
        return without_paragraphs(step, documents, found)
    return without_images(step, documents, found)


def without_images(
    step: RepeatedImages | NearImages, documents: pa.RecordBatch, found: pa.RecordBatch
) -> Cut:
    """Take out the images found; the value of a receipt is that of the row.

    found: schema FOUND, of these documents alone.
    """
    numbers = np.asarray(documents["images"].flatten().field("number"))
    named = owners_of(documents) << NUMBER_BITS | numbers
    places = np.searchsorted(named, _rows(documents, found) << NUMBER_BITS | _numbers(found))
    reasons = pa.array(step.reasons).take(found["by"])
    receipts = removed_images(
        step.name,
        documents,
        places,
        reasons,
        values=np.asarray(found["value"]).astype(np.float64),
        duplicate_of=found["of_doc_id"],
        duplicate_number=found["of_number"],
    )
    keep = np.ones(len(named), np.bool_)
    keep[places] = False
    edited = drop_images(documents, keep)
    taken = counts_of(documents) - counts_of(edited)
    lost = step.no_images_left & (counts_of(edited) == 0) & (taken > 0)
    rule = Rule(NO_IMAGES, taken.astype(np.float64), lost)
    return Cut(edited_where(step.name, documents, edited, [rule], receipts))


def without_paragraphs(
    step: RepeatedParagraphs, documents: pa.RecordBatch, found: pa.RecordBatch
) -> Cut:
    """Take out the paragraphs, or lines, found; a document that goes has as value how many.

    found: schema FOUND, of these documents alone.
    """
    of = _rows(documents, found)
    touched, which = np.unique(of, return_inverse=True)
    paragraphs = split_units(documents["text"].take(pa.array(touched)), step)
    starts = np.cumsum(np.append(0, np.asarray(paragraphs.value_lengths()))).astype(np.int64)
    places = starts[which] + _numbers(found)
    flat = paragraphs.flatten()
    keep = np.ones(len(flat), np.bool_)
    keep[places] = False
    kept_before = np.concatenate(([0], np.cumsum(keep)))[starts]
    kept = pa.ListArray.from_arrays(pa.array(kept_before, pa.int32()), flat.filter(pa.array(keep)))
    left = pc.binary_join(kept, pa.scalar(step.separator, flat.type))
    edited = with_texts(documents, touched, left) if len(touched) else documents
    lost = np.bincount(of, minlength=documents.num_rows)
    rule = Rule(NO_TEXT, lost.astype(np.float64), (lost > 0) & _is_empty(edited))
    result = edited_where(step.name, documents, edited, [rule], None)
    if len(places):
        result = result._replace(notes={f"{step.unit}s_taken_out": len(places)})
    sizes = text_buffers(flat).lengths[places]
    return Cut(result, _receipts(documents, found, pa.array(of), pa.array(sizes)))


def _rows(documents: pa.RecordBatch, found: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """(n_found,) row of the document of each."""
    return np.asarray(pc.index_in(found["doc_id"], documents["doc_id"])).astype(np.int64)


def _numbers(found: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.asarray(found["number"]).astype(np.int64)


def _is_empty(documents: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """(n_docs,) whether there is neither text but for white space, nor an image."""
    blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(documents["text"]), ""))
    return blank & (counts_of(documents) == 0) if "images" in documents.schema.names else blank


def _receipts(
    documents: pa.RecordBatch, found: pa.RecordBatch, rows: pa.Array, sizes: pa.Array
) -> pa.RecordBatch:
    columns = {
        **{name: found[name] for name in ("doc_id", "number", "of_doc_id", "of_number")},
        "count": found["value"],
        "id": documents["id"].take(rows),
        "text_bytes": sizes,
    }
    return pa.record_batch([columns[f.name] for f in PARAGRAPH], schema=PARAGRAPH)
