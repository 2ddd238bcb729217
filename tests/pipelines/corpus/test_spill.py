"""Keys set down by range: every key once, equal ones together, whatever the groups."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import ESTIMATED, against, job_of, part_of, write_shards
from tokenmill.pipelines.corpus import rows
from tokenmill.pipelines.corpus.equal import ExactDedup, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.rows import (
    ROWS,
    Corpus,
    groups_of,
    range_bits,
    read_shards,
    write_rows,
)
from tokenmill.pipelines.corpus.spill import spill_keys, spilled

NEAR = NearDedup(num_perm=6, bands=3, rows=2, **ESTIMATED)
words = st.one_of(st.sampled_from([0, 1, 1 << 63, 2**64 - 1]), st.integers(0, 2**64 - 1))


@settings(max_examples=30, deadline=None)
@given(
    keys=st.lists(st.sampled_from([(0, 0), (1 << 63, 0)]) | st.tuples(words, words), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    step=st.sampled_from([ExactDedup(), SameUrl(), NEAR]),
    group_rows=st.integers(1, 20),
    range_rows=st.integers(1, 40),
)
def test_every_key_is_in_one_range_with_all_that_equal_it(
    tmp_path_factory, keys, cuts, step, group_rows, range_rows
):
    n = len(keys)
    sizes = np.diff(sorted([0, *(min(cut, n) for cut in cuts), n])).tolist()
    signed = np.array([[a % 7, b % 3] * 3 for a, b in keys], np.uint32).reshape(n, 6)
    digests = np.array(keys, np.uint64).reshape(n, 2)
    job, part = job_of(tmp_path_factory.mktemp("run"), (step,)), part_of([step])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "GROUP_ROWS", group_rows)
        patch.setattr(rows, "RANGE_ROWS", range_rows)
        write_shards(job, (step,), sizes, signed, digests, batch=4)
        shards = tuple(f"{shard:05d}" for shard in range(len(sizes)))
        size = write_rows(job, part, shards, tuple(sizes)).facts
        for group in range(size["groups"]):
            spill_keys(job, part, step.name, group)
        corpus, numbers = Corpus(job, part), np.arange(n)
        for number, column in enumerate(step.shuffled):
            every = rows_of(corpus, column.keys, n)
            there = numbers if column.keys == "digest" else numbers[every.any(axis=1)]
            of_range = {}
            for r in range(size["ranges"]):
                of_keys = spilled(corpus, step.name, number, r)
                batches = list(of_keys.batches())
                found = np.concatenate([numbers[:0], *(rows for rows, _ in batches)])
                assert np.all(np.diff(found) > 0)
                assert of_keys.n == len(found)
                turned = [tuple(key) for _, of_batch in batches for key in of_batch.tolist()]
                assert all(map(any, turned)) or column.keys == "digest"  # none is taken for no key
                pairs = {
                    (tuple(every[row].tolist()), key)
                    for row, key in zip(found, turned, strict=True)
                }
                assert (
                    len({key for key, _ in pairs}) == len({key for _, key in pairs}) == len(pairs)
                )
                of_range |= {row: r for row in found.tolist()}
            assert sorted(of_range) == there.tolist()
            ranges = {(tuple(every[row].tolist()), r) for row, r in of_range.items()}
            assert len(ranges) == len({key for key, _ in ranges})


def rows_of(corpus, column, n):
    """(n, n_words) keys as they are in the sidecars."""
    found = [batch.values(column) for batch in corpus.rows().walk()]
    return np.concatenate(found).reshape(n, -1) if n else np.empty((0, 1), np.uint64)


def test_ranges_are_of_so_many_rows_at_most_if_keys_are_even():
    for n in (0, 1, 1 << 22, (1 << 22) + 1, 10**8, 2**32 - 1):
        ranges = 1 << range_bits(n)
        assert n / ranges <= rows.RANGE_ROWS
        assert ranges == 1 or n / ranges > rows.RANGE_ROWS / 2


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 50))
def test_groups_are_all_shards_in_order_and_few_are_large(sizes, most):
    starts = np.cumsum([0, *sizes])
    groups = groups_of(starts, most).tolist()
    assert groups[0] == 0
    assert groups[-1] == len(sizes)
    assert groups == sorted(set(groups))
    for first, last in pairwise(groups):
        assert starts[last] - starts[first] <= most + max(sizes[first:last])
    assert len(groups) - 1 <= starts[-1] // most + 1


def test_shards_are_read_once_until_they_are_others(tmp_path):
    job, part = job_of(tmp_path, (NEAR,)), part_of([NEAR])
    write_rows(job, part, ("a", "b"), (5, 7))
    first = read_shards(job.path(ROWS))
    assert read_shards(job.path(ROWS)) is first
    write_rows(job, part, ("a", "b", "c"), (5, 7, 1))
    assert read_shards(job.path(ROWS)).keys.to_pylist() == ["a", "b", "c"]


def test_shards_come_back_as_they_were_and_no_number_of_documents_is_too_many(tmp_path):
    job, part = job_of(tmp_path, (NEAR,)), part_of([NEAR])
    facts = write_rows(job, part, ("a", "b", "c"), (5, 0, 7)).facts
    assert facts == {"groups": 1, "first": 0, "ranges": 1, "docs": 12}
    shards = read_shards(job.path(ROWS))
    assert shards.keys.to_pylist() == ["a", "b", "c"]
    assert shards.starts.tolist() == [0, 5, 5, 12]
    assert (shards.n_earlier, shards.first_new_row) == (0, 0)
    facts = write_rows(job, part, ("a", "b"), (2**32 - 5, 2**36)).facts
    n = 2**36 + 2**32 - 5
    assert facts == {"groups": 2, "first": 0, "ranges": 1 << rows.MOST_BITS, "docs": n}
    assert read_shards(job.path(ROWS)).starts.tolist() == [0, 2**32 - 5, n]


@pytest.mark.parametrize(
    ("group_rows", "groups", "first"), [(5, [0, 2, 3, 4], 1), (8, [0, 3, 4], 0), (20, [0, 4], 0)]
)
def test_groups_from_the_first_with_a_shard_of_this_run_on_are_written(
    tmp_path, group_rows, groups, first, monkeypatch
):
    monkeypatch.setattr(rows, "GROUP_ROWS", group_rows)
    job, part, sizes = against(job_of(tmp_path, (NEAR,)), 2), part_of([NEAR]), (4, 3, 5, 4)
    n = sum(sizes)
    signed = np.zeros((n, 6), np.uint32)
    write_shards(job, (NEAR,), sizes, signed, np.zeros((n, 2), np.uint64), earlier=2)
    facts = write_rows(job, part, ("00002", "00003"), (5, 4)).facts
    shards = read_shards(job.path(ROWS))
    assert shards.keys.to_pylist() == [None, None, "00002", "00003"]
    assert (shards.n_earlier, shards.first_new_row) == (2, 7)
    assert shards.groups.tolist() == groups
    assert facts == {"groups": len(groups) - 1, "first": first, "ranges": 1, "docs": n}
    alone = write_rows(job, part, (), ()).facts
    assert alone["first"] == alone["groups"] == 1
