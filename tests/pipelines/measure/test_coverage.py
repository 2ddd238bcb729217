"""A smaller `python -m tests.bench.coverage`: intervals hold the truth as often as they say."""

import pytest

from tests.bench import coverage, coverage_joint, intervals
from tests.strategies import THOROUGH, examples, few

LEAST = 0.93  # of 95 % intervals


@pytest.mark.long_but("0.05")  # the rarest, hardest to cover
@pytest.mark.parametrize("truth", coverage.TRUTHS)
def test_probes_cover(truth):
    rows = list(
        coverage.unique_rows(
            examples(500, 200), {"ours": intervals.ours}, (truth,), (20, 100, 1_000)
        )
    )
    assert len(rows) == 3
    for _, _, n, hit, half in rows:
        assert hit >= LEAST, n
        assert half <= 1.1 * 2.2 / int(n) ** 0.5


def test_the_normal_interval_does_not_cover_which_is_why_it_is_not_used():
    ((_, _, _, hit, _),) = coverage.unique_rows(500, {"normal": intervals.normal}, (0.05,), (20,))
    assert hit < 0.85


@pytest.mark.long_but("0.05")  # the rarest, hardest to cover
@pytest.mark.parametrize("truth", coverage.TRUTHS)
def test_probes_weighted_by_tokens_cover(truth):
    for row in coverage.token_rows(examples(500, 200), (truth,), (100, 1_000)):
        assert row[3] >= LEAST, row


def test_hash_samples_cover_where_ratios_do_not():
    rows = list(coverage.hash_rows(examples(400, 150), (0.05, 0.3) if THOROUGH else (0.05,)))
    hits = {(name, truth, p): hit for name, truth, p, hit, _ in rows}
    ours = [hit for (name, *_), hit in hits.items() if name == "hash space, count"]
    others = [hit for (name, *_), hit in hits.items() if name != "hash space, count"]
    assert min(ours) >= LEAST
    assert min(others) < 0.7


@pytest.mark.long_but("5")  # few files are harder to cover
@pytest.mark.parametrize("files", [5, 30])
def test_local_quantities_cover(files):
    rows = list(coverage.local_rows(examples(500, 200), (files,)))
    assert len(rows) == 5
    for row in rows:
        assert row[3] >= LEAST, row


def test_growth_covers():
    for row in coverage.growth_rows(examples(20, 8)):
        assert row[3] >= LEAST, row


@pytest.mark.parametrize("rows", few(["chain_rows", "bracket_rows"], 2))
def test_what_is_put_together_covers(rows):
    for row in getattr(coverage_joint, rows)(examples(100, 50), (0.3,)):
        assert row[3] >= LEAST, row
