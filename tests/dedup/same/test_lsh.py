"""Rows that share a band key come together: all of them, once, in order."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.same.labels import candidate_pairs
from tests.reference import lsh as reference
from tokenmill.dedup.same import partition
from tokenmill.dedup.same.lsh import (
    MAX_BUCKET,
    NO_KEY,
    PREVIOUS_ROWS,
    Bands,
    band_keys,
    buckets,
    count_pairs,
)
from tokenmill.dedup.same.minhash import MinHash, signatures

few_keys = st.lists(
    st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.sampled_from([1 << 63, 1 << 32])),
    max_size=80,
)


def rows_by_bucket(found):
    return [rows.tolist() for rows in np.split(found.members, found.ends)[:-1]]


def expected_buckets(keys):
    """Rows of each key that two or more have, by first row."""
    rows = defaultdict(list)
    for row, key in enumerate(keys):
        rows[key].append(row)
    return sorted(found for key, found in rows.items() if key != NO_KEY and len(found) > 1)


@given(few_keys)
def test_buckets_match_the_reference(keys):
    found = buckets(np.array(keys, np.uint64))
    assert sorted(rows_by_bucket(found)) == expected_buckets(keys)


def test_buckets_of_many_partitions_match_the_reference():
    rng = np.random.default_rng(3)
    n = 3 * partition.PARTITION_ROWS
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    again = rng.integers(0, n, n // 4)
    keys[again] = keys[rng.integers(0, n, n // 4)]
    assert sorted(rows_by_bucket(buckets(keys))) == expected_buckets(keys.tolist())


@given(few_keys, st.integers(2, 24))
def test_candidate_pairs_are_counted_as_the_reference_makes_them(keys, max_bucket):
    found = buckets(np.array(keys, np.uint64))
    expected = reference.candidate_pairs(keys, range(len(keys)), max_bucket, PREVIOUS_ROWS)
    assert count_pairs(found.ends, max_bucket) == len(expected)


@given(few_keys)
def test_candidate_pairs_of_arrays_are_those_of_the_reference(keys):
    """What other tests compare with."""
    keys = [*keys, *[7] * 150]
    expected = reference.candidate_pairs(keys, range(len(keys)), MAX_BUCKET, PREVIOUS_ROWS)
    assert list(map(tuple, candidate_pairs(np.array(keys, np.uint64)).tolist())) == expected


def test_an_over_full_bucket_costs_a_bounded_number_of_pairs_per_row():
    n, max_bucket = 10_000, 16
    n_pairs = count_pairs(buckets(np.full(n, 7, np.uint64)).ends, max_bucket)
    assert n < n_pairs <= n * (max_bucket // 2 + PREVIOUS_ROWS)


def test_keys_mapped_from_a_file_will_do(tmp_path):
    np.save(tmp_path / "keys.npy", np.array([5, 6, 5, 0, 0], np.uint64))
    mapped = np.load(tmp_path / "keys.npy", mmap_mode="r")
    assert rows_by_bucket(buckets(mapped)) == [[0, 2]]


def test_no_rows_no_buckets():
    assert rows_by_bucket(buckets(np.empty(0, np.uint64))) == []


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 3), st.randoms())
def test_keys_are_equal_where_bands_are(bands, rows, unused, random):
    draw = np.random.default_rng(random.getrandbits(32))
    found = draw.integers(0, 2, (12, bands * rows + unused), dtype=np.uint32)
    keys = band_keys(found, Bands(bands=bands, rows=rows))
    cut = found[:, : bands * rows].reshape(12, bands, rows)
    for x in range(12):
        for y in range(12):
            assert np.array_equal(keys[x] == keys[y], np.all(cut[x] == cut[y], axis=1))
    assert len(set(keys[0].tolist())) == bands, "the same rows in another band are another key"
    assert not np.any(keys == NO_KEY)


def test_documents_without_words_are_never_candidates():
    text = pa.array(["", "...", "a", "A!", " "])
    keys = band_keys(signatures(text, MinHash()), Bands())
    assert np.all((keys == NO_KEY) == np.array([[True], [True], [False], [False], [True]]))
    assert rows_by_bucket(buckets(np.ascontiguousarray(keys[:, 0]))) == [[2, 3]]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6), st.sampled_from([1, 2, 3, 6]))
def test_band_keys_match_the_reference(signature, rows):
    """Band keys are stored in sidecars: other keys are a new version of them."""
    expected = [
        0
        if min(signature) == 2**32 - 1
        else reference.band_key(band, signature[band * rows : (band + 1) * rows])
        for band in range(6 // rows)
    ]
    got = band_keys(np.array([signature], np.uint32), Bands(bands=6 // rows, rows=rows))
    assert got.tolist() == [expected]


def refused(call, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        call()
    assert str(error.value) == message


def test_settings_that_do_not_fit_are_refused():
    refused(lambda: Bands(bands=0), "need at least 1 band of 1 row, got 0 bands of 5 rows")
    refused(
        lambda: band_keys(np.zeros((1, 60), np.uint32), Bands()),
        "14 bands of 5 rows need 70 permutations, the signatures have 60",
    )
