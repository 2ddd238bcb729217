import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.overlap.find import find, overlaps
from tokenmill.pipelines.contamination.index import ngram_of, prepare_texts


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200))
def test_n_is_the_5th_percentile_of_item_lengths_from_8_to_13(lengths):
    n = ngram_of(np.array(lengths))
    rank = min(x for x in lengths if sum(y <= x for y in lengths) >= 0.05 * len(lengths))
    assert n == min(max(rank, 8), 13)


@pytest.mark.parametrize(
    ("lengths", "n"),
    [([5], 8), ([9, 90], 9), ([50], 13), ([8] + [99] * 19, 8), ([8] + [99] * 20, 13)],
)
def test_n_has_a_least_of_8_and_a_most_of_13(lengths, n):
    assert ngram_of(np.array(lengths)) == n


def words(n, of):
    return " ".join(f"{of}{i}" for i in range(n))


def prepared(*benchmarks, ngrams=None):
    """benchmarks: lists of items, which are lists of texts."""
    items = [texts for benchmark in benchmarks for texts in benchmark]
    ids = [i for i, texts in enumerate(items) for _ in texts]
    return prepare_texts(
        pa.array([t for texts in items for t in texts], pa.large_string()),
        np.array(ids),
        np.array([len(benchmark) for benchmark in benchmarks]),
        ngrams,
    )


def found(texts, *docs):
    index = texts.indexed()
    got = overlaps(find(pa.array(docs), index), index)
    return [got.items[got.docs == d].tolist() for d in range(len(docs))]


def test_every_benchmark_has_its_own_n():
    nine, long = words(9, "a"), words(30, "b")
    texts = prepared([[nine], [words(20, "c")]], [[long]])
    assert texts.benchmark_ngrams.tolist() == [9, 13]
    assert found(texts, nine, words(8, "a"), words(9, "c"), words(12, "b"), words(13, "b")) == [
        [0], [], [1], [], [2],
    ]  # fmt: skip
    assert prepared([[nine]], [[long]], ngrams=[None, 8]).benchmark_ngrams.tolist() == [9, 8]


def test_an_item_under_8_words_is_found_only_where_all_its_words_stand_in_a_row():
    texts = prepared([["one two three four"], ["x y"], ["q"], [words(20, "z")]])
    docs = "zero One, two THREE four!", "one two three", "four one two three", "x y q"
    assert found(texts, *docs) == [[0], [], [], []]
    assert texts.lengths.tolist() == [4, 2, 1, 20]


def test_of_a_short_item_only_the_longest_text_is_matched_and_of_others_no_short_text():
    texts = prepared([["one two three", "four five six", "one two three\nfour five six"]])
    assert found(texts, "one two three", "one two three four five six") == [[], [0]]
    texts = prepared([["one two three", words(20, "a")]])
    assert found(texts, "one two three", words(13, "a")) == [[], [0]]
