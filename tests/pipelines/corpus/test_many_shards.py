"""Corpora of many shards: what they share lies in a file a group, not in a file a shard."""

import numpy as np
import pytest

from tests.pipelines.keyed import find, found, job_of, part_of, write_shards
from tokenmill.pipelines.corpus import rows
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.runs.folder import KEYS

EXACT, SIZES = ExactDedup(), (3, 0, 4, 5, 1, 6, 2)
N = sum(SIZES)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A run of three shards a group whose equal documents were found, and all ids."""
    monkeypatch.setattr(rows, "GROUP_SHARDS", 3)
    job = job_of(tmp_path, (EXACT,))
    digests = (np.arange(N)[:, None] % 8 + [1, 2]).astype(np.uint64)
    ids = write_shards(job, (EXACT,), SIZES, np.zeros((N, 0)), digests)
    find(job, (EXACT,), SIZES)
    return job, ids


def test_a_group_has_so_many_shards_at_most_and_a_file_of_verdicts(made):
    job, ids = made
    assert len(list((job.out / "13-exact").iterdir())) == 3
    kept = {row: (int(ids[row % 8]), 1.0) for row in range(8, N)}
    assert found(job, EXACT, SIZES) == kept


def test_ids_are_read_from_a_file_a_group_without_the_keys(made):
    job, ids = made
    for shard in range(len(SIZES)):
        job.path(KEYS, 0, key=f"{shard:05d}").unlink()
    wanted = np.array([20, 3, 3, 0, 12, 7])
    assert Corpus(job, part_of((EXACT,))).ids_of(wanted).tolist() == ids[wanted].tolist()
