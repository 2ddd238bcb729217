import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.unseen import Growth

DOCS = 1_000 * 2 ** np.arange(7)


def power_law(beta):
    return np.round(DOCS[0] * (DOCS / DOCS[0]) ** beta).astype(np.int64)


@given(st.lists(st.tuples(st.integers(1, 500), st.floats(0, 1)), min_size=4, max_size=8))
def test_the_curve_is_the_reference_s(steps):
    docs = np.cumsum([d for d, _ in steps])
    unique = 1 + np.cumsum([int((d - 1) * share) for d, share in steps])
    growth = Growth(docs=docs, unique=unique)
    slope, intercept = reference.heaps(docs.tolist(), unique.tolist())
    beta, low, high = growth.exponent()
    assert beta == pytest.approx(slope, abs=1e-6)
    assert growth.scale() == pytest.approx(np.exp(intercept), rel=1e-6)
    assert low <= beta <= max(high, beta)


@pytest.mark.parametrize("beta", [0.3, 0.8, 1.0])
def test_a_law_that_holds_is_found_and_carried_on(beta):
    growth = Growth(docs=DOCS, unique=power_law(beta))
    assert growth.exponent() == pytest.approx((beta, beta, beta), abs=2e-3)
    drawn = growth.beyond(2 * DOCS[-1])
    fact = DOCS[0] * (2 * DOCS[-1] / DOCS[0]) ** beta
    assert drawn.value == pytest.approx(fact, rel=5e-3)
    assert drawn.limits()[0] <= fact <= drawn.limits()[1]


@given(st.floats(1, 2), st.floats(0.01, 1))
def test_what_is_foretold_lies_within_what_any_law_allows(further, beta):
    unique = power_law(beta)
    drawn = Growth(docs=DOCS, unique=unique).beyond(further * DOCS[-1])
    more = (further - 1) * DOCS[-1]
    assert drawn.draws.min() >= unique[-1]
    rate = (unique[-1] - unique[-2]) / (DOCS[-1] - DOCS[-2])
    assert drawn.value <= unique[-1] + rate * more * 1.5 + 1e-6
    low, high = drawn.limits()
    assert low <= drawn.value <= high


def test_an_exponent_that_falls_is_taken_to_fall_on():
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(50_000), rng.geometric(0.3, 50_000))
    rng.shuffle(keys)
    first = np.zeros(len(keys), bool)
    first[np.unique(keys, return_index=True)[1]] = True
    unique = np.cumsum(first)
    docs = len(keys) // 2 ** np.arange(7, 0, -1)
    growth = Growth(docs=docs, unique=unique[docs - 1])
    fact = unique[2 * docs[-1] - 1]
    assert growth.beyond(2 * docs[-1]).value == pytest.approx(fact, rel=0.02)
    assert growth.scale() * (2 * docs[-1]) ** growth.exponent()[0] > 1.4 * fact  # Heaps carried on


def test_the_interval_of_the_exponent_is_that_of_least_squares():
    unique = np.array([900, 1_600, 2_900, 5_300, 9_000, 16_000, 28_000])
    x, y = np.log(DOCS), np.log(unique)
    beta, low, high = Growth(docs=DOCS, unique=unique).exponent()
    error = np.polyfit(x, y, 1, cov=True)[1][0, 0] ** 0.5
    assert (low, high) == pytest.approx((beta - 2.5706 * error, beta + 2.5706 * error), rel=1e-4)
    assert low < beta < high


def test_a_corpus_that_brings_nothing_new_goes_on_so():
    flat = np.array([500, 600, 600, 600, 600, 600, 600])
    assert Growth(docs=DOCS, unique=flat).beyond(2 * DOCS[-1]).limits() == (600, 600)


def test_more_than_twice_is_refused():
    growth = Growth(docs=DOCS, unique=power_law(0.8))
    with pytest.raises(ConfigError) as e:
        growth.beyond(160_000)
    assert str(e.value) == (
        "160,000 documents are 2.5 times the 64,000 that were read; a model of growth is carried to"
        " 2 times as many at most: read 80,000 or more"
    )
    with pytest.raises(ConfigError) as e:
        growth.beyond(5)
    assert str(e.value) == "5 documents are fewer than the 64,000 counted"
