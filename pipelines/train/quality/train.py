"""From good and bad documents to a classifier, and what it is worth.

    read both sides --> fit on most documents --> evaluate on the others --> quality.npz

Source: Brown et al. 2020, arXiv:2005.14165, appendix A: logistic regression over the features of
Spark's tokenizer and HashingTF. The paper tells no settings; those of `fit` are stated there.
"""

from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import expit

from tokenmill.dedup.arrays import F32, F64
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.quality_model import LinearModel
from tokenmill.pipelines.train.quality.evaluation import evaluate
from tokenmill.pipelines.train.quality.examples import SIDES, Names, Training, read_examples

LIBRARY = "sklearn"
MOST_TELLING = 20  # words of each side
LIBRARIES = ("tokenmill", "numpy", "scipy", "scikit-learn")


def check_library() -> None:
    """Training alone needs it.

    Raises:
        ConfigError: it is not installed.
    """
    if find_spec(LIBRARY) is None:
        raise ConfigError("training needs scikit-learn; pip install 'tokenmill[quality]'")


def train(training: Training) -> LinearModel:
    """Train and evaluate a classifier; the same documents and settings give the same model.

    Raises:
        ConfigError: scikit-learn is missing, inputs cannot be read, or hold too few documents.
    """
    check_library()
    from tokenmill.pipelines.train.quality.fit import fit  # imports scikit-learn, which is optional

    names = Names(training.n_features)
    good, bad = (read_examples(training, side, names) for side in SIDES)
    counts = vstack([e.counts[~e.held_out] for e in (good, bad)], format="csr")
    is_good = np.arange(counts.shape[0]) < good.account["trained_on"]
    fitted = fit(counts, is_good)
    model = LinearModel(fitted.weights, fitted.intercept, {})
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
            **fitted.how,
        },
        "inputs": {"good": good.account, "bad": bad.account},
        "evaluation": evaluate(of_good, of_bad, training.alpha),
        "telling": telling(counts, fitted.weights, names),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    return replace(model, about=about)


def telling(counts: csr_array, weights: F32, names: Names) -> dict[str, list[dict[str, Any]]]:
    """The words that move scores most, of either side: by weight times the spread of their counts.

    A word stands for its feature, which others may share.
    """
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


def _scores(counts: csr_array, model: LinearModel) -> F64:
    sums = counts @ model.weights.astype(np.float64) + model.intercept
    scores: F64 = expit(sums)
    return scores
