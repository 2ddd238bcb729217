"""What was found leaves its documents, and nothing else does."""

import pyarrow as pa
import pytest

from tests.pipelines.corpus.repeats_corpora import batch_of, corpus
from tests.reference import repeats as reference
from tokenmill.pipelines.core.schema import DOCUMENT, PLACEHOLDER
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.counted.paragraphs import REMOVED_PARAGRAPHS, RepeatedParagraphs
from tokenmill.pipelines.corpus.units import FOUND
from tokenmill.pipelines.filters.images.edit import image_stats


def found_of(rows):
    """rows: {(doc_id, number): (by, count, first)}."""
    made = [
        {
            "doc_id": doc,
            "number": number,
            "by": by,
            "value": count,
            "of_doc_id": first[0],
            "of_number": first[1],
        }
        for (doc, number), (by, count, first) in sorted(rows.items())
    ]
    return pa.RecordBatch.from_pylist(made, schema=FOUND)


def doc(doc_id, text, *numbers, url="https://a.org/"):
    images = [{"number": n, "url": f"u{n}", "md5": bytes([n]) * 16} for n in numbers]
    return {"doc_id": doc_id, "url": url, "text": text, "images": images}


def told(batch):
    return {
        row["doc_id"]: (row["text"], [image["number"] for image in row["images"]])
        for row in batch.to_pylist()
    }


ILLUSTRATED_DOCS = [
    doc(3, f"one\n\n{PLACEHOLDER}\n\ntwo\n\n{PLACEHOLDER}", 0, 4),
    doc(4, "a caption", 7),
    doc(5, "text alone"),
    doc(9, f"{PLACEHOLDER}\n\nthree", 1),
]
FOUND_IMAGES = {(3, 4): (1, 12, (3, 4)), (4, 7): (0, 11, (3, 0)), (9, 1): (1, 12, (3, 4))}


def test_images_leave_the_list_and_the_text():
    batch = batch_of(ILLUSTRATED_DOCS)
    step = RepeatedImages(no_images_left=False)
    result, passed, tables, counts = step.without(batch, found_of(FOUND_IMAGES))
    assert (passed, tables, counts) == (None, {}, {})
    assert told(result.kept) == {
        3: (f"one\n\n{PLACEHOLDER}\n\ntwo", [0]),
        4: ("a caption", []),
        5: ("text alone", []),
        9: ("three", []),
    }
    assert result.removed.num_rows == 0
    assert result.stats.bytes_edited == 2 * len(f"{PLACEHOLDER}\n\n".encode())
    receipts = result.images.to_pylist()
    columns = ("doc_id", "number", "reason", "value", "duplicate_of", "duplicate_number")
    assert [tuple(r[c] for c in columns) for r in receipts] == [
        (3, 4, "repeated_md5", 12.0, 3, 4),
        (4, 7, "repeated_url", 11.0, 3, 0),
        (9, 1, "repeated_md5", 12.0, 3, 4),
    ]
    assert {(r["stage"], r["outcome"]) for r in receipts} == {("repeated_images", "removed")}
    result.stats.check("test")
    image_stats(batch, result.kept, [result.images]).check("test")


def test_documents_that_lose_their_last_image_leave_and_those_without_one_stay():
    batch = batch_of(ILLUSTRATED_DOCS)
    result = RepeatedImages().without(batch, found_of(FOUND_IMAGES)).result
    assert list(told(result.kept)) == [3, 5]
    rows = result.removed.to_pylist()
    assert [(r["doc_id"], r["reason"], r["value"], r["text_bytes"]) for r in rows] == [
        (4, "no_images_left", 1.0, 9),
        (9, "no_images_left", 1.0, 10),
    ]
    stats = result.stats.check("test")
    assert stats.removed == {"no_images_left": 2}
    assert stats.bytes_removed == 19
    account = image_stats(batch, result.kept, [result.images]).check("test")
    assert account.removed == {"repeated_md5": 2, "repeated_url": 1}
    assert account.with_document == 0


