"""A language model from hashed words, and the ARPA file of one, which KenLM and others read.

The numbers in the file are the model's own, digit by digit. Words are those of
`pipelines.filters.models.text`, which is how a text must be cut for it; a word that is not known
has the probability of one of many.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F32, U32, U64
from tokenmill.pipelines.filters.kernels.ngrams import BOUNDARY, UNKNOWN
from tokenmill.pipelines.filters.models.model import LanguageModel
from tokenmill.pipelines.filters.models.text import Vocabulary
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.pipelines.train.lm.smoothing import Smoothed, smoothed

AT_ONCE = 1 << 16  # lines
LINE_END = "</s>"
NEVER = "-99"  # of the beginning of a line, which nothing predicts


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
    """Write a model, atomically.

    Raises:
        OSError: it cannot be written.
    """
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


def _lines(
    names: npt.NDArray[np.object_],
    ids: U32,
    logs: F32,
    *,
    backoffs: bool,
) -> Iterator[str]:
    words = names[ids]
    words[ids[:, -1] == BOUNDARY, -1] = LINE_END
    for mine, prob, backoff in zip(words.tolist(), logs[:, 0], logs[:, 1], strict=True):
        if not backoffs:
            yield f"{prob:.9g}\t{' '.join(mine)}\n"
        else:
            shown = 0 if mine[-1] == LINE_END else backoff
            yield f"{prob:.9g}\t{' '.join(mine)}\t{shown:.9g}\n"
