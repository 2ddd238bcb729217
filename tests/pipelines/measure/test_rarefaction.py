"""The curve of unique documents over units, against all subsets of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.measure.unseen import nested, rarefied


@st.composite
def seen(draw):
    n_units = draw(st.integers(1, 40))
    spans = draw(st.lists(st.integers(1, n_units), max_size=12))
    weights = draw(st.lists(st.integers(0, 1_000), min_size=len(spans), max_size=len(spans)))
    return n_units, spans, weights


def unique(n_units, spans, weights, units):
    made = np.array(spans, np.int64), np.array(weights, np.float64)
    return rarefied(*made, n_units, np.array(units))


@given(seen(), st.data())
def test_the_curve_is_the_reference_s(case, data):
    n_units, spans, weights = case
    k = data.draw(st.integers(0, n_units))
    expected = float(reference.rarefied(spans, weights, n_units, k))
    got = unique(n_units, spans, weights, [k])
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(st.frozensets(st.integers(0, 5), min_size=1), min_size=1, max_size=6))
def test_the_reference_is_the_mean_over_all_subsets(clusters):
    n_units = len({u for cluster in clusters for u in cluster})
    spans, ones = [len(c) for c in clusters], [1] * len(clusters)
    for k in range(n_units + 1):
        by_subsets = reference.unique_of_random_units(clusters, k)
        assert reference.rarefied(spans, ones, n_units, k) == by_subsets


@given(seen())
def test_it_rises_ever_more_slowly_from_nothing_to_all_that_was_seen(case):
    n_units, spans, weights = case
    curve = unique(n_units, spans, weights, np.arange(n_units + 1))
    assert curve[0] == 0
    assert curve[-1] == pytest.approx(sum(weights))
    rises, slack = np.diff(curve), 1e-9 * (1 + sum(weights))
    assert (rises >= -slack).all()
    assert (np.diff(rises) <= slack).all()
    alone = sum(w for m, w in zip(spans, weights, strict=True) if m == 1)
    assert rises[-1] >= alone / n_units - slack  # the last unit's own


def test_thousands_of_units_lose_no_digits():
    got = unique(4_000, [1, 2, 4_000], [1.0, 1.0, 1.0], [1_000, 3_999])
    expected = [float(reference.rarefied([1, 2, 4_000], [1] * 3, 4_000, k)) for k in (1_000, 3_999)]
    assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n_units", "expected"), [(1, [1]), (2, [1, 2]), (13, [1, 2, 4, 7, 13])])
def test_subsets_are_halves(n_units, expected):
    assert nested(n_units).tolist() == expected
