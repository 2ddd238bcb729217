"""A real cluster of two processes: works that end, fail, and kill the process they run in."""

import os

import pytest
from dask import config

from tests.flows.pools.works import N, deadly, fine, full, run, unlucky, wrong
from tokenmill.flows.pools import dask
from tokenmill.flows.pools.dask import dask_pool
from tokenmill.flows.pools.pool import ThreadPool
from tokenmill.pipelines.core.errors import ConfigError, InputError, ShardError
from tokenmill.pipelines.runs.work import Job

DEATHS = "distributed.scheduler.allowed-failures"


@pytest.fixture(scope="module")
def cluster():
    one = config.set({DEATHS: 1})  # each takes 2 s of CPU
    with one, dask_pool(None, 2) as pool:
        yield pool


class UnsendableError(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")


def strange(job, key):
    raise UnsendableError(f"at {key}")


def test_all_works_are_done_once_by_other_processes(cluster, job):
    outcomes = run(cluster, job, fine)
    assert [outcomes[k].receipt.facts["key"] for k in sorted(outcomes)] == sorted(outcomes)
    by = [path.read_text().split() for path in (job.out / "tried").iterdir()]
    assert len(by) == N
    assert {len(pids) for pids in by} == {1}
    assert str(os.getpid()) not in {pid for pids in by for pid in pids}
    assert set(dask.threads_of(cluster._client).values()) == {1}


def test_a_work_that_fails_fails_alone(cluster, job):
    outcomes = run(cluster, job, wrong)
    failed = {k: o.error for k, o in outcomes.items() if o.error}
    assert list(failed) == ["05"]
    assert isinstance(failed["05"], InputError)
    assert failed["05"].cause == "truncated_gzip"


def test_a_work_that_kills_every_worker_is_named_and_the_rest_is_done(cluster, job):
    outcomes = run(cluster, job, deadly)
    failed = {k: str(o.error) for k, o in outcomes.items() if o.error}
    assert list(failed) == ["05"]
    assert "workers died at s 05 again and again" in failed["05"]


@pytest.mark.long  # by the rest of the works above, and by test_processes
def test_what_a_lost_worker_was_at_is_done_by_another(cluster, job):
    outcomes = run(cluster, job, unlucky)
    assert all(o.receipt for o in outcomes.values())


def test_workers_that_dask_gave_up_are_begun_anew(job):
    soon = config.set({"distributed.deploy.lost-worker-timeout": "0.1 s"})
    with soon, dask_pool(None, 1) as pool:
        local = pool._client.cluster
        pool._client.wait_for_workers(1)
        for nanny in [*local.workers.values()]:
            local.sync(nanny.close)
        assert not pool._client.nthreads()
        assert all(o.receipt for o in run(pool, job, fine).values())


def test_a_full_disk_ends_the_run(cluster, job):
    with pytest.raises(ConfigError, match="No space left"):
        run(cluster, job, full)


@pytest.mark.parametrize("pool", ["threads", "dask"])
def test_an_error_that_cannot_be_sent_is_told_in_words(cluster, job, pool):
    outcomes = run(ThreadPool(2) if pool == "threads" else cluster, job, strange, n=1)
    error = outcomes["00"].error
    assert isinstance(error, ShardError)
    assert str(error) == "UnsendableError: at 00"


def test_a_worker_that_does_not_see_the_run_directory_says_so(cluster, tmp_path):
    with pytest.raises(ConfigError, match=r"does not see .*/gone; put --out on a file system"):
        run(cluster, Job(out=tmp_path / "gone", identity="x"), fine, n=1)


@pytest.mark.parametrize(("given", "found"), [(3, 2), (7, 7)])  # 3 is Dask's own
def test_settings_of_dask_are_ours_where_the_user_has_none(given, found):
    with config.set({DEATHS: given}), dask.configured():
        assert config.get(DEATHS) == found


def test_no_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_S", 0.3)
    with (
        pytest.raises(ConfigError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"),
        dask_pool("tcp://127.0.0.1:1", None),
    ):
        pass
