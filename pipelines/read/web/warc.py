"""Web archives as documents: pages of responses, resources, and text that was made of pages before.

A shard is a range of members (or, of a plain file, of bytes) at whose bounds records begin.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.schema import CRAWLED
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import Failure, ReadBatch, make_batch, text_array
from tokenmill.pipelines.read.options import BATCH_BYTES, BATCH_DOCS, Html, Reading
from tokenmill.pipelines.read.web.cut import packing_of
from tokenmill.pipelines.read.web.extract import ExtractionError, Extractor
from tokenmill.pipelines.read.web.members import read_members
from tokenmill.pipelines.read.web.pages import Lost, Page, Pages, Passed
from tokenmill.pipelines.read.web.records import Record, Walk

NO_TEXT = "no_text"


class _Read(NamedTuple):
    row: int
    id: str
    page: Page


def read_warc(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard's records.

    The notes count every record by its kind ("records_response"), and those that are no documents
    by why ("skipped_request", "skipped_status_404", "skipped_image/png").
    """
    path, limits, options = shard.paths[0], how.limits, how.html or Html()
    packing = packing_of(path)
    pieces = read_members(path, packing, start=shard.start, limits=limits)
    walk = Walk(
        pieces, stop=shard.stop, plain=packing is None, most_bytes=limits.max_document_bytes
    )
    with contextlib.closing(pieces), Extractor(options) as extractor:
        yield from _Reader(shard, options, extractor).batches(walk)


class _Reader:
    def __init__(self, shard: SourceShard, options: Html, extractor: Extractor) -> None:
        self._shard, self._extractor = shard, extractor
        self._pages = Pages(options)
        self._row = 0
        self._read: list[_Read] = []
        self._failures: list[Failure] = []
        self._notes: Counter[str] = Counter()

    def batches(self, walk: Walk) -> Iterator[ReadBatch]:
        held = 0
        for record in walk:
            held += self._take(record)
            if held >= BATCH_BYTES or len(self._read) + len(self._failures) >= BATCH_DOCS:
                yield self._batch()
                held = 0
        if self._read or self._failures or self._notes:
            yield self._batch()

    def _take(self, record: Record) -> int:
        """Take a record in; return the bytes of its text."""
        self._notes[f"records_{record.kind}"] += 1
        found = self._pages(record)
        if isinstance(found, Passed):
            self._notes[found.why] += 1
            return 0
        made = self._read_page(found) if isinstance(found, Page) else found
        row, self._row = self._row, self._row + 1
        own = record.headers.get("warc-record-id") or f"{self._shard.names[0]}#{record.place}"
        if isinstance(made, Lost):
            where = (
                f"{self._shard.paths[0]} byte {record.place}: record {record.number} of the shard"
            )
            self._failures.append(Failure(row, own, made.cause, f"{where}: {made.message}"))
            return 0
        self._read.append(_Read(row, own, made))
        return len(made.text)

    def _read_page(self, page: Page) -> Page | Lost:
        """The page with its text alone."""
        self._notes.update(page.odd)
        try:
            text = self._extractor(page.text) if page.html else page.text
        except ExtractionError as e:
            return Lost(e.cause, f"{page.url}: {e}")
        if not text.strip():
            return Lost(NO_TEXT, f"{page.url}: nothing is left of the page")
        return page._replace(text=text)

    def _batch(self) -> ReadBatch:
        """All that was read since the last batch."""
        read, pages = self._read, [r.page for r in self._read]
        made = make_batch(
            self._shard.ordinal,
            np.array([r.row for r in read], np.int64),
            ids=pa.array([r.id for r in read], pa.string()),
            urls=pa.array([p.url for p in pages], pa.string()),
            texts=text_array([p.text for p in pages]),
            failures=self._failures,
        )
        further = (
            pa.array([p.date for p in pages], CRAWLED.field("date").type),
            pa.array([p.type for p in pages], pa.string()),
        )
        columns = [*made.documents.columns, *further]
        documents = pa.record_batch(columns, schema=CRAWLED)
        notes = dict(self._notes)
        self._read, self._failures = [], []
        self._notes.clear()
        return made._replace(documents=documents, notes=notes)
