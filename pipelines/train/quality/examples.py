"""The documents that a classifier is trained and evaluated with: their features, by side.

inputs ─ train.sample ─► features of words ─► counts of features, train and held-out
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.quality_model import WordFeatures, word_features
from tokenmill.pipelines.train.quality.training import Training
from tokenmill.pipelines.train.sample import Sample, read_documents

COUNTED = np.dtype([("feature", np.int32), ("count", np.uint32)])  # each feature of a document
LEAST_DOCS = 20  # of a side: of fewer, neither training nor evaluation tells rule from chance


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
    """The word in which each feature was first met, which stands for it in reports."""

    def __init__(self, n_features: int) -> None:
        self._met = np.zeros(n_features, np.bool_)
        self._words: dict[int, str] = {}

    def add(self, words: WordFeatures) -> None:
        """Add the words of some documents."""
        features, places = np.unique(words.features, return_index=True)
        fresh = ~self._met[features]
        self._met[features] = True
        for feature, place in zip(features[fresh].tolist(), places[fresh].tolist(), strict=True):
            self._words[feature] = words.word(place)

    def of(self, feature: int) -> str:
        """The word of a feature that was met."""
        return self._words[feature]


def read_examples(training: Training, side: str, names: Names) -> Examples:
    """Read the documents of one side, "good" or "bad".

    Raises:
        ConfigError: an input cannot be read, or there are too few documents.
    """

    def words_of(texts: pa.Array) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
        words = word_features(texts, training.n_features)
        names.add(words)
        ones, features = np.ones(len(words.features)), words.features.astype(np.int32)
        shape = (len(texts), training.n_features)
        counts = csr_array((ones, features, words.offsets), shape=shape)
        counts.sum_duplicates()
        counted = np.empty(counts.nnz, COUNTED)
        counted["feature"], counted["count"] = counts.indices, counts.data
        return counted, np.diff(counts.indptr)

    sample = Sample(
        words_of,
        most=training.documents,
        unit="documents",
        holdout=training.holdout,
        seed=training.seed,
    )
    documents, account, failures = read_documents(
        training.side(side), sample, option=f"--{side}", limits=training.limits
    )
    held_out = int(np.count_nonzero(documents.held_out))
    account |= {"trained_on": len(documents.draws) - held_out, "held_out": held_out}
    _check(training, side, account, failures)
    counted = documents.words
    counts = csr_array(
        (counted["count"].astype(np.float64), counted["feature"], documents.offsets),
        shape=(len(documents.draws), training.n_features),
    )
    return Examples(counts, documents.held_out, account)


def _check(training: Training, side: str, account: dict[str, Any], failures: Sequence[str]) -> None:
    """Refuse a side that nothing can be learnt from.

    Raises:
        ConfigError: names the side, what it has and the way out.
    """
    n = account["trained_on"] + account["held_out"]
    where = f"--{side} {', '.join(given.path for given in training.side(side))}"
    if n < LEAST_DOCS:
        raise ConfigError(
            f"{where}: {n} different documents with words; a classifier needs {LEAST_DOCS} at"
            f" least, good and bad ones{''.join(f'; {message}' for message in failures[:1])}"
        )
    for part in ("trained_on", "held_out"):
        if account[part] == 0:
            raise ConfigError(
                f"{where}: of {n} documents none is {part.replace('_', ' ')}, as their ids decide;"
                f" give them different ids, or another --holdout than {training.holdout:g}"
            )
