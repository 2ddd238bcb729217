"""A user's own fastText classifier, scored by whichever of fastText's libraries is installed."""

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.quality.fasttext_file import PREFIX, check_fasttext

LIBRARY = "fasttext"  # the module of fasttext-predict, and of those that train too


class FastTextModel:
    """The probability that a fastText model gives to one of its labels."""

    def __init__(self, path: Path, label: str) -> None:
        self._model = _loaded(path)
        self._label = label

    def scores(self, text: pa.Array) -> npt.NDArray[np.float64]:
        """(n_docs,) float64 in [0, 1]; 0 for a document none of whose words the model knows.

        Line breaks are spaces: the model takes a document for one line, as it was trained.
        """
        return np.array([self._score(one) for one in text.to_pylist()], np.float64)

    def _score(self, text: str) -> float:
        # that of the library's C++ part: `predict` of some of its wrappers fails with NumPy 2
        found = self._model.f.predict(text.replace("\n", " ") + "\n", -1, 0.0, "strict")
        # fastText adds 1e-5 to every probability, so that some are over 1
        return min(1.0, next((p for p, label in found if label == self._label), 0.0))


def full_label(path: Path, label: str | None) -> str:
    """The label as the model has it, which may be given without "__label__".

    Raises:
        ConfigError: the library is missing, the file is no model, or has no such label.
    """
    if find_spec(LIBRARY) is None:
        raise ConfigError(
            f"{path}: a fastText model needs the fasttext-predict library;"
            " pip install 'tokenmill[fasttext]'"
        )
    known = check_fasttext(path).labels
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    if label is None:
        raise ConfigError(f"{path}: name the label of good documents, as label: NAME; has {shown}")
    found = next((name for name in (label, PREFIX + label) if name in known), None)
    if found is None:
        raise ConfigError(f"{path}: no label {label!r}; it has {shown}")
    return found


def best_labels(path: Path, text: pa.Array) -> tuple[list[str | None], npt.NDArray[np.float64]]:
    """Of each text the label of the highest probability, as the model has it, and that.

    None and 0 for a text none of whose words the model knows. Line breaks are spaces.
    """
    predict = _loaded(path).f.predict
    lines = (one.replace("\n", " ") + "\n" for one in text.to_pylist())
    found = [next(iter(predict(line, 1, 0.0, "strict")), (0.0, None)) for line in lines]
    probabilities = np.array([p for p, _ in found], np.float64)
    return [label for _, label in found], np.minimum(probabilities, 1.0)


@functools.cache
def _loaded(path: Path) -> Any:
    """The model, once a process."""
    import fasttext  # optional

    try:
        return fasttext.load_model(str(path))
    except (ValueError, MemoryError, RuntimeError) as e:
        raise ConfigError(f"{path}: fastText cannot read it: {e}") from e
