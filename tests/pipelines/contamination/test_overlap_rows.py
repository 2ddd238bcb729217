import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.contamination.corpus import (
    QUESTIONS,
    WIDE,
    one_in_ten_replaced,
    write_benchmark,
)
from tests.strategies import document_batch, examples
from tokenmill.dedup.overlap.counts import document_counts
from tokenmill.dedup.text.fold import fold, names_of
from tokenmill.pipelines.contamination import rows as module
from tokenmill.pipelines.contamination.copies import Copies, find_copies, index_copies
from tokenmill.pipelines.contamination.found import (
    FOUND,
    count_corpus,
    hits_of,
    ignored_grams,
    load_counts,
    save_counts,
    search,
)
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.rows import (
    OVERLAP,
    copy_rows,
    overlap_file,
    overlap_rows,
    pairs_of,
)
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

HALVES = [" ".join(q.split()[:17]) for q in QUESTIONS[:3]]
parts = st.sampled_from(
    [*QUESTIONS[:3], *HALVES, *(h.translate(WIDE) for h in HALVES), "é x", "東京"]
)
documents = st.lists(parts, max_size=5).map(" \n ".join)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    benchmarks = tuple(write_benchmark(folder, n, QUESTIONS[:3]) for n in ("one", "two"))
    return BenchmarkIndex.build(Matching(benchmarks=benchmarks, most_docs=2))


def written(found, index, ignored):
    return pa.Table.from_batches(overlap_rows(found, index, ignored), OVERLAP)


def spans_of(found, index, ignored):
    """The slow twin: hits of a document and item, joined where they share a word."""
    hits, foldings = hits_of(found), found["foldings"].flatten().to_pylist()
    rows = []
    for doc in range(found.num_rows):
        by_item = {}
        for h in np.flatnonzero(hits.docs == doc):
            if not ignored[hits.grams[h]]:
                for item in index.ngrams.items_of(hits.grams[h : h + 1])[1].tolist():
                    window = int(hits.starts[h]), int(hits.ends[h]), foldings[h]
                    by_item.setdefault(item, []).append(window)
        for item, windows in sorted(by_item.items()):
            spans = []
            for start, end, bits in sorted(windows):
                if spans and start < spans[-1][1]:
                    spans[-1] = spans[-1][0], max(end, spans[-1][1]), spans[-1][2] | bits
                else:
                    spans.append((start, end, bits))
            rows += [(doc, item, *span) for span in spans]
    return rows


@settings(max_examples=examples(40))
@given(docs=st.lists(documents, max_size=5), data=st.data())
def test_rows_equal_the_slow_twin(index, docs, data):
    found = search(document_batch(docs), index, "web")
    ignored = np.zeros(len(index.ignored), bool)
    ignored[data.draw(st.lists(st.integers(0, len(ignored) - 1), max_size=20))] = True
    first = data.draw(st.integers(0, found.num_rows))
    part = found.slice(first)
    rows = written(part, index, ignored).to_pylist()
    expected = spans_of(part, index, ignored)
    ids = part["id"].to_pylist()
    assert [(r["id"], r["item"], r["start_byte"], r["end_byte"]) for r in rows] == [
        (ids[doc], index.names_of(np.array([item]))[0], start, end)
        for doc, item, start, end, _ in expected
    ]
    for row, (*_, bits) in zip(rows, expected, strict=True):
        assert (row["kind"], row["containment"]) == ("ngrams", None)
        assert row["foldings"] == list(names_of(bits))
        span = docs[int(row["id"])].encode()[row["start_byte"] : row["end_byte"]].decode()
        assert row["excerpt"] == " ".join(span.split())[:120]


def test_a_span_names_the_disguises_of_all_its_words(index):
    first, then = HALVES[0], QUESTIONS[0][len(HALVES[0]) :]
    disguised = first.translate(WIDE) + then.replace("a", "\u200ba")
    found = search(document_batch([f"plain {disguised}"]), index, "web")
    rows = written(found, index, np.zeros_like(index.ignored)).to_pylist()
    spans = [(r["item"], r["start_byte"], r["foldings"]) for r in rows]
    foldings = ["compat", "invisible"]
    assert spans == [("one:0", 6, foldings), ("two:0", 6, foldings)]


