"""Documents for a language model, as hashed words: drawn by id, so that they fit into memory.

inputs --readers--> documents --drawn by id--> hashed words, train and held-out
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.digest import digests, first_occurrence
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import FailedInput, Input, Plan
from tokenmill.pipelines.filters.models.quality_model import uniform
from tokenmill.pipelines.filters.models.text import LineWords, PlacedWords, placed_words
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard
from tokenmill.pipelines.runs.manifest import refuse_runs
from tokenmill.pipelines.train.lm.names import Names

SHARD_BYTES = 256 * 10**6
NOT_TEXT = {"missing_column", "text_not_string"}  # causes of a file that fails

Rows = npt.NDArray[np.int64]


class Documents(NamedTuple):
    """draws: (n_docs,), which say who stays.  keys: (n_docs, 2), digests of texts.

    lengths: (n_docs,) int64, words of each.  hashes: of all, one document after the other.
    """

    draws: npt.NDArray[np.float64]
    held_out: npt.NDArray[np.bool_]
    keys: npt.NDArray[np.uint64]
    lengths: Rows
    hashes: npt.NDArray[np.uint64]

    def take(self, rows: Rows) -> "Documents":
        """Some of them, in this order."""
        starts = np.cumsum(self.lengths) - self.lengths
        lengths = self.lengths[rows]
        # where each word of them stands: from its document's first on
        first = np.repeat(starts[rows] - (np.cumsum(lengths) - lengths), lengths)
        words = self.hashes[first + np.arange(len(first))]
        return Documents(self.draws[rows], self.held_out[rows], self.keys[rows], lengths, words)

    @property
    def words(self) -> LineWords:
        return LineWords(self.hashes, np.concatenate(([0], np.cumsum(self.lengths))))


class Sample:
    """What has been read: of more words than are wanted, the documents of the least draws."""

    def __init__(self, *, words: int, holdout: float, seed: int) -> None:
        self._words, self._holdout, self._seed = words, holdout, seed
        self._parts: list[Documents] = []
        self._limit = 1.0
        self.names = Names()
        self.without_words = 0

    def add(self, ids: pa.Array, texts: pa.Array) -> None:
        """Documents, as they are read."""
        draws = uniform(ids, "sample", self._seed)
        wanted = draws < self._limit
        ids, texts = ids.filter(pa.array(wanted)), texts.filter(pa.array(wanted))
        found = placed_words(texts)
        self.names.add(found)
        held_out = uniform(ids, "holdout", self._seed) < self._holdout
        documents = _documents(draws[wanted], held_out, texts, found)
        has_words = np.flatnonzero(documents.lengths)
        self.without_words += len(draws[wanted]) - len(has_words)
        self._parts.append(documents.take(has_words))
        if sum(len(part.hashes) for part in self._parts) > 2 * self._words:
            self._parts = [self.documents()]
            self._limit = float(self._parts[0].draws.max())

    def documents(self) -> Documents:
        """As many words as are wanted, or all; of more, one document at least."""
        if not self._parts:
            self.add(pa.array([], pa.string()), pa.array([], pa.large_string()))
        whole = Documents(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        order = np.argsort(whole.draws, kind="stable")
        behind = np.cumsum(whole.lengths[order])
        fits = behind <= self._words
        fits[:1] = True
        return whole if fits.all() else whole.take(np.sort(order[fits]))


def _documents(
    draws: npt.NDArray[np.float64],
    held_out: npt.NDArray[np.bool_],
    texts: pa.Array,
    found: PlacedWords,
) -> Documents:
    lengths = np.diff(found.words.doc_ends)
    return Documents(draws, held_out, digests(texts, "xxh3"), lengths, found.words.hashes)


def read_sample(
    inputs: Sequence[Input], sample: Sample, *, option: str, limits: Limits
) -> tuple[Documents, dict[str, Any]]:
    """Read documents; of equal texts the first. And where they come from, as JSON.

    option: that named the inputs, for messages.

    Raises:
        ConfigError: an input cannot be read, or there is no word in them.
    """
    plan = _planned(inputs, option, limits)
    failed = Counter({lost.cause: lost.docs or 0 for lost in plan.failed})
    lost = [_told(failure) for failure in plan.failed]
    n_read, digest = 0, hashlib.sha256()
    for shard in plan.shards:
        for batch in read_shard(shard, limits=limits):
            failed.update(batch.failed["reason"].to_pylist())
            lost = lost or batch.failed["detail"].to_pylist()[:1]
            n_read += batch.documents.num_rows
            digest.update(digests(batch.documents["text"], "xxh3").tobytes())
            sample.add(batch.documents["id"], batch.documents["text"])
    found = sample.documents()
    once = found.take(np.flatnonzero(first_occurrence(found.keys) == np.arange(len(found.draws))))
    account = {
        "sources": [given.source_name for given in inputs],
        "files": {file.name: file.bytes for file in plan.files},
        "documents_sha256": digest.hexdigest(),
        "read": n_read,
        "failed": dict(sorted(failed.items())),
        "without_words": sample.without_words,
        "repeated": len(found.draws) - len(once.draws),
        "documents": len(once.draws),
        "words": len(once.hashes),
    }
    if not len(once.draws):
        where = ", ".join(given.path for given in inputs)
        raise ConfigError(
            f"{option} {where}: {n_read:,} documents, none with words"
            f"{''.join(f'; {message}' for message in lost[:1])}"
        )
    return once, account


def _planned(inputs: Sequence[Input], option: str, limits: Limits) -> Plan:
    refuse_runs(inputs)
    try:
        return plan_inputs(inputs, SHARD_BYTES, limits=limits, in_recipe=False)
    except ConfigError as e:
        raise ConfigError(f"{option}: {e}") from e


def _told(lost: FailedInput) -> str:
    """What is wrong with a file, to someone who has no recipe to name a column in."""
    if lost.cause not in NOT_TEXT:
        return lost.message
    return f"{lost.message.rpartition(';')[0]}; name it, as --text-column NAME"
