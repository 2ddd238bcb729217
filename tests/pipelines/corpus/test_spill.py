"""Keys set down by range: every key once, equal ones together, whatever the groups."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import job_of, write_shards
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus import spill_rows
from tokenmill.pipelines.corpus.counted.steps import SameUrl
from tokenmill.pipelines.corpus.shuffle import Corpus
from tokenmill.pipelines.corpus.spill import Spilled, key_columns, spill_keys
from tokenmill.pipelines.corpus.spill_rows import groups_of, range_bits, read_shards, write_rows
from tokenmill.pipelines.corpus.steps import ExactDedup, NearDedup

NEAR = NearDedup(num_perm=6, bands=3, rows=2)
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
    job, steps = job_of(tmp_path_factory.mktemp("run"), (step,)), (step,)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill_rows, "GROUP_ROWS", group_rows)
        patch.setattr(spill_rows, "RANGE_ROWS", range_rows)
        write_shards(job, steps, sizes, signed, digests, batch=4)
        shards = tuple(f"{shard:05d}" for shard in range(len(sizes)))
        size = write_rows(job, 0, steps, shards, tuple(sizes)).facts
        name = "near" if step is NEAR else "exact" if isinstance(step, ExactDedup) else step.name
        for group in range(size["groups"]):
            spill_keys(job, 0, steps, name, group)
        corpus, rows = Corpus(job, 0, steps), np.arange(n)
        for number, column in enumerate(key_columns(step)):
            every = rows_of(corpus, column, n)
            there = rows if column == "digest" else rows[every.any(axis=1)]
            of_range = {}
            for r in range(size["ranges"]):
                spilled = Spilled(corpus, name, number, r)
                batches = list(spilled.batches())
                found = np.concatenate([rows[:0], *(b.rows for b in batches)])
                assert np.all(np.diff(found) > 0)
                assert spilled.n == len(found)
                turned = [tuple(key) for b in batches for key in b.keys.tolist()]
                assert all(map(any, turned)) or column == "digest"  # none is taken for no key
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
        assert n / ranges <= spill_rows.RANGE_ROWS
        assert ranges == 1 or n / ranges > spill_rows.RANGE_ROWS / 2


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


def test_shards_come_back_as_they_were_and_too_many_documents_are_refused(tmp_path):
    job, steps = job_of(tmp_path, (NEAR,)), (NEAR,)
    facts = write_rows(job, 0, steps, ("a", "b", "c"), (5, 0, 7)).facts
    assert facts == {"groups": 1, "first": 0, "ranges": 1}
    shards = read_shards(job.rows(0))
    assert shards.keys.to_pylist() == ["a", "b", "c"]
    assert shards.starts.tolist() == [0, 5, 5, 12]
    assert (shards.n_earlier, shards.earlier_rows) == (0, 0)
    with pytest.raises(ConfigError) as e:
        write_rows(job, 0, steps, ("a", "b"), (2**32 - 5, 5))
    assert str(e.value) == (
        "4,294,967,296 documents are more than one corpus can have, 4,294,967,295; split the corpus"
    )


@pytest.mark.parametrize(
    ("group_rows", "groups", "first"), [(5, [0, 2, 3, 4], 1), (8, [0, 3, 4], 0), (20, [0, 4], 0)]
)
def test_groups_from_the_first_with_a_shard_of_this_run_on_are_written(
    tmp_path, group_rows, groups, first, monkeypatch
):
    monkeypatch.setattr(spill_rows, "GROUP_ROWS", group_rows)
    job, steps, sizes = job_of(tmp_path, (NEAR,)), (NEAR,), (4, 3, 5, 4)
    n = sum(sizes)
    signed = np.zeros((n, 6), np.uint32)
    write_shards(job, steps, sizes, signed, np.zeros((n, 2), np.uint64), earlier=2)
    facts = write_rows(job, 0, steps, ("00002", "00003"), (5, 4)).facts
    shards = read_shards(job.rows(0))
    assert shards.keys.to_pylist() == [None, None, "00002", "00003"]
    assert (shards.n_earlier, shards.earlier_rows) == (2, 7)
    assert shards.groups.tolist() == groups
    assert facts == {"groups": len(groups) - 1, "first": first, "ranges": 1}
    alone = write_rows(job, 0, steps, (), ()).facts
    assert alone["first"] == alone["groups"] == 1
