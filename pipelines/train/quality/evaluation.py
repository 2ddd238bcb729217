"""How well scores tell good documents from bad ones that they were not trained on, and in words.

The tables are of the account that the file of a classifier carries.
"""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.filters.models.quality_model import kept_share
from tokenmill.pipelines.train.sample import account_markdown, account_table
from tokenmill.sizing.document.section import Block, Table, table

About: TypeAlias = Mapping[str, Any]

SIDES = ("good", "bad")
BINS = 10
SUSPICIOUS = 0.995  # AUC


def evaluate(good: F64, bad: F64, alpha: float) -> dict[str, Any]:
    """Figures of held-out documents' scores, as JSON.

    good, bad: (n_good,), (n_bad,), both not empty.
    auc: probability that a good document scores higher than a bad one, ties half.
    brier: mean squared difference of score and truth (1 good, 0 bad), both sides counting alike.
    kept: what share of a side stays, by the Pareto rule on average, and by thresholds.
    calibration: by tenths of the score; of documents there the mean score, and which share is
        good, were there as many good documents as bad ones. Calibrated, the two are equal.
    """
    return {
        "auc": auc(good, bad),
        "brier": float((np.mean((1 - good) ** 2) + np.mean(bad**2)) / 2),
        "kept": {
            "alpha": alpha,
            "pareto": _of_sides(good, bad, lambda s: kept_share(s, alpha)),
            **{
                f"threshold_{t:g}": _of_sides(good, bad, lambda s, t=t: s >= t)
                for t in (0.1, 0.5, 0.9)
            },
        },
        "calibration": calibration(good, bad),
    }


def auc(good: F64, bad: F64) -> float:
    """Area under the ROC curve, by ranks (Mann and Whitney 1947).

    >>> auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    from scipy.stats import rankdata  # loads a hundred modules

    ranks = rankdata(np.concatenate((good, bad)))[: len(good)]
    higher = ranks.sum() - len(good) * (len(good) + 1) / 2
    return float(higher / (len(good) * len(bad)))


def calibration(good: F64, bad: F64) -> list[dict[str, float]]:
    """A row for each tenth of the score that has documents."""
    rows = []
    of_good, of_bad = _bins(good), _bins(bad)
    for b in range(BINS):
        g, w = good[of_good == b], bad[of_bad == b]
        if not len(g) + len(w):
            continue
        share_good, share_bad = len(g) / len(good), len(w) / len(bad)
        both = share_good + share_bad
        mean = (g.sum() / len(good) + w.sum() / len(bad)) / both
        rows.append(
            {
                "from": b / BINS,
                "to": (b + 1) / BINS,
                "good": len(g),
                "bad": len(w),
                "mean_score": float(mean),
                "good_frac": share_good / both,
            }
        )
    return rows


def _bins(scores: F64) -> I64:
    bins: I64 = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    return bins


def _of_sides(good: F64, bad: F64, stays: Any) -> dict[str, float]:
    return {"good": float(np.mean(stays(good))), "bad": float(np.mean(stays(bad)))}


def quality_markdown(about: About) -> str:
    """The account as a Markdown document."""
    return account_markdown("Quality classifier", "quality", blocks(about))


def blocks(about: About) -> Iterator[Block]:
    """Tables and paragraphs, in order."""
    measured, inputs = about["evaluation"], about["inputs"]
    yield account_table({side: inputs[side] for side in SIDES}, "side", ("trained_on", "held_out"))
    yield (
        f"Held-out documents: AUC {measured['auc']:.4f}, Brier score {measured['brier']:.4f}"
        " (0.25 is of guessing)."
    )
    if measured["auc"] > SUSPICIOUS:
        yield (
            "Caution: nearly every held-out document is told. The words below show whether it is"
            " by quality, or by how the two sides were made: markup, dates, a site's own words."
        )
    if not about["training"]["converged"]:
        n = about["training"]["iterations"]
        yield f"Training stopped after {n:,} iterations before it had converged."
    yield _kept(measured["kept"])
    yield _calibration(measured["calibration"])
    yield _telling(about["telling"])


def _kept(kept: About) -> Table:
    rules = {"pareto": f"pareto, alpha {kept['alpha']:g}"}
    rows = [
        (rules.get(name, name.replace("_", " ")), *(f"{100 * shares[side]:.2f}" for side in SIDES))
        for name, shares in kept.items()
        if name != "alpha"
    ]
    return table("Held-out documents that stay", ("rule", ">% of good", ">% of bad"), rows)


def _calibration(rows: list[dict[str, Any]]) -> Table:
    shown = [
        (
            f"{r['from']:.1f} to {r['to']:.1f}",
            f"{r['good']:,}",
            f"{r['bad']:,}",
            f"{r['mean_score']:.3f}",
            f"{r['good_frac']:.3f}",
        )
        for r in rows
    ]
    columns = ("score", ">good", ">bad", ">mean score", ">share of good")
    return table("Calibration: calibrated, mean score and share of good are equal", columns, shown)


def _telling(words: About) -> Table:
    pairs = [[f"{w['word']} ({w['weight']:+.2f})" for w in words[side]] for side in SIDES]
    rows = zip_longest(*pairs, fillvalue="")
    return table("Most telling words, with their weights", ("`good", "`bad"), rows)
