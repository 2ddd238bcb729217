"""The works of the corpus-wide phases: small to send, and as many as documents ask for."""

import pickle

import numpy as np

from tests.pipelines.keyed import find, job_of, part_of, stats_of, write_shards
from tests.running import one_by_one
from tokenmill.pipelines.corpus import rows
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.passes import corpus_wide
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished

EXACT, NEAR = ExactDedup(), NearDedup(num_perm=8, bands=4, rows=2, similarity="estimate")


def corpus(folder, steps, sizes, workers=1):
    n = sum(sizes)
    job = job_of(folder, steps, workers=workers)
    rng = np.random.default_rng(2)
    signed = rng.integers(0, 4, (n, 8), dtype=np.uint32)
    write_shards(job, steps, sizes, signed, rng.integers(0, 9, (n, 2), dtype=np.uint64))
    return job


def test_a_small_corpus_is_one_work_a_phase(tmp_path):
    job = corpus(tmp_path, (EXACT, NEAR), (30, 0, 20))
    works = {step: len(made) for step, made in find(job, (EXACT, NEAR), (30, 0, 20)).items()}
    assert works == {
        "rows-0": 1,
        "keys-exact-0": 1,
        "exact-0": 1,
        "kept-exact-0": 1,
        "keys-near-0": 1,
        "buckets-0": 1,
        "bands-0": 1,
        "near-0": 1,
        "kept-near-0": 1,
    }


def test_works_are_the_same_however_many_do_them_and_none_is_told_of_all_shards(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(rows, "GROUP_ROWS", 25)
    monkeypatch.setattr(rows, "RANGE_ROWS", 25)
    sizes, told = (2,) * 100, []
    for workers in (1, 3):
        job = corpus(tmp_path / str(workers), (EXACT, NEAR), sizes, workers)
        made = [
            Receipt(step="pass-0", key=f"{shard:05d}", inputs="", stats=stats_of(n))
            for shard, n in enumerate(sizes)
        ]
        running = corpus_wide(job, part_of([EXACT, NEAR]), made, Finished())
        phase, works = next(running), []
        while True:
            works += [(work.step, work.key) for work in phase.works]
            if phase.name != "rows":
                assert max(len(pickle.dumps(work)) for work in phase.works) < 2_000
            try:
                phase = running.send(one_by_one(job, phase))
            except StopIteration:
                break
        told.append(works)
    assert told[0] == told[1]
    steps = [step for step, _ in told[0]]
    assert steps.count("keys-near-0") == steps.count("kept-exact-0") == 8
    assert steps.count("exact-0") == 8
    assert steps.count("buckets-0") == steps.count("bands-0") == 8
    assert steps.count("edges-0") == 0
