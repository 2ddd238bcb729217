"""What a reader yields: documents, a row for each one that could not be read, and their account.

    SourceDocument, SourceDocument, … ── gathered ──► ReadBatch

Readers of lines and tables make their batches of whole columns instead (`make_batch`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, text_buffers
from tokenmill.pipelines.core.ledger import ImageStats, StageStats
from tokenmill.pipelines.core.schema import (
    CRAWLED,
    DOCUMENT,
    ILLUSTRATED,
    PLACEHOLDER,
    REMOVED,
    doc_ids,
    rows_of,
    with_column,
)
from tokenmill.pipelines.read.images.blobs import Blobs
from tokenmill.pipelines.read.images.nodes import image_bytes, n_images
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS

STAGE = "read"
MOST_TOLD = 400  # characters of what is wrong with a document, in the report
BATCH_IMAGE_BYTES = 64 * 1024**2
BATCH_SPAN = 2 * BATCH_IMAGE_BYTES

# Causes that mean the file itself is damaged: what came after in its shard is lost too.
FILE_CAUSES = frozenset(
    [
        *(
            f"damaged_{of}"
            for of in ("gzip", "zstd", "lz4", "arrow", "parquet", "csv", "json", "tar", "warc")
        ),
        *(f"truncated_{of}" for of in ("gzip", "zstd", "lz4", "arrow", "tar", "warc")),
        *("unended_tar", "window_too_large", "expands_too_far", "not_found", "permission_denied"),
    ]
)


class Failure(NamedTuple):
    """An unread document; row: in the shard.  detail: place and error.  text_bytes: 0: unknown."""

    row: int
    id: str
    reason: str
    detail: str
    text_bytes: int = 0
    url: str | None = None


class ReadBatch(NamedTuple):
    """documents: schema DOCUMENT, ILLUSTRATED where the recipe has images, CRAWLED where `html`.

    failed: schema REMOVED, outcome "failed", stage "read".
    failed_images: schema REMOVED_IMAGE, likewise; their documents go on without them.
    blobs: the bytes of the images, by their `offset`.
    notes: how often what was met that is no failure, as "animated" or "skipped_link".
    cut: damage behind which nothing is left, in a document that is none of the failures for it.
    """

    documents: pa.RecordBatch
    failed: pa.RecordBatch
    failed_images: pa.RecordBatch | None = None
    blobs: Blobs | None = None
    notes: Mapping[str, int] | None = None
    cut: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Documents of the input this batch accounts for."""
        return int(self.documents.num_rows + self.failed.num_rows)

    @property
    def damage(self) -> list[str]:
        """What makes the whole shard incomplete, each as "truncated_gzip: where and why"."""
        causes, details = (self.failed[name].to_pylist() for name in ("reason", "detail"))
        told = zip(causes, details, strict=True)
        lost = [f"{cause}: {detail}" for cause, detail in told if cause in FILE_CAUSES]
        return [*self.cut, *lost]


def make_batch(
    ordinal: int,
    rows: I64,
    *,
    ids: pa.Array,
    urls: pa.Array | None,
    texts: pa.Array,
    failures: Sequence[Failure],
) -> ReadBatch:
    """Put columns of read documents and failures together; rows: (n_docs,) int64, in the shard."""
    n = len(rows)
    columns = [
        pa.array(int(doc_ids(ordinal, 0, 1)[0]) | rows.astype(np.uint64)),
        ids,
        urls if urls is not None else pa.nulls(n, pa.string()),
        texts,
    ]
    return ReadBatch(pa.record_batch(columns, schema=DOCUMENT), _failed(ordinal, failures))


def named_places(name: str, places: I64) -> pa.Array:
    """(n_docs,) ids of documents that have none of their own: "name#place"."""
    return pc.binary_join_element_wise(pa.scalar(name), pa.array(places).cast(pa.string()), "#")


class Lost(NamedTuple):
    """Why something is unread; cause: in the ledger.  detail: place, error.  bytes: 0: unknown."""

    cause: str
    detail: str
    bytes: int = 0


