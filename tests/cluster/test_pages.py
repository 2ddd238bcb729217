"""The commands of the pages that need a store, servers or workers, as they stand there.

Each line is split as a shell would, and run by the program that it names. Addresses and folders
that the reader has are put in place of those of the page, and options behind that fit this machine.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.error
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster import runs
from tests.cluster.prefect_server import ASKED_EVERY_S, START_S, PrefectServer
from tests.cluster.processes import (
    ROOT,
    Program,
    answers,
    environment,
    eventually,
    free_port,
)
from tests.e2e.paged import write_pages_folder
from tests.pages import blocks, of_a_cluster

PAGE = ROOT / "flows" / "README.md"
BIN = Path(sys.executable).parent
WITHIN_S = 300
INTERRUPTED, NOT_FOUND = 130, 404
LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
SMALL_PROBE = {"-N 4": "-N 1", "--fill 150GB": "--fill 1MB", "--seconds 300": "--seconds 1"}
SMALL_BUDGET = ("--set", "run.memory_budget=500MB")  # the page has it of jobs of more than 1 GB


class Reader:
    """Who types the lines of a page, in a folder that has what they name.

    places: what stands on the page, and what it is here.
    """

    def __init__(self, folder, env, places):
        path = os.pathsep.join([str(BIN), env.get("PATH", os.environ["PATH"])])
        self.folder, self.env, self.places = folder, {**env, "PATH": path}, places
        write_pages_folder(folder, PAGE)

    def split(self, line, added=()):
        """The words of a line, and its environment: what is set before a command is set for it."""
        for written, here in self.places.items():
            line = line.replace(written, here)
        words, env = shlex.split(line, comments=True), dict(self.env)
        while "=" in words[0]:
            name, _, env[name] = words.pop(0).partition("=")
        return [*words, *added], env

    def run(self, line, *added, codes=(0,), cwd=None):
        """What the command prints, once it has ended well."""
        words, env = self.split(line, added)
        if words[0] == "export":
            self.env |= [word.split("=", 1) for word in words[1:]]
            return ""
        ended = subprocess.run(
            words,
            cwd=cwd or self.folder,
            env=environment(**env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=runs.RUN_S,
        )
        assert ended.returncode in codes, f"{line}\n{ended.stderr[-2000:]}{ended.stdout[-2000:]}"
        return ended.stdout

    def start(self, line, *added):
        """A command that runs until it is told to end; its log is of the name of its program."""
        words, env = self.split(line, added)
        log = self.folder / f"{words[0]}-{words[1]}.log"
        return Program(words, log=log, env=env, cwd=self.folder)


@pytest.fixture
def run_section():
    """What the page puts into recipe.yaml for SLURM."""
    (text,) = (text for text in blocks("yaml", (PAGE,)) if text.startswith("# in recipe.yaml\n"))
    return text


def test_on_s3(s3, prefect_server, tmp_path):
    s3.client().create_bucket(Bucket="pages")
    env = {**prefect_server.client_env, **s3.env, "TMPDIR": str(tmp_path)}
    reader = Reader(tmp_path, env, {"s3://bucket/": "s3://pages/", **SMALL_PROBE})
    prepare, inspect, size, probe = of_a_cluster("s3")
    reader.run(prepare)
    assert "run/manifest.json" in s3.keys("pages")
    assert "documents reached the tokenizer" in reader.run(inspect)
    assert "read bandwidth" in reader.run(size)
    told = reader.run(probe, "--seconds", "1", "--processes", "1", codes=(0, 1))
    assert "requests repeated" in told
    assert not s3.keys("pages", "probe/")


def test_on_dask(prefect_server, tmp_path):
    port = free_port()
    places = {"10.0.0.1:8786": f"127.0.0.1:{port}", "/shared": str(tmp_path / "shared")}
    reader = Reader(tmp_path, prefect_server.client_env, places)
    scheduler, worker, prepare = of_a_cluster("dask")
    reader.run("tokenmill prepare recipe.yaml --out run", "--workers", "2")
    programs = [reader.start(scheduler, *LOOPBACK[2:])]
    try:
        programs[0].wait_until(lambda: answers(port), within_s=WITHIN_S)
        programs.append(reader.start(worker, "--nworkers", "2", *LOOPBACK))
        log = programs[1].log
        programs[1].wait_until(
            lambda: log.read_text().count("Registered to") == 2, within_s=WITHIN_S
        )
        reader.run(prepare)
    finally:
        for program in reversed(programs):
            program.stop()
    assert runs.contents(tmp_path / "shared" / "run") == runs.contents(tmp_path / "run")


def test_on_slurm(slurm, prefect_server, tmp_path, run_section):
    places = {"/shared": str(tmp_path / "shared"), "/mnt/new": str(tmp_path / "new"), **SMALL_PROBE}
    reader = Reader(tmp_path, prefect_server.client_env | slurm.env, places)
    with (tmp_path / "recipe.yaml").open("a") as f:
        f.write(run_section)
    prepare, probe = of_a_cluster("slurm")
    reader.run(prepare, *runs.on_slurm(slurm), "--set", "run.slurm.cores=1", *SMALL_BUDGET)
    assert not runs.unbalanced(tmp_path / "shared" / "run")
    reader.run(probe, codes=(0, 1))
    assert json.loads((tmp_path / "probe-0" / "probe.json").read_text())["verdict"]


def test_on_an_array(slurm, tmp_path, run_section):
    reader = Reader(tmp_path, slurm.env, {"/shared": str(tmp_path / "shared")})
    with (tmp_path / "recipe.yaml").open("a") as f:
        f.write(run_section)
    prepare, status = of_a_cluster("array")
    here = {"queue": slurm.partition, "account": "null", "cores": 1, "memory": "1GB", "maximum": 2}
    told = [word for k, v in here.items() for word in ("--set", f"run.slurm.{k}={v}")]
    assert "submitted as job" in reader.run(prepare, *told, *SMALL_BUDGET)
    reader.run(status, codes=(1,))
    slurm.wait(WITHIN_S)
    assert "complete" in reader.run(status)
    assert not runs.unbalanced(tmp_path / "shared" / "run")


def test_a_job_that_is_told_to_end_ends_and_is_continued(slurm, undisturbed, env, tmp_path):
    """As SLURM tells it: by --signal=B:TERM, before its time is over or it is preempted."""
    (text,) = blocks("slurm", (PAGE,))
    out, script, log = tmp_path / "run", tmp_path / "job.sh", tmp_path / "log"
    for written, here in (
        ("tokenmill prepare recipe.yaml", shlex.join([str(runs.TOKENMILL), "prepare", "RECIPE"])),
        ("RECIPE", str(undisturbed.recipe)),
        ("/shared/run", f"{out} --workers 1"),
        ("--cpus-per-task=32 --mem=128G", "--cpus-per-task=1 --mem=1G"),
    ):
        assert written in text
        text = text.replace(written, here)
    script.write_text(text)

    def submit():
        return slurm.call("sbatch", "--parsable", "-o", str(log), str(script)).strip()

    slurm = replace(slurm, env=env | slurm.env)
    job = submit()
    eventually("some done", lambda: runs.n_done(out) > 10, within_s=WITHIN_S)
    slurm.call("scancel", "--signal=TERM", "--batch", job)
    slurm.wait(WITHIN_S)
    assert "ExitCode=143:0" in slurm.call("scontrol", "show", "job", job)
    told = log.read_text().splitlines()
    assert told[-1] == "stopped by SIGTERM; the same command continues where this stopped"
    done = runs.receipts(out)
    assert len(done) < len(undisturbed.receipts)

    submit()
    slurm.wait(WITHIN_S)
    assert runs.contents(out) == runs.contents(undisturbed.out), log.read_text()
    after = runs.receipts(out)
    assert {name: after[name] for name in done} == done, "finished work was done again"


class ServerOfPage(PrefectServer):
    """A Prefect server that the line of the page starts, behind the page's safeguards."""

    def start(self):
        places = {"127.0.0.1:4200": f"127.0.0.1:{self.port}", "/data": str(self.folder)}
        home = {"PREFECT_HOME": str(self.home), "PREFECT_CLI_COLORS": "false"}
        self.reader = Reader(self.folder, home, places)
        start, export = (line for line in of_a_cluster("serve") if "serve " not in line)
        self.program = self.reader.start(start, "--port", str(self.port))
        self.program.wait_until(self.healthy, within_s=START_S)
        self.reader.run(export)

    def found(self, path):
        """What the API has there; None where that is nothing."""
        try:
            return json.loads(self.get(path))
        except urllib.error.HTTPError as e:
            if e.code != NOT_FOUND:
                raise
            return None


