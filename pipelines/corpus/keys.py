"""Key sidecars: per document its digest, signature and band keys, made as shards are filtered."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tokenmill.dedup.digest import digests, span_digests
from tokenmill.dedup.lsh import band_keys
from tokenmill.dedup.minhash import signatures
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.core.step import Step
from tokenmill.pipelines.corpus.counted.keys import image_set_keys, url_keys
from tokenmill.pipelines.corpus.counted.steps import SAME, SameImages, SameUrl
from tokenmill.pipelines.corpus.steps import ExactDedup, NearDedup
from tokenmill.pipelines.filters.images.edit import counts_of
from tokenmill.pipelines.storage.sidecar import with_parameters

DATE = "same_url_date"


def key_parameters(steps: Sequence[Step]) -> dict[str, Any]:
    """The parameters a key sidecar is made with; a sidecar of others is refused."""
    made: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, ExactDedup):
            made["exact"] = step.parameters()
        elif isinstance(step, NearDedup):
            made["near"] = step.parameters()
        elif isinstance(step, SAME):
            made[step.name] = step.parameters()
    return made


def key_schema(steps: Sequence[Step]) -> pa.Schema:
    """Columns of a key sidecar: doc_id, and what each corpus-wide step needs.

    digest: 16 bytes as two uint64.  same_url, same_images: likewise, zeros for a document without
    URL or images.  same_url_date: uint64, greater the newer, 0 for a document without a date, where
    the newest is kept.  signature: num_perm uint32.  band_00, …: uint64, 0 for
    a document without shingles.
    """
    fields = [pa.field("doc_id", pa.uint64())]
    for step in steps:
        if isinstance(step, ExactDedup):
            fields.append(pa.field("digest", pa.list_(pa.uint64(), 2)))
        elif isinstance(step, SAME):
            fields.append(pa.field(step.name, pa.list_(pa.uint64(), 2)))
            if is_dated(step):
                fields.append(pa.field(DATE, pa.uint64()))
        elif isinstance(step, NearDedup):
            fields.append(pa.field("signature", pa.list_(pa.uint32(), step.num_perm)))
            fields += [pa.field(band_column(b), pa.uint64()) for b in range(step.lsh().bands)]
    return with_parameters(pa.schema(fields), key_parameters(steps))


def band_column(band: int) -> str:
    return f"band_{band:03d}"


def is_dated(step: Step) -> bool:
    """Whether of equal documents the newest is kept."""
    return isinstance(step, SameUrl) and step.needs_dates


def document_keys(
    documents: pa.RecordBatch, steps: Sequence[Step], schema: pa.Schema, *, source: str
) -> pa.RecordBatch:
    """The key sidecar's rows for a batch of documents."""
    columns: list[pa.Array] = [documents["doc_id"]]
    for step in steps:
        if isinstance(step, ExactDedup):
            columns.append(_fixed_size_list(_text_digests(documents, step)))
        elif isinstance(step, SameUrl):
            columns.append(_fixed_size_list(url_keys(documents["url"], step)))
            if is_dated(step):
                columns.append(pa.array(_date_order(documents["date"])))
        elif isinstance(step, SameImages):
            columns.append(_fixed_size_list(image_set_keys(documents, step.by)))
        elif isinstance(step, NearDedup):
            signed = signatures(documents["text"], step.minhash())
            keys = band_keys(signed, step.lsh())
            if step.scope == "source":
                keys = _within_source(keys, source)
            columns.append(_fixed_size_list(signed))
            columns += [pa.array(np.ascontiguousarray(keys[:, b])) for b in range(keys.shape[1])]
    return pa.record_batch(columns, schema=schema)


def _date_order(dates: pa.Array) -> npt.NDArray[np.uint64]:
    """(n_docs,) numbers in the order of dates (timestamps); 0 where there is none."""
    since_1970 = np.asarray(dates.cast(pa.int64()).fill_null(np.iinfo(np.int64).min))
    return since_1970.view(np.uint64) ^ np.uint64(1 << 63)


def _text_digests(documents: pa.RecordBatch, step: ExactDedup) -> npt.NDArray[np.uint64]:
    """(n_docs, 2); of images without a word beside them one that no other document has."""
    pairs = digests(documents["text"], step.digest)
    if "images" not in documents.schema.names:
        return pairs
    words = pc.utf8_trim_whitespace(pc.replace_substring(documents["text"], PLACEHOLDER, ""))
    alone = (counts_of(documents) > 0) & np.asarray(pc.equal(words, ""))
    names = np.asarray(documents["doc_id"])[alone]
    made = pairs.copy()
    made[alone] = span_digests(names.view(np.uint8), np.arange(len(names) + 1) * 8, "xxh3")
    return made


def _within_source(keys: Any, source: str) -> Any:
    """Band keys that only meet keys of the same source; 0, no key, stays 0."""
    salt = np.uint64(xxhash.xxh3_64_intdigest(source.encode()))
    salted = keys ^ salt
    return np.where(keys == 0, keys, np.where(salted == 0, salt, salted))


def _fixed_size_list(matrix: Any) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
