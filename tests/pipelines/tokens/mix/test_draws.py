"""What chance decides, against the slow twin, and whether it is chance."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference import mix as reference
from tokenmill.pipelines.tokens.mix.draws import ONE, copies, draws, states

names = st.lists(st.text(max_size=8), max_size=20)
weights = st.floats(1e-6, 5.0)
seeds = st.integers(0, 2**32)


def drawn(ids, seed, weight, epochs):
    own = states(pa.array(ids, pa.string()), seed=seed)
    return copies(draws(own), own, weight=weight, epochs=epochs)


@given(names, seeds, weights, st.integers(1, 7))
@example(["a", "a", ""], 0, 1.0, 3)
@example(["a", "b"], 0, 0.25, 4)
def test_copies_and_their_order_are_those_of_the_reference(ids, seed, weight, epochs):
    got = drawn(ids, seed, weight, epochs)
    assert got.counts.tolist() == [len(reference.copies(i, seed, weight, epochs)) for i in ids]
    order = np.argsort(got.keys, kind="stable")
    assert got.rows[order].tolist() == reference.mixed(ids, seed, [weight] * len(ids), epochs)


def test_the_least_weight_takes_the_least_draws_one_an_epoch():
    draw = np.arange(6, dtype=np.uint64)
    got = copies(draw, draw, weight=1 / ONE, epochs=4)
    assert got.counts.tolist() == [1, 1, 1, 1, 0, 0]
    assert (got.keys >> np.uint64(62)).tolist() == [0, 1, 2, 3], "its epoch leads a key"


@given(names, seeds, weights, weights, st.integers(1, 4), st.integers(1, 4))
def test_more_weight_or_more_epochs_keep_what_less_had(ids, seed, one, other, few, more):
    less = drawn(ids, seed, min(one, other), min(few, more)).counts
    assert (less <= drawn(ids, seed, max(one, other), max(few, more)).counts).all()


@given(names, seeds, st.integers(1, 9), st.integers(1, 5))
def test_a_whole_weight_has_each_document_as_often_in_every_epoch(ids, seed, weight, epochs):
    got = drawn(ids, seed, float(weight), epochs)
    epoch = got.keys / 2.0**64 * epochs // 1
    for e in range(epochs):
        assert Counter(got.rows[epoch == e].tolist()) == dict.fromkeys(range(len(ids)), weight)


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.5])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_draw_at_the_edge_of_a_weight_falls_on_its_right_side(weight, epochs):
    edge = int(weight * epochs % 1 * ONE)
    at = [d for d in (0, 1, edge - 1, edge, edge + 1, ONE - 1) if 0 <= d < ONE]
    draw = np.array(at, np.uint64)
    got = copies(draw, draw, weight=weight, epochs=epochs).counts.tolist()
    assert got == [math.ceil(Fraction(weight) * epochs - Fraction(d, ONE)) for d in at]


def test_of_a_quarter_each_document_stands_in_one_of_four_epochs():
    got = drawn([f"doc-{i}" for i in range(1000)], 3, 0.25, 4)
    assert (got.counts == 1).all()
    each = np.bincount((got.keys // np.uint64(2**62)).astype(int), minlength=4)
    assert np.abs(each - 250).max() < 4 * (1000 * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize("weight", [0.001, 0.25, 0.5, 1.75, 2.5])
def test_documents_stand_as_often_as_their_weight_says(weight):
    n = 40_000
    got = drawn([f"doc-{i}" for i in range(n)], 1, weight, 1)
    frac = weight % 1
    error = (n * frac * (1 - frac)) ** 0.5
    assert abs(len(got.rows) - n * weight) < 4 * error
    assert set(got.counts.tolist()) <= {int(weight), int(weight) + 1}


def test_another_seed_draws_other_documents():
    ids = [f"doc-{i}" for i in range(10_000)]
    one, other = (drawn(ids, seed, 0.5, 1).counts > 0 for seed in (0, 1))
    both = int((one & other).sum())
    assert abs(both - 2500) < 4 * (10_000 * 0.25 * 0.75) ** 0.5


def test_a_draw_says_nothing_of_the_place_nor_of_the_side():
    ids = pa.array([f"doc-{i}" for i in range(20_000)])
    own = states(ids, seed=0)
    draw, place = draws(own) / ONE, copies(draws(own), own, weight=1.0, epochs=1).keys / 2.0**64
    side = own / 2.0**64  # of which `in_validation` takes the least
    for a, b in ((draw, place), (draw, side), (place, side)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / 20_000**0.5


def test_places_are_uniform_and_know_nothing_of_the_order_of_the_input():
    n = 20_000
    keys = drawn([f"doc-{i}" for i in range(n)], 7, 1.0, 1).keys
    ranks = np.argsort(np.argsort(keys))
    assert abs(np.corrcoef(ranks, np.arange(n))[0, 1]) < 4 / n**0.5
    # documents of each tenth of the input, in each tenth of the order: chi-square, 81 degrees
    table = np.zeros((10, 10))
    np.add.at(table, (np.arange(n) * 10 // n, ranks * 10 // n), 1)
    chi2 = float(((table - n / 100) ** 2 / (n / 100)).sum())
    assert 81 - 4 * (2 * 81) ** 0.5 < chi2 < 81 + 4 * (2 * 81) ** 0.5
    # neighbours of the input are no nearer in the order than others: a third of the whole
    assert abs(np.abs(np.diff(ranks)).mean() / n - 1 / 3) < 0.01


def test_the_next_copy_of_a_document_is_anywhere():
    got = drawn([f"doc-{i}" for i in range(10_000)], 0, 2.0, 1)
    places = (got.keys / 2.0**64).reshape(-1, 2)
    assert abs(np.corrcoef(places[:, 0], places[:, 1])[0, 1]) < 4 / 10_000**0.5
