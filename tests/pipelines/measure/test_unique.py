import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.measure.unique import bracket, unique_frac


def unique(copies, weights=None, kept=1.0, **more):
    ones = np.ones(len(copies))
    return unique_frac(kept / np.array(copies), ones if weights is None else weights, **more)


COPIES = st.lists(st.integers(1, 10**6), min_size=1, max_size=30)


@given(COPIES, st.data())
def test_the_value_is_the_reference_s(copies, data):
    weights = data.draw(st.lists(st.integers(1, 1000), min_size=len(copies), max_size=len(copies)))
    kept = data.draw(st.lists(st.integers(0, 1), min_size=len(copies), max_size=len(copies)))
    assert unique(copies).value == pytest.approx(float(reference.unique_frac(copies)))
    got = unique(copies, np.array(weights, float), np.array(kept, float))
    assert got.value == pytest.approx(float(reference.unique_frac(copies, weights, kept)))
    low, high = got.limits()
    assert 0 <= low <= got.value <= high <= 1
    assert low < high


@pytest.mark.parametrize(
    ("fraction", "published"),
    [(5e-5, 0.0025), (5e-4, 0.024), (5e-3, 0.212), (0.0175, 0.526), (0.05, 0.801)],
)
def test_a_hundred_snapshots_look_unique_in_a_sample_and_are_99_percent_duplicates(
    fraction, published
):
    """FineWeb's thought experiment (appendix): 1 B to 1 T of 20 T tokens, here of 2 M documents."""
    rng = np.random.default_rng(int(1e6 * fraction))
    snapshot = 20_000
    corpus = np.tile(np.arange(snapshot), 100)
    size = round(fraction * len(corpus))
    shares = []
    for _ in range(max(3, 60_000 // size)):
        sample = corpus[rng.choice(len(corpus), size, replace=False)]
        shares.append(1 - len(np.unique(sample)) / size)
    error = np.std(shares, ddof=1) / len(shares) ** 0.5
    assert np.mean(shares) == pytest.approx(published, abs=max(4 * error, 0.0006))

    probes = corpus[rng.choice(len(corpus), min(size, 10_000), replace=False)]
    copies = np.bincount(corpus, minlength=snapshot)[probes]
    duplicates_low, duplicates_high = 1 - np.array(unique(copies).limits())[::-1]
    assert duplicates_low <= 0.99 <= duplicates_high
    assert duplicates_high - duplicates_low < 5 / len(probes)


@pytest.mark.parametrize("copies", [[1], [7], [1] * 500, [100] * 500])
def test_probes_that_are_all_alike_leave_room_for_others(copies):
    low, high = unique(copies).limits()
    n = len(copies)
    assert low == pytest.approx(1 / copies[0] * 0.025 ** (1 / n))
    assert high == 1.0 if copies[0] == 1 else high > 1 / copies[0]


def test_one_probe_says_next_to_nothing():
    low, high = unique([1]).limits()
    assert (low, high) == pytest.approx((0.025, 1.0), abs=1e-6)


def test_probing_every_document_is_exact():
    copies = np.repeat([3, 2, 1], [3, 2, 1])
    found = unique(copies, chances=1.0)
    assert found.limits() == (found.value, found.value) == (0.5, 0.5)


def test_filters_on_the_probes_are_drawn_with_their_copies():
    rng = np.random.default_rng(2)
    copies = rng.integers(1, 10, 2_000)
    kept = (rng.random(2_000) < np.where(copies > 3, 0.2, 0.9)).astype(float)  # bad ones are many
    left, whole = unique(copies, kept=kept), unique(copies)
    assert left.value == pytest.approx((kept / copies).mean())
    assert (left / whole).value > kept.mean() + 0.15
    assert np.corrcoef(left.draws, whole.draws)[0, 1] > 0.4
    again = unique(copies, kept=kept)
    assert np.array_equal(left.draws, again.draws)


def test_filters_that_keep_nothing_leave_a_bound():
    assert unique(np.full(1_000, 2), kept=0.0).limits() == pytest.approx((0, 0.00368), abs=1e-5)


def test_near_duplicates_are_bracketed():
    rng = np.random.default_rng(3)
    pairwise = rng.integers(1, 4, 500)
    closure = pairwise + rng.integers(0, 4, 500)
    few, many = unique(pairwise), unique(closure)
    both = bracket(few, many)
    assert both.value == (few.value + many.value) / 2
    assert both.limits() == pytest.approx((many.limits()[0], few.limits()[1]))
    assert bracket(few, few).limits() == pytest.approx(few.limits())
