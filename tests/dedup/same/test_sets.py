"""Sets of hashes are those of Python; J is compared as fractions are."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokenmill.dedup.kernels.sets import MOST_IN_TABLE
from tokenmill.dedup.same.lsh import Bands
from tokenmill.dedup.same.sets import Ratio, distinct, equal_slots, pack, shared, unpack
from tokenmill.dedup.text.shingle import Shingles

# those that begin or end alike are in each other's way in tables
hashes = st.one_of(
    st.integers(0, 2**32 - 1),
    st.integers(0, 40),
    st.integers(0, 40).map(lambda i: i << 12),
    st.integers(0, 40).map(lambda i: 2**32 - 1 - (i << 12)),
)
documents = st.lists(st.lists(hashes, max_size=70), max_size=6)


def shingles(docs):
    ends = np.cumsum([0, *map(len, docs)], dtype=np.int64)
    return Shingles(np.array([h for doc in docs for h in doc], np.uint32), ends)


def listed(sets):
    return [sets.hashes[a:b].tolist() for a, b in pairwise(sets.offsets.tolist())]


@given(documents)
@example([[7] * 60, [], list(range(100)), [2**32 - 1 - i for i in range(90)]])
def test_sets_are_sorted_packed_and_unpacked(docs):
    sets = distinct(shingles(docs))
    assert listed(sets) == [sorted(set(doc)) for doc in docs]
    packed = pack(sets)
    assert listed(unpack(packed)) == listed(sets)
    assert packed.sizes.tolist() == [len(set(doc)) for doc in docs]


def test_a_set_takes_25_bits_of_a_hash():
    drawn = np.random.default_rng(1).integers(0, 2**32, (100, 500), np.uint32)
    packed = pack(distinct(shingles(drawn.tolist())))
    assert 24 < packed.words.nbytes * 8 / packed.sizes.sum() < 25.2


@given(documents.filter(len), st.sampled_from([0.0, 0.25, 0.5, 0.7, 0.8, 0.123456789, 1.0]))
@example([list(range(10)), list(range(7))], 0.7)
@example([list(range(17)), list(range(3, 20))], 0.7)
@example([[i << 12 for i in range(n)] for n in (130, 300, 300, 299)], 0.7)
@example([[2**32 - 1], [0], [0, 2**32 - 1], [2**32 - 2, 2**32 - 1]], 0.0)
def test_pairs_are_alike_if_their_fraction_is(docs, verify):
    every = [(x, y) for x in range(len(docs)) for y in range(len(docs))]
    left, right = np.array(every).T
    sets = distinct(shingles(docs))
    sizes = np.diff(sets.offsets)
    both = sizes[left] + sizes[right]
    found = shared(sets, left, right, Ratio.of(verify).least_shared(both))
    least = Fraction(repr(verify))
    for (x, y), n in zip(every, found.tolist(), strict=True):
        common, union = set(docs[x]) & set(docs[y]), set(docs[x]) | set(docs[y])
        assert n == (len(common) if len(common) >= least * len(union) else -1)


@pytest.mark.parametrize("drawn", [2**32, 3 * MOST_IN_TABLE])
def test_sets_of_any_size_are_compared(drawn):
    """Those in tables, those behind each other, and one of each."""
    rng = np.random.default_rng(drawn)
    whole = rng.integers(0, drawn, MOST_IN_TABLE + 200, dtype=np.uint64).tolist()
    docs = [whole[: MOST_IN_TABLE - 50], whole[30:], whole[: MOST_IN_TABLE + 100], whole[::2]]
    x, y = np.array([(x, y) for x in range(4) for y in range(4)]).T
    found = shared(distinct(shingles(docs)), x, y, np.full(16, 20_000))
    sets = list(map(set, docs))
    truth = [len(sets[a] & sets[b]) for a, b in zip(x, y, strict=True)]
    assert found.tolist() == [n if n >= 20_000 else -1 for n in truth]


@pytest.mark.parametrize("more", [50, 150])
def test_what_stands_behind_a_set_is_no_part_of_it(more):
    """Of sets that are walked the next one's hashes go on where the first ends."""
    n = MOST_IN_TABLE + more
    docs = [range(MOST_IN_TABLE + 100), range(n), range(n, n + 300), range(MOST_IN_TABLE + 100)]
    x, y = np.array([(x, y) for x in range(4) for y in range(4)]).T
    found = shared(distinct(shingles(docs)), x, y, np.ones(16, np.int64))
    truth = [len(set(docs[a]) & set(docs[b])) for a, b in zip(x, y, strict=True)]
    assert found.tolist() == [n or -1 for n in truth]


def test_slots_that_agree_are_counted():
    signed = np.array([[1, 2, 3], [1, 2, 4], [5, 6, 7]], np.uint32)
    left, right = np.array([0, 0, 1]), np.array([1, 2, 1])
    assert equal_slots(signed, left, right, np.full(3, 2)).tolist() == [2, -1, 3]


def test_a_similarity_of_too_many_digits_is_refused():
    with pytest.raises(ValueError, match="^0.1234567891 has more than 9 digits behind the point$"):
        Ratio.of(0.1234567891)


def test_the_default_brings_99_5_percent_of_pairs_of_08_together():
    assert all(Bands().recall(j / 1000) >= 0.995 for j in range(800, 1001))
