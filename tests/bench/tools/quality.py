"""Scores of a linear classifier over counts of hashed words: ours, and scikit-learn's pipeline."""

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tests.bench.tools.ours import batches_of
from tokenmill.pipelines.filters.models.quality import Quality
from tokenmill.pipelines.filters.models.quality_model import LinearModel, save_model

N_FEATURES = 1 << 20
INTERCEPT = -0.1


def drawn_weights():
    return np.random.default_rng(0).normal(scale=0.01, size=N_FEATURES).astype(np.float32)


def ours(part, scratch):
    path = scratch / "quality.npz"
    save_model(LinearModel(drawn_weights(), INTERCEPT, {}), path)
    stage = Quality.model_validate({"model": str(path)})
    batches = list(batches_of(part / "docs.parquet"))
    stage(batches[0].slice(0, 1))  # the model is read once a process

    def work():
        kept = sum(stage(batch).kept.num_rows for batch in batches)
        return {"docs": sum(b.num_rows for b in batches), "kept": kept}

    return work


def scikit_learn(part, scratch):
    """The words are ours; the hash is its own, which differs by the seed."""
    texts = pq.read_table(part / "docs.parquet")["text"].to_pylist()
    regression = LogisticRegression()
    regression.classes_, regression.intercept_ = np.array([0, 1]), np.array([INTERCEPT])
    regression.coef_ = drawn_weights()[None].astype(np.float64)
    vectorizer = HashingVectorizer(
        tokenizer=str.split,
        token_pattern=None,
        norm=None,
        alternate_sign=False,
        n_features=N_FEATURES,
    )
    pipeline = make_pipeline(vectorizer, regression)
    drawn = np.random.default_rng(0)

    def work():
        scores = pipeline.predict_proba(texts)[:, 1]
        kept = int((drawn.pareto(9, len(scores)) > 1 - scores).sum())
        return {"docs": len(texts), "kept": kept}

    return work


STEPS = {"quality": ours, "quality: scikit-learn": scikit_learn}
