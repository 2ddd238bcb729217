"""Clusters of equal documents: all of them where there is room, else a share, and the giants."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.keyed import rows_of as rows_in_memory
from tests.reference import estimate as reference
from tokenmill.pipelines.measure import clusters as key_sample
from tokenmill.pipelines.measure.clusters import hashed, sample_keys


def rows_of(batches):
    """Rows of digests, each batch a list of numbers."""
    made = []
    for numbers in batches:
        halves = np.array([[n, n * n + 1] for n in numbers], np.uint64).reshape(-1, 2)
        column = pa.FixedSizeListArray.from_arrays(pa.array(halves.ravel()), 2)
        made.append(pa.record_batch({"digest": column}))
    return rows_in_memory([[batch] for batch in made])


def key_of(number):
    return int(hashed(np.array([[number, number * number + 1]], np.uint64))[0])


def test_keys_are_mixed_as_splitmix64_does():
    """Its first two numbers for seed 0, as published with xoshiro (prng.di.unimi.it)."""
    states = [0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A]
    first, second = 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4
    digests = np.array([[states[0], first ^ states[1]]], np.uint64)
    assert hashed(digests).tolist() == [second]


def expected(batches, units):
    numbers = [n for batch in batches for n in batch]
    of = [u for batch, u in zip(batches, units, strict=True) for _ in batch]
    found = reference.clusters_of(numbers, of)
    return {key_of(n): cluster for n, cluster in found.items()}


def as_dict(keys):
    return {k: (size, span, first) for k, size, span, first, _ in keys.seen.tolist()}


corpora = st.lists(
    st.tuples(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 2)), min_size=1, max_size=8
)


@given(corpora)
def test_with_room_for_all_every_cluster_is_known(corpus):
    batches, units = [b for b, _ in corpus], np.cumsum([step for _, step in corpus])
    found = sample_keys(rows_of(batches), units)
    assert found.share == 1.0
    assert len(found.giants.seen) == 0
    assert as_dict(found.kept) == expected(batches, units)


@given(corpora, st.integers(1, 9))
def test_of_a_share_every_key_below_its_bound_is_known_whole_and_giants_too(corpus, most):
    batches, units = [b for b, _ in corpus], np.cumsum([step for _, step in corpus])
    found, true = sample_keys(rows_of(batches), units, most=most), expected(batches, units)
    assert len(found.kept.seen) <= most
    kept, giants = as_dict(found.kept), as_dict(found.giants)
    assert not kept.keys() & giants.keys()
    assert all(true[key] == cluster for key, cluster in {**kept, **giants}.items())
    below = {key for key in true if key < found.share * 2.0**64}
    assert kept.keys() == below - giants.keys()
    assert (found.share < 1) == (len(true) > most)


def test_giants_are_found_and_counted_whatever_their_hash(monkeypatch):
    monkeypatch.setattr(key_sample, "MOST_GIANTS", 8)
    rng = np.random.default_rng(0)
    giants = [10**6 + i for i in range(3)]
    batches = [
        rng.permutation([*giants * 200, *rng.integers(0, 20_000, 900)]).tolist() for _ in range(9)
    ]
    units = np.arange(9) // 3
    found = sample_keys(rows_of(batches), units, most=500)
    counted = as_dict(found.giants)
    assert found.share < 0.1
    assert {key_of(g) for g in giants} <= counted.keys()
    for giant in giants:
        assert counted[key_of(giant)][:2] == (1_800, 3)
    distinct = len({n for batch in batches for n in batch})
    told = len(found.kept.seen) / found.share + len(found.giants.seen)
    assert told == pytest.approx(distinct, rel=0.25)


def test_blocks_do_not_cross_units(monkeypatch):
    batches, units = [[1, 2], [2, 3], [3, 1], [1, 1]], np.array([0, 0, 1, 2])
    whole = as_dict(sample_keys(rows_of(batches), units).kept)
    monkeypatch.setattr(key_sample, "AT_ONCE", 1)
    assert as_dict(sample_keys(rows_of(batches), units).kept) == whole
    assert whole[key_of(1)] == (4, 3, 0)
