"""`tokenmill prepare` is told to end while shards are at work: as a scheduler and a terminal do."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.corpus import write_corpus
from tests.e2e.test_kill import contents
from tests.pipelines.plugged import plug
from tests.receipts import receipts
from tests.running import one_by_one, prepare
from tests.strategies import THOROUGH
from tokenmill.flows.cli import main
from tokenmill.flows.exits import OK
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.prepare.recipe import load_recipe

ROOT = Path(__file__).parent.parent.parent
WITHIN_S = 600  # of a machine that does much else
WORKERS = 2
# of SIGTERM flows/test_stopped.py has a case, and one below
SIGNALS = [("SIGHUP", 129), ("SIGTERM", 143)][: 2 if THOROUGH else 1]
STOPPING = "stopping: what is at work has 20 s; Ctrl-C ends it at once"
CONTINUES = "the same command continues where this stopped"
LATE = f"what was at work had 20 s; {CONTINUES}"
AT_ONCE = "; stopping.GRACE_S = stopping.LEAVE_S = 0.1"
COMMAND = (
    "import sys; from tokenmill.flows import stopping{}; from tokenmill.flows.cli import main; "
)


def eventually(found, what):
    deadline = time.monotonic() + WITHIN_S
    while not found():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class Prepare:
    """The command at work, its shards held by a gate of its own."""

    def __init__(self, recipe, out, runner="threads", changed="", stderr=subprocess.PIPE):
        self.gate = Path(f"{out}-gate")
        self.gate.mkdir(exist_ok=True)
        self.before = set(self.gate.glob("begun-*"))
        self.log = Path(f"{out}.log")
        options = ("--runner", runner, "--workers", str(WORKERS), "--log-json", str(self.log))
        self.words = ["prepare", str(recipe), "--out", str(out), *options]
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND.format(changed) + "sys.exit(main())", *self.words],
            env={**os.environ, **gated(self.gate), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            text=True,
            preexec_fn=as_at_a_terminal,
            start_new_session=True,
        )

    @property
    def n_begun(self):
        return len(set(self.gate.glob("begun-*")) - self.before)

    def wait_until_at_work(self):
        eventually(
            lambda: self.n_begun >= WORKERS or self.process.poll() is not None, "none at work"
        )
        assert self.process.poll() is None

    def open(self):
        (self.gate / "open").touch()

    def told(self, name):
        self.process.send_signal(getattr(signal, name))

    def until(self, line):
        """Read what it says until it says that."""
        for said in self.process.stderr:
            if said.strip() == line:
                return
        pytest.fail(f"never said: {line}")

    def ended(self):
        """Its exit code, and the last lines that it said."""
        said = self.process.communicate(timeout=WITHIN_S)[1]
        assert "Traceback" not in said
        return self.process.returncode, said.splitlines()[-1]


def gated(folder):
    """What a process must have in its environment for shards to wait in that folder."""
    return {"GATE": str(folder), "TOKENMILL_PLUGINS": "tests.e2e.gate"}


def as_at_a_terminal():
    for asked in (signal.SIGHUP, signal.SIGINT):
        signal.signal(asked, signal.SIG_DFL)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory, server):
    return write_corpus(tmp_path_factory.mktemp("corpus"), steps=["gate", "exact"])


@pytest.fixture(scope="module")
def undisturbed(recipe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "open").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATE", str(folder))
        plug(patch, "tests.e2e.gate", STEPS)
        prepare(load_recipe(recipe), folder / "run", one_by_one)
    return folder / "run"


# A lane stops, whoever does its works; of processes test_processes holds that they outlive signals.
@pytest.mark.long_but("threads")
@pytest.mark.parametrize("runner", ["threads", "processes", "dask"])
def test_no_work_begins_and_those_at_hand_end(runner, recipe, undisturbed, tmp_path, monkeypatch):
    out, done = tmp_path / "run", {}
    for name, code in SIGNALS:
        running = Prepare(recipe, out, runner)
        running.wait_until_at_work()
        assert receipts(out) == done
        running.told(name)
        running.until(STOPPING)
        running.told(name)  # as from the shell of a terminal that closes, or of a job's steps
        running.open()
        assert running.ended() == (code, f"stopped by {name}; {CONTINUES}")
        assert running.n_begun == WORKERS
        found = receipts(out)
        assert {key: found[key] for key in done} == done, "finished work was done again"
        assert len(found) == len(done) + WORKERS
        done = found
        (running.gate / "open").unlink()
    running.open()
    monkeypatch.setenv("GATE", str(running.gate))
    plug(monkeypatch, "tests.e2e.gate", STEPS)
    assert main(running.words) == OK
    after = receipts(out)
    assert {key: after[key] for key in done} == done, "finished work was done again"
    assert contents(out) == contents(undisturbed)
    assert after.keys() == receipts(undisturbed).keys()


def test_what_takes_longer_than_it_is_given_is_left(recipe, tmp_path):
    running = Prepare(recipe, tmp_path / "run", changed=AT_ONCE)
    running.wait_until_at_work()
    running.told("SIGTERM")
    assert running.ended() == (143, f"stopped by SIGTERM; {LATE}")


@pytest.mark.long
def test_ctrl_c_twice_ends_at_once(recipe, tmp_path):
    running = Prepare(recipe, tmp_path / "run")
    running.wait_until_at_work()
    running.told("SIGINT")
    running.until(STOPPING)
    running.told("SIGINT")
    assert running.ended() == (130, f"interrupted; {LATE}")


@pytest.mark.long
def test_a_terminal_that_closes_takes_no_code_away(recipe, tmp_path):
    """Nothing can be said there any more: each write fails. The log has it all the same."""
    ours, its = pty.openpty()
    running = Prepare(recipe, tmp_path / "run", stderr=its)
    os.close(its)
    running.wait_until_at_work()
    os.close(ours)
    running.told("SIGHUP")
    eventually(lambda: STOPPING in running.log.read_text(), "never said")
    running.open()
    assert running.process.wait(WITHIN_S) == 129
    assert running.n_begun == WORKERS


@pytest.mark.long
def test_a_server_of_its_own_ends_with_a_command_that_is_killed(recipe, tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL")
    running = Prepare(recipe, tmp_path / "run")
    running.wait_until_at_work()
    servers = [
        child
        for child in psutil.Process(running.process.pid).children(recursive=True)
        if "tokenmill.flows.prefect.own" in child.cmdline()
    ]
    assert len(servers) == 1
    running.process.kill()
    _, living = psutil.wait_procs(servers, timeout=WITHIN_S)
    assert not living
    running.process.communicate()
