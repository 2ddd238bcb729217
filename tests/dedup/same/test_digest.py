"""Digests are hashlib's and xxhash's, and the first of each is found."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import text_columns
from tokenmill.dedup.same import partition
from tokenmill.dedup.same.digest import digests, first_occurrence, last_occurrence, sha1_prefixes

METHODS = {
    "md5": lambda data: hashlib.md5(data).hexdigest(),
    "xxh3": lambda data: xxhash.xxh3_128(data).hexdigest(),
}


@pytest.mark.parametrize("method", METHODS)
@given(text=text_columns())
def test_digests_are_the_librarys(method, text):
    got = digests(text, method)
    assert got.dtype == np.uint64
    assert got.shape == (len(text), 2)
    expected = [METHODS[method](document.encode()) for document in text.to_pylist()]
    assert [row.tobytes().hex() for row in got] == expected


@given(text=text_columns())
def test_sha1_prefixes_are_hashlibs(text):
    expected = [hashlib.sha1(document.encode()).digest()[:8] for document in text.to_pylist()]
    assert [row.tobytes() for row in sha1_prefixes(text)] == expected


def test_sha1_of_every_length_about_three_blocks():
    texts = ["é" * (n // 2) + "x" * (n % 2) for n in range(200)]
    expected = [hashlib.sha1(text.encode()).digest()[:8] for text in texts]
    assert [row.tobytes() for row in sha1_prefixes(pa.array(texts))] == expected


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="digest method") as error:
        digests(pa.array(["a"]), "sha1")
    assert str(error.value) == "digest method must be 'md5' or 'xxh3', got 'sha1'"


def first_by_dictionary(rows):
    first = {}
    return [first.setdefault(tuple(row), i) for i, row in enumerate(rows)]


halves = st.one_of(st.integers(0, 3), st.sampled_from([1 << 63, 2**64 - 1]))


@given(st.lists(st.tuples(halves, halves), max_size=80))
def test_first_occurrence_matches_the_reference(rows):
    array = np.array(rows, np.uint64).reshape(-1, 2)
    got = first_occurrence(array)
    assert got.dtype == np.int64
    assert got.tolist() == first_by_dictionary(rows)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_last_occurrence_is_the_first_from_behind(rows):
    got = last_occurrence(np.array(rows, np.uint64).reshape(-1, 2))
    n = len(rows)
    assert got.tolist() == [n - 1 - place for place in first_by_dictionary(rows[::-1])][::-1]


def test_first_occurrence_over_many_partitions(tmp_path):
    rng = np.random.default_rng(4)
    n = 3 * partition.PARTITION_ROWS
    rows = rng.integers(0, 2**64, (n, 2), dtype=np.uint64)
    rows[rng.integers(0, n, n // 3)] = rows[rng.integers(0, n, n // 3)]
    expected = first_by_dictionary(rows.tolist())
    assert len(set(expected)) < n
    np.save(tmp_path / "digests.npy", rows)
    mapped = np.load(tmp_path / "digests.npy", mmap_mode="r")
    assert first_occurrence(mapped).tolist() == expected


def test_equal_halves_alone_are_not_equal_digests():
    rows = np.array([[1, 2], [1, 3], [4, 2], [1, 2]], np.uint64)
    assert first_occurrence(rows).tolist() == [0, 1, 2, 0]
