"""Words as hashed features, against the slow twin, scikit-learn's hash and Spark's own tests."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.train.quality.models import linear
from tests.reference import quality as reference
from tests.strategies import documents, text_columns
from tokenmill.pipelines.filters.models import quality_model as words
from tokenmill.pipelines.filters.models.quality_model import (
    check_features,
    weight_sums,
    word_features,
)

RNG = np.random.default_rng(0)


@given(text_columns(), st.integers(1, 24))
@example(pa.array(["", " ", "a", "ab abc abcd abcde abcdef abcdefg abcdefgh abcdefghi"]), 20)
def test_features_match_the_reference(text, bits):
    found = word_features(text, 1 << bits)
    assert found.offsets[0] == 0
    for i, doc in enumerate(text.to_pylist()):
        mine = found.features[found.offsets[i] : found.offsets[i + 1]].tolist()
        assert mine == reference.features(doc, 1 << bits)


@given(st.binary(max_size=40))
def test_the_reference_hashes_as_scikit_learn_does(key):
    from sklearn.utils import murmurhash3_32  # 0.6 s, that not every process of tests needs

    assert reference.murmur3(key) == murmurhash3_32(key, seed=42, positive=True)


def test_features_are_those_of_sparks_hashing_tf():
    """Indices that HashingTFSuite and the documentation of PySpark 3 state, of 100 and of 10."""

    def spark(word, n):
        signed = (reference.murmur3(word.encode()) ^ 1 << 31) - (1 << 31)
        return signed % n

    assert [spark(word, 100) for word in "abcd"] == [67, 65, 68, 90]
    assert [spark(word, 10) for word in "abc"] == [7, 5, 8]
    # of a power of two the sign counts for nothing
    hashed = [spark(word, 1 << 18) for word in "abcd"]
    assert word_features(pa.array(["a B c D"]), 1 << 18).features.tolist() == hashed


def test_a_word_is_told_by_its_number():
    found = word_features(pa.array(["Eins ZWEI", "", "İ drei"]), 64)
    assert [found.word(i) for i in range(4)] == ["eins", "zwei", "i̇", "drei"]


@given(text_columns(), st.floats(-5, 5))
def test_scores_match_the_reference(text, intercept):
    weights = {"the": 0.7, "a": -1.3, "cat": 0.11, "dog": 2.9, "one": -0.4}
    model = linear(weights, n_features=64, intercept=intercept)
    want = [reference.score(doc, model.weights, intercept) for doc in text.to_pylist()]
    assert np.abs(model.scores(text) - want).max(initial=0) <= 1e-9


@given(st.lists(documents, max_size=12), st.integers(1, 80))
def test_blocks_change_nothing(docs, block_bytes):
    weights = RNG.normal(size=64).astype(np.float32)
    whole = weight_sums(pa.array(docs, pa.string()), weights, 0.25)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "BLOCK_BYTES", block_bytes)
        assert np.array_equal(weight_sums(pa.array(docs, pa.string()), weights, 0.25), whole)
    alone = [0.25 + sum(float(weights[f]) for f in reference.features(d, 64)) for d in docs]
    assert np.allclose(whole, alone)


@given(st.lists(documents, min_size=4, max_size=12))
def test_scores_equal_those_of_scikit_learn_with_the_same_hash(docs):
    from sklearn.linear_model import LogisticRegression

    counts = [np.bincount(reference.features(doc, 128), minlength=128) for doc in docs]
    regression = LogisticRegression().fit(counts, [i % 2 for i in range(len(docs))])
    weights = regression.coef_[0].astype(np.float32)
    regression.coef_ = weights[None].astype(float)
    ours = weight_sums(pa.array(docs, pa.string()), weights, float(regression.intercept_[0]))
    assert np.allclose(ours, regression.decision_function(counts))


@pytest.mark.parametrize("n", [0, 1, 3, 1 << 25, -2])
def test_other_numbers_of_features_are_refused(n):
    with pytest.raises(ValueError, match=r"a power of two, 2 to 16,777,216, got"):
        check_features(n)
