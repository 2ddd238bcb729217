"""Real processes of this machine: works that end, fail, and kill the process they run in."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.flows.pools.works import N, by_whom, deadly, fine, full, run, strange, unlucky, wrong
from tokenmill.flows.pools.choose import MOST_THREADS, open_pool, runner_of
from tokenmill.flows.pools.pool import WorkerDiedError
from tokenmill.flows.pools.processes import ProcessPool
from tokenmill.pipelines.core.errors import ConfigError, InputError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.runs.work import Job, Work

PATIENCE_S = 1000


@pytest.fixture(scope="module")
def two():
    with open_pool(RunOptions(runner="processes", workers=2), Path("run")) as pool:
        yield pool


def pids(job):
    return {path.name: path.read_text().split() for path in (job.out / "tried").iterdir()}


def test_all_works_are_done_once_by_other_processes(two, job):
    assert all(o.receipt for o in run(two, job, fine).values())
    by = pids(job)
    assert len(by) == N
    assert {len(them) for them in by.values()} == {1}
    assert str(os.getpid()) not in {pid for them in by.values() for pid in them}


@pytest.mark.parametrize(("call", "told"), [(wrong, "truncated"), (strange, "LocalError: at")])
def test_a_work_that_fails_tells_why(two, job, call, told):
    failed = [o.error for o in run(two, job, call).values() if o.error]
    assert told in str(failed[0])
    assert call is strange or [type(e) for e in failed] == [InputError]


def test_a_work_that_kills_every_worker_is_named_and_the_rest_is_done(two, job):
    outcomes = run(two, job, deadly)
    assert [k for k, o in outcomes.items() if o.error] == ["05"]
    assert "workers died at s 05 again and again" in str(outcomes["05"].error)
    assert len(set(pids(job)["05"])) == 2


def test_what_a_lost_worker_was_at_is_done_by_another(two, job):
    assert all(o.receipt for o in run(two, job, unlucky).values())


def test_a_full_disk_ends_the_run(two, job):
    with pytest.raises(ConfigError, match="No space left"):
        run(two, job, full)


def done(pool, job, chain, key):
    """Who did the work."""
    work = Work(step="s", key=key, inputs="", call=by_whom, args=(key,), chain=chain)
    (outcome,) = pool.submit(job, [work]).result()
    return outcome.receipt.facts["pid"]


def test_works_of_a_chain_go_where_their_file_is_open(two, job):
    first, other, again, more = (
        done(two, job, *w) for w in (("a", "aa"), ("b", "bb"), ("a", "ac"), ("b", "d"))
    )
    assert first == again != other == more


def test_workers_have_the_environment_as_it_is_when_they_begin(two, job, monkeypatch):
    """And not as it was when the process began that they are forked from."""
    monkeypatch.setenv("SET_SINCE", "yes")
    monkeypatch.delenv("HOME")
    with closing(ProcessPool(1)) as pool:
        (outcome,) = run(pool, job, by_whom, n=1).values()
    assert outcome.receipt.facts["around"] == {"HOME": None, "SET_SINCE": "yes"}


class GoneJob(Job):
    @property
    def manifest(self):
        raise OSError("the store is gone")


def test_what_ends_the_run_is_no_death_of_a_worker(two, job):
    before = done(two, job, "c", "ca")
    with pytest.raises(OSError, match="the store is gone"):
        done(two, GoneJob(out=job.out, identity="y"), "c", "cb")
    assert done(two, job, "c", "cc") == before


def test_where_no_worker_could_be_begun_one_is_the_next_time(job):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with closing(ProcessPool(1)) as pool:
        ended = psutil.Process(done(pool, job, "a", "aa"))
        ended.kill()
        ended.wait(PATIENCE_S)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, limits[1]))  # of a pipe there is no end
        try:
            with pytest.raises(OSError, match="Too many open files"):
                done(pool, job, "a", "ab")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        with pytest.raises(WorkerDiedError):
            done(pool, job, "a", "ac")
        assert done(pool, job, "a", "ad") != ended.pid


HELD = """
import sys, time
from contextlib import closing
from pathlib import Path
from tests.flows.pools.works import endless
from tokenmill.flows.pools.processes import ProcessPool
from tokenmill.pipelines.runs.work import Job, Work
if __name__ == "__main__":
    work = Work(step="s", key="k", inputs="", call=endless, args=("k",))
    with closing(ProcessPool(1)) as pool:
        pool.submit(Job(out=Path(sys.argv[1]), identity="x"), [work])
"""


def test_workers_end_with_whoever_is_killed(job):
    root = Path(__file__).parent.parent.parent.parent
    with subprocess.Popen([sys.executable, "-c", HELD, str(job.out)], cwd=root) as holder:
        deadline = time.monotonic() + PATIENCE_S
        while not list(job.out.glob("tried/k")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (pid,) = pids(job)["k"]
        worker = psutil.Process(int(pid))
        worker.send_signal(signal.SIGTERM)  # as of a whole group: its parent decides
        time.sleep(0.1)
        assert worker.status() != psutil.STATUS_ZOMBIE
        holder.kill()
    assert worker.wait(PATIENCE_S) is None
    assert not worker.is_running()


def test_auto_is_processes_where_threads_would_wait_for_each_other():
    def chosen(out="/run", **options):
        return runner_of(RunOptions(**options), out) == "processes"

    assert not chosen(workers=MOST_THREADS)
    assert chosen(workers=MOST_THREADS + 1)
    assert not chosen("s3://bucket/run", workers=96)
    assert chosen("s3://bucket/run", workers=2, runner="processes")
    assert not chosen(workers=96, runner="threads")
