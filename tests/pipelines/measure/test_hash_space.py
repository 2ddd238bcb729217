import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.measure.unique import distinct, unique_weight_frac

NONE = np.zeros(0, int)


@given(st.integers(0, 8), st.sampled_from([0.1, 0.3, 0.5]))
@settings(max_examples=30)
def test_limits_are_the_numbers_of_keys_that_could_give_so_many(kept, share):
    low, high = distinct(np.ones(kept, int), NONE, share=share, docs=1_000).limits()
    fewest = reference.fewest_trials(kept, share, 0.025)
    assert fewest - 1 <= low <= fewest or low == kept
    most = reference.most_trials(kept, share, 0.025)
    assert most <= high <= most + 1


def test_giants_are_counted_and_not_scaled():
    giants = np.array([5_000, 4_000])
    found = distinct(np.ones(10, int), giants, share=0.1, docs=10_000)
    assert found.value == 102
    low, high = found.limits()
    assert 40 < low < 102 < high < 220


def test_the_whole_hash_space_is_a_count():
    assert distinct(np.array([1, 2, 3]), NONE, share=1.0, docs=6).limits() == (3, 3)
    weighed = unique_weight_frac(np.array([1.0, 1, 1]), np.zeros(0), 6.0, share=1.0)
    assert weighed.limits() == (0.5, 0.5)


def test_there_are_no_more_keys_than_documents_and_no_fewer_than_were_seen():
    found = distinct(np.ones(9, int), NONE, share=0.1, docs=50)
    assert found.value == 50
    assert found.draws.min() >= 9
    assert found.draws.max() <= 50


def test_weights_of_unique_documents_stay_below_those_of_all():
    rng = np.random.default_rng(0)
    hits = 0
    sizes, tokens = rng.zipf(2.2, 20_000).clip(max=5_000), rng.lognormal(6, 1.0, 20_000)
    total = float((sizes * tokens).sum())
    for _ in range(200):
        kept = rng.random(20_000) < 0.02
        drawn = unique_weight_frac(tokens[kept], np.zeros(0), total, share=0.02, n_draws=40)
        low, high = drawn.limits()
        assert 0 <= low < high <= 1
        hits += low <= tokens.sum() / total <= high
    assert hits >= 0.93 * 200
