"""The server of a run's own: notes what was done before it was there, and ends with the run."""

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing import Pipe
from pathlib import Path

import psutil
import pytest

from tests import prefect_home
from tokenmill.flows.prefect import server as servers
from tokenmill.flows.prefect.noted import STARTING
from tokenmill.flows.prefect.server import EMBEDDED_SETTINGS, user_has_server
from tokenmill.flows.progress import watcher, watching

ROOT = Path(__file__).parent.parent.parent.parent
# a command whose work is two groups of works, of which the second ends when it is told to
RUN = (
    "import sys, time\n"
    "from tokenmill.flows.ended import Ended, Shown\n"
    "from tokenmill.flows.notes import notes\n"
    "from tokenmill.flows.progress import watching\n"
    "from tokenmill.flows.prefect.noted import noted\n"
    "def make():\n"
    "    notes.get().describe('a run', 'label')\n"
    "    with notes.get().group('phase', 'before it answers'):\n"
    "        pass\n"
    "    print(time.time(), flush=True)\n"
    "    with notes.get().group('phase', 'at work'):\n"
    "        sys.stdin.readline()\n"
    "        notes.get().check()\n"
    "    return Ended('made', 'all is done', artifacts=[Shown('key', [{'a': 1}], 'a table')])\n"
    "with watching(quiet=False):\n"
    "    print(noted(make, ('a-flow', 'its run'), {'given': 'this'}, None))\n"
)
PATIENCE_S = 1000


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_server_that_ended_or_takes_too_long_is_told_with_its_last_words(has_ended, monkeypatch):
    """Of one that ended nothing is awaited, nor of one that lives when its time is up."""
    ours, its = Pipe()
    if has_ended:
        its.close()
    else:
        monkeypatch.setattr(servers, "START_S", 0)
    with subprocess.Popen(["true"]) as process:
        starting = servers.OwnServer(process, ours, io.StringIO("no  room\nleft\n"))
        with pytest.raises(RuntimeError, match=r"did not start within \d+ s: no room left$"):
            starting.check() if has_ended else starting.up()


@pytest.fixture
def home(tmp_path, server):
    """Prefect's state, with a database, which that of all tests made: it saves half of a start."""
    return prefect_home.filled(tmp_path / "prefect")


@pytest.fixture
def running(home, request):
    """The command at work, its server starting; the parameter is more of its environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT")}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN],
        cwd=ROOT,
        env={**environment, "PREFECT_HOME": str(home), **getattr(request, "param", {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr.readline() == f"{STARTING}\n"  # at once: the start takes seconds
        yield process
        process.kill()


def server_of(process):
    (child,) = psutil.Process(process.pid).children()
    return child


def rows(home, select):
    with closing(sqlite3.connect(home / "prefect.db")) as database:
        return database.execute(select).fetchall()


def task_runs(home):
    select = "select name, state_type, strftime('%s', start_time) from task_run order by start_time"
    return [(name, state, int(start)) for name, state, start in rows(home, select)]


def test_what_was_done_before_it_answered_is_noted_with_its_times(running, home):
    begun = float(running.stdout.readline())
    server = server_of(running)
    assert running.communicate("\n", PATIENCE_S) == ("made\n", "")
    assert running.returncode == 0
    assert not server.is_running()
    ((name, state, tags, parameters),) = rows(
        home, "select name, state_type, tags, parameters from flow_run"
    )
    assert (name, state, json.loads(tags)) == ("a run", "COMPLETED", ["label", "tokenmill"])
    assert json.loads(parameters) == {"given": "this"}
    (first, second), (answered,) = (
        task_runs(home),
        rows(home, "select strftime('%s', start_time) from flow_run"),
    )
    assert first[:2] == ("before it answers", "COMPLETED")
    assert second[:2] == ("at work", "COMPLETED")
    assert begun - PATIENCE_S < first[2] <= begun  # in whole seconds, cut off
    assert int(answered[0]) - begun > 1
    assert rows(home, "select key, description from artifact") == [("key", "a table")]
    states = "select task_run.id from task_run_state join task_run on task_run.id = task_run_id"
    assert len(rows(home, states)) == 6  # two times pending, running, completed


def test_a_run_that_is_killed_has_crashed(running, home):
    running.stdout.readline()
    server = server_of(running)
    running.send_signal(signal.SIGKILL)
    psutil.wait_procs([server], timeout=PATIENCE_S)
    assert not server.is_running()
    assert rows(home, "select state_type from flow_run") == [("CRASHED",)]
    first, *others = [state for _, state, _ in task_runs(home)]
    assert first == "COMPLETED"
    assert others in (["CRASHED"], [])  # Prefect may end before it has written the last


def test_one_that_is_killed_as_it_starts_ends_the_run(running):
    running.stdout.readline()
    server_of(running).kill()
    told = running.communicate("\n", PATIENCE_S)[1]
    assert told.splitlines()[-1].startswith(
        "RuntimeError: the embedded Prefect server did not start within 600 s"
    )
    assert running.returncode == 1


@pytest.mark.long  # the words of a made-up one are told by a quicker test, a real one's here alone
@pytest.mark.parametrize("running", [{"PREFECT_API_REQUEST_TIMEOUT": "soon"}], indirect=True)
def test_one_that_cannot_start_ends_the_run_with_what_it_said(running):
    running.stdout.readline()
    told = running.communicate("\n", PATIENCE_S)[1]
    assert "RuntimeError: the embedded Prefect server did not start within 600 s: " in told
    assert "unable to parse string as a number" in told
    assert running.returncode == 1


def test_one_that_is_killed_later_costs_the_notes_alone(running, home):
    running.stdout.readline()
    deadline = time.monotonic() + PATIENCE_S
    while not rows(home, "select name from flow_run where name = 'a run'"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    server_of(running).kill()
    made, told = running.communicate("\n", PATIENCE_S)
    assert made == "made\n"
    assert "is gone (it has ended): how this run ended is not noted there; the work" in told
    assert running.returncode == 0


def test_a_server_the_user_has_is_used(monkeypatch, tmp_path):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.delenv("PREFECT_PROFILE", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    assert not user_has_server()
    (tmp_path / "profiles.toml").write_text(
        'active = "work"\n[profiles.work]\nPREFECT_API_URL = "http://127.0.0.1:4200/api"\n'
    )
    assert user_has_server()
    (tmp_path / "profiles.toml").write_text('active = "plain"\n[profiles.plain]\n')
    assert not user_has_server()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert user_has_server()


def test_every_setting_of_a_server_is_one_that_prefect_has():
    from prefect import settings  # tells of others in no way

    for name in EMBEDDED_SETTINGS.keys() - {"DO_NOT_TRACK"}:
        assert getattr(settings, name).name == name


def test_with_json_nothing_is_told(capsys):
    for quiet in (True, False):
        with watching(quiet=quiet):
            watcher.get().tell("a line")
        assert capsys.readouterr().err == ("" if quiet else "a line\n")
