"""Copies of documents drawn are those that the corpus-wide steps of a run find."""

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.corpus.test_duplicates import EXACT, NEAR, SIZES, STEPS, N, documents
from tests.pipelines.keyed import find, found, job_of, rows_of, write_shards
from tests.pipelines.measure.probes import ends_of, kept_by_run, probe
from tokenmill.pipelines.core.schema import doc_ids
from tokenmill.pipelines.measure import clusters as closure
from tokenmill.pipelines.measure.clusters import idents
from tokenmill.pipelines.measure.copies import Copies, Probed, draw_probes, draw_rows
from tokenmill.pipelines.measure.predict import left_for
from tokenmill.pipelines.measure.scan import ENDS
from tokenmill.pipelines.storage.files import arrow_file

KEYS = tuple(f"{shard:05d}" for shard in range(len(SIZES)))


def texts(**how):
    """Signatures, and digests that are equal only where signatures are, as those of real text."""
    signed, digests = documents(N, **how)
    digests[:, 0] = idents(np.ascontiguousarray(signed).view(np.uint64))
    return signed, digests


def text_bytes(rows):
    return rows * 7 % 1_000


def probed(folder, steps, probes) -> Probed:
    """What is found of documents drawn, all of them if there are as many probes."""
    at = 0
    for key, n in zip(KEYS, SIZES, strict=True):
        with arrow_file(folder / "ends" / f"part-{key}.arrow", ENDS) as writer:
            for start in range(0, n, 1_000):
                rows = at + np.arange(start, min(start + 1_000, n))
                writer.write_batch(ends_of(text_bytes(rows)))
        at += n
    return probe(folder, steps, KEYS, probes=probes)


@pytest.mark.long_but("near, exact")  # both steps
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_document_in_copies_is_left_as_often_as_a_run_leaves_it(tmp_path, steps):
    write_shards(job_of(tmp_path, steps), steps, SIZES, *texts(families=4_000))
    kept = kept_by_run(tmp_path, steps, SIZES)
    last = list(probed(tmp_path, steps, N).steps.values())[-1]
    assert last.whole.all()
    assert (1 / last.copies).sum() == pytest.approx(kept.sum())
    left_bytes = (last.first["text_bytes"] / last.copies).sum()
    assert left_bytes == pytest.approx(text_bytes(np.flatnonzero(kept)).sum())


def clusters_of_run(folder, steps):
    """(n,) a number for each document's cluster."""
    job, links = job_of(folder, steps), np.arange(N)
    find(job, steps, SIZES)
    ids = np.concatenate([doc_ids(shard, 0, n) for shard, n in enumerate(SIZES)])
    row = {int(id_): r for r, id_ in enumerate(ids)}
    for step in steps:
        for gone, (of, _) in found(job, step, SIZES).items():
            links[gone] = row[of]
    while (links[links] != links).any():
        links = links[links]
    return links


@pytest.mark.long_but("exact, near", "exact")  # two steps, and one
@pytest.mark.parametrize("steps", [*STEPS.values(), (EXACT,)], ids=[*STEPS, "exact"])
def test_units_are_those_that_hold_a_document_of_the_cluster(tmp_path, steps):
    write_shards(job_of(tmp_path, steps), steps, SIZES, *texts(families=4_000))
    found = probed(tmp_path, steps, N)
    shard = np.repeat(np.arange(len(SIZES)), SIZES)
    cluster = clusters_of_run(tmp_path, steps)
    pairs = np.unique(np.column_stack([cluster, shard]), axis=0)
    expected = np.bincount(pairs[:, 0], minlength=N)[cluster]
    assert {1, 2} <= set(expected.tolist())
    assert (found.last.units == expected).all()
    assert (found.clusters is None) == (steps != (EXACT,))
    if found.clusters is not None:
        sizes = np.bincount(cluster)
        assert sorted(found.clusters.sizes.tolist()) == sorted(sizes[sizes > 0].tolist())
        assert found.clusters.units.sum() == len(pairs)