@pytest.fixture(scope="module")
def page_server(tmp_path_factory):
    server = ServerOfPage(tmp_path_factory.mktemp("page"))
    yield server
    server.stop()


def test_serve(page_server):
    for line in of_a_cluster("serve"):
        if "serve " in line:
            served(page_server, line)


def served(page_server, line):
    """Start it, and end it once the server knows its flows, with the recipe that it names."""
    words, _ = page_server.reader.split(line)
    recipe = next((word for word in words if word.endswith("recipe.yaml")), None)

    def registered():
        made = page_server.found("/deployments/name/probe-storage/served")
        prepare = page_server.found("/deployments/name/prepare-corpus/served")
        if not made or not prepare or made["paused"] or prepare["paused"]:
            return False
        crons = [schedule["schedule"]["cron"] for schedule in prepare["schedules"]]
        given = prepare["parameters"].get("recipe")
        return crons == (["0 3 * * *"] if recipe else []) and (
            recipe is None or given == str(page_server.folder / recipe)
        )

    program = page_server.reader.start(line)
    try:
        program.wait_until(registered, within_s=WITHIN_S, pause_s=ASKED_EVERY_S)
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(WITHIN_S) == INTERRUPTED, program.tail()
    finally:
        program.stop()


def test_work_pool(page_server):
    *prepared, worker = of_a_cluster("pool")
    for line in prepared:
        page_server.reader.run(line, cwd=ROOT)
    assert page_server.found("/work_pools/tokenmill")["concurrency_limit"] == 1
    assert page_server.found("/deployments/name/size-cluster/tokenmill")
    program = page_server.reader.start(worker)
    try:
        program.wait_until(
            lambda: page_server.found("/work_pools/tokenmill")["status"] == "READY",
            within_s=WITHIN_S,
            pause_s=ASKED_EVERY_S,
        )
    finally:
        program.stop()
