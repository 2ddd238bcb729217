import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import images as reference
from tokenmill.dedup.same.images import MOST_DISTANCE, bands, first_near

BITS = st.integers(0, 63)


@st.composite
def hashes(draw):
    """Few families of hashes that differ in some bits."""
    seeds = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    made = []
    for _ in range(draw(st.integers(0, 40))):
        h = draw(st.sampled_from(seeds))
        for bit in draw(st.lists(BITS, max_size=8)):
            h ^= 1 << bit
        made.append(h)
    return made


@given(hashes(), st.integers(0, MOST_DISTANCE))
def test_the_first_near_one_is_that_of_all_pairs(made, distance):
    found = first_near(np.array(made, np.uint64), distance)
    assert found.tolist() == reference.first_near(made, distance)


@pytest.mark.parametrize("distance", [0, 1, 4, 10, MOST_DISTANCE])
def test_families_of_thousands_are_found(distance):
    rng = np.random.default_rng(distance)
    made = rng.integers(0, 2**64, 60, np.uint64)[rng.integers(0, 60, 3_000)]
    for _ in range(distance + 1):
        flipped = rng.random(3_000) < 0.6
        made[flipped] ^= np.uint64(1) << rng.integers(0, 64, int(flipped.sum())).astype(np.uint64)
    found = first_near(made, distance)
    assert found.tolist() == reference.first_near(made.tolist(), distance)
    assert (found < np.arange(3_000)).sum() > 500


@given(st.integers(0, MOST_DISTANCE))
def test_bands_have_every_bit_once(distance):
    cut = bands(distance)
    bits = sorted(band.shift + k for band in cut for k in range(band.width))
    assert bits == list(range(64))
    assert len(cut) == distance + 1
    assert max(b.width for b in cut) - min(b.width for b in cut) <= 1


@pytest.mark.parametrize("distance", [-1, MOST_DISTANCE + 1])
def test_a_distance_that_is_none_is_refused(distance):
    with pytest.raises(ValueError, match=f"distance must be 0 to 15 bits, got {distance}"):
        first_near(np.zeros(1, np.uint64), distance)
