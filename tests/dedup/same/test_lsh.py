"""Rows that share a band key become pairs: all of them, once, in order."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import lsh as reference
from tokenmill.dedup.same import partition
from tokenmill.dedup.same.lsh import (
    NO_KEY,
    PREVIOUS_ROWS,
    Bands,
    band_keys,
    candidate_pairs,
)
from tokenmill.dedup.same.minhash import MinHash, signatures

few_keys = st.lists(
    st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.sampled_from([1 << 63, 1 << 32])),
    max_size=80,
)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@given(few_keys, st.integers(2, 24), st.randoms())
def test_pairs_match_the_reference(dtype, keys, max_bucket, random):
    ids = random.sample(range(2**40), len(keys))
    expected = reference.candidate_pairs(keys, ids, max_bucket, PREVIOUS_ROWS)
    keys, ids = np.array(keys, np.uint64), np.array(ids, dtype)
    got = candidate_pairs(keys, ids, max_bucket=max_bucket)
    assert got.dtype == dtype
    assert got.shape == (len(expected), 2)
    assert list(map(tuple, got.tolist())) == expected
    order = np.array(random.sample(range(len(keys)), len(keys)), np.int64)
    assert np.array_equal(candidate_pairs(keys[order], ids[order], max_bucket=max_bucket), got)


def test_pairs_of_many_partitions_match_the_reference():
    rng = np.random.default_rng(3)
    n = 3 * partition.PARTITION_ROWS
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    again = rng.integers(0, n, n // 4)
    keys[again] = keys[rng.integers(0, n, n // 4)]
    expected = reference.candidate_pairs(keys.tolist(), range(n), 128, PREVIOUS_ROWS)
    got = candidate_pairs(keys, np.arange(n))
    assert list(map(tuple, got.tolist())) == expected


def test_an_over_full_bucket_costs_a_bounded_number_of_pairs_per_row_and_stays_connected():
    n, max_bucket = 10_000, 16
    pairs = candidate_pairs(np.full(n, 7, np.uint64), np.arange(n), max_bucket=max_bucket)
    assert len(pairs) <= n * (max_bucket // 2 + PREVIOUS_ROWS)
    assert set(pairs[pairs[:, 0] == 0, 1].tolist()) == set(range(1, n))


def test_keys_mapped_from_a_file_will_do(tmp_path):
    np.save(tmp_path / "keys.npy", np.array([5, 6, 5, 0, 0], np.uint64))
    mapped = np.load(tmp_path / "keys.npy", mmap_mode="r")
    assert candidate_pairs(mapped, np.arange(5)).tolist() == [[0, 2]]


def test_no_rows_no_pairs():
    assert candidate_pairs(np.empty(0, np.uint64), np.empty(0, np.int64)).shape == (0, 2)


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
    assert candidate_pairs(np.ascontiguousarray(keys[:, 0]), np.arange(5)).tolist() == [[2, 3]]


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


def test_bands_for_a_threshold_are_datasketchs():
    assert Bands.for_threshold(0.8, 128) == Bands(bands=9, rows=13)
    assert Bands.for_threshold(0.9, 128) == Bands(bands=5, rows=25)


def refused(call, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        call()
    assert str(error.value) == message


def test_settings_that_do_not_fit_are_refused():
    refused(lambda: Bands(bands=0), "need at least 1 band of 1 row, got 0 bands of 8 rows")
    refused(
        lambda: band_keys(np.zeros((1, 100), np.uint32), Bands()),
        "14 bands of 8 rows need 112 permutations, the signatures have 100",
    )
    keys = np.zeros(3, np.uint64)
    refused(
        lambda: candidate_pairs(keys, np.arange(2)),
        "3 keys for 2 row numbers; each row has one key",
    )
    refused(
        lambda: candidate_pairs(keys, np.arange(3), max_bucket=1),
        "max_bucket must be at least 2 rows, got 1",
    )
