"""Who passes the filters before duplicates, where only documents chosen were asked.

    keys of all documents ── passes, fails, not asked

Of documents that are like one that passes, a share passes: in each family another one, by a Beta
distribution, whose mean and spread are those of the families in which some were asked. What was
asked of a family narrows its own (the beta-binomial law; Griffiths 1973).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import betaincinv

from tokenmill.dedup.arrays import F64, I64, U8, U64, Bools

PASSES = "passes"  # column of the key sidecar
NO, YES, NOT_ASKED = 0, 1, 2
LEAST_LIKE, MOST_LIKE = 0.01, 0.99  # how alike those of a family are: of a correlation
LEVELS = (np.arange(24) + 0.5) / 24  # at which the share of a family is looked at
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
MANY = 40.0  # of so many that pass it does not matter how far off chance is


def passes(ends: Mapping[str, Any], *, all_pass: bool) -> U8:
    """(n,) verdict of each document.  ends: columns of ENDS.  all_pass: there are no filters."""
    asked = np.where(ends["left_at"] >= 0, YES, NO)
    return np.where(all_pass, YES, np.where(ends["chance"] > 0, asked, NOT_ASKED)).astype(np.uint8)


class Passing:
    """Shares that pass beside documents that do: of each family, of which some were asked."""

    def __init__(self, yes: I64, no: I64) -> None:
        """(n,) documents beside one that passes that were asked and do pass, or do not."""
        asked = yes + no
        some, pairs = asked > 0, asked > 1
        n = int(some.sum())
        # one more family, all of which passes, so that no share is out of the question
        self.share = float((yes[some] / asked[some]).sum() + 1) / (n + 1)
        both = (yes * (yes - 1))[pairs] / (asked * (asked - 1))[pairs]
        mean = float((yes[pairs] / asked[pairs]).mean()) if pairs.any() else 0.0
        spread = mean * (1 - mean)
        like = (float(both.mean()) - mean**2) / spread if spread else 0.5
        like = min(max(like, LEAST_LIKE), MOST_LIKE)
        self.weight = (1 - like) / like

    def shares(self, yes: I64, no: I64, levels: F64) -> F64:
        """Quantiles of the shares of families, of which so many were asked."""
        if self.share == 1.0:
            return np.ones(np.broadcast(yes, levels).shape)
        a, b = self.weight * self.share + yes, self.weight * (1 - self.share) + no
        return np.asarray(betaincinv(a, b, levels), np.float64)

    def copies(self, counts: I64, yes: I64, no: I64) -> F64:
        """(n,) copies of a document that passes, as so many of which one is left.

            1 / E[1 / (1 + yes + B)], B binomial of those not asked and the share of the family
            E[1 / (1 + yes + B)] = integral over t of t^yes (1 - share + share t)^(not asked)

        counts: (n,) documents of the family.  yes, no: of the others.
        """
        other = np.maximum(counts - 1 - yes - no, 0)
        exact = 1.0 / (1 + yes)
        open_ended = np.flatnonzero(other)
        for at in np.array_split(open_ended, len(open_ended) // 1024 + 1):
            u, y = other[at, None].astype(np.float64), yes[at, None]
            share = self.shares(y, no[at, None], LEVELS)
            t = (NODES[None, None, :] + 1) / 2
            power = np.power(1 - share[..., None] * (1 - t), u[..., None])
            few = (power * t ** y[..., None]) @ WEIGHTS / 2
            exact[at] = np.where(u * share > MANY, 1 / (1 + y + u * share), few).mean(axis=1)
        return np.asarray(1 / exact, np.float64)

    def supposed(self, left: I64, right: I64, verdicts: U8, keys: U64, later: U64) -> Bools:
        """(n,) who passes of earlier documents, known or supposed: as those do that are beside
        the same later ones.

        left, right: (n_edges,) number of the earlier document, and of the later.
        keys, later: of each earlier and later one, even over their range: equal ones pass together.
        """
        own, n = verdicts[left], len(verdicts)
        yes, no = (np.bincount(right, own == known, len(later)) for known in (YES, NO))
        beside = self.shares(yes.astype(np.int64), no.astype(np.int64), _even(later))
        n_beside = np.maximum(np.bincount(left, minlength=n), 1)
        share = np.bincount(left, beside[right], n) / n_beside
        return np.where(verdicts == NOT_ASKED, _even(keys) < share, verdicts == YES)


def _even(keys: U64) -> F64:
    """(n,) in (0, 1)."""
    return (keys >> np.uint64(12)).astype(np.float64) * 2.0**-52 + 2.0**-53
