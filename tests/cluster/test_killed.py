"""Workers, the scheduler, SLURM's jobs and Prefect's server die while a run is at work."""

import pytest

from tests.cluster import runs
from tests.cluster.dask_cluster import dask_cluster_in
from tests.cluster.processes import ROOT, eventually
from tests.cluster.slurm import Slurm

WITHIN_S = 300


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def begin(undisturbed, out, env, tmp_path):
    """Start a run, and wait until a share of its works is done."""
    started = []

    def once(*options, share=0.4, needed=None):
        wanted = share * len(undisturbed.receipts)
        program = runs.begun(
            undisturbed.recipe,
            out,
            *options,
            log=tmp_path / "driver.log",
            env={**env, **(needed or {}), "PREFECT_LOGGING_LEVEL": "CRITICAL"},
            until=lambda: runs.n_done(out) >= wanted,
        )
        started.append(program)
        return program

    yield once
    for program in started:
        program.stop()


def ended_well(program, out, undisturbed):
    assert program.process.wait(WITHIN_S) == 0, program.tail()
    same(out, undisturbed)


def same(out, undisturbed):
    assert runs.contents(out) == runs.contents(undisturbed.out)
    assert not runs.unbalanced(out)
    assert not list(out.rglob("*.partial-*"))


def test_a_run_outlives_its_workers(begin, out, undisturbed, dask_cluster):
    program = begin(*runs.on_dask(dask_cluster))
    dask_cluster.kill_worker("worker-0")  # its nanny starts another
    done = runs.n_done(out)
    assert done < len(undisturbed.receipts), "the kill came too late to matter"
    eventually("more done", lambda: runs.n_done(out) > done, within_s=WITHIN_S)
    dask_cluster.kill_nanny("worker-1")  # as when its node is lost
    ended_well(program, out, undisturbed)


def test_a_run_outlives_all_its_workers(begin, out, undisturbed, dask_cluster):
    program = begin(*runs.on_dask(dask_cluster), share=0.2)
    dask_cluster.kill_nanny("worker-0")
    dask_cluster.kill_nanny("worker-1")
    assert program.living
    dask_cluster.restore()
    ended_well(program, out, undisturbed)


def test_a_scheduler_that_dies_is_one_line_and_the_same_command_continues(
    begin, out, undisturbed, dask_cluster, recipe, env
):
    options = runs.on_dask(dask_cluster)
    program = begin(*options)
    dask_cluster.kill_scheduler()
    assert program.process.wait(WITHIN_S) == 2, program.tail()
    (said,) = program.log.read_text().splitlines()
    assert "the Dask scheduler is gone; the same command continues" in said

    before = runs.receipts(out)
    assert 0 < len(before) < len(undisturbed.receipts)
    dask_cluster.restore()
    runs.prepared(recipe, out, *options, env=env)
    after = runs.receipts(out)
    assert {name: after[name] for name in before} == before, "finished work was done again"
    same(out, undisturbed)


def test_a_killed_driver_leaves_a_cluster_that_the_same_command_can_use(
    begin, out, undisturbed, dask_cluster, recipe, env
):
    options = runs.on_dask(dask_cluster)
    begin(*options).kill_all()
    before = runs.receipts(out)
    runs.prepared(recipe, out, *options, env=env)
    after = runs.receipts(out)
    assert {name: after[name] for name in before} == before, "finished work was done again"
    same(out, undisturbed)


def test_a_shard_that_kills_its_workers_is_named_and_the_rest_completes(
    undisturbed, out, recipe, env, tmp_path
):
    _, poison, *_ = sorted(name for name in undisturbed.receipts if name.startswith("pass-0/"))
    (tmp_path / "dask").mkdir()
    with dask_cluster_in(tmp_path / "dask", workers=0) as cluster:
        fatal = {"POISON": poison, "PYTHONPATH": str(ROOT)}
        for number in range(2):
            preload = ("--preload", str(ROOT / "tests" / "cluster" / "poison.py"))
            cluster.start_worker(f"worker-{number}", *preload, env=fatal)
        ended = runs.prepare(recipe, out, *runs.on_dask(cluster), env=env)
        assert ended.code == 3, ended.err
        (failed,) = ended.report["failed_shards"]
        assert f"{failed['step']}/{failed['key']}" == poison
        assert "workers died at" in failed["error"]
        assert ended.report["ledger"][-1]["docs_out"] > 0

        for name in list(cluster.workers):
            cluster.kill_nanny(name)
            cluster.start_worker(name)
        runs.prepared(recipe, out, *runs.on_dask(cluster), env=env)
    same(out, undisturbed)


@pytest.mark.long_but("KILL")  # jobs that are told to end are in test_pages and test_array
@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_a_run_outlives_a_lost_job_of_slurm(begin, out, undisturbed, slurm: Slurm, name):
    program = begin(*runs.on_slurm(slurm), needed=slurm.env)
    lost = slurm.jobs("RUNNING")
    for job in lost:
        slurm.kill(job, name)
    ended_well(program, out, undisturbed)
    assert set(slurm.jobs()) == set(), "the jobs are given back"


def test_a_run_outlives_prefects_server(begin, out, undisturbed, prefect_server):
    program = begin("--workers", "2", share=0.2)
    prefect_server.kill()
    eventually("more done", lambda: runs.n_done(out) > 30, within_s=WITHIN_S)
    prefect_server.start()
    ended_well(program, out, undisturbed)
