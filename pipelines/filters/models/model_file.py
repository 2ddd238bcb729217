"""The file that a language model is kept in.

    lm.npz   words      the vocabulary, UTF-8, each with "\\n" behind it
             word_logs  (n_words + 2, 2) float32
             keys       (n_ngrams,) uint64, ascending
             logs       (n_ngrams, 2) float32
             about      JSON: its order, how it was made, of what, and how well it does

It is arrays and nothing else; no object in it is ever unpickled.
"""

import json
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.model import MOST_NGRAMS, MOST_WORDS, LanguageModel
from tokenmill.pipelines.filters.models.text import FIRST_WORD, Vocabulary
from tokenmill.pipelines.storage.atomic import atomic_path

KIND = "tokenmill language model"
FORMAT = 1  # raise it when the same file would give other perplexities
MAGIC = b"PK\x03\x04"  # of any .npz
MOST_BYTES = 1 << 26  # of the vocabulary's letters, and of what is said about the model
# of zip archives and JSON, whatever stands in them; RuntimeError is of secrets and of deep nesting
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError, RuntimeError)
ARRAYS: dict[str, tuple[str, tuple[int, ...]]] = {  # their types, and the most they have
    "words": ("|u1", (MOST_BYTES,)),
    "word_logs": ("<f4", (MOST_WORDS + FIRST_WORD, 2)),
    "keys": ("<u8", (MOST_NGRAMS,)),
    "logs": ("<f4", (MOST_NGRAMS, 2)),
    "about": ("|u1", (MOST_BYTES,)),
}


def save_model(model: LanguageModel, path: Path) -> None:
    """Write a model, atomically; the same model makes the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    about = {**model.about, "kind": KIND, "format": FORMAT, "order": model.order}
    order = np.argsort(model.keys)
    letters = "".join(f"{word}\n" for word in model.vocabulary.words.to_pylist())
    said = json.dumps(about, sort_keys=True, ensure_ascii=False)
    with atomic_path(path) as partial, partial.open("wb") as f:
        np.savez_compressed(
            f,
            words=np.frombuffer(letters.encode(), np.uint8),
            word_logs=model.word_logs.astype("<f4"),
            keys=model.keys[order].astype("<u8"),
            logs=model.logs[order].astype("<f4"),
            about=np.frombuffer(said.encode(), np.uint8),
        )


def load_model(path: Path) -> LanguageModel:
    """Read a model.

    Raises:
        ConfigError: it is no such file, a damaged one, of another version, or one whose numbers
            are no probabilities.
    """
    try:
        arrays = _arrays(path)
        about = json.loads(arrays["about"].tobytes())
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise ConfigError(f"{path}: not a language model, but arrays of something else")
        if about.get("format") != FORMAT:
            raise ConfigError(
                f"{path}: a language model of format {about.get('format')!r}, this tokenmill reads"
                f" {FORMAT}; train it again"
            )
        model = LanguageModel(
            order=about.get("order", 0),
            vocabulary=Vocabulary(_words(arrays["words"])),
            word_logs=arrays["word_logs"],
            keys=arrays["keys"],
            logs=arrays["logs"],
            about=about,
        )
        _check_cutoffs(about.get("cutoffs", {}))
        model.check()
    except ConfigError:
        raise
    except DAMAGE as e:
        raise ConfigError(
            f"{path}: not a whole language model ({e}); copy it again, or train it again"
        ) from e
    return model


def _words(letters: npt.NDArray[np.uint8]) -> pa.Array:
    text = letters.tobytes().decode()
    if text and not text.endswith("\n"):
        raise ValueError("the vocabulary has no end")
    return pa.array(text.split("\n")[:-1], pa.large_string())


def _check_cutoffs(cutoffs: Any) -> None:
    if cutoffs == {}:
        return
    limits = [cutoffs.get(name) for name in ("head", "tail")] if isinstance(cutoffs, dict) else []
    numbers = [x for x in limits if isinstance(x, int | float) and math.isfinite(x)]
    if len(numbers) != 2 or not 0 < numbers[0] <= numbers[1]:
        raise ValueError(f"cutoffs are two perplexities, not {cutoffs!r}")


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    with zipfile.ZipFile(path) as members:
        found = {m.filename.removesuffix(".npy"): m for m in members.infolist()}
        if set(found) != set(ARRAYS) or len(members.infolist()) != len(ARRAYS):
            raise ConfigError(
                f"{path}: not a language model, which has {', '.join(sorted(ARRAYS))};"
                f" it has {', '.join(sorted(found)) or 'nothing'}"
            )
        return {name: _array(members, found[name], name) for name in ARRAYS}


def _array(members: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> npt.NDArray[Any]:
    """One array, of which nothing is unpacked before its size is known."""
    kind, most = ARRAYS[name]
    with members.open(member) as f:
        np.lib.format.read_magic(f)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(f)
        fits = len(shape) == len(most) and all(
            0 <= n <= m for n, m in zip(shape, most, strict=True)
        )
        if not fits or fortran or dtype != np.dtype(kind):
            raise ValueError(
                f"{name} are {dtype} of shape {shape}, not {np.dtype(kind)} of {most} at most"
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        data = f.read(n_bytes + 1)  # no more than it unpacks to
    if len(data) != n_bytes:
        raise ValueError(f"{name} have {len(data):,} bytes, not {n_bytes:,}")
    return np.frombuffer(data, dtype).reshape(shape)
