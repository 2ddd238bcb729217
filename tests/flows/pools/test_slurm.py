"""An `sbatch` that refuses jobs; SLURM itself is in tests/cluster."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")

from dask.config import set as set_in_dask

from tests.flows.pools.works import fine, run
from tokenmill.flows.executing import Lane, Pace
from tokenmill.flows.pools import dask, slurm
from tokenmill.flows.pools.slurm import slurm_pool
from tokenmill.flows.progress import Watcher, holding, watcher
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import Slurm
from tokenmill.pipelines.runs.work import Done, Job, Work

SAID = (
    "sbatch: error: invalid partition specified: cpu\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified"
)


def never(job):
    return Done(facts={})


@pytest.fixture
def refusing(tmp_path, monkeypatch):
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/sh\ncat >&2 <<END\n{SAID}\nEND\nexit 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("minimum", [0, 1], ids=["as-needed", "from-the-beginning"])
def test_jobs_that_slurm_does_not_take_end_the_run_in_a_line(refusing, tmp_path, minimum):
    options = Slurm(queue="cpu", interface="lo", minimum=minimum)
    job = Job(out=tmp_path / "run", identity="x")
    work = Work(step="s", key="00", inputs="i", call=never)
    with (
        pytest.raises(
            ConfigError,
            match=r"^sbatch takes no job: invalid partition specified: cpu;"
            r" Invalid partition name specified; see run\.slurm$",
        ),
        slurm_pool(options, tmp_path / "logs") as pool,
    ):
        Lane(pool, Pace(1.0), print, threading.Event()).run(job, [[work]])


SBATCH = """#!/bin/sh
cd {folder}
n=1
until mkdir job-$n 2> /dev/null; do n=$((n + 1)); done
echo Submitted batch job $n
[ $n -gt {lost} ] || exec touch jobs/$n
cp $1 jobs/$n
setsid sh jobs/$n > job-$n/log 2>&1 &
echo $! > job-$n/pid
"""
SQUEUE = """#!/bin/sh
cd {folder}
for n in $(ls jobs); do
    echo $n
    [ -s jobs/$n ] || mkdir job-$n/seen 2> /dev/null || rm jobs/$n
