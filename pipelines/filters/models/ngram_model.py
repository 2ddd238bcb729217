"""An n-gram language model over hashed words, the perplexities it gives, and its file.

    perplexity = 10 ** -(sum of log10 P(word | words before it in its line) / words),

where the end of each line that has words is one of them.

    lm.npz   words      the vocabulary, UTF-8, each with "\\n" behind it
             word_logs  (n_words + 2, 2) float32
             keys       (n_ngrams,) uint64, ascending
             logs       (n_ngrams, 2) float32
             about      JSON: its order, how it was made, of what, and how well it does

The file is arrays and nothing else; no object in it is ever unpickled.

Source: the formula is that of CCNet (Wenzek et al. 2019, arXiv:1911.00359), cc_net/perplexity.py,
but that an empty line there counts for a word.
"""

import json
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import F32, F64, I64, U8, U32, U64, power_of_two, read_only
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.kernels import ngrams as kernels
from tokenmill.pipelines.filters.models.text import FIRST_WORD, LineWords, Vocabulary, blocks
from tokenmill.pipelines.storage.atomic import atomic_path
from tokenmill.sizing.roots import held
from tokenmill.sizing.strict import parse_json

ORDERS = range(2, 7)
MOST_WORDS = 1 << 22  # of a vocabulary
MOST_NGRAMS = 1 << 27
LEAST_LOG = -100.0  # log10 of a probability or backoff, so that no sum of them overflows
PART = 1 << 15  # words scored at a time, so that a huge document takes no more memory than text
DECIMALS = 1  # of perplexities, as CCNet rounds them; processors differ in the last bits of 10**x


class Sums(NamedTuple):
    """logs: (n_docs,) float64, log10 of documents' probabilities.  words: (n_docs,) int64."""

    logs: F64
    words: I64


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model of order `order`.

    word_logs: (n_ids, 2) float32, by id: log10 of probability and of backoff. Of UNKNOWN the
        probability of any one word that is not in the vocabulary, of BOUNDARY that of a line's end
        and the backoff of its beginning.
    keys: (n_ngrams,) uint64, of n-grams of 2 to `order` words; the suffix of each is there too.
    logs: (n_ngrams, 2) float32, as those of words.
    about: as `train` makes it; JSON.
    """

    order: int
    vocabulary: Vocabulary
    word_logs: F32
    keys: U64
    logs: F32
    about: dict[str, Any]

    def __post_init__(self) -> None:
        if type(self.order) is not int or self.order not in ORDERS:
            raise ValueError(f"order is 2 to {ORDERS[-1]}, got {self.order!r}")
        for name, logs, n in (
            ("word_logs", self.word_logs, len(self.vocabulary)),
            ("logs", self.logs, len(self.keys)),
        ):
            if logs.shape != (n, 2):
                raise ValueError(f"{name} have shape {logs.shape}, not {(n, 2)}")
            good = (logs >= LEAST_LOG) & (logs <= -LEAST_LOG)  # false of what is no number
            if not good.all() or (logs[:, 0] > 0).any():
                raise ValueError(f"{name} are not logarithms of probabilities and backoffs")

    @property
    def cutoffs(self) -> tuple[float, float] | None:
        """Perplexities between head and middle, middle and tail; None of a model without."""
        found = self.about.get("cutoffs", {})
        return (found["head"], found["tail"]) if found else None

    def perplexities(self, text: pa.Array) -> F64:
        """(n_docs,) float64, one decimal, NaN without words; text: strings, no nulls."""
        out = np.empty(len(text), np.float64)
        for rows, words in blocks(text):
            out[rows] = perplexities(self.sums(words))
        return out

    def sums(self, words: LineWords) -> Sums:
        """What documents' perplexities are made of."""
        ids = self.vocabulary.ids(words.hashes)
        counts = np.diff(words.doc_ends)
        sums = np.zeros(len(counts), np.float64)
        behind = words.doc_ends[1:]
        for start in range(0, len(words.hashes), PART):
            stop = min(start + PART, len(words.hashes))
            first = max(0, start - self.order)  # what stands before has a say in what follows
            logs = self.log_probs(ids[first : stop + 1])[start - first + 1 :]
            kernels.add_logs(read_only(logs), start, read_only(behind), sums)
        return Sums(sums, counts)

    def log_probs(self, ids: U32) -> F64:
        """(n_ids,) float64, log10 of the probability of each but the first, which is BOUNDARY.

        Or, of words from within a document, of those that have `order` before them.
        """
        n, words = len(ids), read_only(self.word_logs)
        logs, backoffs = np.empty(n, np.float64), np.empty((n, self.order), np.float32)
        keys, heads = np.empty((2, n), np.uint64)
        wanted, lengths = np.empty(n, np.int64), np.empty(n, np.uint8)
        model = self.order, words, self._table, read_only(self._table.view(np.float32))
        kernels.log_probs(read_only(ids), *model, keys, heads, wanted, lengths, backoffs, logs)
        return logs

    @cached_property
    def _table(self) -> U64:
        """(n_slots, 2) uint64, of keys and the two numbers of each."""
        table = np.zeros((power_of_two(2 * len(self.keys)), 2), np.uint64)
        values = np.ascontiguousarray(self.logs).view(np.uint64).ravel()
        if not kernels.fill_values(read_only(self.keys), read_only(values), table):
            raise ValueError("n-grams stand there twice")
        return read_only(table)


