"""An `sbatch` that refuses jobs; SLURM itself is in tests/cluster."""

import os
import threading
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")

from tokenmill.flows.pools.lane import Lane, Pace
from tokenmill.flows.pools.slurm import slurm_pool
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


def test_no_sbatch_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ConfigError, match="needs sbatch, and there is none here"),
        slurm_pool(Slurm(), Path(tmp_path / "logs")),
    ):
        pass