done
"""
SCANCEL = """#!/bin/sh
cd {folder}
echo $1 >> cancelled
rm jobs/$1 && kill -9 -$(cat job-$1/pid)
"""


@pytest.fixture
def losing(request, tmp_path, monkeypatch):
    """A SLURM that takes jobs; the first, as many as are lost, wait for two looks and are gone."""
    folder = tmp_path / "slurm"
    (folder / "jobs").mkdir(parents=True)
    for name, script in {"sbatch": SBATCH, "squeue": SQUEUE, "scancel": SCANCEL}.items():
        (folder / name).write_text(script.format(folder=folder, lost=request.param))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setattr(slurm, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(dask, "POLL_S", 0.1)
    return folder


class Said(Watcher):
    def __init__(self):
        super().__init__()
        self.lines = []

    def tell(self, line):
        self.lines.append(line)


def n_submitted(folder):
    return len(list(folder.glob("job-*")))


@pytest.mark.parametrize("minimum", [0, 2], ids=["as-needed", "always"])
@pytest.mark.parametrize("losing", [2], indirect=True)
def test_jobs_that_end_before_their_workers_come_are_submitted_again(
    losing, job, tmp_path, minimum
):
    options, said = Slurm(interface="lo", memory=10**9, minimum=minimum, maximum=2), Said()
    with holding(watcher, said), slurm_pool(options, tmp_path / "logs") as pool:
        (outcome,) = run(pool, job, fine, 1).values()
    assert said.lines == ["waiting for a worker of SLURM (squeue shows its jobs)"]
    assert outcome.error is None
    assert n_submitted(losing) in (3, 4)  # one or two in place of the lost
    assert not list((losing / "jobs").iterdir())


@pytest.mark.parametrize("losing", [10**6], indirect=True)
def test_jobs_that_end_again_and_again_end_the_run_in_a_line(losing, tmp_path):
    options = Slurm(interface="lo", minimum=1)
    with pytest.raises(ConfigError, match="^jobs of SLURM end before their workers come; see "):
        slurm_pool(options, tmp_path / "logs").__enter__()
    assert n_submitted(losing) == 1 + slurm.MOST_VAIN


@pytest.mark.parametrize("losing", [0], indirect=True)
def test_a_job_that_dask_cancels_is_not_the_one_submitted_again(losing, tmp_path, monkeypatch):
    """Dask cancels what has the name of a worker that went, some time after it did."""
    monkeypatch.setattr(slurm, "LOOK_EVERY_S", 0.0)
    soon = {"distributed.deploy.lost-worker-timeout": "1s"}
    options = Slurm(interface="lo", memory=10**9)
    with set_in_dask(soon), slurm._cluster(options, tmp_path / "logs", []) as cluster:
        lost, cancelled = slurm.Lost(cluster, []), losing / "cancelled"
        cluster.scale(jobs=1)
        wait_until(lambda: cluster.observed)
        (losing / "jobs" / "1").unlink()
        os.killpg(int((losing / "job-1" / "pid").read_text()), signal.SIGKILL)
        wait_until(lambda: not cluster.observed)
        lost.submit_again()
        wait_until(cancelled.exists)
        lost.submit_again()
        wait_until(lambda: cluster.observed)
        assert cancelled.read_text() == "1\n"
    assert n_submitted(losing) == 2


@pytest.mark.parametrize("losing", [0], indirect=True)
def test_no_thread_waits_for_another_that_asks_squeue(losing, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "LOOK_EVERY_S", 0.0)
    slow = f"#!/bin/sh\ncd {losing}\ntouch asked\nuntil [ -e answer ]; do sleep 0.1; done\n"
    (losing / "squeue").write_text(slow)
    with slurm._cluster(Slurm(interface="lo"), tmp_path / "logs", []) as cluster:
        lost = slurm.Lost(cluster, [])
        with ThreadPoolExecutor(2) as others:
            asking = others.submit(lost.submit_again)
            wait_until((losing / "asked").exists)
            try:
                others.submit(lost.submit_again).result(timeout=300)
                assert not asking.done()
            finally:
                (losing / "answer").touch()
            asking.result(timeout=300)


@pytest.mark.parametrize("by", ["recipe", "environment", "configuration of Dask"])
@pytest.mark.parametrize("losing", [0], indirect=True)
def test_jobs_of_a_cluster_that_is_named_are_not_looked_for(losing, tmp_path, monkeypatch, by):
    """This one's squeue knows nothing of them."""
    monkeypatch.setattr(slurm, "LOOK_EVERY_S", 0.0)
    (losing / "squeue").write_text(f"#!/bin/sh\ntouch {losing}/asked\n")
    name = ("--clusters=other",)
    if by == "environment":
        monkeypatch.setenv("SBATCH_CLUSTERS", "other")
    operator = {"jobqueue.slurm.job-extra-directives": name if by.startswith("conf") else ()}
    options = Slurm(interface="lo", directives=name if by == "recipe" else ())
    with set_in_dask(operator), slurm._cluster(options, tmp_path / "logs", []) as cluster:
        slurm.Lost(cluster, []).submit_again()
        assert not (losing / "asked").exists()
        assert ("#SBATCH --clusters=other" in cluster.job_script()) is (by != "environment")


@pytest.mark.parametrize("losing", [0], indirect=True)
def test_a_constraint_on_clusters_names_none(losing, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "LOOK_EVERY_S", 0.0)
    (losing / "squeue").write_text(f"#!/bin/sh\ntouch {losing}/asked\n")
    options = Slurm(interface="lo", directives=("--cluster-constraint=gpu",))
    with slurm._cluster(options, tmp_path / "logs", []) as cluster:
        slurm.Lost(cluster, []).submit_again()
        assert (losing / "asked").exists()


def wait_until(true):
    while not true():
        time.sleep(dask.POLL_S)


def test_no_sbatch_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ConfigError, match="needs sbatch, and there is none here"),
        slurm_pool(Slurm(), Path(tmp_path / "logs")),
    ):
        pass
