"""Figures of scores, against counting pairs and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import quality as reference
from tokenmill.pipelines.train.quality.evaluation import auc, calibration, evaluate

scores = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=12).map(np.array)


@given(scores, scores)
def test_auc_counts_pairs(good, bad):
    from sklearn.metrics import roc_auc_score  # 0.6 s, that not every process of tests needs

    assert auc(good, bad) == pytest.approx(reference.auc(good, bad))
    truth = np.repeat([1, 0], [len(good), len(bad)])
    assert auc(good, bad) == pytest.approx(roc_auc_score(truth, np.concatenate((good, bad))))


@given(scores, scores)
def test_the_brier_score_weighs_both_sides_alike(good, bad):
    from sklearn.metrics import brier_score_loss

    truth = np.repeat([1, 0], [len(good), len(bad)])
    weights = np.repeat([1 / len(good), 1 / len(bad)], [len(good), len(bad)])
    theirs = brier_score_loss(truth, np.concatenate((good, bad)), sample_weight=weights)
    assert evaluate(good, bad, 9)["brier"] == pytest.approx(theirs)


@given(scores, scores)
def test_calibration_accounts_for_every_document(good, bad):
    rows = calibration(good, bad)
    assert sum(r["good"] for r in rows) == len(good)
    assert sum(r["bad"] for r in rows) == len(bad)
    assert all(r["to"] == pytest.approx(r["from"] + 0.1) for r in rows)
    assert all(r["from"] - 1e-9 <= r["mean_score"] <= r["to"] + 1e-9 for r in rows)


def test_of_calibrated_scores_the_share_of_good_is_the_score():
    rng = np.random.default_rng(0)
    drawn = rng.random(200_000)
    is_good = rng.random(len(drawn)) < drawn
    # of however many bad ones: as if there were as many as good ones
    for row in calibration(drawn[is_good], drawn[~is_good][::3]):
        assert row["good_frac"] == pytest.approx(row["mean_score"], abs=0.02)


def test_what_stays():
    kept = evaluate(np.array([1.0, 0.5]), np.array([0.0, 0.5]), 9)["kept"]
    assert kept["alpha"] == 9
    assert kept["pareto"] == pytest.approx(
        {"good": (1 + 1.5**-9) / 2, "bad": (2**-9 + 1.5**-9) / 2}
    )
    assert kept["threshold_0.1"] == {"good": 1.0, "bad": 0.5}
    assert kept["threshold_0.5"] == {"good": 1.0, "bad": 0.5}
    assert kept["threshold_0.9"] == {"good": 0.5, "bad": 0.0}
