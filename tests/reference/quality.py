"""Quality scores and draws, slowly: a word at a time, in integers that Python does not wrap."""

import math

import numpy as np
import xxhash

MASK = 2**32 - 1
ALL = 2**64 - 1


def rotated(x, by):
    return (x << by | x >> (32 - by)) & MASK


def murmur3(key, seed=42):
    """MurmurHash3_x86_32, as its author publishes it."""
    h = seed
    for i in range(0, len(key), 4):
        chunk = key[i : i + 4]
        k = rotated(int.from_bytes(chunk, "little") * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        h ^= k
        if len(chunk) == 4:
            h = (rotated(h, 13) * 5 + 0xE6546B64) & MASK
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def features(text, n_features):
    return [murmur3(word.encode()) % n_features for word in text.lower().split()]


def score(text, weights, intercept):
    total = intercept
    for feature in features(text, len(weights)):
        total += float(weights[feature])
    if total < 0:
        return round(math.exp(total) / (1 + math.exp(total)), 9)
    return round(1 / (1 + math.exp(-total)), 9)


def uniform(doc_id, purpose, seed):
    digest = xxhash.xxh3_128_digest(doc_id.encode())
    key = xxhash.xxh3_64_intdigest(f"{purpose} {seed}".encode())
    x = int.from_bytes(digest[:8], "little") ^ key
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    x ^= x >> 31
    return (x >> 11) / 2**53


def pareto(u, alpha):
    """The Lomax distribution by inversion of its tail, P(X > x) = (1 + x) ** -alpha."""
    return math.inf if u == 0 else u ** (-1 / alpha) - 1


def auc(good, bad):
    pairs = [(g > b) + (g == b) / 2 for g in good for b in bad]
    return float(np.mean(pairs))
