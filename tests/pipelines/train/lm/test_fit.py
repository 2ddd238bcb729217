"""Probabilities against the formula written out, and their sum."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.train.lm.lines import VOCABULARY, corpora, fitted, obvious, sentences
from tests.reference import perplexity as reference
from tokenmill.pipelines.filters.kernels.ngrams import BOUNDARY, UNKNOWN
from tokenmill.pipelines.filters.models import ngram_model as module
from tokenmill.pipelines.filters.models.text import line_words
from tokenmill.pipelines.train.lm.fit import discounts

NEAR = 2e-5  # float32 of log10, added up over a few words

orders = st.integers(2, 5)
prunes = st.integers(0, 2)


@given(lines=corpora, asked=corpora, order=orders, prune=prunes)
def test_perplexities_are_those_of_the_formula(lines, asked, order, prune):
    model = fitted(lines, order=order, prune=prune).model
    twin = obvious(lines, order=order, prune=prune)
    docs = ["\n".join(map(" ".join, asked)), " ".join(asked[0]), "", "zzz"]
    got = model.perplexities(pa.array(docs)).tolist()
    for doc, perplexity in zip(docs, got, strict=True):
        wanted = reference.perplexity(doc, twin, unseen=3)
        assert perplexity == pytest.approx(wanted, rel=3e-4, abs=0.0501, nan_ok=True)


@given(lines=corpora, asked=sentences, order=orders, prune=prunes)
def test_the_probability_of_each_word_is_that_of_the_formula(lines, asked, order, prune):
    found = fitted(lines, order=order, prune=prune)
    twin = obvious(lines, order=order, prune=prune)
    line = [BOUNDARY, *(VOCABULARY.index(w) + 2 if w in VOCABULARY else UNKNOWN for w in asked), 1]
    logs = found.model.log_probs(np.array(line, np.uint32))
    known = ["<s>", *map(twin.known, asked), "<s>"]
    for i in range(1, len(line)):
        p = twin.prob(known[i], tuple(known[max(0, i - order + 1) : i]))
        assert logs[i] == pytest.approx(math.log10(p / (3 if line[i] == UNKNOWN else 1)), abs=NEAR)


@given(lines=corpora, context=st.lists(st.integers(0, 8), max_size=5), order=orders, prune=prunes)
def test_probabilities_sum_to_one_after_any_words(lines, context, order, prune):
    model = fitted(lines, order=order, prune=prune).model
    total = 0.0
    for word in range(len(model.vocabulary)):
        logs = model.log_probs(np.array([BOUNDARY, *context, word], np.uint32))
        total += 10 ** logs[-1] * (3 if word == UNKNOWN else 1)
    assert total == pytest.approx(1, abs=1e-4)


def test_counts_that_tell_discounts_are_used_and_others_are_not():
    seen = discounts(np.repeat([1, 2, 3, 4, 9], [40, 10, 5, 3, 7]))
    y = 40 / 60
    assert seen.values == pytest.approx((1 - 2 * y / 4, 2 - 3 * y / 2, 3 - 4 * y * 3 / 5))
    assert seen.estimated
    for counts in ([40, 10, 5, 0], [0, 10, 5, 3], [40, 1, 50, 3]):
        assert discounts(np.repeat([1, 2, 3, 4], counts)) == ((0.5, 1.0, 1.5), False)


def test_rare_ngrams_are_left_out_and_pairs_stay():
    lines = [["the", "cat", "sat"], ["the", "cat", "sat"], ["a", "cat", "sat", "on"]]
    whole, pruned = fitted(lines, order=3), fitted(lines, order=3, prune=1)
    n = [[level["ngrams"] for level in f.how] for f in (whole, pruned)]
    assert n[0][:2] == n[1][:2]
    assert n[1][2] == 3  # <s> the cat, the cat sat, cat sat </s>
    assert n[0][2] > n[1][2]


def test_a_word_that_is_not_known_is_one_of_many():
    lines = [["dog", "ran"], ["mat", "the"]]
    few, many = (fitted(lines, unseen=n).model for n in (1, 1000))
    asked = pa.array(["zebra"])
    assert many.perplexities(asked)[0] > 10 * few.perplexities(asked)[0]


@given(docs=st.lists(corpora, max_size=6), order=orders, part=st.integers(1, 9))
def test_how_many_words_are_scored_at_a_time_changes_nothing(docs, order, part):
    model = fitted([["the", "cat", "sat", "on", "a"], ["a", "cat", "sat"]], order=order).model
    words = line_words(pa.array(["\n".join(map(" ".join, doc)) for doc in docs], pa.string()))
    whole = model.sums(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", part)
        assert [a.tolist() for a in model.sums(words)] == [a.tolist() for a in whole]
