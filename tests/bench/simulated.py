"""Simulated corpora, of which the truth is known: cluster sizes of a Zipf distribution."""

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Row = tuple[str, str, str, float, float]  # method, truth, sample, coverage, mean half-width

LARGEST = 100_000  # documents of a cluster


def exponent(truth: float) -> float:
    """Of the Zipf distribution of sizes whose unique fraction, 1 / mean size, is `truth`."""
    log_size = np.log(np.arange(1, LARGEST + 1))
    low, high = 0.5, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        sizes = np.exp(-middle * log_size)
        if sizes.sum() / np.exp((1 - middle) * log_size).sum() < truth:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def probe_copies(rng: np.random.Generator, truth: float, shape: tuple[int, int]) -> F64:
    """Copies of documents drawn at random: a cluster comes up as often as it has documents."""
    chance = np.cumsum(np.arange(1, LARGEST + 1) ** (1 - exponent(truth)))
    return np.searchsorted(chance, rng.random(shape) * chance[-1]) + 1.0


def clusters(rng: np.random.Generator, truth: float, count: int) -> npt.NDArray[np.int64]:
    """Sizes of the clusters of one corpus."""
    chance = np.cumsum(np.arange(1, LARGEST + 1) ** -exponent(truth))
    return np.searchsorted(chance, rng.random(count) * chance[-1]) + 1


def covered(truth: float, intervals: list[tuple[float, float]]) -> tuple[float, float]:
    low, high = np.clip(np.array(intervals, np.float64).T, 0, None)
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean() / 2)


def typical_length(copies: F64) -> F64:
    """Mean tokens of documents with so many copies."""
    return np.asarray(600 * copies**-0.15)


def lengths(rng: np.random.Generator, copies: F64) -> F64:
    return typical_length(copies) * rng.lognormal(-0.72, 1.2, copies.shape)
