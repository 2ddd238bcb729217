"""The server of the embedded mode: there while a run lasts, gone when it ends, however it ends."""

import io
import math
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests import prefect_home
from tokenmill.flows.prefect import server
from tokenmill.flows.prefect.server import EMBEDDED_SETTINGS, STARTING, user_has_server
from tokenmill.flows.progress import watcher, watching

ROOT = Path(__file__).parent.parent.parent.parent
HOLD = (
    "import sys, time\n"
    "from tokenmill.flows.progress import watching\n"
    "from tokenmill.flows.prefect.server import embedded_server\n"
    "with watching(quiet=False), embedded_server() as url:\n"
    "    sys.stdout.write(url + '\\n'); sys.stdout.flush()\n"
    "    sys.stdin.readline()\n"
)
PATIENCE_S = 20


@pytest.mark.parametrize("start_s", [math.inf, 0])
def test_a_server_that_ended_or_takes_too_long_is_told_with_its_last_words(start_s, monkeypatch):
    """Of one that ended nothing is awaited, nor of one that lives when its time is up."""
    with subprocess.Popen(["true"] if start_s else ["sleep", "100"]) as process:
        if start_s:
            process.wait()
        monkeypatch.setattr(server, "START_S", start_s)
        monkeypatch.setattr(server.time, "sleep", pytest.fail)
        with pytest.raises(RuntimeError, match=f"did not start within {start_s} s: no room left$"):
            server._wait(process, "http://127.0.0.1:1", io.StringIO("no  room\nleft\n"))
        process.kill()


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Prefect's state: once its database is there, a server starts in half the time."""
    return prefect_home.filled(tmp_path_factory.mktemp("prefect"))


@pytest.fixture
def holder(home):
    """A process that keeps an embedded server until it is told to end."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT")}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=ROOT,
        env={**environment, "PREFECT_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


@pytest.mark.parametrize("ended_by", ["itself", "SIGKILL"])
def test_the_server_ends_with_the_run(holder, ended_by):
    assert holder.stderr.readline() == f"{STARTING}\n"  # at once: the start takes seconds
    url = holder.stdout.readline().strip()
    assert answers(url)
    if ended_by == "itself":
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.wait(PATIENCE_S) == 0
    else:
        holder.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_S
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not answers(url)


def test_a_server_that_goes_on_without_its_run_is_killed():
    code = (
        "import signal\n"
        "from tokenmill.flows.prefect import guarded\n"
        "guarded.STOP_S = 0.1\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "guarded._end_with(0)\n"  # as if the parent, which has another id, had gone
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=200)
    assert ended.returncode == -signal.SIGKILL


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