class Claims(NamedTuple):
    """What stands beside an image about it; believed where there is only a URL."""

    format: str | None = None
    width: int | None = None
    height: int | None = None


class SourceImage(NamedTuple):
    """An image as the input has it.

    path, url, source_offset: as in `IMAGE`.  data: its bytes, None where there is only a URL.
    where: file and place as messages name it.  lost: why its bytes could not be had.
    """

    path: str
    where: str
    url: str | None = None
    data: bytes | memoryview | None = None
    source_offset: int | None = None
    claims: Claims = Claims()
    lost: Lost | None = None


class SourceDocument(NamedTuple):
    """A document as the input has it.

    row: its number in the shard.  text: with U+FFFC for each of its images, or none at all.
    lost: why it could not be read; its images are lost with it.
    span: bytes of the input that it lies in, much of which may stay in memory with its images:
        these are views of the blocks that were read.
    date, content_type: of a page, as in `CRAWLED`.
    beside: what its input has at the paths that the recipe names (`Input.columns`).
    """

    row: int
    id: str
    text: str = ""
    url: str | None = None
    images: Sequence[SourceImage] = ()
    lost: Lost | None = None
    span: int = 0
    date: datetime | None = None
    content_type: str | None = None
    beside: Mapping[str, Any] = MappingProxyType({})

    @property
    def image_bytes(self) -> int:
        return sum(len(i.data) for i in self.images if i.data is not None)


def batch_of(ordinal: int, documents: Sequence[SourceDocument]) -> ReadBatch:
    """Documents as a batch of texts, lost ones as its failures."""
    read = [d for d in documents if d.lost is None]
    return make_batch(
        ordinal,
        np.array([d.row for d in read], np.int64),
        ids=pa.array([d.id for d in read], pa.string()),
        urls=pa.array([d.url for d in read], pa.string()),
        texts=text_array([d.text for d in read]),
        failures=[Failure(d.row, d.id, *d.lost, d.url) for d in documents if d.lost is not None],
    )


def gathered(
    documents: Iterable[SourceDocument],
    make: Callable[[Sequence[SourceDocument]], ReadBatch],
    notes: Counter[str] | None = None,
) -> Iterator[ReadBatch]:
    """Gather documents into batches, of at most some `BATCH_IMAGE_BYTES` but for one document's.

    make: a batch of some documents, as `batch_of` does.
    notes: what the reader counts beside; each batch takes away what is there by then.
    """
    beside = Counter() if notes is None else notes
    held: list[SourceDocument] = []
    texts = images = span = 0

    def batch() -> ReadBatch:
        """All that was gathered since the last one."""
        nonlocal texts, images, span
        batch = make(held)
        batch = batch._replace(notes=Counter(batch.notes) + beside)
        held.clear()
        beside.clear()
        texts = images = span = 0
        return batch

    for document in documents:
        size = document.image_bytes
        if held and (images + size > BATCH_IMAGE_BYTES or span + document.span > BATCH_SPAN):
            yield batch()
        held.append(document)
        texts, images, span = texts + len(document.text), images + size, span + document.span
        if len(held) >= BATCH_DOCS or texts >= BATCH_BYTES:
            yield batch()
    if held or beside:
        yield batch()


def without_images(batch: ReadBatch) -> ReadBatch:
    """Documents of a recipe with images: as they are, or with U+FFFD for U+FFFC of their own."""
    documents = batch.documents
    if "images" in documents.schema.names:
        return batch
    text = pc.replace_substring(documents["text"], PLACEHOLDER, "\ufffd")
    none = pa.array([[]] * documents.num_rows, ILLUSTRATED.field("images").type)
    made = {"text": text, "images": none}
    schema = pa.schema([*ILLUSTRATED, *list(documents.schema)[len(DOCUMENT) :]])
    columns = [made[n] if n in made else documents[n] for n in schema.names]
    schema = schema.with_metadata(ILLUSTRATED.metadata)
    return batch._replace(documents=pa.record_batch(columns, schema=schema))


