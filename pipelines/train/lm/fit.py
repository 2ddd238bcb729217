"""A language model from hashed words."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.filters.kernels.ngrams import UNKNOWN
from tokenmill.pipelines.filters.models.model import LanguageModel
from tokenmill.pipelines.filters.models.text import Vocabulary
from tokenmill.pipelines.train.lm.smoothing import Smoothed, smoothed

F32 = npt.NDArray[np.float32]


class Fitted(NamedTuple):
    """model: without an account.  kept: what it holds, by order.  ids: of the text."""

    model: LanguageModel
    kept: tuple[Smoothed, ...]
    ids: npt.NDArray[np.uint32]

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


def fit(
    hashes: npt.NDArray[np.uint64], words: pa.Array, *, unseen: int, order: int, prune: int
) -> Fitted:
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


def _logs(level: Smoothed, ids: npt.NDArray[np.uint32], unseen: int) -> F32:
    """(n_ngrams, 2) float32, log10 of probabilities and backoffs."""
    last = np.arange(len(level.probs)) if level.counts.n == 1 else ids[level.counts.places]
    probs = np.where(last == UNKNOWN, level.probs / unseen, level.probs)
    logs: F32 = np.log10(np.stack([probs, level.backoffs], axis=1)).astype(np.float32)
    return logs
