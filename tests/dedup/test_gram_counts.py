from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dedup.gram_counts import document_counts, frequent, gram_texts, shared, total
from dedup.ngram_index import NgramIndex
from dedup.overlap import find
from tests.reference import overlap as reference

words = st.sampled_from(["a", "B,", "é", "d", "東京"])
sentences = st.lists(words, max_size=12).map(" ".join)


def index_of(texts, ids=None, **settings):
    ids = range(len(texts)) if ids is None else ids
    return NgramIndex.build(pa.array(texts, pa.string()), np.array(ids, np.int64), **settings)


def by_text(counts, index, texts, ids):
    names = gram_texts(counts.grams, index, pa.array(texts, pa.string()), np.array(ids))
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
    counts = total(counted)
    grams, _ = reference.item_index(items, range(len(items)), ngram)
    expected = Counter(
        gram
        for docs in shards
        for doc in docs
        for gram in {h[1] for h in reference.hits([doc], grams)}
    )
    assert by_text(counts, index, items, range(len(items))) == expected
    assert counts.grams.tolist() == sorted(set(counts.grams.tolist()))
    assert counts.docs.sum() == sum(c.docs.sum() for c in counted)


def test_an_n_gram_of_more_than_ten_documents_is_frequent_and_of_ten_is_not():
    index = index_of(["one two three", "four five six"], ngram=3)
    docs = ["one two three one two three"] * 10 + ["four five six"] * 11
    counts = document_counts(find(pa.array(docs), index))
    assert counts.docs.tolist() in ([10, 11], [11, 10])
    mask = frequent(counts, index)
    named = gram_texts(np.flatnonzero(mask), index, pa.array(["", "four five six"]), np.arange(2))
    assert named == ["four five six"]
    assert frequent(counts, index, most_docs=11).any() == np.False_


def test_n_grams_of_many_items_of_one_benchmark_are_shared():
    prompt = "Answer the following"
    items = [f"{prompt} w{i} x{i}" for i in range(22)]
    index = index_of(items, ngram=3)
    one = shared(index, np.array([0]), 22)
    assert gram_texts(np.flatnonzero(one), index, pa.array(items), np.arange(22)) == [prompt]
    assert not shared(index, np.array([0, 11]), 22, most_items=11).any()
    assert shared(index, np.array([0, 10]), 22).sum() == 1
    assert shared(index, np.array([0]), 2199).sum() == 1
    assert not shared(index, np.array([0]), 2200).any()


def test_the_text_of_an_n_gram_is_that_of_its_item():
    items = ["x", "Five, six;\n SEVEN eight", "six seven eight Nine!"]
    index = index_of(items, [0, 1, 2], ngram=3)
    names = gram_texts(np.arange(3), index, pa.array(items), np.array([0, 1, 2]))
    assert sorted(names) == ["Five, six; SEVEN", "seven eight Nine", "six; SEVEN eight"]
    assert gram_texts(np.empty(0, np.int64), index, pa.array(items), np.arange(3)) == []
