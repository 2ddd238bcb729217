"""What clusters do to runs besides killing them."""

import os
import subprocess
import time

import pytest
from distributed import Client

from tests.cluster import runs
from tests.cluster.dask_cluster import dask_cluster_in
from tests.cluster.processes import ROOT, eventually
from tests.cluster.skewed import SKEW_S
from tests.running import prepare
from tokenmill.pipelines.prepare.recipe import load_recipe
from tokenmill.pipelines.runs.bundle import do_bundle

WITHIN_S = 300


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


def same(out, undisturbed):
    assert runs.contents(out) == runs.contents(undisturbed.out)
    assert not runs.unbalanced(out)


def test_begun_under_one_runner_continued_and_finished_under_others(
    undisturbed, recipe, out, env, dask_cluster, tmp_path
):
    stations = [(0.2, ("--workers", "2")), (0.6, runs.on_dask(dask_cluster))]
    before = {}
    for share, options in stations:
        wanted = share * len(undisturbed.receipts)
        program = runs.begun(
            recipe,
            out,
            *options,
            log=tmp_path / "log",
            env=env,
            until=lambda wanted=wanted: runs.n_done(out) >= wanted,
        )
        program.kill_all()
        now = runs.receipts(out)
        assert len(before) < len(now) < len(undisturbed.receipts)
        before = now
    runs.prepared(recipe, out, "--runner", "dask", "--workers", "1", env=env)
    after = runs.receipts(out)
    assert {name: after[name] for name in before} == before, "finished work was done again"
    same(out, undisturbed)


def test_two_copies_of_each_bundle_at_work_at_once(undisturbed, recipe, out, dask_cluster):
    digests = []

    def twice(job, phase):
        copies = [
            client.submit(do_bundle, job, phase.works, pure=False, workers=[name])
            for name in dask_cluster.workers
        ]
        one, other = client.gather(copies)
        digests.extend(
            (o.receipt.digest, p.receipt.digest) for o, p in zip(one, other, strict=True)
        )
        return one

    with Client(dask_cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=WITHIN_S)
        prepare(load_recipe(recipe), out, twice)
    assert len(digests) == len(undisturbed.receipts)
    assert all(one == other for one, other in digests)
    same(out, undisturbed)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few hundred kilobytes, and how to enlarge it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs root, and a machine that lets it mount a file system")

    def enlarge():
        subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)

    yield folder, enlarge
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_the_same_command_continues(
    undisturbed, recipe, env, small_disk, dask_cluster
):
    folder, enlarge = small_disk
    out, options = folder / "run", runs.on_dask(dask_cluster)
    quiet = {**env, "PREFECT_LOGGING_LEVEL": "CRITICAL"}
    ended = runs.prepare(recipe, out, *options, env=quiet)
    assert ended.code == 2, ended.err
    (said,) = ended.errors
    assert f"{out}: cannot write there" in said
    assert "No space left on device" in said
    before = runs.receipts(out)
    assert 0 < len(before) < len(undisturbed.receipts)
    enlarge()
    runs.prepared(recipe, out, *options, env=env)
    same(out, undisturbed)


def test_a_worker_whose_clock_is_fast_changes_nothing(undisturbed, recipe, out, env, tmp_path):
    (tmp_path / "dask").mkdir()
    with dask_cluster_in(tmp_path / "dask", workers=1) as cluster:
        skewed = ("--preload", str(ROOT / "tests" / "cluster" / "skewed.py"))
        cluster.start_worker("fast", *skewed)
        runs.prepared(recipe, out, *runs.on_dask(cluster), env=env)
    written = [path.stat().st_mtime for path in (out / "removed").iterdir()]
    fast = [at for at in written if at > time.time() + SKEW_S / 2]
    assert 0 < len(fast) < len(written), "both workers must have had their share"
    same(out, undisturbed)

    lost = next((out / "dataset").glob("data-*.arrow"))
    lost.unlink()
    runs.prepared(recipe, out, "--workers", "1", env=env)
    same(out, undisturbed)


def test_a_run_without_workers_says_what_it_waits_for(recipe, out, env, tmp_path):
    (tmp_path / "dask").mkdir()
    with dask_cluster_in(tmp_path / "dask", workers=0) as cluster:
        command = runs.command(recipe, out, *runs.on_dask(cluster))
        command.remove("--json")
        program = runs.Program(command, log=tmp_path / "log", env=env)
        said = f"waiting for a worker of the Dask scheduler at {cluster.address}"
        eventually("said", lambda: said in program.log.read_text(), within_s=WITHIN_S)
        cluster.start_worker("late")
        assert program.process.wait(WITHIN_S) == 0, program.tail()


def test_an_address_where_nobody_answers_is_one_line(recipe, out, env):
    quiet = {**env, "PREFECT_LOGGING_LEVEL": "CRITICAL"}
    ended = runs.prepare(
        recipe, out, "--runner", "dask", "--address", "tcp://127.0.0.1:9", env=quiet
    )
    assert ended.code == 2
    (said,) = ended.errors
    assert "tcp://127.0.0.1:9: no Dask scheduler answers there" in said
