"""The key sidecar: what corpus-wide steps compare of each document, made as shards are filtered.

Columns: doc_id, and those of each step that has keys, in order of the steps. A key is (2,) uint64
of a hash (`KEY`), zeros for what has none; or what else a step declares.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.corpus.step import CorpusStep, Sidecar
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import KEYS, RunFolder
from tokenmill.pipelines.storage.files import with_parameters

KEY = pa.list_(pa.uint64(), 2)


def key_parameters(steps: Iterable[CorpusStep]) -> dict[str, Any]:
    """The parameters a key sidecar is made with; a sidecar of others is refused."""
    return {step.name: step.key_parameters() for step in steps if step.has_keys}


def key_schema(steps: Sequence[CorpusStep]) -> pa.Schema:
    """Columns of the key sidecar of these steps."""
    fields = [pa.field("doc_id", pa.uint64())]
    fields += [field for step in steps for field in step.key_fields()]
    return with_parameters(pa.schema(fields), key_parameters(steps))


def document_keys(
    documents: pa.RecordBatch,
    steps: Sequence[CorpusStep],
    schema: pa.Schema,
    *,
    source: str,
    blobs: Blobs | None = None,
    images: Images | None = None,
) -> pa.RecordBatch:
    """The key sidecar's rows for a batch of documents, and the bytes of their images."""
    columns: list[pa.Array] = []
    for step in steps:
        columns += step.key_columns(documents, source)
        columns += step.image_columns(documents, blobs, images)
    return pa.record_batch([documents["doc_id"], *columns], schema=schema)


def key_sidecar(
    run: RunFolder,
    pass_index: int,
    key: str,
    steps: Sequence[CorpusStep],
    *,
    source: str,
    images: Images | None = None,
) -> Sidecar:
    schema = key_schema(steps)

    def rows(documents: pa.RecordBatch, blobs: Blobs | None) -> pa.RecordBatch:
        return document_keys(documents, steps, schema, source=source, blobs=blobs, images=images)

    return Sidecar(run.path(KEYS, pass_index, key=key), schema, rows)


def fixed_size_list(matrix: npt.NDArray[np.generic]) -> pa.Array:
    """(n,) lists of the rows of (n, width) numbers."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
