import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tests.strategies import examples
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.chosen import Choice, chance
from tokenmill.pipelines.measure.scanned import of_documents
from tokenmill.pipelines.measure.weights import LocalSample

CLUSTERS = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 1000)), min_size=2, max_size=6)


def sample(strata, strata_bytes, cluster_bytes, *, read_bytes=None, **more):
    """Documents of 10 bytes; 4 bytes a token, unless the sums say otherwise."""
    size = np.array(cluster_bytes, float)
    read = size if read_bytes is None else np.array(read_bytes, float)
    sums = {"docs": read / 10, "bytes": read, "tokens": read / 4} | more.pop("sums", {})
    return LocalSample(
        strata=np.array(strata),
        strata_bytes=np.array(strata_bytes, float),
        cluster_bytes=size,
        read_bytes=read,
        docs=np.ceil(read / 10).astype(int),
        sums={name: np.array(values, float) for name, values in sums.items()},
        **more,
    )


def error(made):
    """Standard error of the total (jackknife)."""
    return np.sqrt((made.residuals(made.sums["made"]) ** 2).sum())


@given(st.lists(CLUSTERS, min_size=1, max_size=3), st.integers(1, 5000))
def test_totals_and_their_errors_are_the_reference_s(strata, unread):
    label = [h for h, clusters in enumerate(strata) for _ in clusters]
    size = [b for clusters in strata for b, _ in clusters]
    made = [y for clusters in strata for _, y in clusters]
    whole = [sum(b for b, _ in clusters) + unread for clusters in strata]
    got = sample(label, whole, size, sums={"made": made})
    total, variance = reference.total_and_variance(label, whole, size, made)
    assert got.total("made").value == pytest.approx(float(total))
    assert error(got) ** 2 == pytest.approx(float(variance), rel=1e-6, abs=1e-6)
    low, high = got.total("made").limits()
    assert 0 <= low <= got.total("made").value <= high


def test_bytes_are_known_and_so_is_what_goes_with_them():
    got = sample([0, 0, 1, 1], [1_000, 5_000], [100, 200, 300, 50])
    assert got.total("bytes").limits() == pytest.approx((6_000, 6_000))
    assert got.total("tokens").limits() == pytest.approx((1_500, 1_500))
    assert got.ratio("bytes", "tokens").value == 4


def test_a_cluster_read_in_part_counts_for_the_whole_of_it():
    got = sample([0, 0], [400], [100, 300], read_bytes=[10, 300], sums={"made": [1, 60]})
    assert got.total("made").value == pytest.approx(10 + 60)
    assert error(got) > 0  # though all clusters were read, and none would err if wholly
    assert error(sample([0, 0], [400], [100, 300], sums={"made": [1, 60]})) == 0


def test_quantities_of_one_sample_are_drawn_together():
    rng = np.random.default_rng(0)
    size = rng.integers(100, 1000, 40)
    tokens = size / rng.uniform(3, 5, 40)
    got = sample([0] * 40, [10**6], size, sums={"tokens": tokens, "stored": 2.1 * tokens})
    stored, made = got.total("stored"), got.total("tokens")
    assert (stored / made).limits() == pytest.approx((2.1, 2.1))
    assert np.ptp(made.limits()) / made.value > 0.02


def test_a_fraction_alone_has_the_limits_that_it_has_with_others():
    made = sample([0, 0, 0], [900], [100, 200, 300], sums={"kept": [40, 150, 90]})
    alone = made.fraction("kept", "bytes", is_alone=True)
    assert alone.limits() == made.fraction("kept", "bytes").limits()
    assert (np.diff(alone.draws) >= 0).all()


def test_fewer_clusters_and_unequal_ones_make_wider_intervals():
    def width(tokens):
        got = sample([0] * len(tokens), [10**6], [400] * len(tokens), sums={"tokens": tokens})
        low, high = got.total("tokens").limits()
        return high / low

    assert width([90, 110]) > width([90, 110] * 5) > width([90, 110] * 50) > 1
    assert width([100] * 19 + [120]) > width([90, 110] * 10) ** 0.5


