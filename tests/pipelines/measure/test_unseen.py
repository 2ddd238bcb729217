"""Bounds and the model for what was not read; and a smaller `python -m tests.bench.partial`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import partial
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.unseen import Seen, Unseen


def unseen(n_units, docs):
    return Unseen(
        strata=np.zeros(n_units, np.int64),
        unit_bytes=np.ones(n_units),
        strata_bytes=np.array([2.0 * n_units]),
        docs=docs,
    )


@st.composite
def read(draw):
    """Sets of units, one for each cluster, and how many documents of each."""
    n_units = draw(st.integers(2, 12))
    of_cluster = st.frozensets(st.integers(0, n_units - 1), min_size=1)
    clusters = draw(st.lists(of_cluster, min_size=1, max_size=20))
    return n_units, [(sorted(c), draw(st.integers(0, 3)) + len(c)) for c in clusters]


def seen_of(n_units, clusters):
    whole = np.zeros(n_units)
    for units, docs in clusters:
        whole[units[0]] += docs - len(units)
        whole[units] += 1
    return Seen(
        left=np.ones(len(clusters)),
        spans=np.array([len(units) for units, _ in clusters]),
        units=np.array([units[-1] for units, _ in clusters]),
        whole=whole,
        looked_at=np.ones(n_units),
    )


@given(read(), st.floats(1.01, 30))
def test_a_share_is_one_and_holds_both_bounds(case, times):
    n_units, clusters = case
    seen = seen_of(n_units, clusters)
    docs = int(seen.whole.sum())
    of_read = exact(len(clusters) / docs)
    found = unseen(n_units, docs)
    for modelled in (False, times <= 2):
        drawn = found.left(of_read, seen, exact(times), modelled=modelled)
        low, high = drawn.limits()
        assert 0 < low <= drawn.value <= high <= 1
        assert drawn.draws.min() > 0
        assert low >= of_read.value / times * (1 - 1e-9)
    alone = sum(len(units) == 1 for units, _ in clusters)
    most = (len(clusters) + alone / docs * (times - 1) * docs) / docs / times
    drawn = found.left(of_read, seen, exact(times), modelled=False)
    assert drawn.value == pytest.approx((of_read.value / times + min(most, 1)) / 2, rel=1e-6)


def test_nothing_unread_is_nothing_unknown():
    seen = seen_of(2, [([0], 2), ([0, 1], 3)])
    drawn = unseen(2, 5).left(exact(0.4), seen, exact(1.0), modelled=False)
    assert drawn.value == pytest.approx(0.4)
    assert drawn.limits() == pytest.approx((0.4, 0.4), rel=1e-6)


def test_the_curve_ends_at_what_was_seen_and_needs_parts_enough():
    clusters = [([u], 1) for u in range(16)] + [(list(range(16)), 16)] * 4
    seen = seen_of(16, clusters)
    growth = unseen(16, 80).growth(seen)
    assert growth.docs.tolist() == [5, 10, 20, 40, 80]
    assert growth.unique == pytest.approx([5, 6, 8, 12, 20])
    assert unseen(4, 8).growth(seen_of(4, [([0], 2), ([1, 2, 3], 6)])) is None
    with pytest.raises(ConfigError, match="a model of growth is carried to 2 times as many"):
        unseen(16, 80).grown(exact(0.25), seen, exact(2.1))
    grown = unseen(16, 80).grown(exact(0.25), seen, exact(1.5))
    low, high = grown.limits()
    assert 20 <= low <= 20 + 0.5 * 16 <= high  # sixteen more units would bring sixteen


@pytest.mark.parametrize("seeds", [5, pytest.param(25, marks=pytest.mark.long)])
def test_intervals_of_partial_scans_hold_the_truth(seeds):
    rows = list(partial.rows(seeds, (0.6, 0.05), ("all keys", "2,000 probes"), ("two kinds",)))
    assert len(rows) == 12
    for row in rows:
        assert row.held >= (1.0 if row.by == "bounds" else 0.93), row
        assert row.by == ("model" if row.budget > 0.5 else "bounds"), row


def test_a_model_tells_more_than_the_bounds():
    rows = list(partial.rows(2, (0.6, 0.3), ("all keys",), ("spread",)))
    by = {(row.truth, row.by): row.half_width for row in rows}
    for truth in partial.TRUTHS:
        assert by[truth, "model"] < by[truth, "bounds"] / 2
