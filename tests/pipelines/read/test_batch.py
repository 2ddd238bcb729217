"""What batches of documents hold, and how they are accounted for."""

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tokenmill.pipelines.core.schema import CRAWLED, DOCUMENT, ILLUSTRATED, doc_ids
from tokenmill.pipelines.read.batch import (
    FILE_CAUSES,
    Lost,
    SourceDocument,
    SourceImage,
    add_first,
    as_crawled,
    batch_of,
    fitted,
    gathered,
    read_stats,
    with_source,
    without_images,
)

BATCH_DOCS, BATCH_BYTES = 4096, 8 * 2**20
HALF, SPAN = 32 * 2**20, 64 * 2**20  # of what images may take, and what they lie in

DOCUMENTS = [
    SourceDocument(0, "a", "one", "http://a"),
    SourceDocument(1, "b", lost=Lost("invalid_json", "f.jsonl:2: x", 7), url="http://b"),
    SourceDocument(5, "c", "zwé"),
    SourceDocument(6, "d", lost=Lost("truncated_gzip", "f.jsonl:7: y")),
    SourceDocument(7, "e", lost=Lost("invalid_json", "f.jsonl:8: z", 2)),
]


def of_texts(*sizes):
    return [SourceDocument(row, str(row), "x" * size) for row, size in enumerate(sizes)]


def of_images(*sizes, span=0):
    return [
        SourceDocument(row, str(row), "x", images=[SourceImage("p", "w", data=bytes(size))] * 2,
                       span=span)
        for row, size in enumerate(sizes)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "batches"),
    [
        ([], []),
        (of_texts(*[1] * BATCH_DOCS, 1), [BATCH_DOCS, 1]),
        (of_texts(*[0] * BATCH_DOCS), [BATCH_DOCS]),
        (of_texts(BATCH_BYTES - 1, 1, 1), [2, 1]),
        (of_texts(BATCH_BYTES - 1, 0, 1, 1), [3, 1]),
        (of_texts(BATCH_BYTES, 1), [1, 1]),
        (of_images(HALF // 2, HALF // 2, 0), [3]),
        (of_images(HALF // 2, HALF // 2 + 1, 0), [1, 2]),
        (of_images(HALF + 1, 1, 1), [1, 2]),
        (of_images(0, 0, 0, span=SPAN), [2, 1]),
        (of_images(0, 0, 0, span=SPAN + 1), [1, 1, 1]),
    ],
    ids=range(11),
)
def test_batches_are_of_so_many_documents_and_bytes(documents, batches):
    found = list(gathered(documents, lambda held: batch_of(0, held)))
    assert [batch.rows for batch in found] == batches
    ids = [i for batch in found for i in batch.documents["id"].to_pylist()]
    assert ids == [document.id for document in documents]


def test_notes_go_with_the_batch_before_which_they_are_counted():
    notes = Counter(skipped=1)

    def documents():
        yield from of_texts(BATCH_BYTES)
        notes["skipped"] += 2
        yield SourceDocument(1, "1", "x")
        notes["odd"] += 1

    found = list(gathered(documents(), lambda held: batch_of(0, held), notes))
    assert [dict(batch.notes) for batch in found] == [{"skipped": 1}, {"skipped": 2, "odd": 1}]
    alone = list(gathered([], lambda held: batch_of(0, held), Counter(odd=1)))
    assert [(batch.rows, dict(batch.notes)) for batch in alone] == [(0, {"odd": 1})]


def test_documents_and_failures_are_accounted_for():
    batch = batch_of(3, DOCUMENTS)
    assert batch.documents.schema.equals(DOCUMENT)
    assert batch.documents["doc_id"].to_pylist() == [doc_ids(3, row, 1)[0] for row in (0, 5)]
    assert batch.documents["url"].to_pylist() == ["http://a", None]
    assert batch.failed["doc_id"].to_pylist() == [doc_ids(3, row, 1)[0] for row in (1, 6, 7)]
    columns = ("id", "outcome", "stage", "reason", "detail", "text_bytes", "url")
    assert list(batch.failed.select(columns).to_pylist()[0].values()) == [
        *("b", "failed", "read", "invalid_json", "f.jsonl:2: x", 7, "http://b")
    ]
    assert batch.rows == 5
    assert batch.damage == ["truncated_gzip: f.jsonl:7: y"]
    assert batch._replace(cut=("truncated_tar: t",)).damage[0] == "truncated_tar: t"
    stats = read_stats(batch).check("read")
    assert (stats.docs_in, stats.docs_out) == (5, 2)
    assert stats.failed == {"invalid_json": 2, "truncated_gzip": 1}
    assert (stats.bytes_in, stats.bytes_out, stats.bytes_removed) == (7 + 9, 7, 9)
    assert stats.images is None
    assert {"damaged_warc", "truncated_lz4", "expands_too_far"} <= FILE_CAUSES


def test_the_first_failure_of_each_cause_is_told_up_to_400_characters():
    long = SourceDocument(8, "f", lost=Lost("too_large", "l" * 401))
    bare = SourceDocument(9, "g", lost=Lost("not_found", ""))
    first = {"truncated_gzip": "before"}
    add_first(first, batch_of(0, [*DOCUMENTS, long, bare]).failed)
    assert first == {
        "truncated_gzip": "before", "invalid_json": "f.jsonl:2: x", "too_large": "l" * 400,
        "not_found": "g",
    }  # fmt: skip


def test_documents_take_the_columns_of_their_recipe():
    batch = batch_of(0, [SourceDocument(0, "a", "x \ufffc y", "u")])
    illustrated = without_images(batch).documents
    assert illustrated.schema.equals(ILLUSTRATED)
    assert illustrated["text"].to_pylist() == ["x \ufffd y"]
    assert illustrated["images"].to_pylist() == [[]]
    assert without_images(batch._replace(documents=illustrated)).documents is illustrated
    crawled = as_crawled(batch).documents
    assert crawled.schema.equals(CRAWLED)
    assert (crawled["date"][0].as_py(), crawled["url"][0].as_py()) == (None, "u")
    date = pa.array([datetime(2024, 1, 2, tzinfo=UTC)], CRAWLED.field("date").type)
    dated = batch.documents.append_column("date", date).append_column("n", pa.array([7]))
    dated = as_crawled(batch._replace(documents=dated)).documents
    assert dated.schema.names == [*CRAWLED.names, "n"]
    assert dated["date"].equals(date)
    assert fitted(batch, DOCUMENT) is batch
    few = fitted(batch, pa.schema([DOCUMENT.field("text"), pa.field("n", pa.int8())])).documents
    assert few.to_pylist() == [{"text": "x \ufffc y", "n": None}]


def test_a_document_has_the_source_of_its_input_unless_it_has_its_own():
    batch = batch_of(0, of_texts(1, 1))
    named = batch.documents.append_column("source", pa.array(["own", None]))
    found = with_source(batch._replace(documents=named), "web").documents
    assert found["source"].to_pylist() == ["own", "web"]
