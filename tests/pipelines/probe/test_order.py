"""Every row once an epoch, whatever the order and however many ranks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.probe.loader import ORDERS, epoch, pieces
from tokenmill.pipelines.probe.shards import BatchPlace


def places(rows):
    return [BatchPlace(0, 0, 0, n) for n in rows]


def rows_read(cut, order, *, ranks, seed=1):
    reads = [r for k in range(ranks) for r in epoch(cut, order, rank=k, ranks=ranks, seed=seed)]
    return Counter((r.batch, row) for r in reads for row in range(r.first, r.last)), reads


@pytest.mark.parametrize("order", ORDERS)
@given(
    rows=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    ranks=st.integers(1, 6),
    chunk_rows=st.integers(1, 5),
)
def test_every_row_is_read_once_by_one_rank(order, rows, ranks, chunk_rows):
    cut = pieces(places(rows), order, ranks=ranks, chunk_rows=chunk_rows)
    counts, _ = rows_read(cut, order, ranks=ranks)
    wanted = {(batch, row) for batch, n in enumerate(rows) for row in range(n)}
    assert set(counts) == wanted
    # with fewer pieces than ranks each of them reads all
    assert set(counts.values()) == {1 if len(cut) >= ranks else ranks}


def test_sequential_reads_whole_batches_one_after_another():
    cut = pieces(places([4, 4, 4]), "sequential", ranks=1, chunk_rows=1)
    batches = [r.batch for r in epoch(cut, "sequential", rank=0, ranks=1, seed=3)]
    assert [(b - batches[0]) % 3 for b in batches] == [0, 1, 2]


def test_few_batches_are_shared_by_many_ranks():
    cut = pieces(places([100]), "sequential", ranks=4, chunk_rows=1)
    counts, reads = rows_read(cut, "sequential", ranks=4)
    assert set(counts.values()) == {1}
    assert len(reads) == 4


@pytest.mark.parametrize("order", ORDERS[1:])
def test_another_seed_is_another_order(order):
    cut = pieces(places([50, 50]), order, ranks=1, chunk_rows=5)
    first, second = (rows_read(cut, order, ranks=1, seed=s)[1] for s in (1, 2))
    assert first != second
    assert sorted(first) == sorted(second)


def test_chunks_are_runs_of_rows():
    cut = pieces(places([10, 3]), "chunked", ranks=1, chunk_rows=4)
    reads = sorted(epoch(cut, "chunked", rank=0, ranks=1, seed=1))
    assert [(r.batch, r.first, r.last) for r in reads] == [
        (0, 0, 4),
        (0, 4, 8),
        (0, 8, 10),
        (1, 0, 3),
    ]