def test_copies_get_a_row_where_n_grams_have_none(index):
    edited = [one_in_ten_replaced(q).replace("?", " é?") for q in QUESTIONS[:3]]
    batch = document_batch([f"東京 {edited[0]}", f"{edited[1]}\n\n{QUESTIONS[2]}"])
    folded = fold(batch["text"], index.folding)
    copies = find_copies(batch, folded, index_copies(index.texts), Copies(), "web")
    by_ngrams = written(search(batch, index, "web"), index, np.zeros_like(index.ignored))
    whole = set(pairs_of(by_ngrams))
    assert whole == {(1, "one:2"), (1, "two:2")}
    rows = copy_rows(copies, index, whole).to_pylist()
    assert [(r["doc_id"], r["item"]) for r in rows] == [
        *((0, "one:0"), (0, "two:0")),
        *((1, "one:1"), (1, "two:1")),
    ]
    for row in rows:
        text = batch["text"][row["doc_id"]].as_py().encode()
        span = text[row["start_byte"] : row["end_byte"]].decode()
        assert span.startswith(" ".join(QUESTIONS[row["doc_id"]].split()[:4]))
        assert row["excerpt"] == " ".join(span.split())[:120]
        assert (row["kind"], row["ngrams"], row["benchmark"]) == ("copy", None, row["item"][:3])
        assert 0.7 < row["containment"] < 1
    assert copy_rows(copies.slice(0, 0), index, whole).num_rows == 0


def test_a_file_of_overlaps_is_written_in_groups(index, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROW_GROUP", 4)
    found = search(document_batch([QUESTIONS[0]]), index, "web")
    (rows,) = overlap_rows(found, index, np.zeros_like(index.ignored))
    with overlap_file(tmp_path / "o.parquet") as write:
        for _ in range(5):
            write(rows)
    made = pq.ParquetFile(tmp_path / "o.parquet")
    assert [made.metadata.row_group(g).num_rows for g in range(made.num_row_groups)] == [4, 4, 2]
    nothing = rows.slice(0, 0)
    n_references = sys.getrefcount(nothing)
    with overlap_file(tmp_path / "none.parquet") as write:
        write(nothing)
        assert sys.getrefcount(nothing) == n_references  # it is not held
    assert pq.read_table(tmp_path / "none.parquet").schema.equals(OVERLAP)


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.lists(documents, max_size=3), max_size=3), max_size=3))
def test_counts_of_shards_are_those_of_all_documents_at_once(tmp_path_factory, index, shards):
    folder, paths = tmp_path_factory.mktemp("found"), []
    for number, batches in enumerate(shards):
        paths.append(folder / f"{number}.arrow")
        with arrow_file(paths[-1], FOUND) as writer:
            for docs in batches:
                writer.write_batch(search(document_batch(docs), index, "web"))
    founds = (found for path in paths for found in open_arrow(path)[0])
    counts = count_corpus(founds, len(index.ignored))
    everything = [doc for batches in shards for docs in batches for doc in docs]
    expected = document_counts(hits_of(search(document_batch(everything), index, "web")))
    assert [c.tolist() for c in counts] == [c.tolist() for c in expected]
    save_counts(folder / "counts.arrow", counts)
    saved = load_counts(folder / "counts.arrow")
    assert [c.tolist() for c in saved] == [c.tolist() for c in expected]
    often = set(expected.grams[expected.docs > 2].tolist())
    assert set(np.flatnonzero(ignored_grams(index, saved) & ~index.ignored).tolist()) == often


def test_no_limit_ignores_only_what_no_corpus_decides(index):
    free = BenchmarkIndex(
        index.matching.model_copy(update={"most_docs": None}),
        index.ngrams,
        index.texts,
        index.ignored,
        index.benchmarks,
    )
    hits = hits_of(search(document_batch([QUESTIONS[0]] * 50), index, "web"))
    assert ignored_grams(free, document_counts(hits)).tolist() == index.ignored.tolist()
    assert pa.array(ignored_grams(index, document_counts(hits))).true_count > 0
