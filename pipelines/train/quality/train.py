"""From good and bad documents to a classifier, and what it is worth.

    read both sides --> fit on most documents --> evaluate on the others --> quality.npz
    texts ─ train.sample ─► features of words ─► counts of features, train and held-out

Source: Brown et al. 2020, arXiv:2005.14165, appendix A: logistic regression over the features of
Spark's tokenizer and HashingTF. The paper tells no settings; those of `fit` are stated there.
"""

from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from tokenmill.dedup.arrays import F32, F64, I64, Bools
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import (
    LinearModel,
    WordFeatures,
    check_features,
    word_features,
)
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.train.quality.evaluation import SIDES, evaluate
from tokenmill.pipelines.train.sample import Sample, read_documents

if TYPE_CHECKING:  # where it is needed SciPy is imported: longer than it takes to tell a mistake
    from scipy.sparse import csr_array

LIBRARY = "sklearn"
COUNTED = np.dtype([("feature", np.int32), ("count", np.uint32)])  # each feature of a document
LEAST_DOCS = 20  # of a side: of fewer, neither training nor evaluation tells rule from chance
MOST_TELLING = 20  # words of each side
LIBRARIES = ("tokenmill", "numpy", "scipy", "scikit-learn")


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


class Examples(NamedTuple):
    """Documents of one side.

    counts: (n_docs, n_features) float64, how often each feature occurs.
    account: where they come from, and what became of the others; JSON.
    """

    counts: "csr_array"
    held_out: Bools
    account: dict[str, Any]


class Names:
    """The word in which each feature was first met, which stands for it in reports."""

    def __init__(self, n_features: int) -> None:
        self._met = np.zeros(n_features, np.bool_)
        self._words: dict[int, str] = {}

    def add(self, words: WordFeatures) -> None:
        features, places = np.unique(words.features, return_index=True)
        fresh = ~self._met[features]
        self._met[features] = True
        for feature, place in zip(features[fresh].tolist(), places[fresh].tolist(), strict=True):
            self._words[feature] = words.word(place)

    def of(self, feature: int) -> str:
        """The word of a feature that was met."""
        return self._words[feature]


def read_examples(training: Training, side: str, names: Names) -> Examples:
    """Read the documents of one side, "good" or "bad"; ConfigError: unreadable, or too few."""
    from scipy.sparse import csr_array

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
    inputs: tuple[Input, ...] = getattr(training, side)
    documents, account, failure = read_documents(
        inputs, sample, option=f"--{side}", limits=training.limits
    )
    n, held_out = len(documents.draws), int(np.count_nonzero(documents.held_out))
    account |= {"trained_on": n - held_out, "held_out": held_out}
    where = f"--{side} {', '.join(given.path for given in inputs)}"
    if n < LEAST_DOCS:
        raise ConfigError(
            f"{where}: {n} different documents with words; a classifier needs {LEAST_DOCS} at"
            f" least, good and bad ones{failure}"
        )
    for part in ("trained_on", "held_out"):
        if account[part] == 0:
            raise ConfigError(
                f"{where}: of {n} documents none is {part.replace('_', ' ')}, as their ids decide;"
                f" give them different ids, or another --holdout than {training.holdout:g}"
            )
    counted = documents.words
    counts = csr_array(
        (counted["count"].astype(np.float64), counted["feature"], documents.offsets),
        shape=(n, training.n_features),
    )
    return Examples(counts, documents.held_out, account)


def check_library() -> None:
    """ConfigError where scikit-learn, which training alone needs, is not installed."""
    if find_spec(LIBRARY) is None:
        raise ConfigError("training needs scikit-learn; pip install 'tokenmill[quality]'")


def train(training: Training) -> LinearModel:
    """Train and evaluate, the same each time; ConfigError: no scikit-learn, or too few inputs."""
    check_library()
    from scipy.sparse import vstack

    from tokenmill.pipelines.train.quality.fit import fit  # imports scikit-learn, which is optional

    names = Names(training.n_features)
    good, bad = (read_examples(training, side, names) for side in SIDES)
    counts = vstack([e.counts[~e.held_out] for e in (good, bad)], format="csr")
    is_good = np.arange(counts.shape[0]) < good.account["trained_on"]
    model = fit(counts, is_good)
    of_good, of_bad = (_scores(e.counts[e.held_out], model) for e in (good, bad))
    about = {
        "features": {
            "n": training.n_features,
            "words": "str.lower().split()",
            "hash": "MurmurHash3_x86_32, seed 42",
            "value": "count",
        },
        "training": {
            "documents": training.documents,
            "holdout": training.holdout,
            "seed": training.seed,
            **model.about,
        },
        "inputs": {"good": good.account, "bad": bad.account},
        "evaluation": evaluate(of_good, of_bad, training.alpha),
        "telling": telling(counts, model.weights, names),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    return replace(model, about=about)


def telling(counts: "csr_array", weights: F32, names: Names) -> dict[str, list[dict[str, Any]]]:
    """Words that move scores most, by weight times spread of counts; others may share a feature."""
    mean = np.asarray(counts.mean(axis=0)).ravel()
    square = np.asarray(counts.multiply(counts).mean(axis=0)).ravel()
    moves = weights * np.sqrt(np.maximum(square - mean**2, 0))
    order = np.argsort(-moves, kind="stable")
    sides = {"good": order[:MOST_TELLING], "bad": order[::-1][:MOST_TELLING]}
    signs = {"good": 1, "bad": -1}
    return {
        side: [
            {"word": names.of(int(f)), "weight": float(weights[f])}
            for f in features
            if moves[f] * signs[side] > 0
        ]
        for side, features in sides.items()
    }


def _scores(counts: "csr_array", model: LinearModel) -> F64:
    from scipy.special import expit

    sums = counts @ model.weights.astype(np.float64) + model.intercept
    scores: F64 = expit(sums)
    return scores
