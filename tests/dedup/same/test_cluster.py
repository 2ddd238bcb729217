"""Clusters are connected components, named by their first document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dedup.same.labels import clusters
from tests.reference import cluster as reference
from tokenmill.dedup.same.verify import Forest, Touched


@st.composite
def graphs(draw):
    n_docs = draw(st.integers(1, 40))
    row = st.integers(0, n_docs - 1)
    return n_docs, draw(st.lists(st.tuples(row, row), max_size=50))


def as_array(edges):
    return np.array(edges, np.int64).reshape(-1, 2)


@given(graphs(), st.randoms())
def test_labels_are_the_reference_whatever_the_order_of_edges(graph, random):
    n_docs, edges = graph
    expected = reference.clusters(n_docs, edges)
    assert clusters(n_docs, as_array(edges)).tolist() == expected
    random.shuffle(edges)
    turned = [edge if random.random() < 0.5 else edge[::-1] for edge in edges]
    assert clusters(n_docs, as_array(turned)).tolist() == expected


@given(graphs())
def test_one_document_of_each_cluster_is_its_own_label(graph):
    n_docs, edges = graph
    labels = clusters(n_docs, as_array(edges))
    kept = np.flatnonzero(labels == np.arange(n_docs))
    assert kept.tolist() == sorted(set(labels.tolist()))


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_is_one_cluster_in_reasonable_time(step):
    """From its end, the chain is a tree as deep as it is long: walked 500,000 times, but once."""
    n = 500_000
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)[::step]
    end_again = np.stack([np.zeros(n, np.int64), np.full(n, n - 1)], axis=1)
    assert not clusters(n, np.concatenate([chain, end_again])).any()


def test_no_edges_no_clusters():
    assert clusters(3, as_array([])).tolist() == [0, 1, 2]
    assert clusters(0, as_array([])).tolist() == []


def test_a_row_out_of_range_is_refused():
    with pytest.raises(IndexError) as error:
        clusters(3, as_array([(0, 3)]))
    assert str(error.value) == "edges name row 3, there are 3 rows"


@given(graphs(), st.integers(1, 50), st.integers(0, 2**20))
def test_a_forest_of_touched_rows_is_that_of_all(graph, at_once, offset):
    """Rows far apart take no memory for those between; what no edge names has no row."""
    n_docs, edges = graph
    pairs = as_array(edges).astype(np.uint32) * np.uint32(97) + np.uint32(offset)
    touched = Touched(97 * n_docs + offset)
    for start in range(0, len(pairs), at_once):
        touched.mark(pairs[start : start + at_once])
    assert touched.n == len(np.unique(pairs))
    assert touched.rows().tolist() == np.unique(pairs).tolist()
    forest = Forest(touched)
    for start in range(0, len(pairs), at_once):
        forest.join(pairs[start : start + at_once])
    labels = reference.clusters(n_docs, edges)
    expected = [[97 * r + offset, 97 * of + offset] for r, of in enumerate(labels) if r != of]
    assert [tree for some in forest.trees(at_once) for tree in some.tolist()] == expected


@given(graphs(), st.data())
def test_the_heaviest_row_stands_for_its_tree_but_where_one_is_held(graph, data):
    n_docs, edges = graph
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n_docs, max_size=n_docs))
    n_held = data.draw(st.integers(0, n_docs))
    touched = Touched(n_docs)
    touched.mark(as_array(edges))
    forest = Forest(touched)
    forest.join(as_array(edges))
    forest.lead(np.array(weights, np.int64)[forest.rows], n_held)
    labels = reference.led(reference.clusters(n_docs, edges), weights, n_held)
    expected = [[row, of] for row, of in enumerate(labels) if row != of]
    assert [tree for some in forest.trees(7) for tree in some.tolist()] == expected


def test_a_row_that_is_no_document_cannot_be_marked():
    touched = Touched(64)
    touched.mark(np.array([[0, 63]], np.uint32))
    with pytest.raises(IndexError) as error:
        touched.mark(np.array([[0, 64]], np.uint32))
    assert str(error.value) == "edges name row 64, there are 64 rows"
