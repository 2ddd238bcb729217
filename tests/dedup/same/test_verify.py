"""Edges are the candidate pairs whose signatures agree; what they connect is always the same."""

from functools import cache
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.same.labels import candidate_pairs, clusters
from tests.reference import verify as reference
from tests.strategies import few
from tokenmill.dedup.same import verify
from tokenmill.dedup.same.lsh import MAX_BUCKET, PREVIOUS_ROWS, Buckets, buckets
from tokenmill.dedup.same.minhash import pair_similarity
from tokenmill.dedup.same.verify import CONTEXT_ROWS, blocks, cut_large, least_equal, verified_edges

SMALL = {"ALL_PAIRS": 4, "MAX_BUCKET": 7, "FIRST_ROWS": 3, "PREVIOUS_ROWS": 2}


def found(same, signatures, share, rows_at_once):
    def signed(rows):
        assert np.all(rows[1:] > rows[:-1])
        return signatures[rows]

    made = verified_edges(
        same, signed, num_perm=signatures.shape[1], verify=share, rows_at_once=rows_at_once
    )
    return [tuple(edge) for block in made for edge in block.tolist()]


@given(
    st.lists(st.integers(2, 14), max_size=6),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
    st.randoms(),
)
def test_edges_match_the_reference_however_few_rows_at_once(sizes, rows_at_once, share, random):
    draw = np.random.default_rng(random.getrandbits(32))
    n = sum(sizes) + 5
    signatures = draw.integers(0, 2, (n, 6), dtype=np.uint32)
    mixed = draw.permutation(n).tolist()
    rows = [sorted(mixed.pop() for _ in range(size)) for size in sizes]
    same = Buckets(np.array([*chain(*rows)], np.uint32), np.cumsum(sizes, dtype=np.int64))
    expected = reference.verified_edges(
        rows, signatures, share, all_pairs=4, max_bucket=7, n_first=3, n_previous=2
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(verify, name, value)
        assert found(same, signatures, share, rows_at_once) == expected


@cache
def alike(share):
    """Buckets of 1 to 1,000 rows, of which some are alike, some the same; and the pairs of them."""
    rng = np.random.default_rng(6)
    sizes = [1, 2, 31, 32, 33, 127, 128, 129, 500, 1000]
    keys = rng.permutation(np.repeat(rng.integers(1, 2**64, len(sizes), np.uint64), sizes))
    signatures = rng.integers(0, 2, (len(keys), 20), dtype=np.uint32)
    signatures[rng.random(len(keys)) < 0.3] = signatures[0]
    pairs = candidate_pairs(keys)
    pairs = pairs[pair_similarity(signatures, *pairs.T) >= np.float32(share)]
    return keys, signatures, set(map(tuple, pairs.tolist())), clusters(len(keys), pairs)


@pytest.mark.parametrize("share", [0.0, 0.6, 0.8])
@pytest.mark.parametrize("rows_at_once", few([500, 1, 1 << 20], 3))
@pytest.mark.parametrize("most", [257, 400, 1_000])
def test_they_connect_what_all_verified_candidates_connect(share, rows_at_once, most):
    keys, signatures, pairs, joined = alike(share)
    pieces = list(cut_large(buckets(keys), most))
    largest = max(np.diff(piece.ends, prepend=0).max() for piece in pieces)
    assert largest <= min(most + CONTEXT_ROWS, 1_000)
    assert (len(pieces) > 1) == (most < 1_000)
    found_in = [found(piece, signatures, share, rows_at_once) for piece in pieces]
    edges = np.array([edge for some in found_in for edge in some], np.int64)
    assert set(map(tuple, edges.tolist())) <= pairs
    assert np.array_equal(clusters(len(keys), edges.reshape(-1, 2)), joined)


@pytest.mark.parametrize("most", [15, 16, 30, 59, 60, 61])
def test_pieces_of_a_large_bucket_have_its_candidate_pairs(most):
    n_first, n_previous = SMALL["FIRST_ROWS"], SMALL["PREVIOUS_ROWS"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(verify, name, value)
        same = Buckets(np.arange(70, dtype=np.uint32), np.array([5, 65, 70]))
        pieces = [
            piece.members[start:end].tolist()
            for piece in cut_large(same, most)
            for start, end in pairwise([0, *piece.ends])
        ]
    found = {pair for rows in pieces for pair in compared(rows, n_first, n_previous)}
    whole = [range(5), range(5, 65), range(65, 70)]
    assert found == {pair for rows in whole for pair in compared(rows, n_first, n_previous)}


def compared(rows, n_first, n_previous):
    """The pairs of a bucket that are looked at."""
    for j, row in enumerate(rows):
        for i in range(j):
            if len(rows) <= SMALL["MAX_BUCKET"] or i < n_first or i >= j - n_previous:
                yield rows[i], row


def test_equal_rows_are_one_edge_each():
    n = 20_000
    same = Buckets(np.arange(n, dtype=np.uint32), np.array([n]))
    edges = found(same, np.zeros((n, 112), np.uint32), 0.7, 1000)
    assert edges == [(0, row) for row in range(1, n)]


@given(st.integers(1, 300), st.floats(0.0, 1.0))
def test_least_equal_is_where_the_estimate_reaches_the_threshold(num_perm, share):
    alike = np.zeros((num_perm + 2, num_perm), np.uint32)
    for n_different in range(num_perm + 1):
        alike[n_different + 1, :n_different] = 1
    left = np.zeros(num_perm + 1, np.int64)
    estimates = pair_similarity(alike, left, left + np.arange(1, num_perm + 2))
    good = estimates >= np.float32(share)
    assert int(good.sum()) == num_perm - least_equal(num_perm, share) + 1


@given(st.lists(st.integers(2, 400), max_size=8), st.integers(1, 300))
def test_blocks_follow_each_other_and_cut_no_bucket_that_is_compared_whole(sizes, rows_at_once):
    ends = np.cumsum(sizes, dtype=np.int64)
    made = list(blocks(ends, rows_at_once))
    assert [b for b, _ in made] + [sum(sizes)] == [0] + [e for _, e in made]
    assert all(e - b <= max(rows_at_once, MAX_BUCKET) for b, e in made)
    for _, stop in made:
        size = sizes[int(np.searchsorted(ends, stop))]
        assert stop in ends.tolist() or size > MAX_BUCKET > PREVIOUS_ROWS
