"""The unique fraction: what is left when all copies but one are removed.

    n documents drawn ── one scan counts their copies m ── mean of 1 / m

A document with m copies is drawn m times as often as one without and counts 1 / m, so the mean is
unbiased whatever the sizes (Horvitz and Thompson 1952), where the duplicates among the drawn
documents themselves say next to nothing: at rate p, a pair of copies is seen once in 1 / p^2.

    all documents ── key ── h(key) < p * 2^64 ? ── sizes of the clusters kept, all of them whole
                       └── in more than m* documents ── counted exactly, apart

A share of the keys, unlike a share of the documents, keeps clusters whole (coordinated sampling;
FracMinHash). So the number of keys kept is binomial, exactly, however heavy the tail of the sizes,
where the documents of the keys kept are not: one cluster more or less may be half of them. It saves
the memory of all keys, not the reading; a part of the files tells only of that part (see unseen).
"""

import numpy as np
from scipy.special import btdtrib

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.measure.drawn import (
    DRAWS,
    Drawn,
    Undrawn,
    alike,
    coupled,
    exact,
    fraction,
    generator,
    levels,
    missed_sums,
    t_ratio,
)

GROUPS = 512  # of probes that are weighted together: draws are only ordered by it


def unique_frac(
    left: F64, weights: F64, *, chances: F64 | float = 0.0, seed: int = 0, n_draws: int = DRAWS
) -> Drawn:
    """Unique fraction of documents drawn at random, or of what `weights` counts, as tokens.

        sum(weight * left) / sum(weight)

    left: (n,) in [0, 1], of each probe: 1 / copies, the documents of the corpus that have its key,
        itself among them; or what filters leave of it, by copies that they keep.
    weights: (n,) over 0, tokens or bytes of each probe; divided by its chance of being drawn
        where those differ. Tokens are told best by probes drawn by their bytes.
    chances: (n,) that each was drawn; of all, where they do not differ: n / N of n of N documents.
    seed: of the draws; what is estimated from the same probes with one seed is drawn jointly.
    """
    part, whole, n = weights * left, float(weights.sum()), len(left)
    value = float(min(part.sum() / whole, 1.0))
    residual = part - value * weights
    chances = np.broadcast_to(chances, n)
    relative = float(((1 - chances) * residual**2).sum()) / whole**2
    # of Dirichlet weights, as fraction's limits have; a few heavy probes are few probes.
    # As many of one weight as these are worth, as the variance of a variance has it: without it
    # 95 % intervals of tokens, log-normal with sigma 1.2, covered 92.3 %.
    worth = alike(weights**2)
    variance = relative * n / (n + 1) * (t_ratio(worth - 1) / t_ratio(n - 1)) ** 2
    squares = float(((1 - chances) * weights**2).sum())
    return fraction(
        value,
        variance,
        undrawn=Undrawn.of_sums(whole, squares, *missed_sums(weights, chances)),
        score=_scores(part, weights, seed, n_draws),
    )


def _scores(part: F64, whole: F64, seed: int, n_draws: int) -> F64:
    """(n_draws,): the ratio with probes weighted at random (Bayesian bootstrap, Rubin 1981)."""
    group = np.arange(len(part)) % GROUPS
    of_group = (np.bincount(group, values, GROUPS) for values in (part, whole))
    part, whole = (sums.astype(np.float64) for sums in of_group)
    drawn = generator("probes", seed).standard_exponential((n_draws, GROUPS))
    return np.asarray(drawn @ part / np.maximum(drawn @ whole, np.finfo(float).tiny), np.float64)


def bracket(pairwise: Drawn, closure: Drawn) -> Drawn:
    """The unique fraction with near duplicates counted as copies, between its two readings.

    pairwise: copies are the documents similar to the probe itself: leaves at least as much as
        the other (sum of 1 / (degree + 1) >= number of components).
    closure: copies are all that is joined to it by a chain of similar documents: what clustering
        removes if it finds every pair.

    The interval runs from closure's low end to pairwise's high end; the value lies midway.
    """
    value = (pairwise.value + closure.value) / 2
    low = np.sort(np.minimum(pairwise.draws, closure.draws))
    high = np.sort(np.maximum(pairwise.draws, closure.draws))
    return coupled(value, pairwise.draws + closure.draws, low, high)


def distinct(
    sizes: I64, giants: I64, *, share: float, docs: int, seed: int = 0, n_draws: int = DRAWS
) -> Drawn:
    """Distinct keys of the corpus: those kept / p, and the giants.

    Its limits are those of a binomial count, exact; no fewer than were seen and no more than
    there are documents.

    sizes: (k,) documents of each key kept, giants left out.  share: p, of the hash space, kept.
    giants: (g,) documents of each key that was counted apart.  docs: of the corpus, all counted.
    """
    kept = len(sizes)
    if share == 1:
        return exact(kept + len(giants), n_draws)
    at = levels(n_draws)
    score = generator("hash space", seed).random(n_draws)
    # keys of which, with chance `at`, as many as were kept or more fall in the share; or more
    low = kept - 1 + btdtrib(kept, at, share) if kept else np.zeros_like(at)
    high = kept + btdtrib(kept + 1, at, share)
    unseen = docs - int(giants.sum() + sizes.sum())  # at most a new key each
    draws = np.clip(coupled(0.0, score, low, high).draws, kept, kept + unseen)
    return Drawn(min(kept / share, kept + unseen) + len(giants), draws + len(giants))


def unique_weight_frac(
    weights: F64, giants: F64, total: float, *, share: float, seed: int = 0, n_draws: int = DRAWS
) -> Drawn:
    """What one copy of each key weighs, as its tokens, over `total`, what all documents do.

    weights, giants: of each key kept and of each giant; a mean where copies differ.
    The sum over the keys kept / p, its variance (1 - p) / p^2 * sum(weight^2) (Horvitz and
    Thompson 1952): a tail of long documents widens it, one of large clusters does not.
    """
    unique_weight = float(weights.sum()) / share + float(giants.sum())
    square = float((weights**2).sum())
    typical = square / max(float(weights.sum()), 1.0) / share / total
    return fraction(
        min(unique_weight / total, 1.0),
        (1 - share) / share**2 * square / total**2,
        undrawn=Undrawn(1.0, 1 / typical) if typical and share < 1 else None,
        score=generator("hash space", seed).random(n_draws),
    )
