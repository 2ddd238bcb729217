"""Each component starts, does what it is for, dies when it is told to, and comes back."""

import subprocess
import sys
import urllib.error
import urllib.request

import psutil
import pytest
from distributed import Client

from tests.cluster import reaper
from tests.cluster.processes import MARK, ROOT, Program, eventually

WITHIN_S = 120
PARENT = """
import sys, time
from pathlib import Path
from tests.cluster.processes import MARK, Program
Program(["sh", "-c", "sleep 600 & setsid sleep 600 & sleep 600"], log=Path(sys.argv[1]))
print(MARK, flush=True)
time.sleep(600)
"""


def test_what_a_killed_test_run_started_ends_too(tmp_path):
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        mark = parent.stdout.readline().strip()
        eventually("all started", lambda: len(reaper.marked(mark)) >= 4, within_s=WITHIN_S)
        parent.kill()
    eventually("all ended", lambda: not reaper.marked(mark), within_s=WITHIN_S)


def test_a_program_that_ends_by_itself_is_told_with_what_it_said(tmp_path):
    program = Program(["sh", "-c", "echo no such thing; exit 1"], log=tmp_path / "log")
    with pytest.raises(RuntimeError, match="ended by itself: no such thing"):
        program.wait_until(lambda: False, within_s=WITHIN_S)


def test_dask_workers_and_the_scheduler_die_and_come_back(dask_cluster):
    def works():
        with Client(dask_cluster.address, timeout=WITHIN_S, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=WITHIN_S)
            return client.submit(sum, [1, 2], pure=False).result(WITHIN_S)

    assert works() == 3
    (before,) = dask_cluster.worker_processes("worker-0")
    dask_cluster.kill_worker("worker-0")
    eventually(
        "another worker process",
        lambda: dask_cluster.worker_processes("worker-0") not in ([], [before]),
        within_s=WITHIN_S,
    )
    assert works() == 3

    dask_cluster.kill_nanny("worker-1")
    dask_cluster.kill_scheduler()
    dask_cluster.restore()
    assert works() == 3


def test_slurm_runs_a_job_and_loses_it(slurm, tmp_path):
    said = tmp_path / "said"
    slurm.call("sbatch", "-o", str(said), "--wrap", "echo here; exec sleep 600")
    (job,) = eventually("a running job", lambda: slurm.jobs("RUNNING"), within_s=WITHIN_S)
    eventually(
        "its word", lambda: said.exists() and said.read_text() == "here\n", within_s=WITHIN_S
    )
    slurm.kill(job)
    slurm.wait(WITHIN_S)


def test_prefect_keeps_its_database_over_a_kill(prefect_server):
    made = prefect_server.post("/flows/", b'{"name": "before"}')
    with urllib.request.urlopen(prefect_server.ui, timeout=WITHIN_S) as page:
        assert b"<html" in page.read()
    prefect_server.kill()
    assert not prefect_server.healthy()
    prefect_server.start()
    assert prefect_server.post("/flows/", b'{"name": "before"}') == made


def test_prefect_behind_a_password(locked_prefect_server):
    assert locked_prefect_server.post("/flows/filter") == b"[]"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{locked_prefect_server.url}/flows/", timeout=WITHIN_S)


def test_s3_holds_files_and_gives_them_back(s3, tmp_path):
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a").write_bytes(b"a" * 1000)
    s3.upload(tmp_path / "in", "files", "run/")
    assert s3.keys("files", "run/") == ["run/sub/a"]
    got = s3.download("files", "run/", tmp_path / "out")
    assert (got / "sub" / "a").read_bytes() == b"a" * 1000
    assert not s3.proxy.requests


def test_nothing_here_listens_beyond_this_machine(dask_cluster, slurm, prefect_server, s3):
    ours = set(reaper.marked(MARK))
    open_to = {
        (c.laddr.ip, " ".join(psutil.Process(c.pid).cmdline()))
        for c in psutil.net_connections("tcp")
        if c.status == psutil.CONN_LISTEN and c.pid in ours
    }
    assert {ip for ip, _ in open_to} == {"127.0.0.1"}, open_to
