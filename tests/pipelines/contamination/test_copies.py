import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.contamination.as_json import edited_examples
from tests.pipelines.contamination.corpus import (
    QUESTIONS,
    WIDE,
    one_in_ten_replaced,
    write_benchmark,
)
from tests.reference import contamination as reference
from tests.strategies import document_batch
from tokenmill.dedup.text.fold import fold
from tokenmill.pipelines.contamination.copies import (
    COPY,
    Copies,
    CopyAnalysis,
    best_explained,
    find_copies,
    index_copies,
)
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching, prepare_texts
from tokenmill.pipelines.contamination.items.spec import QUESTION, WHOLE, Benchmark


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    return BenchmarkIndex.build(Matching(benchmarks=(write_benchmark(folder, "q", QUESTIONS),)))


def copies_in(docs, index, ordinal=0, **least):
    batch = document_batch(docs, ordinal)
    folded = fold(batch["text"], index.folding)
    return find_copies(batch, folded, index_copies(index.texts), Copies(**least), "web")


def test_a_copy_is_located_in_the_document_as_it_was(index):
    edited = one_in_ten_replaced(QUESTIONS[1])
    docs = [
        "clean",
        f"{'é' * 300} {QUESTIONS[0]} {'東' * 300}",
        f"&amp; {edited.translate(WIDE)} … {QUESTIONS[0]}",
    ]
    found = copies_in(docs, index)
    assert found.schema == COPY
    rows = found.to_pylist()
    assert [(r["id"], r["item"]) for r in rows] == [("1", 0), ("2", 0), ("2", 1)]
    assert [r["containment"] for r in rows[:2]] == [1.0, 1.0]
    assert 0.6 <= rows[2]["containment"] < 1
    assert [r["foldings"] for r in rows] == [0, 0, 0b100]
    for row in rows:
        doc = docs[int(row["id"])].encode()
        assert doc[row["start_byte"] : row["end_byte"]].decode() == row["match"]
        before, after = row["before"].encode(), row["after"].encode()
        assert doc[: row["start_byte"]].endswith(before)
        assert doc[row["end_byte"] :].startswith(after)
        assert len(before) >= min(row["start_byte"], 237)
    assert edited.translate(WIDE).startswith(rows[2]["match"][:30])


def test_a_threshold_decides(index):
    edited = one_in_ten_replaced(QUESTIONS[1])
    (row,) = copies_in([edited], index).to_pylist()
    above = {"threshold": row["containment"] + 0.01, "short_threshold": 1.0}
    assert copies_in([edited], index, **above).num_rows == 0
    assert copies_in([edited], index, threshold=row["containment"]).num_rows == 1


def test_no_documents_have_no_copies(index):
    assert copies_in([], index).num_rows == 0


def test_of_an_item_the_best_copy_is_kept_whatever_the_order(index):
    edited = one_in_ten_replaced(QUESTIONS[1])
    shards = [[edited, "x"], [QUESTIONS[1], edited], [QUESTIONS[2]], [QUESTIONS[1]]]
    batches = [copies_in(docs, index, ordinal) for ordinal, docs in enumerate(shards)]
    made = []
    for order in (batches, batches[::-1]):
        analysis = CopyAnalysis(index.texts, np.ones(len(QUESTIONS), bool))
        for batch in order:
            analysis.add(batch)
        made.append(analysis)
    assert made[0].examples == made[1].examples
    assert made[0].examples["doc_id"].to_pylist() == [1 << 32, 2 << 32]
    assert made[0].item_docs.tolist() == made[1].item_docs.tolist() == [0, 4, 1, 0, 0, 0, 0, 0]
    assert made[0].containment.tolist() == [0, 1, 1, 0, 0, 0, 0, 0]


def test_edited_items_are_those_of_which_no_ngram_counts(index):
    unseen = np.array([1, 0, 0, 0, 5, 0, 0, 0]) == 0
    analysis = CopyAnalysis(index.texts, unseen)
    analysis.add(copies_in([one_in_ten_replaced(q) for q in QUESTIONS[:3]], index))
    assert analysis.edited().tolist() == [False, True, True, *[False] * 5]
    rows = edited_examples(index, analysis, most=1)
    assert [(r["item"], r["documents"], r["benchmark"]) for r in rows] == [("q:1", 1, "q")]
    assert rows[0]["item_text"]["text"] == QUESTIONS[1]
    assert [r["item"] for r in edited_examples(index, analysis, most=9)] == ["q:1", "q:2"]


def test_of_an_item_s_texts_the_one_copied_best_is_shown(tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text(json.dumps({"question": QUESTIONS[0], "answer": QUESTIONS[1]}))
    two = Benchmark(name="two", path=str(path))
    index = BenchmarkIndex.build(Matching(benchmarks=(two,)))
    for edited, whole in (QUESTIONS[:2], QUESTIONS[1::-1]):
        doc = f"{one_in_ten_replaced(edited)} — {whole}"
        (row,) = copies_in([doc], index).to_pylist()
        assert (row["containment"], row["match"]) == (1.0, whole[:-1])
        assert index.texts.texts[row["text"]].as_py() == whole


@cache
def two():
    """Five texts and three; made when a test asks, for it compiles kernels."""
    texts = pa.array(["some words"] * 8, pa.large_string())
    roles = np.array([WHOLE, QUESTION] * 4)
    return prepare_texts(texts, np.arange(8), np.array([5, 3]), roles=roles)


some_copies = st.lists(
    st.builds(
        lambda doc, item, share, start, n: (doc, item, share / 10, start, start + n),
        st.integers(0, 1),
        st.integers(0, 7),
        st.integers(5, 10),
        st.integers(0, 30),
        st.integers(1, 20),
    ),
    unique_by=lambda copy: copy[:2],
)


@given(some_copies, st.sets(st.integers(0, 7)), st.dictionaries(st.integers(0, 7), st.just(0)))
@example([(0, 0, 0.9, 0, 20), (0, 1, 0.8, 1, 3), (0, 2, 0.8, 10, 19)], set(), {})
@example([(0, 0, 0.8, 0, 20), (0, 1, 0.8, 0, 20)], {1}, {})
@example([(0, 0, 0.9, 0, 20), (0, 2, 0.8, 0, 20)], set(), {0: 0, 2: 0})
def test_what_is_a_better_copy_of_another_item_is_none_as_in_the_reference(copies, dirty, about):
    columns = list(zip(*copies, strict=True)) or [()] * 5
    named = dict(
        zip(("doc_id", "item", "containment", "start_byte", "end_byte"), columns, strict=True)
    )
    named["text"] = named["item"]
    for field in COPY:
        fill = "" if pa.types.is_string(field.type) else 0
        named.setdefault(field.name, [fill] * len(copies))
    batch = pa.RecordBatch.from_pydict(named, schema=COPY)
    is_dirty = np.isin(np.arange(8), sorted(dirty))
    passages = np.array([about.get(item, -1 - item) for item in range(8)])
    rows = best_explained(batch, two(), is_dirty, passages).to_pylist()
    of_whole = {item: passage for item, passage in about.items() if item % 2 == 0}
    expected = reference.best_explained(copies, lambda item: item >= 5, dirty, of_whole)
    assert [(row["doc_id"], row["item"]) for row in rows] == [copy[:2] for copy in expected]
