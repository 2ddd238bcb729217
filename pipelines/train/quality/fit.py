"""Logistic regression over counts of words, by scikit-learn (the extra `quality`)."""
# stands alone: it imports scikit-learn, which is optional

import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tokenmill.dedup.arrays import Bools
from tokenmill.pipelines.filters.models.quality_model import LinearModel

# As GPT-3's paper says nothing of them: the defaults of scikit-learn, which found the best AUC of
# 0.01, 1 and 100; and both sides count alike, however many documents each has.
C = 1.0
SOLVER = "lbfgs"
CLASS_WEIGHT = "balanced"
MOST_ITERATIONS = 1000


def fit(counts: csr_array, good: Bools) -> LinearModel:
    """Fit weights of features; the model says with what settings, and whether it ended.

    counts: (n_docs, n_features).  good: (n_docs,), of which both kinds are there.

    Deterministic: the solver draws nothing, and sums on one thread, whose order is fixed.
    """
    met = np.unique(counts.indices)  # the weights of all others are 0: nothing moves them
    regression = LogisticRegression(
        C=C, solver=SOLVER, class_weight=CLASS_WEIGHT, max_iter=MOST_ITERATIONS
    )
    with threadpool_limits(1), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        regression.fit(counts[:, met], good)
    weights = np.zeros(counts.shape[1], np.float32)
    weights[met] = regression.coef_[0]
    about = {
        "penalty": "l2",
        "C": C,
        "solver": SOLVER,
        "class_weight": CLASS_WEIGHT,
        "iterations": int(regression.n_iter_[0]),
        "converged": not any(issubclass(w.category, ConvergenceWarning) for w in said),
    }
    return LinearModel(weights, float(regression.intercept_[0]), about)
