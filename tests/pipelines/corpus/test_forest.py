"""Forests joined in a tree are the components of all edges; what is told of clusters is true."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import ESTIMATED, job_of, part_of, write_shards
from tests.reference import cluster as reference
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.corpus import near, pairs
from tokenmill.pipelines.corpus import pairs as cluster_facts
from tokenmill.pipelines.corpus.near import EDGE, EDGES, NearDedup, join_forests, levels
from tokenmill.pipelines.corpus.pairs import FOREST, FORESTS, read_pairs, write_pairs
from tokenmill.pipelines.corpus.rows import DOC_IDS, IDS, Corpus, write_rows
from tokenmill.pipelines.corpus.shuffle import rows_between
from tokenmill.pipelines.storage.files import arrow_file

N = 40
row = st.integers(0, N - 1)
edges_of = st.lists(st.lists(row, min_size=2, max_size=2, unique=True).map(sorted), max_size=12)


def job_with(folder, bands, budget="4GiB", keep="first"):
    """A job of `N` documents, whose edges are written by hand."""
    step = NearDedup(num_perm=bands, bands=bands, rows=1, keep=keep, **ESTIMATED)
    job = job_of(folder, (step,), budget)
    zeros = np.zeros((N, 2), np.uint64)
    ids = write_shards(job, (step,), (N,), np.zeros((N, bands), np.uint32), zeros)
    part = part_of([step])
    write_rows(job, part, ("00000",), (N,))
    with arrow_file(job.path(IDS, group=0), DOC_IDS) as writer:
        writer.write_batch(pa.record_batch([ids], schema=DOC_IDS))
    return job, part


@settings(max_examples=25, deadline=None)
@given(st.lists(edges_of, min_size=1, max_size=9), st.sampled_from(["first", "leading"]))
def test_the_last_forest_is_the_clusters_of_all_edges(tmp_path_factory, bands, keep):
    job, part = job_with(tmp_path_factory.mktemp("run"), len(bands), keep=keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "FAN_IN", 2)
        for module in (near, pairs):
            patch.setattr(module, "PAIRS_AT_ONCE", 5)
        for band, edges in enumerate(bands):
            some = np.array(edges, np.int64).reshape(-1, 2)
            path = job.path(EDGES, 0, band=band, number=0)
            assert write_pairs(path, EDGE, [some]) == len(edges)
        counts = levels(len(bands))
        for level, n_files in enumerate(counts[1:], 1):
            for number in range(n_files):
                done = join_forests(job, part, level, number)
    every = [edge for edges in bands for edge in edges]
    label = reference.clusters(N, every)
    if keep == "leading":
        led = Counter(left for left, _ in every)
        label = reference.led(label, [led[of] for of in range(N)], 0)
    expected = [[r, of] for r, of in enumerate(label) if of != r]
    path = job.path(FORESTS, 0, step="near", level=len(counts) - 1, number=0)
    found = [pair for some in read_pairs(path) for pair in some.tolist()]
    assert found == expected
    between = [
        list(pair.values()) for b in rows_between([path], "row", [7, 20]) for pair in b.to_pylist()
    ]
    assert between == [p for p in expected if 7 <= p[0] < 20]
    assert done.facts["clusters"] == len({of for _, of in expected})


def test_blocks_of_a_file_do_not_hang_on_how_pairs_come(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", 7)
    every = np.random.default_rng(1).integers(0, 2**40, (40, 2))
    for at_once in (1, 6, 7, 15, 40):
        some = [every[at : at + at_once] for at in range(0, 40, at_once)]
        assert write_pairs(tmp_path / "file", FOREST, some) == 40
        sizes = [len(block) for block in read_pairs(tmp_path / "file")]
        assert sizes == [7, 7, 7, 7, 7, 5]
        assert np.concatenate(list(read_pairs(tmp_path / "file"))).tolist() == every.tolist()


def test_pairs_that_do_not_fit_into_memory_are_told(tmp_path):
    job, part = job_with(tmp_path, 1, "256KiB")
    write_pairs(job.path(EDGES, 0, band=0, number=0), EDGE, [np.array([[0, 1], [0, 2]])])
    with pytest.raises(ConfigError) as e:
        join_forests(job, part, 1, 0)
    assert str(e.value) == (
        "near: needs 256 KiB of memory for 3 documents in pairs, run.memory_budget is 256 KiB;"
        " raise it or split the corpus"
    )


def test_more_documents_in_pairs_than_trees_can_number_are_told(tmp_path, monkeypatch):
    job, part = job_with(tmp_path, 1)
    write_pairs(job.path(EDGES, 0, band=0, number=0), EDGE, [np.array([[0, 1], [0, 2]])])
    monkeypatch.setattr(near, "MOST_JOINED", 2)
    with pytest.raises(ConfigError) as e:
        join_forests(job, part, 1, 0)
    assert str(e.value) == (
        "near: 3 documents in pairs are more than can be joined, 2; put exact before it, raise"
        " verify or split the corpus"
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 7))
def test_clusters_are_counted_and_the_largest_named(tmp_path_factory, kept, at_once):
    job, part = job_with(tmp_path_factory.mktemp("run"), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_facts, "ROWS_AT_ONCE", at_once)
        patch.setattr(cluster_facts, "LARGEST_CLUSTERS", 3)
        told = cluster_facts.cluster_facts(Corpus(job, part), np.array(kept, np.int64))
    sizes = sorted(((1 + n, of) for of, n in Counter(kept).items()), key=lambda c: (-c[0], c[1]))
    largest = [[of, n] for n, of in sizes[:3]]  # of the first shard ids are rows
    assert told == {"docs": N, "clusters": len(sizes), "largest": largest}
