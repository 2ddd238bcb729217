"""Works in groups: retries of what is worth it, and an early end where nothing is."""

import errno

import pytest

from tokenmill.flows.executing import in_groups
from tokenmill.flows.pools.pool import ThreadPool
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


def run(job, call, n):
    """The works in groups, two at a time."""
    keys = [f"{i:02d}" for i in range(n)]
    works = tuple(Work(step="s", key=k, inputs="i", call=call, args=(k,)) for k in keys)
    return in_groups(ThreadPool(2), task_seconds=60)(job, Phase(name="s", works=works))


def test_a_flaky_disk_is_tried_again(job):
    (outcome,) = run(job, flaky, 1)
    assert outcome.receipt is not None
    assert outcome.fresh
    assert (job.out / "tried" / "00").stat().st_size == 2


def test_a_shard_that_is_wrong_in_itself_is_not(job):
    outcomes = run(job, broken, 2)
    assert [type(o.error) for o in outcomes] == [ShardError, ShardError]
    assert {p.stat().st_size for p in (job.out / "tried").iterdir()} == {1}


def test_a_full_disk_ends_the_run_at_once(job):
    with pytest.raises(ConfigError, match="cannot write there .*No space left"):
        run(job, full, MANY)
    assert len(list((job.out / "tried").iterdir())) < MANY / 2
