"""Runs by job arrays of SLURM: no process of ours waits for them, and tasks are killed."""

import contextlib
import json
import random
import subprocess
import time
from dataclasses import replace
from functools import partial

import pytest

from tests.cluster import runs
from tests.cluster.campaign import files
from tests.cluster.conftest import ran_undisturbed
from tests.cluster.processes import environment, eventually
from tests.e2e.corpus import write_corpus
from tests.strategies import THOROUGH

WITHIN_S = 600
SHARD_BYTES, WORKS, KILLS = ("2kB", 500, 50) if THOROUGH else ("24kB", 50, 6)
AT_ONCE = 2
MOST_DELAY_S = 2.0  # of a kill, behind the receipt that it waits for: a start takes as long


def status(out, env):
    """The exit code, and what is told."""
    command = [str(runs.TOKENMILL), "status", str(out), "--json"]
    ended = subprocess.run(command, env=environment(**env), capture_output=True, text=True)
    assert ended.stderr == ""
    return ended.returncode, json.loads(ended.stdout)


def submitted(recipe, out, slurm, most=2):
    ended = runs.prepare(recipe, out, *runs.on_array(slurm, most), env=slurm.env)
    assert ended.code == 0, ended.err
    return ended.report


def said(out):
    """What the jobs printed, for who has to find out why a test failed."""
    logs = sorted((out / "slurm-logs").glob("*.out"), key=lambda p: p.stat().st_mtime)
    return "\n".join(f"{p.name}: {p.read_text()[-300:]}" for p in logs[-5:])


def ended(out, slurm):
    slurm.wait(WITHIN_S)
    return json.loads((out / "manifest.json").read_text())["status"]


def test_arrays_make_the_bytes_of_threads(undisturbed, slurm, tmp_path):
    out = tmp_path / "a run"
    assert submitted(undisturbed.recipe, out, slurm)["submitted"] == slurm.jobs()[0]
    again = runs.prepare(undisturbed.recipe, out, *runs.on_array(slurm), env=slurm.env)
    assert (again.code, len(again.errors)) == (2, 1)
    assert "of SLURM are at work in it; tokenmill status" in again.err
    assert ended(out, slurm) == "complete", said(out)
    assert runs.contents(out) == runs.contents(undisturbed.out)
    assert not runs.unbalanced(out)
    assert set(runs.receipts(out)) == undisturbed.receipts
    assert files(out) == files(undisturbed.out)
    code, told = status(out, slurm.env)
    assert (code, told["status"]) == (0, "complete")


@pytest.fixture(scope="module")
def many(tmp_path_factory, one_prefect_server):
    """A run of many works that nothing happened to."""
    write = partial(write_corpus, shard_bytes=SHARD_BYTES)
    return ran_undisturbed(tmp_path_factory, "many", write, one_prefect_server.client_env)


@pytest.mark.long  # arrays are killed at random by test_campaign too
def test_many_works_outlive_many_kills(many, slurm, tmp_path):
    assert len(many.receipts) >= WORKS
    out, draw, kills, commands = tmp_path / "run", random.Random(5), 0, 0

    def moved():
        n_written = lambda: sum(1 for _ in (out / "receipts").rglob("*.json"))  # noqa: E731
        before = n_written()
        return lambda: n_written() != before or not slurm.jobs()

    def is_complete():
        return not slurm.jobs() and ended(out, slurm) == "complete"

    while commands == 0 or not is_complete():
        if not slurm.jobs():
            submitted(many.recipe, out, slurm, most=4)
            commands += 1
        with contextlib.suppress(TimeoutError):  # nobody is left to write one
            eventually("a receipt", moved(), within_s=10)
        time.sleep(draw.uniform(0, MOST_DELAY_S))
        running = slurm.jobs("RUNNING")
        for job in draw.sample(running, min(len(running), AT_ONCE, KILLS - kills)):
            with contextlib.suppress(RuntimeError):  # it has just ended
                slurm.kill(job)
                kills += 1
    assert kills == KILLS, "the run ended before"
    assert runs.contents(out) == runs.contents(many.out)
    assert not runs.unbalanced(out)
    assert set(runs.receipts(out)) == many.receipts
    assert files(out) == files(many.out)


def test_a_task_that_is_told_to_end_leaves_its_works_to_others(undisturbed, slurm, tmp_path):
    out = tmp_path / "run"
    submitted(undisturbed.recipe, out, slurm)
    tasks = lambda: [job for job in slurm.jobs("RUNNING") if "_" in job]  # noqa: E731
    claimed = lambda: len(list((out / "99-array").glob("pass-0-*/*/*"))) >= 2 and tasks()  # noqa: E731
    job = eventually("tasks at work", claimed, within_s=WITHIN_S)[0]
    slurm.call("scancel", "--signal=TERM", "--batch", job)
    assert ended(out, slurm) == "complete", said(out)
    assert "stopped by SIGTERM" in (out / "slurm-logs" / f"pass-0-{job}.out").read_text()
    assert runs.contents(out) == runs.contents(undisturbed.out)


def test_arrays_on_s3_make_the_bytes_of_threads(undisturbed, slurm, s3, tmp_path, monkeypatch):
    s3.client().create_bucket(Bucket="arrays")
    (tmp_path / "t").mkdir()
    slurm = replace(slurm, env={**slurm.env, **s3.env, "TMPDIR": str(tmp_path / "t")})
    command = runs.command(undisturbed.recipe, "s3://arrays/run", *runs.on_array(slurm))
    env = environment(**slurm.env)
    subprocess.run(command, cwd=tmp_path, env=env, check=True, stdout=subprocess.DEVNULL)
    slurm.wait(WITHIN_S)
    assert status("s3://arrays/run", slurm.env)[0] == 0, said(tmp_path)
    out = s3.download("arrays", "run/", tmp_path / "run")
    assert runs.contents(out) == runs.contents(undisturbed.out)
    assert set(runs.receipts(out)) == undisturbed.receipts
    assert not [key for key in s3.keys("arrays") if "/99-" in key or ".lock" in key]
    assert not list((tmp_path / "t").glob("*")), "scratch goes with the jobs"
