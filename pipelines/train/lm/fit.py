"""A language model of n-grams from hashed words: interpolated modified Kneser-Ney.

    P(w | c)  =  (a(c w) - D(a(c w))) / sum_v a(c v)  +  gamma(c) * P(w | c without its first word)

In the highest order, and for n-grams that begin a line, a is how often an n-gram occurs; for all
others it is how many different words stand before it. Each order has three discounts D, for a = 1,
2, and 3 or more, from the numbers of n-grams of a = 1 to 4. Words interpolate with one over the
size of the vocabulary. gamma(c) makes P(. | c) sum to 1: it holds what was discounted, and the
whole share of n-grams that are left out because they are rare.

An n-gram that is left out has gamma(c) * P(w | c without its first word), so that gamma is the
backoff of c, and the model is of the form that ARPA files have.

Sources: Chen and Goodman 1998, TR-10-98, section 3 and equation 26; Heafield et al. 2013,
"Scalable modified Kneser-Ney language model estimation", whose lmplz leaves out as we do, by
counts as they occur, and takes the same discounts where the text is too small to estimate its own.

N-grams are known by 64-bit keys: two different ones with one key would be taken for one, which
happens once in 3,700 texts of 100 million n-grams.

A model is written as an ARPA file too, which KenLM and others read. The numbers in the file are the
model's own, digit by digit. Words are those of `pipelines.filters.models.text`, which is how a text
must be cut for it; a word that is not known has the probability of one of many.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F32, F64, I64, U32, U64, Bools
from tokenmill.pipelines.filters.kernels import ngrams as kernels
from tokenmill.pipelines.filters.kernels.ngrams import BOUNDARY, UNKNOWN
from tokenmill.pipelines.filters.models.ngram_model import LanguageModel
from tokenmill.pipelines.filters.models.text import Vocabulary
from tokenmill.pipelines.storage.atomic import atomic_path

FALLBACK = (0.5, 1.0, 1.5)  # lmplz --discount_fallback, which CCNet trains with
FIRST_PRUNED = 3  # of pairs and words all that occur are kept
AT_ONCE = 1 << 16  # lines
LINE_END = "</s>"
NEVER = "-99"  # of the beginning of a line, which nothing predicts


class NgramCounts(NamedTuple):
    """The different n-grams of `n` words, (n_ngrams,) each, by their keys, ascending.

    places: of the last word of one of its occurrences, in the ids.
    contexts, suffixes: keys of all words but the last, and but the first.
    """

    n: int
    keys: U64
    counts: I64
    places: I64
    contexts: U64
    suffixes: U64

    def take(self, rows: Bools) -> "NgramCounts":
        """The n-grams `rows`."""
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[1:]})

    def words(self, ids: U32) -> U32:
        """(n_ngrams, n) uint32, the ids of the words of each."""
        words: U32 = ids[self.places[:, None] + np.arange(1 - self.n, 1)]
        return words


def ngram_counts(ids: U32, order: int) -> Iterator[NgramCounts]:
    """Count the n-grams of 1, 2, … `order` words; one order at a time is held.

    ids: (n_words + 1,), of lines, each with BOUNDARY behind it, and one before all.
    """
    keys = np.empty(len(ids), np.uint64)
    for n in range(1, order + 1):
        shorter = keys.copy() if n > 1 else keys
        kernels.ngram_keys(ids, n, keys)
        places = np.flatnonzero(keys)
        different, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
        places = places[first]
        contexts, suffixes = shorter[places - 1], shorter[places]
        if n == 2:  # the place before the first line has no key
            contexts[places == 1] = word_keys(BOUNDARY + 1)[BOUNDARY]
        yield NgramCounts(n, different, counts, places, contexts, suffixes)


def word_keys(n_ids: int) -> U64:
    """(n_ids,) uint64, the key of each word by itself, by its id."""
    ids = np.arange(n_ids + 1, dtype=np.uint32) - np.uint32(1)  # the first is a boundary's
    keys = np.empty(n_ids + 1, np.uint64)
    kernels.ngram_keys(ids, 1, keys)
    return keys[1:]


class Discounts(NamedTuple):
    """values: for 1, 2, and 3 or more.  estimated: from the counts; else they are FALLBACK."""

    values: tuple[float, float, float]
    estimated: bool


class Smoothed(NamedTuple):
    """The n-grams of one order that a model keeps; probs, backoffs: 1 of what is no context."""

    counts: NgramCounts
    probs: F64
    backoffs: F64
    discounts: Discounts


def smoothed(ids: U32, n_ids: int, *, order: int, prune: int) -> tuple[Smoothed, ...]:
    """Every order's n-grams with their probabilities and backoffs, shortest first.

    ids: (n_words + 1,), as of `ngram_counts`.  n_ids: of the vocabulary, by all of which, but not
        the line's beginning, probabilities are shared; there is a row for each, in this order.
    prune: n-grams of 3 words or more that occur at most so often are left out.
    """
    smooth: list[Smoothed] = []
    levels = ngram_counts(ids, order)
    own: NgramCounts | None = next(levels)
    while own is not None:
        longer = next(levels, None)
        adjusted = _adjusted(own, longer, ids)
        if not smooth:
            smooth.append(_words(own, adjusted, ids, n_ids))
        else:
            smooth[-1:] = _longer(smooth[-1], own, adjusted, prune)
        own = longer
    return tuple(smooth)


def _adjusted(own: NgramCounts, longer: NgramCounts | None, ids: U32) -> I64:
    """(n_ngrams,) int64, the a of each n-gram of one order."""
    if longer is None:
        return own.counts
    before = np.bincount(np.searchsorted(own.keys, longer.suffixes), minlength=len(own.keys))
    begins = (ids[own.places - own.n + 1] == BOUNDARY) & (own.n > 1)
    return np.where(begins, own.counts, before)


def _words(own: NgramCounts, adjusted: I64, ids: U32, n_ids: int) -> Smoothed:
    """Words by id, those that do not occur among them."""
    mine = ids[own.places]
    estimates = discounts(adjusted)
    of_ids, counts = np.zeros((2, n_ids), np.int64)
    of_ids[mine], counts[mine] = adjusted, own.counts
    taken = _discounted(of_ids, estimates)
    total = int(of_ids.sum())
    probs = (of_ids - taken) / total + taken.sum() / total / n_ids
    keys, nothing = word_keys(n_ids), np.zeros(n_ids, np.uint64)
    by_id = NgramCounts(1, keys, counts, np.zeros(n_ids, np.int64), nothing, nothing)
    return Smoothed(by_id, probs, np.ones(n_ids), estimates)


def _longer(
    shorter: Smoothed, own: NgramCounts, adjusted: I64, prune: int
) -> tuple[Smoothed, Smoothed]:
    """The shorter n-grams with their backoffs, and those that are a word longer."""
    estimates = discounts(adjusted)
    kept = (own.counts > prune) | (own.n < FIRST_PRUNED)
    taken = np.where(kept, _discounted(adjusted, estimates), adjusted)
    order = np.argsort(shorter.counts.keys)
    keys = shorter.counts.keys[order]
    contexts = _rows(keys, order, own.contexts)
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
    probs += backoffs[contexts] * shorter.probs[_rows(keys, order, mine.suffixes)]
    longer = Smoothed(mine, probs, np.ones(len(probs)), estimates)
    return shorter._replace(backoffs=backoffs), longer


def _rows(keys: U64, rows: I64, wanted: U64) -> I64:
    """(n_wanted,) the row of each, by keys that ascend; -1 for one that was left out."""
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[at] == wanted, rows[at], -1)


def discounts(adjusted: I64) -> Discounts:
    """Chen and Goodman's estimates, or FALLBACK where these cannot be made or make no sense.

    >>> [round(d, 3) for d in discounts(np.repeat([1, 2, 3, 4], [40, 10, 5, 3])).values]
    [0.667, 1.0, 1.4]
    """
    t = [int(np.count_nonzero(adjusted == k)) for k in range(5)]
    if 0 not in t[1:]:
        y = t[1] / (t[1] + 2 * t[2])
        d1, d2, d3 = (k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
        if min(d1, d2, d3) > 0:
            return Discounts((d1, d2, d3), True)
    return Discounts(FALLBACK, False)


def _discounted(adjusted: I64, estimates: Discounts) -> F64:
    taken: F64 = np.array([0.0, *estimates.values])[np.minimum(adjusted, 3)]
    return taken


class Fitted(NamedTuple):
    """model: without an account.  kept: what it holds, by order.  ids: of the text."""

    model: LanguageModel
    kept: tuple[Smoothed, ...]
    ids: U32

    @property
    def how(self) -> list[dict[str, Any]]:
        """What is said of each order; JSON."""
        return [
            {
                "order": n,
                "ngrams": len(level.probs),
                "discounts": list(level.discounts.values),
                "estimated": level.discounts.estimated,
            }
            for n, level in enumerate(self.kept, 1)
        ]


def fit(hashes: U64, words: pa.Array, *, unseen: int, order: int, prune: int) -> Fitted:
    """Estimate a model.

    hashes: (n_words,), of lines with a boundary behind each; there is one at least.
    words: (n_words,) large_string, the vocabulary; all others are one word, UNKNOWN.
    unseen: how many those are. One of them has as much a part of UNKNOWN's probability: a word
        that is not known is not likely because others are not either.
    """
    vocabulary = Vocabulary(words)
    ids = vocabulary.ids(hashes)
    kept = smoothed(ids, len(vocabulary), order=order, prune=prune)
    of_words, *longer = (_logs(level, ids, max(1, unseen)) for level in kept)
    model = LanguageModel(
        order=order,
        vocabulary=vocabulary,
        word_logs=of_words,
        keys=np.concatenate([level.counts.keys for level in kept[1:]]),
        logs=np.concatenate(longer),
        about={},
    )
    return Fitted(model, kept, ids)


def _logs(level: Smoothed, ids: U32, unseen: int) -> F32:
    """(n_ngrams, 2) float32, log10 of probabilities and backoffs."""
    last = np.arange(len(level.probs)) if level.counts.n == 1 else ids[level.counts.places]
    probs = np.where(last == UNKNOWN, level.probs / unseen, level.probs)
    logs: F32 = np.log10(np.stack([probs, level.backoffs], axis=1)).astype(np.float32)
    return logs


def save_arpa(fitted: Fitted, path: Path) -> None:
    """Write a model, atomically; OSError where it cannot be written."""
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as f:
        for text in _parts(fitted):
            f.write(text)


def _parts(fitted: Fitted) -> Iterator[str]:
    sizes = [len(level.probs) for level in fitted.kept]
    sizes[0] += 1  # a line has an end and a beginning
    yield "\\data\\\n"
    yield "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, 1))
    model = fitted.model
    row = 0
    for level in fitted.kept:
        n = level.counts.n
        yield f"\n\\{n}-grams:\n"
        if n == 1:
            ids = np.arange(len(model.vocabulary), dtype=np.uint32)[:, None]
            logs = model.word_logs
            yield f"{NEVER}\t<s>\t{logs[BOUNDARY, 1]:.9g}\n"
        else:
            ids, logs = level.counts.words(fitted.ids), model.logs[row : row + len(level.probs)]
            row += len(level.probs)
        names = model.vocabulary.names
        for start in range(0, len(ids), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            yield "".join(_lines(names, ids[part], logs[part], backoffs=n < model.order))
    yield "\n\\end\\\n"


def _lines(names: npt.NDArray[np.object_], ids: U32, logs: F32, *, backoffs: bool) -> Iterator[str]:
    words = names[ids]
    words[ids[:, -1] == BOUNDARY, -1] = LINE_END
    for mine, prob, backoff in zip(words.tolist(), logs[:, 0], logs[:, 1], strict=True):
        if not backoffs:
            yield f"{prob:.9g}\t{' '.join(mine)}\n"
        else:
            shown = 0 if mine[-1] == LINE_END else backoff
            yield f"{prob:.9g}\t{' '.join(mine)}\t{shown:.9g}\n"
