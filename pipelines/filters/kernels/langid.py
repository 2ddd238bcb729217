"""Which of a model's byte sequences texts have, and what they say for each language."""

import numpy as np

from tokenmill.dedup.kernels._jit import F32, F64, I32, I64, U8, U16, inlined, kernel

BITS_OF_BYTE = np.uint64(8)


@inlined
def count_features(
    data: U8, first: np.int64, last: np.int64, moves: U16, features: I32, start: np.uint16,
    seen: I32, found: I32,
) -> np.int64:  # fmt: skip
    """Walk the automaton over data[first:last]; how many features were found, each once.

    seen: (n_features,), how often each was met.  found: their numbers, in order of first meeting.
    """
    at = start
    n = np.int64(0)
    for i in range(first, last):
        place = np.uint64(np.uint64(at) << BITS_OF_BYTE) | np.uint64(data[i])
        at = moves[place]
        f = features[place]
        if f >= 0:
            found[n] = f
            n += np.int64(seen[f] == 0)
            seen[f] += 1
    return n


@inlined
def add_weights(found: I32, factors: F64, weights: F32, sums: F64) -> None:
    """Add to each language's sum its weights of the features found, times their factors.

    Four features at a time: a sum goes through memory once for them, added in the same order.
    """
    n = found.shape[0]
    j = 0
    while j + 4 <= n:
        a, b, c, d = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        p, q = weights[found[j]], weights[found[j + 1]]
        r, s = weights[found[j + 2]], weights[found[j + 3]]
        for m in range(sums.shape[0]):
            sums[m] = sums[m] + a * p[m] + b * q[m] + c * r[m] + d * s[m]
        j += 4
    while j < n:
        a = factors[j]
        p = weights[found[j]]
        for m in range(sums.shape[0]):
            sums[m] = sums[m] + a * p[m]
        j += 1


@kernel
def score_languages(
    data: U8, offsets: I64, moves: U16, features: I32, start: np.uint16, weights: F32, logs: F64,
    seen: I32, found: I32, factors: F64, ends: I64, scores: F64,
) -> None:  # fmt: skip
    """Add to `scores[d]` of each feature of text d its weights by log(1 + how often it is met).

    moves, features: (256 * n_rows,), by row and byte the next row, and the feature met there or -1.
    weights: (n_features, n_languages).  logs: by count, as far as the longest text has bytes.
    seen: (n_features,) zeros, left so.
    found, factors: room for the features of some texts, of any one at least, and one more.
    ends: (n_docs + 1,), 0 first; after it the number of features of the texts so far.
    scores: (n_docs, n_languages) zeros.
    Texts are walked until the room is full, then added up: each works on tables that fill the
    processor's cache, and by turns they would drive each other out of it.
    """
    n_docs = offsets.shape[0] - 1
    d = np.int64(0)
    while d < n_docs:
        first = d
        n = np.int64(0)
        while d < n_docs and offsets[d + 1] - offsets[d] < found.shape[0] - n:
            new = count_features(
                data, offsets[d], offsets[d + 1], moves, features, start, seen, found[n:]
            )
            for j in range(n, n + new):
                factors[j] = logs[seen[found[j]]]
                seen[found[j]] = 0
            n += new
            d += 1
            ends[d] = ends[first] + n
        for e in range(first, d):
            begin, end = ends[e] - ends[first], ends[e + 1] - ends[first]
            add_weights(found[begin:end], factors[begin:end], weights, scores[e])
