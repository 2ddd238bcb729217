"""What Prefect adds: retries of what is worth it, and an early end where nothing is."""

import errno
from pathlib import Path

import pytest

from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.runs.work import Done, Job, Phase, Work

MANY = 40


@pytest.fixture
def job(tmp_path):
    return Job(out=tmp_path / "run", identity="x")


def tried(job, key):
    path = job.out / "tried" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as f:
        f.write("x")
    return path.stat().st_size


def flaky(job, key):
    """A disk that fails once."""
    if tried(job, key) == 1:
        raise OSError(errno.EIO, "Input/output error")
    return Done()


def broken(job, key):
    tried(job, key)
    raise ShardError("part-0.arrow: not a complete Arrow IPC file")


def full(job, key):
    tried(job, key)
    raise OSError(errno.ENOSPC, "No space left on device")


def run(server, job, call, n):
    """The works as tasks of a flow, two at a time."""
    from prefect import flow  # once the server's address is set

    from tokenmill.flows.pools.pool import ThreadPool
    from tokenmill.flows.prefect.executing import as_tasks

    keys = [f"{i:02d}" for i in range(n)]
    works = tuple(Work(step="s", key=k, inputs="i", call=call, args=(k,)) for k in keys)

    @flow(name="works", validate_parameters=False)
    def works_flow(out: Path):
        return as_tasks(ThreadPool(2), task_seconds=60)(job, Phase(name="s", works=works))

    return works_flow(job.out)


def test_a_flaky_disk_is_tried_again(server, job):
    (outcome,) = run(server, job, flaky, 1)
    assert outcome.receipt is not None
    assert outcome.fresh
    assert (job.out / "tried" / "00").stat().st_size == 2


def test_a_shard_that_is_wrong_in_itself_is_not(server, job):
    outcomes = run(server, job, broken, 2)
    assert [type(o.error) for o in outcomes] == [ShardError, ShardError]
    assert {p.stat().st_size for p in (job.out / "tried").iterdir()} == {1}


def test_a_full_disk_ends_the_run_at_once(server, job):
    with pytest.raises(ConfigError, match="cannot write there .*No space left"):
        run(server, job, full, MANY)
    assert len(list((job.out / "tried").iterdir())) < MANY / 2
