"""The documents that a classifier is trained and evaluated with: their features, by side.

    inputs --readers--> documents --drawn by id--> counts of features, train and held-out

Of equal texts of a side the first stays, so that none is trained on and held out too.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array, vstack

from tokenmill.dedup.digest import digests, first_occurrence
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import FailedInput, Plan
from tokenmill.pipelines.filters.models.quality_model import WordFeatures, uniform, word_features
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.runs.manifest import refuse_runs
from tokenmill.pipelines.train.quality.training import Training

SHARD_BYTES = 256 * 10**6
LEAST_DOCS = 20  # of a side: of fewer, neither training nor evaluation tells rule from chance

NOT_TEXT = {"missing_column", "text_not_string"}  # causes of a file that fails


class Examples(NamedTuple):
    """Documents of one side.

    counts: (n_docs, n_features) float64, how often each feature occurs.
    held_out: (n_docs,) bool.
    account: where they come from, and what became of the others; JSON.
    """

    counts: csr_array
    held_out: npt.NDArray[np.bool_]
    account: dict[str, Any]


class Names:
    """The word in which each feature was first met, by which it is told."""

    def __init__(self, n_features: int) -> None:
        self._met = np.zeros(n_features, np.bool_)
        self._words: dict[int, str] = {}

    def add(self, found: WordFeatures) -> None:
        """Words that were read."""
        features, places = np.unique(found.features, return_index=True)
        fresh = ~self._met[features]
        self._met[features] = True
        for feature, place in zip(features[fresh].tolist(), places[fresh].tolist(), strict=True):
            self._words[feature] = found.word(place)

    def of(self, feature: int) -> str:
        """The word of a feature that was met."""
        return self._words[feature]


class _Rows(NamedTuple):
    """draws: (n_docs,), which say who stays.  digests: (n_docs, 2), of texts."""

    draws: npt.NDArray[np.float64]
    held_out: npt.NDArray[np.bool_]
    digests: npt.NDArray[np.uint64]
    counts: csr_array

    def take(self, rows: npt.NDArray[Any]) -> "_Rows":
        return _Rows(*(column[rows] for column in self))


class _Sample:
    """What has been read of a side: of more documents than are wanted those of the least draws."""

    def __init__(self, training: Training, names: Names) -> None:
        self._training, self._names = training, names
        self._parts: list[_Rows] = []
        self._limit = 1.0
        self.without_words = 0

    def add(self, ids: pa.Array, texts: pa.Array) -> None:
        """Documents, as they are read."""
        draws = uniform(ids, "sample", self._training.seed)
        wanted = draws < self._limit
        ids, texts = ids.filter(pa.array(wanted)), texts.filter(pa.array(wanted))
        found = word_features(texts, self._training.n_features)
        self._names.add(found)
        held_out = uniform(ids, "holdout", self._training.seed) < self._training.holdout
        counts = _counts(found, self._training.n_features)
        with_words = np.diff(found.offsets) > 0
        self.without_words += int(np.count_nonzero(~with_words))
        rows = _Rows(draws[wanted], held_out, digests(texts, "xxh3"), counts)
        self._parts.append(rows.take(with_words))
        if sum(len(part.draws) for part in self._parts) > 2 * self._training.documents:
            self._parts = [self.rows()]
            self._limit = float(self._parts[0].draws.max())

    def rows(self) -> _Rows:
        """As many documents as are wanted, or all."""
        if not self._parts:
            self.add(pa.array([], pa.string()), pa.array([], pa.large_string()))
        draws, held_out, keys, counts = zip(*self._parts, strict=True)
        rows = _Rows(
            np.concatenate(draws),
            np.concatenate(held_out),
            np.concatenate(keys),
            vstack(counts, format="csr"),
        )
        stays = np.argsort(rows.draws, kind="stable")[: self._training.documents]
        return rows.take(np.sort(stays))


def read_examples(training: Training, side: str, names: Names) -> Examples:
    """Read the documents of one side, "good" or "bad".

    Raises:
        ConfigError: an input cannot be read, or there are too few documents.
    """
    plan = _planned(training, side)
    sample = _Sample(training, names)
    failed = Counter({lost.cause: lost.docs or 0 for lost in plan.failed})
    lost = [_told(failure) for failure in plan.failed]
    n_read, digest = 0, hashlib.sha256()
    for shard in plan.shards:
        for batch in read_shard(shard, limits=training.limits):
            failed.update(batch.failed["reason"].to_pylist())
            lost = lost or batch.failed["detail"].to_pylist()[:1]
            n_read += batch.documents.num_rows
            digest.update(digests(batch.documents["text"], "xxh3").tobytes())
            sample.add(batch.documents["id"], batch.documents["text"])
    rows = sample.rows()
    once = rows.take(first_occurrence(rows.digests) == np.arange(len(rows.draws)))
    held_out = int(np.count_nonzero(once.held_out))
    account = {
        "sources": [given.source_name for given in training.side(side)],
        "files": {file.name: file.bytes for file in plan.files},
        "documents_sha256": digest.hexdigest(),
        "read": n_read,
        "failed": dict(sorted(failed.items())),
        "without_words": sample.without_words,
        "repeated": len(rows.draws) - len(once.draws),
        "trained_on": len(once.draws) - held_out,
        "held_out": held_out,
    }
    _check(training, side, account, lost)
    return Examples(once.counts, once.held_out, account)


def _planned(training: Training, side: str) -> Plan:
    inputs = training.side(side)
    refuse_runs(inputs)
    try:
        return plan_inputs(inputs, SHARD_BYTES, limits=training.limits, in_recipe=False)
    except ConfigError as e:
        raise ConfigError(f"--{side}: {e}") from e


def _check(training: Training, side: str, account: dict[str, Any], lost: Sequence[str]) -> None:
    """Refuse a side that nothing can be learnt from.

    Raises:
        ConfigError: names the side, what it has and the way out.
    """
    n = account["trained_on"] + account["held_out"]
    where = f"--{side} {', '.join(given.path for given in training.side(side))}"
    if n < LEAST_DOCS:
        raise ConfigError(
            f"{where}: {n} different documents with words; a classifier needs {LEAST_DOCS} at"
            f" least, good and bad ones{''.join(f'; {message}' for message in lost[:1])}"
        )
    for part in ("trained_on", "held_out"):
        if account[part] == 0:
            raise ConfigError(
                f"{where}: of {n} documents none is {part.replace('_', ' ')}, as their ids decide;"
                f" give them different ids, or another --holdout than {training.holdout:g}"
            )


def _told(lost: FailedInput) -> str:
    """What is wrong with a file, to someone who has no recipe to name a column in."""
    if lost.cause not in NOT_TEXT:
        return lost.message
    return f"{lost.message.rpartition(';')[0]}; name it, as --text-column NAME"


def _counts(found: WordFeatures, n_features: int) -> csr_array:
    """(n_docs, n_features) of the features of words."""
    shape = (len(found.offsets) - 1, n_features)
    ones = np.ones(len(found.features))
    counts = csr_array((ones, found.features.astype(np.int32), found.offsets), shape=shape)
    counts.sum_duplicates()
    return counts
