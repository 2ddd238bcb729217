"""What a classifier is trained and evaluated with: what is asked for, and documents' features.

inputs ─ train.sample ─► features of words ─► counts of features, train and held-out
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator, model_validator
from scipy.sparse import csr_array

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import (
    WordFeatures,
    check_features,
    word_features,
)
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.train.sample import Sample, read_documents

COUNTED = np.dtype([("feature", np.int32), ("count", np.uint32)])  # each feature of a document
SIDES = ("good", "bad")
LEAST_DOCS = 20  # of a side: of fewer, neither training nor evaluation tells rule from chance


class Training(Config):
    """How a classifier of good and bad documents is trained.

    good, bad: inputs whose documents are examples of either.
    documents: of each side, at most; of more, documents are drawn by id and `seed`.
    holdout: share of them, by id and seed, that the classifier is not trained on but measured with.
    n_features: that words are hashed to, a power of two; 2**20 is the default of Spark's MLlib.
    alpha: of the Pareto rule whose effect is reported; the model does not depend on it.
    seed: of both draws.
    """

    good: tuple[Input, ...] = Field(min_length=1)
    bad: tuple[Input, ...] = Field(min_length=1)
    documents: Annotated[int, Field(ge=1)] = 100_000
    holdout: Annotated[float, Field(gt=0, lt=1)] = 0.2
    n_features: int = 1 << 20
    alpha: Annotated[float, Field(gt=0)] = 9.0
    seed: int = 0
    limits: Limits = Limits()

    @field_validator("n_features")
    @classmethod
    def _can_be_hashed_to(cls, n: int) -> int:
        check_features(n)
        return n

    @model_validator(mode="after")
    def _apart(self) -> "Training":
        both = {i.path for i in self.good} & {i.path for i in self.bad}
        if both:
            raise ValueError(f"{min(both)}: is given as good and as bad; name each path once")
        return self

    def side(self, name: str) -> tuple[Input, ...]:
        """The inputs of "good" or "bad"."""
        return self.good if name == "good" else self.bad


class Examples(NamedTuple):
    """Documents of one side.

    counts: (n_docs, n_features) float64, how often each feature occurs.
    held_out: (n_docs,) bool.
    account: where they come from, and what became of the others; JSON.
    """

    counts: csr_array
    held_out: Bools
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

    def words_of(texts: pa.Array) -> tuple[npt.NDArray[np.void], I64]:
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
