"""Keys in ranges of prefixes that fit a budget."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.dedup.same.lsh import buckets
from tokenmill.dedup.same.partition import partition, prefix_bits, ranges_within

ROOM = {"per_row": 3, "per_largest": 2}


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(0, 400))
def test_ranges_hold_all_rows_in_order_and_fit_unless_they_are_one_prefix(counts, budget):
    made = list(ranges_within(np.array(counts, np.int64), budget, **ROOM))
    seen = [prefix for lo, hi in made for prefix in range(lo, hi)]
    assert seen == sorted(set(seen))
    assert sum(counts) == sum(counts[prefix] for prefix in seen)
    for lo, hi in made:
        held = [c for c in counts[lo:hi] if c]
        assert held
        assert len(held) == 1 or 3 * sum(held) + 2 * max(held) <= budget
    for (lo, _), (_, hi) in pairwise(made):
        both = counts[lo:hi]
        assert 3 * sum(both) + 2 * max(both) > budget, "as few as will do"


def test_buckets_of_a_range_are_a_part_of_all_buckets():
    rng = np.random.default_rng(8)
    keys = rng.integers(0, 2**64, 5_000, np.uint64)[rng.integers(0, 5_000, 20_000)]
    bits = prefix_bits(len(keys))
    whole = buckets(keys, bits)
    prefix = (keys >> np.uint64(64 - bits)).astype(np.int64)
    members, sizes = [], []
    for lo, hi in ((0, 7), (7, 100), (100, 256)):
        rows = np.flatnonzero((prefix >= lo) & (prefix < hi))
        part = buckets(keys[rows], bits)
        members.append(rows[part.members])
        sizes.append(np.diff(part.ends, prepend=0))
    assert np.array_equal(np.concatenate(members), whole.members)
    assert np.array_equal(np.concatenate(sizes), np.diff(whole.ends, prepend=0))


def test_partitions_are_by_the_top_bits():
    keys = np.array([1 << 63, 1, 3 << 62, 2, 1 << 63], np.uint64)
    starts, rows = partition(keys, 2)
    assert starts.tolist() == [0, 2, 2, 4, 5]
    assert rows.tolist() == [1, 3, 0, 4, 2]
