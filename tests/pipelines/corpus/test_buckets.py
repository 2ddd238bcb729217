"""Buckets of rows that share a key, as files hold them: small ones, and crowded ones."""

import numpy as np
import pytest

from tokenmill.dedup.same.lsh import MAX_BUCKET
from tokenmill.pipelines.corpus import buckets
from tokenmill.pipelines.corpus.buckets import BUCKET, Buckets
from tokenmill.pipelines.storage.files import arrow_file


def rows_of(found):
    return [rows.tolist() for of in found for rows in of]


@pytest.mark.parametrize("members", [1, 600, 1 << 20])
def test_a_bucket_is_crowded_from_one_more_on(tmp_path, monkeypatch, members):
    """Whatever is written at once, as one batch or several."""
    monkeypatch.setattr(buckets, "MEMBERS", members)
    sizes = [2, MAX_BUCKET, MAX_BUCKET + 1, 3, 2 * MAX_BUCKET, MAX_BUCKET - 1]
    ends = np.cumsum(sizes)
    keys = np.array([5, 1, 1 << 63, 7, 0, 9], np.uint64)
    made = Buckets(keys, np.arange(ends[-1]) * 3, ends)
    path = tmp_path / "buckets.arrow"
    with arrow_file(path, BUCKET) as writer:
        buckets.write(writer, made)
    every = [of.tolist() for of in made]
    assert [len(rows) for rows in every] == sizes
    assert rows_of(buckets.read(path)) == every
    assert rows_of(buckets.small(path)) == [r for r in every if len(r) <= MAX_BUCKET]
    assert rows_of(buckets.crowded(path)) == [r for r in every if len(r) > MAX_BUCKET]
    told = {key for found in buckets.crowded(path) for key in found.keys.tolist()}
    assert told == {1 << 63, 0}


def test_a_file_without_buckets_has_neither_kind(tmp_path):
    none = Buckets(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    with arrow_file(tmp_path / "none.arrow", BUCKET) as writer:
        buckets.write(writer, none)
    assert list(none) == []
    for read in (buckets.read, buckets.small, buckets.crowded):
        assert rows_of(read(tmp_path / "none.arrow")) == []
