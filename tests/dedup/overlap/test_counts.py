from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dedup.overlap.grams import gram_texts
from tests.reference import overlap as reference
from tokenmill.dedup.overlap import counts as gram_counts
from tokenmill.dedup.overlap.counts import (
    PASSAGE,
    GramCounts,
    document_counts,
    frequent,
    ignored_passages,
    letterless,
    shared,
    total,
)
from tokenmill.dedup.overlap.find import find, overlaps
from tokenmill.dedup.overlap.index import NgramIndex
from tokenmill.dedup.text.unicode import ALPHA, N_CODE_POINTS, flags_of, lower_of

words = st.sampled_from(["a", "B,", "é", "d", "東京"])
sentences = st.lists(words, max_size=12).map(" ".join)


def index_of(texts, ids=None, **settings):
    ids = range(len(texts)) if ids is None else ids
    return NgramIndex.build(pa.array(texts, pa.string()), np.array(ids, np.int64), **settings)


def by_text(counts, index, texts):
    names = gram_texts(counts.grams, index, pa.array(texts, pa.string()))
    lowered = [tuple(w.text for w in reference.gram_words(name)) for name in names]
    return dict(zip(lowered, counts.docs.tolist(), strict=True))


@given(
    st.lists(st.lists(sentences, max_size=4), max_size=3),
    st.lists(sentences, min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_documents_of_all_shards_are_counted_once_each(shards, items, ngram):
    index = index_of(items, ngram=ngram)
    counted = [document_counts(find(pa.array(docs, pa.string()), index)) for docs in shards]
    counts = total(counted, len(index.hashes))
    grams = reference.item_index(items, range(len(items)), ngram)
    expected = Counter(
        gram
        for docs in shards
        for doc in docs
        for gram in {h[1] for h in reference.hits([doc], grams)}
    )
    assert by_text(counts, index, items) == expected
    assert counts.grams.tolist() == sorted(set(counts.grams.tolist()))
    assert counts.docs.sum() == sum(c.docs.sum() for c in counted)


def test_an_n_gram_of_more_than_ten_documents_is_frequent_and_of_ten_is_not():
    index = index_of(["one two three", "four five six"], ngram=3)
    docs = ["one two three one two three"] * 10 + ["four five six"] * 11
    counts = document_counts(find(pa.array(docs), index))
    assert counts.docs.tolist() in ([10, 11], [11, 10])
    mask = frequent(counts, index)
    named = gram_texts(np.flatnonzero(mask), index, pa.array(["four five six"]))
    assert named == ["four five six"]
    assert frequent(counts, index, most_docs=11).any() == np.False_


def test_n_grams_of_many_items_of_one_benchmark_are_shared(monkeypatch):
    prompt = "Answer the following"
    items = [f"{prompt} w{i} x{i}" for i in range(22)]
    index = index_of(items, ngram=3)
    one = shared(index, np.array([0]), 22)
    assert gram_texts(np.flatnonzero(one), index, pa.array(items)) == [prompt]
    assert shared(index, np.array([0, 10]), 22).sum() == 1
    assert shared(index, np.array([0]), 2199).sum() == 1
    assert not shared(index, np.array([0]), 2200).any()
    monkeypatch.setattr(gram_counts, "MOST_ITEMS", 11)
    assert not shared(index, np.array([0, 11]), 22).any()


def test_a_passage_is_that_of_the_first_of_its_items():
    items = ["x", "Five, six;\n SEVEN eight", "six seven eight Nine!"]
    index = index_of(items, [0, 1, 2], ngram=3)
    counts = document_counts(find(pa.array(["five six seven eight"]), index))
    every = {"all": np.ones(len(index.hashes), bool)}
    got = ignored_passages(every, counts, index, pa.array(items), np.arange(3))
    assert got["passage"].to_pylist() == ["Five, six; SEVEN eight"]


numbers = st.sampled_from(
    ["0", "1,", "(2)", "--", "½", "٣", "\u0301", "€", "1a", "ª", "Ⅷ", "東", "É"]
)
rows = st.lists(numbers, max_size=12).map(" ".join)


def lowered(names):
    return [tuple(w.text for w in reference.gram_words(name)) for name in names]


@given(st.lists(rows, min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 3))
@example(["0 1, (2) 1a 1, (2)"], 3, 1)
@example(["1\u2028½", "1 ½ ª 2 3"], 4, 1)
@example(["1 2東 3"], 2, 1)  # a word ends where one of a single character begins
def test_n_grams_without_a_letter_are_those_of_the_reference(items, ngram, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram_counts, "TEXTS_AT_ONCE", at_once)
        index = index_of(items, ngram=ngram, least=1)
        mask = letterless(index, pa.array(items))
    every = np.arange(len(index.hashes))
    grams = lowered(gram_texts(every, index, pa.array(items)))
    assert mask.tolist() == [reference.is_letterless(gram) for gram in grams]
    assert set(grams) == set(reference.item_index(items, range(len(items)), ngram, 1))


def test_the_lower_case_of_a_letter_is_a_letter():
    """Else texts that differ in case alone could disagree on their n-grams."""
    capitals = [cp for cp in range(N_CODE_POINTS) if lower_of(cp) != cp]
    assert len(capitals) > 1000
    assert all(flags_of(cp) & ALPHA == flags_of(lower_of(cp)) & ALPHA for cp in capitals)


def test_numbers_in_a_row_count_for_nothing_in_any_benchmark():
    row = " ".join(map(str, range(16)))
    items = [f"Count: {row} and on", f"Then {row}, x y z", "a b c d e f g h i j k l m n o p"]
    texts = pa.array(items)
    index = index_of(items, ngram=13)
    ignored = shared(index, np.array([0, 1]), 3) | letterless(index, texts)
    hits = find(pa.array([row, items[0], items[2]]), index)
    assert np.bincount(hits.docs).tolist() == [4, 7, 4]
    assert np.bincount(hits.docs[~ignored[hits.grams]], minlength=3).tolist() == [0, 3, 4]
    got = overlaps(hits.only(~ignored[hits.grams]), index)
    assert set(zip(got.docs.tolist(), got.items.tolist(), strict=True)) == {(1, 0), (2, 2)}


@st.composite
def ignorable(draw):
    items = draw(st.lists(sentences, min_size=1, max_size=5))
    index = index_of(items, ngram=draw(st.integers(1, 4)))
    size = len(index.hashes)
    masks = st.lists(st.booleans(), min_size=size, max_size=size).map(lambda m: np.array(m, bool))
    docs = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return items, index, draw(masks), draw(masks), np.array(docs, np.int64)


@given(ignorable())
def test_ignored_passages_equal_the_reference(case):
    items, index, a, b, docs = case
    every = np.arange(len(index.hashes))
    texts, ids = pa.array(items, pa.string()), np.arange(len(items))
    grams = lowered(gram_texts(every, index, texts))
    met = np.flatnonzero(docs)
    got = ignored_passages({"a": a, "b": b}, GramCounts(met, docs[met]), index, texts, ids)
    chosen = {grams[g]: int(docs[g]) for g in met if a[g] or b[g]}
    has = {item for g in met if a[g] or b[g] for item in index.items_of(np.array([g]))[1][:1]}
    expected = reference.passages([items[i] for i in sorted(has)], chosen)
    names = lowered(got["passage"].to_pylist())
    ngrams, documents = (got[name].to_pylist() for name in ("ngrams", "documents"))
    assert Counter(zip(names, ngrams, documents, strict=True)) == Counter(expected)
    assert documents == sorted(documents, reverse=True)
    assert got.schema == PASSAGE


def test_a_passage_of_many_n_grams_is_one_row_with_its_reasons():
    licence = " ".join(f"Word{i}, of" for i in range(10))
    items = [f"{licence} item {i} more" for i in range(12)] + ["0 1 2 3 4 5"]
    texts, ids = pa.array(items), np.arange(13)
    index = index_of(items, ngram=4)
    docs = [licence] * 20 + [licence[:40]] * 5 + ["0 1 2 3 4"]
    counts = document_counts(find(pa.array(docs), index))
    reasons = {
        "frequent": frequent(counts, index, most_docs=24),
        "shared": shared(index, np.array([0]), 13),
        "letterless": letterless(index, texts),
    }
    got = ignored_passages(reasons, counts, index, texts, ids).to_pylist()
    assert got == [
        {
            "passage": licence.removesuffix(","),
            "ngrams": 17,
            "documents": 25,
            "items": 12,
            "reason": "frequent, shared",
        },
        {
            "passage": "0 1 2 3 4",
            "ngrams": 2,
            "documents": 1,
            "items": 1,
            "reason": "letterless",
        },
    ]
    assert len(ignored_passages(reasons, counts, index, texts, ids, most=1)) == 1
    none = dict.fromkeys(reasons, np.zeros(len(index.hashes), bool))
    assert ignored_passages(none, counts, index, texts, ids).num_rows == 0