def perplexities(sums: Sums) -> F64:
    """(n_docs,) float64, with one decimal; NaN of no words.

    >>> perplexities(Sums(np.array([-4.0, 0.0]), np.array([2, 0])))
    array([100.,  nan])
    """
    with np.errstate(invalid="ignore"):
        return np.round(10.0 ** -(sums.logs / sums.words), DECIMALS)


FORMAT = 1  # raise it when the same file would give other perplexities
MAGIC = b"PK\x03\x04"  # of any .npz
MOST_BYTES = 1 << 26  # of the vocabulary's letters, and of what is said about the model
# of zip archives and JSON, whatever stands in them; RuntimeError is of secrets and of deep nesting
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError, RuntimeError)
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Layout: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]  # types of arrays, and their most
ARRAYS: Layout = {
    "words": ("|u1", (MOST_BYTES,)),
    "word_logs": ("<f4", (MOST_WORDS + FIRST_WORD, 2)),
    "keys": ("<u8", (MOST_NGRAMS,)),
    "logs": ("<f4", (MOST_NGRAMS, 2)),
    "about": ("|u1", (MOST_BYTES,)),
}
T = TypeVar("T")


def write_model(path: Path, kind: str, version: int, about: Mapping[str, Any], **of: Any) -> None:
    """Write a model's arrays and what it is ("language", "quality"), atomically, or OSError."""
    said = {**about, "kind": f"tokenmill {kind} model", "format": version}
    letters = json.dumps(said, sort_keys=True, ensure_ascii=False).encode()
    with atomic_path(path) as partial, partial.open("wb") as f:
        np.savez_compressed(f, **of, about=np.frombuffer(letters, np.uint8))


def read_model(
    path: Path, kind: str, version: int, layout: Layout, make: Callable[[Arrays, dict[str, Any]], T]
) -> T:
    """A model that `write_model` wrote; ConfigError: none, damaged, of another version, unfit."""
    try:
        arrays = _arrays(path, kind, layout)
        about = parse_json(arrays["about"].tobytes())
        if not isinstance(about, dict) or about.get("kind") != f"tokenmill {kind} model":
            raise ConfigError(f"{path}: not a {kind} model, but arrays of something else")
        if about.get("format") != version:
            raise ConfigError(
                f"{path}: a {kind} model of format {about.get('format')!r}, this tokenmill reads"
                f" {version}; train it again"
            )
        return make(arrays, about)
    except ConfigError:
        raise
    except DAMAGE as e:
        raise ConfigError(
            f"{path}: not a whole {kind} model ({e}); copy it again, or train it again"
        ) from e


def save_model(model: LanguageModel, path: Path) -> None:
    """Write a model; the same model makes the same bytes."""
    order = np.argsort(model.keys)
    letters = "".join(f"{word}\n" for word in model.vocabulary.words.to_pylist())
    write_model(
        path,
        "language",
        FORMAT,
        {**model.about, "order": model.order},
        words=np.frombuffer(letters.encode(), np.uint8),
        word_logs=model.word_logs.astype("<f4"),
        keys=model.keys[order].astype("<u8"),
        logs=model.logs[order].astype("<f4"),
    )


def load_model(path: Path) -> LanguageModel:
    """Read a model, whose numbers are probabilities; see `read_model`."""
    return read_model(path, "language", FORMAT, ARRAYS, _made)


def _made(arrays: Arrays, about: dict[str, Any]) -> LanguageModel:
    model = LanguageModel(
        order=about.get("order", 0),
        vocabulary=Vocabulary(_words(arrays["words"])),
        word_logs=arrays["word_logs"],
        keys=arrays["keys"],
        logs=arrays["logs"],
        about=about,
    )
    _check_cutoffs(about.get("cutoffs", {}))
    _ = model._table  # refuses n-grams that stand there twice
    return model


def _words(letters: U8) -> pa.Array:
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


def _arrays(path: Path, kind: str, layout: Layout) -> Arrays:
    with held(path) as name, zipfile.ZipFile(name) as members:
        found = {m.filename.removesuffix(".npy"): m for m in members.infolist()}
        if set(found) != set(layout) or len(members.infolist()) != len(layout):
            raise ConfigError(
                f"{path}: not a {kind} model, which has {', '.join(sorted(layout))};"
                f" it has {', '.join(sorted(found)) or 'nothing'}"
            )
        return {name: _array(members, found[name], name, *layout[name]) for name in layout}


def _array(
    members: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, kind: str, most: tuple[int, ...]
) -> npt.NDArray[Any]:
    """One array, of which nothing is unpacked before its size is known."""
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