def fitted(batch: ReadBatch, schema: pa.Schema) -> ReadBatch:
    """Documents with the columns of a schema alone, null where the input has none."""
    documents, names = batch.documents, set(batch.documents.schema.names)
    if documents.schema.equals(schema):
        return batch
    columns = [
        documents[f.name] if f.name in names else pa.nulls(documents.num_rows, f.type)
        for f in schema
    ]
    return batch._replace(documents=pa.record_batch(columns, schema=schema))


def with_source(batch: ReadBatch, source: str) -> ReadBatch:
    """Documents of which each is told its source: that of the input, unless it has its own."""
    told = pc.fill_null(batch.documents["source"], source)
    return batch._replace(documents=with_column(batch.documents, "source", told))


def as_crawled(batch: ReadBatch) -> ReadBatch:
    """Documents in a recipe that reads web archives, as they are if their input is one."""
    own = batch.documents.schema
    beside = (field for field in own if field.name not in CRAWLED.names)
    return fitted(batch, pa.schema([*CRAWLED, *beside], metadata=CRAWLED.metadata))


def text_array(texts: Sequence[str]) -> pa.Array:
    """(n_docs,) large_string from Python strings, one copy of the bytes.

    Joining encoded strings took 0.4-0.7 of the time of `pa.array`, which also leaves a
    second copy of every non-ASCII text inside the Python string.
    AttributeError: a value is not a string.
    UnicodeEncodeError: a value contains a lone surrogate.
    """
    encoded = [t.encode() for t in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    data = pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), data)


def _failed(ordinal: int, failures: Sequence[Failure]) -> pa.RecordBatch:
    n = len(failures)
    rows = np.array([f.row for f in failures], np.uint64)
    columns = {
        "doc_id": pa.array(int(doc_ids(ordinal, 0, 1)[0]) | rows, pa.uint64()),
        "id": pa.array([f.id for f in failures], pa.string()),
        "outcome": pa.repeat("failed", n),
        "stage": pa.repeat(STAGE, n),
        "reason": pa.array([f.reason for f in failures], pa.string()),
        "detail": pa.array([f.detail for f in failures], pa.string()),
        "text_bytes": pa.array([f.text_bytes for f in failures], pa.int64()),
        "url": pa.array([f.url for f in failures], pa.string()),
        **dict.fromkeys(("value", "duplicate_of", "similarity")),
    }
    return rows_of(REMOVED, columns, n)


def add_first(first: dict[str, str], failed: pa.RecordBatch) -> None:
    """Keep where the first document of each cause stands, and its error; failed: REMOVED rows."""
    for cause in pc.unique(failed["reason"]).to_pylist():
        if cause not in first:
            row = failed.filter(pc.equal(failed["reason"], cause)).slice(0, 1).to_pylist()[0]
            first[cause] = (row["detail"] or row["id"])[:MOST_TOLD]


def read_stats(batch: ReadBatch) -> StageStats:
    """The account of reading: what could not be read counts as failed, by cause."""
    causes = sorted(batch.failed["reason"].to_pylist())
    n_bytes = int(text_buffers(batch.documents["text"]).lengths.sum())
    lost = pc.sum(batch.failed["text_bytes"]).as_py() or 0
    images = None
    if "images" in batch.documents.schema.names:
        images = read_images(batch.documents, batch.failed_images)
    return StageStats(
        docs_in=batch.documents.num_rows + len(causes),
        docs_out=batch.documents.num_rows,
        failed=dict(Counter(causes)),
        bytes_in=n_bytes + lost,
        bytes_out=n_bytes,
        bytes_removed=lost,
        images=images,
    )


def read_images(documents: pa.RecordBatch, failed: pa.RecordBatch | None) -> ImageStats:
    """The account of reading: images that could not be read count as failed, by cause."""
    causes = Counter([] if failed is None else failed["reason"].to_pylist())
    lost = 0 if failed is None else pc.sum(failed["bytes"]).as_py() or 0
    n, n_bytes = n_images(documents), image_bytes(documents)
    return ImageStats(
        images_in=n + causes.total(),
        images_out=n,
        failed=dict(sorted(causes.items())),
        bytes_in=n_bytes + lost,
        bytes_out=n_bytes,
    )