@pytest.mark.long_but("exact, near")  # both steps
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_few_probes_find_the_whole_clusters_that_all_find(tmp_path, steps):
    write_shards(job_of(tmp_path, steps), steps, SIZES, *texts(families=9_000))
    every, few = probed(tmp_path, steps, N), probed(tmp_path, steps, 40)
    at = np.searchsorted(every.doc_id, few.doc_id)
    assert (every.doc_id[at] == few.doc_id).all()
    for name, of_few in few.steps.items():
        assert of_few.whole.all()
        assert (of_few.copies == every.steps[name].copies[at]).all()
        assert (of_few.first["end_bytes"] == every.steps[name].first["end_bytes"][at]).all()
        assert (of_few.alike <= of_few.copies).all()
        assert (of_few.units == every.steps[name].units[at]).all()


def test_a_million_equal_documents_are_one_node(tmp_path, monkeypatch):
    """Clusters of equal documents are counted whole, however few nodes there is room for."""
    monkeypatch.setattr(closure, "MOST_NODES", 1)
    write_shards(job_of(tmp_path, (NEAR,)), (NEAR,), SIZES, *texts(families=N, same=20_000))
    found = probed(tmp_path, (NEAR,), 10).steps["near"]
    assert (found.copies >= 19_000).any()


def test_clusters_that_outgrow_the_memory_are_said_not_to_be_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(closure, "MOST_NODES", 50)
    write_shards(job_of(tmp_path, (NEAR,)), (NEAR,), SIZES, *texts(families=20))
    found = probed(tmp_path, (NEAR,), 40).steps["near"]
    assert not found.whole.all()
    assert (found.copies[found.whole] >= 1).all()


def test_rows_are_drawn_alike_without_replacement_beside_the_certain_ones():
    hits, certain = np.zeros(50), np.array([0, 3, 4, 49])
    for seed in range(2_000):
        drawn = draw_rows(50, 10, certain=certain, seed=seed)
        assert len(drawn) == 10
        assert (np.diff(drawn) > 0).all()
        hits[drawn] += 1
    assert (hits[certain] == 2_000).all()
    others = np.delete(hits, certain)
    expected = 2_000 * 6 / 46
    assert np.abs(others - expected).max() < 5 * np.sqrt(expected)
    assert (draw_rows(7, 10, certain=certain[:0], seed=0) == np.arange(7)).all()


def test_the_longest_documents_are_certain():
    lengths = np.array([1, 500, 1, 1, 300, 1, 1, 1, 1, 1])
    rows = rows_of([[ends_of(lengths[:5]), ends_of(lengths[5:])]])
    for n, certain in ((4, [1, 4]), (2, [1])):
        drawn, chances = draw_probes(rows, n, seed=0)
        assert len(drawn) == n
        assert drawn[chances == 1].tolist() == certain
        assert chances[chances < 1] == pytest.approx((n - len(certain)) / (10 - len(certain)))
    drawn, chances = draw_probes(rows, 10, seed=0)
    assert drawn.tolist() == list(range(10))
    assert (chances == 1).all()
    assert rows.n == 10


def test_probes_are_documents_that_were_chosen_and_pass():
    ends = ends_of(np.full(9, 5)).to_pydict()
    ends["chance"] = [0.5, 0.0, 0.5, 0.5, 0.0, 0.25, 0.5, 1.0, 0.0]
    ends["left_at"] = [0, -1, -1, 1, -1, 0, -1, 0, -1]
    rows = rows_of([[pa.RecordBatch.from_pydict(ends, schema=ENDS)]])
    drawn, chances = draw_probes(rows, 20, seed=0)
    assert drawn.tolist() == [0, 3, 5, 7]
    assert chances.tolist() == [0.5, 0.5, 0.25, 1.0]


def test_of_documents_that_leave_others_are_told_for_whom():
    """Of a cluster one stays; where it is known who leaves, those that have one beside them."""
    ids = np.arange(4, dtype=np.uint64)

    def step(copies, alike):
        n, ones = np.array(copies, np.float64), np.ones(4, np.int64)
        return Copies(n, {}, np.array(alike, np.float64), ones > 0, n, ones)

    steps = {
        "exact": step([3, 1, 2, 1], [3, 1, 2, 1]),
        "near": step([np.inf] * 2 + [1, 1], [2] * 3 + [1]),
    }
    found = left_for(Probed(40, ids, np.full(4, 0.1), ids, {}, steps, None))
    assert found == pytest.approx({"exact": (1 / 3 + 1 / 2) / (2 / 3 + 1 / 2), "near": 1 / 2})
