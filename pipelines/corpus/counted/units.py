"""Sidecars of what repeats is counted of: a row for each image, or each paragraph, of a shard.

A unit is named by its document and its number in it, and has a key for each way of counting it.
Batches are those of the documents.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.partition import MAX_ROWS
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus.counted.keys import Keys, image_keys
from tokenmill.pipelines.corpus.counted.paragraph_keys import keyed_paragraphs
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.counted.steps import RepeatedImages, Repeats
from tokenmill.pipelines.corpus.equal import read_duplicates
from tokenmill.pipelines.corpus.looks import looks
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.filters.images.edit import counts_of
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.storage.sidecar import (
    Rows,
    counted_rows,
    open_arrow,
    values,
    with_parameters,
)

KEY = pa.list_(pa.uint64(), 2)


def unit_schema(step: Repeats) -> pa.Schema:
    """Columns of a sidecar: doc_id, number, and the keys, zeros for none.

    first: number of the first copy in the document, where later ones leave it (and have no key).
    """
    fields = [pa.field("doc_id", pa.uint64()), pa.field("number", pa.int32())]
    fields += [pa.field(name, KEY) for name in step.columns]
    if has_copies(step):
        fields.append(pa.field("first", pa.int32()))
    return with_parameters(pa.schema(fields), unit_parameters(step))


def has_copies(step: Repeats) -> bool:
    """Whether later copies of a unit in one document leave it."""
    return isinstance(step, RepeatedParagraphs) and step.count == "documents"


def units_maker(
    step: Repeats, images: Images | None
) -> Callable[[pa.RecordBatch, Blobs | None], pa.RecordBatch]:
    """What makes the sidecar's rows for a batch of documents and the bytes of their images."""
    schema = unit_schema(step)

    def made(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
        if isinstance(step, RepeatedParagraphs):
            return _paragraphs(documents, step, schema)
        if isinstance(step, RepeatedImages):
            keys = [image_keys(documents, by) for by in step.by]
        else:
            keys = [looks(documents, blobs, max_pixels=images.max_pixels if images else 0)]
        doc_ids = np.repeat(np.asarray(documents["doc_id"]), counts_of(documents))
        numbers = documents["images"].flatten().field("number")
        return pa.record_batch([pa.array(doc_ids), numbers, *map(_listed, keys)], schema=schema)

    return made


def unit_rows(corpus: Corpus, step: Repeats) -> Rows:
    """The sidecars of all shards.

    Raises:
        ConfigError: there are too many units to number.
    """
    paths = [corpus.job.units(corpus.pass_index, key) for key in corpus.shard_keys()]
    rows = counted_rows(paths, unit_parameters(step))
    if rows.n >= MAX_ROWS:
        raise ConfigError(
            f"{step.name}: {rows.n:,} {unit_name(step)} are more than can be counted at once,"
            f" {MAX_ROWS - 1:,}; split the corpus"
        )
    return rows


def gone_before(corpus: Corpus, rows: Rows) -> npt.NDArray[np.bool_] | None:
    """(n,) units of documents that a step standing before removes; None if there is no such."""
    names = [step.name for step in corpus.steps[:-1]]
    if not names:
        return None
    gone = np.zeros(rows.n, np.bool_)
    for number, shard in enumerate(corpus.shard_keys()):
        units, at = rows.shard(number).batches, int(rows.starts[number])
        documents = open_arrow(corpus.job.keys(corpus.pass_index, shard))[0]
        found = [read_duplicates(corpus.duplicates(name, shard)) for name in names]
        for batch, of_batch, *of_steps in zip(documents, units, *found, strict=True):
            lost = np.any([d["duplicate_of"].is_valid() for d in of_steps], axis=0)
            ids = values(of_batch, "doc_id")
            gone[at : at + len(ids)] = np.isin(ids, np.asarray(batch["doc_id"])[lost])
            at += len(ids)
    return gone


def unit_name(step: Repeats) -> str:
    return f"{step.unit}s" if isinstance(step, RepeatedParagraphs) else "images"


def unit_parameters(step: Repeats) -> dict[str, object]:
    """What a sidecar of the step is made with."""
    return {step.name: step.parameters()}


def _paragraphs(
    documents: pa.RecordBatch, step: RepeatedParagraphs, schema: pa.Schema
) -> pa.RecordBatch:
    found = keyed_paragraphs(documents, step)
    columns = [
        documents["doc_id"].take(pa.array(found.rows)),
        pa.array(found.numbers.astype(np.int32)),
        _listed(found.keys),
        pa.array(found.firsts.astype(np.int32)),
    ]
    return pa.record_batch(columns[: len(schema)], schema=schema)


def _listed(keys: Keys) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(keys.reshape(-1)), 2)
