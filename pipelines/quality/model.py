"""A linear model of quality, and the file it is kept in.

    quality.npz   weights    (n_features,) float32, a power of two of them
                  intercept  float64
                  about      JSON: how it was made, of what, and how well it does

    score = 1 / (1 + exp(-(intercept + the sum of the weights of a document's words)))

The file is arrays and nothing else; no object in it is ever unpickled.
"""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit

from tokenmill.pipelines.atomic import atomic_path
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.quality.words import MOST_FEATURES, check_features, weight_sums

KIND = "tokenmill quality model"
FORMAT = 1  # raise it when the same file would give other scores
ARRAYS = {"weights", "intercept", "about"}
MOST_BYTES = 8 * MOST_FEATURES  # that a file may unpack to
DECIMALS = 9  # of scores: processors and C libraries differ in the last bits of exp()


@dataclass(frozen=True, eq=False)
class LinearModel:
    """weights: (n_features,) float32.  about: as `train` makes it; JSON."""

    weights: npt.NDArray[np.float32]
    intercept: float
    about: dict[str, Any]

    def __post_init__(self) -> None:
        check_features(len(self.weights))
        wrong = int(np.count_nonzero(~np.isfinite(self.weights)))
        if wrong or not np.isfinite(self.intercept):
            raise ValueError(f"{wrong:,} of {len(self.weights):,} weights are not finite numbers")

    def scores(self, text: pa.Array) -> npt.NDArray[np.float64]:
        """(n_docs,) float64 in [0, 1], the probability that a document is a good one."""
        sums = weight_sums(text, self.weights, self.intercept)
        rounded: npt.NDArray[np.float64] = np.round(expit(sums), DECIMALS)
        return rounded


def save_model(model: LinearModel, path: Path) -> None:
    """Write a model, atomically; the same model makes the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    about = json.dumps(
        {"kind": KIND, "format": FORMAT, **model.about}, sort_keys=True, ensure_ascii=False
    )
    with atomic_path(path) as partial, partial.open("wb") as f:
        np.savez_compressed(
            f,
            weights=model.weights.astype("<f4"),
            intercept=np.array(model.intercept, "<f8"),
            about=np.frombuffer(about.encode(), np.uint8),
        )


def load_model(path: Path) -> LinearModel:
    """Read a model.

    Raises:
        ConfigError: it is no such file, a damaged one, of another version, or one whose weights
            are no numbers.
    """
    try:
        arrays = _arrays(path)
        about = json.loads(arrays["about"].tobytes())
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise ConfigError(f"{path}: not a quality model, but arrays of something else")
        if about.get("format") != FORMAT:
            raise ConfigError(
                f"{path}: a quality model of format {about.get('format')!r}, this tokenmill reads"
                f" {FORMAT}; train it again"
            )
        weights, intercept = arrays["weights"], arrays["intercept"]
        if weights.dtype != np.float32 or weights.ndim != 1 or intercept.shape != ():
            raise ConfigError(f"{path}: weights are a row of float32, got {_said(weights)}")
        return LinearModel(weights, float(intercept), about)
    except ConfigError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError) as e:
        raise ConfigError(
            f"{path}: not a whole quality model ({e}); copy it again, or train it again"
        ) from e


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    with zipfile.ZipFile(path) as members:
        unpacked = sum(member.file_size for member in members.infolist())
        if unpacked > MOST_BYTES:
            raise ConfigError(
                f"{path}: not a quality model: unpacks to {unpacked:,} bytes, the largest has"
                f" {MOST_BYTES:,}"
            )
    with np.load(path, allow_pickle=False) as file:
        if set(file.files) != ARRAYS:
            raise ConfigError(
                f"{path}: not a quality model, which has {', '.join(sorted(ARRAYS))};"
                f" it has {', '.join(sorted(file.files)) or 'nothing'}"
            )
        return {name: file[name] for name in ARRAYS}


def _said(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
