"""Probabilities of n-grams from their counts: interpolated modified Kneser-Ney.

    P(w | c)  =  (a(c w) - D(a(c w))) / sum_v a(c v)  +  gamma(c) * P(w | c without its first word)

Below the highest order, and but for n-grams that begin a line, a is not how often an n-gram
occurs, but with how many different words before it. D is one discount each for a = 1, 2, and 3 or
more, by order, from the numbers of n-grams of a = 1 to 4. Words interpolate with one over the
size of the vocabulary. gamma(c) is what makes P(. | c) sum to 1: it holds what was discounted,
and all that n-grams have that are left out for being rare.

An n-gram that is left out has gamma(c) * P(w | c without its first word), so that gamma is the
backoff of c, and the model is of the form that ARPA files have.

Sources: Chen and Goodman 1998, TR-10-98, section 3 and equation 26; Heafield et al. 2013,
"Scalable modified Kneser-Ney language model estimation", whose lmplz leaves out as we do, by
counts as they occur, and takes the same discounts where the text is too small to tell its own.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.filters.kernels.ngrams import BOUNDARY
from tokenmill.pipelines.train.lm.counts import NgramCounts, ngram_counts, word_keys

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
FALLBACK = (0.5, 1.0, 1.5)  # lmplz --discount_fallback, which CCNet trains with
FIRST_PRUNED = 3  # of pairs and words all that occur are kept


class Discounts(NamedTuple):
    """values: for 1, 2, and 3 or more.  estimated: from the counts; else they are FALLBACK."""

    values: tuple[float, float, float]
    estimated: bool


class Smoothed(NamedTuple):
    """The n-grams of one order that a model keeps.

    counts: theirs.  probs, backoffs: (n_ngrams,) float64; backoff 1 of what is no context.
    """

    counts: NgramCounts
    probs: F64
    backoffs: F64
    discounts: Discounts


def smoothed(
    ids: npt.NDArray[np.uint32], n_ids: int, *, order: int, prune: int
) -> tuple[Smoothed, ...]:
    """Every order's n-grams with their probabilities and backoffs, shortest first.

    ids: (n_words + 1,), as of `ngram_counts`.  n_ids: of the vocabulary, by all of which, but not
        the line's beginning, probabilities are shared; there is a row for each, in this order.
    prune: n-grams of 3 words or more that occur at most so often are left out.
    """
    made: list[Smoothed] = []
    levels = ngram_counts(ids, order)
    own: NgramCounts | None = next(levels)
    while own is not None:
        longer = next(levels, None)
        adjusted = _adjusted(own, longer, ids)
        if not made:
            made.append(_words(own, adjusted, ids, n_ids))
        else:
            made[-1:] = _longer(made[-1], own, adjusted, prune)
        own = longer
    return tuple(made)


def _adjusted(own: NgramCounts, longer: NgramCounts | None, ids: npt.NDArray[np.uint32]) -> I64:
    """(n_ngrams,) int64, the a of each n-gram of one order."""
    if longer is None:
        return own.counts
    before = np.bincount(np.searchsorted(own.keys, longer.suffixes), minlength=len(own.keys))
    begins = (ids[own.places - own.n + 1] == BOUNDARY) & (own.n > 1)
    return np.where(begins, own.counts, before)


def _words(own: NgramCounts, adjusted: I64, ids: npt.NDArray[np.uint32], n_ids: int) -> Smoothed:
    """Words, by id, and so with some that do not occur."""
    mine = ids[own.places]
    found = discounts(adjusted)
    of_ids, counts = np.zeros((2, n_ids), np.int64)
    of_ids[mine], counts[mine] = adjusted, own.counts
    taken = _discounted(of_ids, found)
    total = int(of_ids.sum())
    probs = (of_ids - taken) / total + taken.sum() / total / n_ids
    keys, nothing = word_keys(n_ids), np.zeros(n_ids, np.uint64)
    by_id = NgramCounts(1, keys, counts, np.zeros(n_ids, np.int64), nothing, nothing)
    return Smoothed(by_id, probs, np.ones(n_ids), found)


def _longer(
    shorter: Smoothed, own: NgramCounts, adjusted: I64, prune: int
) -> tuple[Smoothed, Smoothed]:
    """The shorter ones with their backoffs, and those that are a word longer."""
    found = discounts(adjusted)
    kept = (own.counts > prune) | (own.n < FIRST_PRUNED)
    taken = np.where(kept, _discounted(adjusted, found), adjusted)
    rows = _Rows(shorter.counts.keys)
    contexts = rows.of(own.contexts)
    # n-grams that are left out may stand behind words that are left out too
    known = contexts >= 0
    n_rows = len(shorter.probs)
    totals = np.bincount(contexts[known], adjusted[known], n_rows)
    backoffs = np.ones(n_rows)
    np.divide(
        np.bincount(contexts[known], taken[known], n_rows), totals, backoffs, where=totals > 0
    )
    mine, contexts = own.take(kept), contexts[kept]
    probs = (adjusted - taken)[kept] / totals[contexts]
    probs += backoffs[contexts] * shorter.probs[rows.of(mine.suffixes)]
    return shorter._replace(backoffs=backoffs), Smoothed(mine, probs, np.ones(len(probs)), found)


class _Rows:
    """In which row of n-grams a key is; -1 of one that was left out."""

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def of(self, keys: npt.NDArray[np.uint64]) -> I64:
        if not len(self._keys):
            return np.full(len(keys), -1)
        at = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
        found: I64 = np.where(self._keys[at] == keys, self._order[at], -1)
        return found


def discounts(adjusted: I64) -> Discounts:
    """Chen and Goodman's estimates, or FALLBACK where these cannot be made or make no sense.

    >>> discounts(np.repeat([1, 2, 3, 4], [40, 10, 5, 3])).values
    (0.6666666666666666, 1.0, 1.4)
    """
    t = [int(np.count_nonzero(adjusted == k)) for k in range(5)]
    if 0 in t[1:]:
        return Discounts(FALLBACK, False)
    y = t[1] / (t[1] + 2 * t[2])
    d1, d2, d3 = (k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
    if min(d1, d2, d3) <= 0:
        return Discounts(FALLBACK, False)
    return Discounts((d1, d2, d3), True)


def _discounted(adjusted: I64, found: Discounts) -> F64:
    taken: F64 = np.array([0.0, *found.values])[np.minimum(adjusted, 3)]
    return taken
