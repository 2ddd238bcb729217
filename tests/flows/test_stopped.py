"""Signals that ask a command to end: one line, and the exit code of the signal, as of Ctrl-C."""

import signal
import subprocess
import sys

import pytest

from tests.pipelines.probe.corpora import write_shards

ASKED = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    rows = [[list(range(64))] * 50] * 4
    return write_shards(tmp_path_factory.mktemp("dataset") / "d", rows)


def as_at_a_terminal():
    """Whoever runs the tests may have been started by nohup, or in the background."""
    for asked in (signal.SIGHUP, signal.SIGINT):
        signal.signal(asked, signal.SIG_DFL)


def begun(dataset, before=as_at_a_terminal):
    """A command that works for a minute, once it has begun."""
    command = [sys.executable, "-m", "tokenmill.flows.cli", "probe", str(dataset), "--seconds=60"]
    running = subprocess.Popen(
        [*command, "--processes=1"], stderr=subprocess.PIPE, text=True, preexec_fn=before
    )
    assert running.stderr.readline()  # what it does
    return running


@pytest.mark.long_but("SIGTERM")  # the others end it the same way
@pytest.mark.parametrize("name", ASKED)
def test_a_command_ends_with_a_line_and_the_code_of_the_signal(dataset, name):
    with begun(dataset) as running:
        running.send_signal(getattr(signal, name))
        told = running.communicate()[1]
    by = "interrupted" if name == "SIGINT" else f"stopped by {name}"
    assert told.splitlines()[-1].startswith(f"{by}; ")
    assert "Traceback" not in told
    assert running.returncode == ASKED[name]


def test_what_was_started_by_nohup_outlives_its_terminal(dataset):
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with begun(dataset, ignoring) as running:
        running.send_signal(signal.SIGHUP)
        running.send_signal(signal.SIGTERM)
        running.communicate()
    assert running.returncode == ASKED["SIGTERM"]