@pytest.mark.parametrize("step", [RepeatedImages(), RepeatedImages(keep="first")], ids=repr)
@pytest.mark.parametrize("samples", [False, True])
def test_images_that_dictionaries_find_leave_every_document(step, samples):
    docs = [doc for docs in corpus(4, samples=samples) for doc in docs]
    found = reference.repeated_images(docs, keep=step.keep)
    by = [f"repeated_{name}" for name in step.by]
    rows = found_of({n: (by.index(f[0]), f[1], f[2]) for n, f in found.items()})
    batch = batch_of(docs)
    result = step.without(batch, rows).result
    expected = {}
    for made in docs:
        kept = [i["number"] for i in made["images"] if (made["doc_id"], i["number"]) not in found]
        if kept or not made["images"]:
            expected[made["doc_id"]] = kept
    left = told(result.kept)
    assert {doc_id: numbers for doc_id, (_, numbers) in left.items()} == expected
    for text, numbers in left.values():
        assert text.count(PLACEHOLDER) == (0 if samples else len(numbers))
    result.stats.check("test")
    image_stats(batch, result.kept, [result.images]).check("test")


PARAGRAPH_DOCS = [
    doc(1, "own\n\nCookies\n\n\nShare"),
    doc(2, "Cookies\n\nCookies"),
    doc(4, f"Cookies\n\n{PLACEHOLDER}", 0),
    doc(5, "Cookies", 0),
    doc(6, "untouched\n\n\n\n"),
    doc(8, "Cookies\n\n \n\n"),
]
FOUND_PARAGRAPHS = {
    name: (0, 6, (1, 1)) for name in [(1, 1), (2, 0), (2, 1), (4, 0), (5, 0), (8, 0)]
}


def test_paragraphs_leave_and_documents_of_which_nothing_is_left():
    batch = batch_of(PARAGRAPH_DOCS)
    result, _, tables, counts = RepeatedParagraphs().without(batch, found_of(FOUND_PARAGRAPHS))
    paragraphs = tables[REMOVED_PARAGRAPHS.name]
    n_bytes = sum(row["text_bytes"] for row in paragraphs.to_pylist())
    assert counts == {"paragraphs": {"removed": 6, "bytes": n_bytes}}
    assert told(result.kept) == {
        1: ("own\n\n\nShare", []),
        4: (PLACEHOLDER, [0]),
        5: ("", [0]),
        6: ("untouched\n\n\n\n", []),
    }
    rows = result.removed.to_pylist()
    assert [(r["doc_id"], r["reason"], r["value"], r["text_bytes"]) for r in rows] == [
        (2, "no_text_left", 2.0, 16),
        (8, "no_text_left", 1.0, 12),
    ]
    assert paragraphs.to_pylist()[:2] == [
        {
            "doc_id": 1,
            "id": "doc-1",
            "number": 1,
            "text_bytes": 7,
            "count": 6,
            "of_doc_id": 1,
            "of_number": 1,
        },
        {
            "doc_id": 2,
            "id": "doc-2",
            "number": 0,
            "text_bytes": 7,
            "count": 6,
            "of_doc_id": 1,
            "of_number": 1,
        },
    ]
    assert paragraphs.num_rows == 6
    stats = result.stats.check("test")
    assert stats.bytes_edited == 9 + 9 + 7
    image_stats(batch, result.kept).check("test")


@pytest.mark.parametrize("illustrated", [False, True])
def test_paragraphs_that_dictionaries_find_leave_every_document(illustrated):
    docs = [doc for docs in corpus(6) for doc in docs]
    found, _ = reference.repeated_paragraphs([docs])
    batch = batch_of(docs)
    if not illustrated:
        batch = pa.record_batch([batch[f.name] for f in DOCUMENT], schema=DOCUMENT)
    rows = found_of({n: (0, *f) for n, f in found.items()})
    result, _, tables, _ = RepeatedParagraphs().without(batch, rows)
    expected = {}
    for made in docs:
        numbers = {number for doc_id, number in found if doc_id == made["doc_id"]}
        text = reference.without_paragraphs(made["text"], numbers)
        if text.strip() or not numbers or (illustrated and made["images"]):
            expected[made["doc_id"]] = text
    ids, texts = (result.kept[name].to_pylist() for name in ("doc_id", "text"))
    assert dict(zip(ids, texts, strict=True)) == expected
    assert [
        (r["doc_id"], r["number"]) for r in tables[REMOVED_PARAGRAPHS.name].to_pylist()
    ] == sorted(found)
    result.stats.check("test")


def test_nothing_found_nothing_changed():
    for docs in ([], PARAGRAPH_DOCS):
        batch = batch_of(docs)
        for step in (RepeatedImages(), RepeatedParagraphs()):
            result = step.without(batch, found_of({})).result
            assert result.kept.equals(batch)
            assert result.removed.num_rows == 0
            result.stats.check("test")
