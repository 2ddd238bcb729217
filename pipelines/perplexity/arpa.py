"""A trained model as an ARPA file, which KenLM and others read.

The numbers are the model's own, digit by digit. Words are those of `pipelines.perplexity.words`,
which is how a text must be cut for it; a word that is not known has the probability of one of many.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.atomic import atomic_path
from tokenmill.pipelines.perplexity.fit import Fitted
from tokenmill.pipelines.perplexity.kernels.ngrams import BOUNDARY

AT_ONCE = 1 << 16  # lines
LINE_END = "</s>"
NEVER = "-99"  # of the beginning of a line, which nothing predicts


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
    ids: npt.NDArray[np.uint32],
    logs: npt.NDArray[np.float32],
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
