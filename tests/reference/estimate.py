"""Estimates from samples with Python's numbers, and limits by counting outcomes."""

from fractions import Fraction
from itertools import combinations
from math import comb, log


def unique_frac(copies, weights=None, kept=None):
    weights = weights or [1] * len(copies)
    kept = kept or [1] * len(copies)
    part = sum(Fraction(w) * k / m for m, w, k in zip(copies, weights, kept, strict=True))
    return part / sum(Fraction(w) for w in weights)


def at_least(k, n, p):
    """The chance of k successes or more in n trials."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def clopper_pearson(k, n, tail):
    low = 0.0 if k == 0 else bisected(lambda p: at_least(k, n, p) - tail)
    high = 1.0 if k == n else bisected(lambda p: at_least(k + 1, n, p) - (1 - tail))
    return low, high


def fewest_trials(kept, share, tail):
    """The least n of which `kept` or more succeed with a chance of `tail`."""
    n = kept
    while at_least(kept, n, share) < tail:
        n += 1
    return n


def most_trials(kept, share, tail):
    """The largest n of which `kept` or fewer succeed with a chance of `tail`."""
    n = kept
    while 1 - at_least(kept + 1, n + 1, share) >= tail:
        n += 1
    return n


def bisected(function):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def total_and_variance(strata, strata_bytes, cluster_bytes, sums):
    """Separate ratio estimate of a total, of clusters read whole; its error by leaving each out."""
    total, variance = 0, 0
    for h, all_bytes in enumerate(strata_bytes):
        at = [i for i, s in enumerate(strata) if s == h]
        y, x = ([Fraction(of[i]) for i in at] for of in (sums, cluster_bytes))
        ratio = sum(y) / sum(x)
        unread = 1 - Fraction(sum(cluster_bytes[i] for i in at), all_bytes)
        n = len(at)
        without = [(sum(y) - a) / (sum(x) - b) for a, b in zip(y, x, strict=True)]
        square = sum((other - ratio) ** 2 for other in without) * Fraction(n - 1, n)
        total += all_bytes * ratio
        variance += unread * square * all_bytes**2
    return total, variance


def heaps(docs, unique):
    """Slope and intercept of the least-squares line through the logs."""
    x, y = [log(d) for d in docs], [log(u) for u in unique]
    n = len(x)
    slope = (n * sum(a * b for a, b in zip(x, y, strict=True)) - sum(x) * sum(y)) / (
        n * sum(a * a for a in x) - sum(x) ** 2
    )
    return slope, (sum(y) - slope * sum(x)) / n


def makespan(seconds, cores):
    """Each to the core with the least to do so far, looked for among all of them."""
    busy = [0.0] * cores
    for s in seconds:
        busy[busy.index(min(busy))] += s
    return max(busy)


def rarefied(spans, weights, n_units, k):
    """Mean weight of the clusters that k of the units hold, over all ways to choose them."""
    ways = comb(n_units, k)
    return sum(
        Fraction(w) * (1 - Fraction(comb(n_units - m, k), ways))
        for m, w in zip(spans, weights, strict=True)
    )


def unique_of_random_units(units, k):
    """The same, of clusters as sets of units, by going through all subsets of k units."""
    every = sorted({u for cluster in units for u in cluster})
    subsets = list(combinations(every, k))
    seen = sum(any(u in subset for u in cluster) for subset in subsets for cluster in units)
    return Fraction(seen, len(subsets))


def misra_gries(keys, room):
    """One document after the other; with no counter free, each counter loses one."""
    counts = {}
    for key in keys:
        if key in counts or len(counts) < room:
            counts[key] = counts.get(key, 0) + 1
        else:
            counts = {k: n - 1 for k, n in counts.items() if n > 1}
    return counts


def clusters_of(keys, units):
    """By key: documents, distinct units, place of the first."""
    made = {}
    for place, (key, unit) in enumerate(zip(keys, units, strict=True)):
        docs, held, first = made.get(key, (0, frozenset(), place))
        made[key] = docs + 1, held | {unit}, first
    return {key: (docs, len(held), first) for key, (docs, held, first) in made.items()}