def test_a_stratum_of_one_cluster_is_compared_with_the_others():
    strata, whole, size = [0, 1, 2, 2, 2], [1_000, 1_000, 3_000], [100] * 5
    alike = sample(strata, whole, size, sums={"made": [10, 10, 10, 10, 10]})
    apart = sample(strata, whole, size, sums={"made": [10, 20, 10, 10, 10]})
    assert error(alike) == 0
    assert apart.total("made").value == 100 + 200 + 300
    assert error(apart) >= 0.8 * 100
    low, high = apart.total("made").limits()
    assert low < 600 < high


def test_a_source_that_is_one_file_and_was_read_whole_has_no_error():
    got = sample([0, 1, 1], [100, 1_000], [100, 50, 50], sums={"made": [70, 5, 5]})
    assert got.total("made").limits() == (170, 170)


@pytest.mark.parametrize(("kept", "low", "high"), [(0, 0, 0.0362), (10, 0.9638, 1)])
def test_what_no_document_did_is_bounded_by_how_many_were_asked(kept, low, high):
    got = sample([0] * 10, [10**6], [100] * 10, sums={"kept": [kept] * 10})
    assert got.fraction("kept", "docs").limits() == pytest.approx((low, high), abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=12))
def test_fractions_stay_inside_0_and_1(clusters):
    kept = [k for k, _ in clusters]
    strata = [int(second) for _, second in clusters]
    whole = (
        [5_000, 5_000] if 1 in strata and 0 in strata else [5_000 * (s in strata) for s in (0, 1)]
    )
    got = sample(strata, whole, [100] * len(kept), sums={"kept": kept}).fraction("kept", "docs")
    low, high = got.limits()
    assert 0 <= low <= got.value <= high <= 1
    assert low < high


def test_a_sample_that_says_nothing_is_refused():
    with pytest.raises(ConfigError, match="1 cluster was read of several, which says nothing of"):
        sample([0], [200], [100])


def test_one_document_that_is_all_there_is_will_do():
    got = sample([0], [10], [10])
    assert got.total("tokens").limits() == (2.5, 2.5)
    assert got.fraction("docs", "docs").limits() == (1, 1)


def test_a_ratio_to_nothing_is_refused():
    got = sample([0, 0], [200], [9, 9], sums={"tokens": [0, 0]})
    with pytest.raises(ConfigError, match="bytes per tokens: the documents read have no tokens"):
        got.ratio("bytes", "tokens")


@given(st.lists(st.integers(1, 5), min_size=3, max_size=20), st.integers(0, 9))
def test_a_document_and_its_copies_tell_what_it_tells_alone(copies, seed):
    n = len(copies)
    rng = np.random.default_rng(seed)
    text, tokens = rng.integers(100, 9_000, n) * 1.0, rng.integers(10, 3_000, n) * 1.0
    looked_at = np.where(rng.random(n) < 0.3, 1.0, 0.2)
    of, times = np.arange(n, dtype=np.uint64), np.repeat(1 / np.array(copies), copies)
    alone = of_documents({"text_bytes": text, "tokens": tokens}, looked_at, of, 0)
    sums = {"text_bytes": text.repeat(copies) * times, "tokens": tokens.repeat(copies) * times}
    each = of_documents(sums, looked_at.repeat(copies), of.repeat(copies), 0)
    low, high = alone.ratio("tokens", "text_bytes").limits()
    assert each.ratio("tokens", "text_bytes").limits() == pytest.approx((low, high))


