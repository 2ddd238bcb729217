"""A user's own fastText classifier, scored by whichever of fastText's libraries is installed.

The library takes a damaged file for granted: one that is cut off crashes the process or scores at
random. So the parts of the file are walked first, and their sizes must add up to the file's.

Source of the layout: fastText 0.9.2, `saveModel`, `save` of Args, Dictionary, DenseMatrix,
QuantMatrix and ProductQuantizer; all little-endian.
"""

import functools
import mmap
import os
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F64
from tokenmill.pipelines.core.config import readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.roots import held

MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
SUPERVISED = 3
LABEL = 1
CENTROIDS = 256  # of each part of a quantized vector
PREFIX = "__label__"


class _CutError(Exception):
    """A part does not fit into the file."""


def is_fasttext(path: Path) -> bool:
    """Whether a file begins as one of fastText does.

    Raises:
        ConfigError: it cannot be read.
    """
    with readable(path) as f:
        return f.read(len(MAGIC)) == MAGIC


def check_fasttext(path: Path) -> tuple[str, ...]:
    """Walk the parts of a fastText model; its labels as it has them, "__label__" included.

    Raises:
        ConfigError: it is damaged, of another version, or classifies nothing.
    """
    try:
        with readable(path) as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
            labels = _walk(data, os.fstat(f.fileno()).st_size)
    except (_CutError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path}: not a whole fastText model ({e}); copy it again") from e
    if not labels:
        raise ConfigError(
            f"{path}: a fastText model of word vectors, which has no labels; name a supervised one"
        )
    return labels


class _Reader:
    """Takes one value after the other."""

    def __init__(self, data: mmap.mmap, size: int) -> None:
        self.data, self.size, self.at = data, size, 0

    def take(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        start = self.at
        self.skip(struct.calcsize(form))
        return struct.unpack_from(form, self.data, start)

    def skip(self, n_bytes: int) -> None:
        if not 0 <= n_bytes <= self.size - self.at:
            raise _CutError(
                f"a part of {n_bytes:,} bytes begins at byte {self.at:,} of {self.size:,}"
            )
        self.at += n_bytes

    def text(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise _CutError(f"a word that begins at byte {self.at:,} has no end")
        start, self.at = self.at, end + 1
        return self.data[start:end]


def _walk(data: mmap.mmap, size: int) -> tuple[str, ...]:
    """The labels of a model that classifies; none of another."""
    reader = _Reader(data, size)
    _, version = reader.take("4si")
    if version not in VERSIONS:
        raise _CutError(f"version {version}, not 11 or 12")
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate, t
    (*_, model, _, _, _, _, _) = reader.take("12id")
    n_entries, _, n_labels, _, n_pruned = reader.take("iiiqq")
    entries = [(reader.text(), reader.take("qb")[1]) for _ in range(n_entries)]
    labels = tuple(word.decode() for word, kind in entries if kind == LABEL)
    if len(labels) != n_labels:
        raise _CutError(f"{len(labels):,} labels, not {n_labels:,}")
    reader.skip(8 * max(0, n_pruned))
    (quantized,) = reader.take("?")
    _matrix(reader, quantized)
    (quantized_out,) = reader.take("?")
    _matrix(reader, quantized and quantized_out)
    if reader.at != size:
        raise _CutError(f"it ends at byte {reader.at:,}, the file at {size:,}")
    return labels if model == SUPERVISED else ()


def _matrix(reader: _Reader, quantized: bool) -> None:
    if not quantized:
        rows, columns = reader.take("qq")
        reader.skip(4 * rows * columns)
        return
    (with_norms,) = reader.take("?")
    rows, _, code_bytes = reader.take("qqi")
    reader.skip(code_bytes)
    _centroids(reader)
    if with_norms:
        reader.skip(rows)
        _centroids(reader)


def _centroids(reader: _Reader) -> None:
    dim, *_ = reader.take("4i")
    reader.skip(4 * dim * CENTROIDS)


LIBRARY = "fasttext"  # the module of fasttext-predict, and of those that train too


class FastTextModel:
    """The probability that a fastText model gives to one of its labels."""

    def __init__(self, path: Path, label: str) -> None:
        self._model = _loaded(path)
        self._label = label

    def scores(self, text: pa.Array) -> F64:
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
    known = check_fasttext(path)
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    if label is None:
        raise ConfigError(f"{path}: name the label of good documents, as label: NAME; has {shown}")
    found = next((name for name in (label, PREFIX + label) if name in known), None)
    if found is None:
        raise ConfigError(f"{path}: no label {label!r}; it has {shown}")
    return found


def best_labels(path: Path, text: pa.Array) -> tuple[list[str | None], F64]:
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
        with held(path) as name:
            return fasttext.load_model(name)
    except (ValueError, MemoryError, RuntimeError) as e:
        raise ConfigError(f"{path}: fastText cannot read it: {e}") from e