def test_documents_of_very_unequal_sizes_are_held_by_their_intervals():
    """Large ones have another ratio, and are chosen far more often."""
    rng = np.random.default_rng(3)
    size = np.exp(rng.normal(7, 2, 3_000)).clip(20, 4e5)
    tokens = size / np.where(size > 2e4, 2.5, 4.0) * np.exp(rng.normal(0, 0.2, len(size)))
    chances = np.clip(np.sqrt(size) * 2e-3, 0.01, 1.0)
    truth, held = size.sum() / tokens.sum(), []
    for seed in range(examples(300, 100)):
        taken = np.flatnonzero(rng.random(len(size)) < chances)
        weights = 1 / chances[taken]
        sums = {"text_bytes": weights * size[taken], "tokens": weights * tokens[taken]}
        sample = of_documents(sums, chances[taken], taken.astype(np.uint64), seed)
        low, high = sample.ratio("text_bytes", "tokens").limits()
        held.append(low <= truth <= high)
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.mark.parametrize("odd", [0.002, 0.02])
def test_odd_documents_that_are_mostly_missed_are_in_the_interval(odd):
    """Of 600 documents 1 or 12 have three times as many tokens; by those chosen alone, which is
    what is believed of them, 82 % of the intervals held.
    """
    rng = np.random.default_rng(600)
    size = np.maximum(rng.lognormal(7, 1.5, 600), 20).round()
    ratio = np.where(rng.random(600) < odd, 1.3, rng.normal(4, 0.4, 600).clip(1.5, 6))
    tokens, held = np.maximum(size / ratio, 1), []
    how = Choice(0.2, 0.0, 1e-3 * size.sum(), 0.2)
    chances = chance(size.astype(np.int64), how, read_bytes=float(size.sum()))
    for seed in range(examples(300, 100)):
        taken = np.flatnonzero(rng.random(600) < chances)
        sums = {"text_bytes": size[taken], "tokens": tokens[taken]}
        sums = {name: values / chances[taken] for name, values in sums.items()}
        found = of_documents(sums, chances[taken], taken.astype(np.uint64), seed)
        low, high = found.ratio("text_bytes", "tokens").limits()
        held.append(low <= size.sum() / tokens.sum() <= high)
    assert np.mean(held) >= 0.93


def test_one_odd_document_is_believed_as_far_as_its_chance_goes():
    """Most of the error is of one; that five like it were not chosen happens once in 40."""
    size, tokens = np.full(400, 1_000.0), np.full(400, 250.0) + np.arange(400) % 2
    size, tokens = np.append(size, 40_000.0), np.append(tokens, 40_000.0)
    chances = np.append(np.full(400, 0.5), 0.52)
    sums = {"text_bytes": size / chances, "tokens": tokens / chances}
    sample = of_documents(sums, chances, np.arange(401, dtype=np.uint64), 0)
    low, high = sample.ratio("text_bytes", "tokens").limits()
    with_odd = [(8e5 + n * 40_000) / (200_400 + n * 40_000) for n in (5.5, 1)]
    assert (low, high) == pytest.approx(with_odd, rel=0.05)


def test_two_documents_tell_less_than_they_differ():
    size, tokens = np.array([1_000.0, 1_000.0]), np.array([300.0, 330.0])
    sums = {"text_bytes": size / 0.2, "tokens": tokens / 0.2}
    sample = of_documents(sums, np.full(2, 0.2), np.arange(2, dtype=np.uint64), 0)
    low, high = sample.ratio("text_bytes", "tokens").limits()
    assert low < 1_000 / 330 * 0.9
    assert high > 1_000 / 300 * 1.1


def test_a_document_without_tokens_is_as_odd_as_can_be():
    size, tokens = np.full(50, 1_000.0), np.append(np.full(49, 250.0), 0.0)
    sums = {"text_bytes": size / 0.2, "tokens": tokens / 0.2}
    sample = of_documents(sums, np.full(50, 0.2), np.arange(50, dtype=np.uint64), 0)
    low, high = sample.ratio("text_bytes", "tokens").limits()
    assert 3.9 < low < 50 / 49 * 4 < high < 6


def test_documents_that_were_all_chosen_are_counted():
    size, tokens = np.array([10.0, 1_000.0, 50.0]), np.array([5.0, 200.0, 10.0])
    sums = {"text_bytes": size, "tokens": tokens}
    sample = of_documents(sums, np.ones(3), np.arange(3, dtype=np.uint64), 0)
    ratio = sample.ratio("text_bytes", "tokens")
    assert ratio.limits() == (ratio.value, ratio.value) == (1_060 / 215,) * 2
    assert sample.fraction("tokens", "text_bytes").limits() == (215 / 1_060,) * 2


def test_one_document_of_several_tells_nothing():
    with pytest.raises(ConfigError, match="1 cluster was read of several"):
        of_documents({"text_bytes": np.array([9.0])}, np.array([0.1]), np.zeros(1, np.uint64), 0)
