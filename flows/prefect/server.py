"""The API server a run reports to: the user's own where one is named, else one for this run.

    a command ── notes ──► a thread of it ──► the user's server
                      └──► a process of its own: the server, and who tells it of the run

That process is started first and answers some seconds later; the works begin meanwhile, and what
they tell waits in a pipe. So a command imports no Prefect unless a server is named. The server is
stopped last, and ends with the command however that ends.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from tokenmill.flows.ended import Note

START_S = 600  # two cores that thirty processes shared took more than 180; works go on meanwhile
STOP_S = 15

# of Prefect's server, for deployments, schedules, work pools and automations: a run has none
IDLE_SERVICES = (
    *("CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "EVENT_PERSISTER", "FOREMAN", "LATE_RUNS"),
    *("PAUSE_EXPIRATIONS", "REPOSSESSOR", "SCHEDULER", "TRIGGERS"),
)

# Only where the user has not set them, and only in the embedded mode.
EMBEDDED_SETTINGS = {
    **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in IDLE_SERVICES},
    # else each of the three states of a task run is a transaction: a third of the server's work
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(START_S),
    # failed shards are outcomes of ours, told in a line each; Prefect would add tracebacks
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
    "PREFECT_CLI_COLORS": "false",
}


def user_has_server() -> bool:
    """Whether the environment or the active Prefect profile names an API to report to."""
    if os.environ.get("PREFECT_API_URL"):
        return True
    home = Path(os.environ.get("PREFECT_HOME", Path.home() / ".prefect"))
    try:
        profiles = tomllib.loads((home / "profiles.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return False
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    return "PREFECT_API_URL" in profiles.get("profiles", {}).get(active, {})


@contextlib.contextmanager
def own_server() -> Iterator["OwnServer"]:
    """Start a server, and stop it when the block ends."""
    with contextlib.ExitStack() as stack:
        home = os.environ.get("PREFECT_HOME") or stack.enter_context(_home())
        log = stack.enter_context(tempfile.TemporaryFile("w+"))
        ours, its = Pipe()
        server = OwnServer(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "tokenmill.flows.prefect.own", str(its.fileno())],
                env={"PREFECT_HOME": home, **EMBEDDED_SETTINGS, **os.environ},
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches the run first, which then stops the server
            ),
            ours,
            log,
        )
        its.close()
        stack.callback(server.stop)
        yield server


class OwnServer:
    """A server of this run's own, which may be starting still."""

    def __init__(self, process: "subprocess.Popen[bytes]", pipe: Connection, log: Any) -> None:
        self.address = ""  # until it answers
        self._process, self._pipe, self._log = process, pipe, log
        self._sending = threading.Lock()
        self._deadline = time.monotonic() + START_S

    def send(self, note: Note) -> None:
        with self._sending, contextlib.suppress(OSError):  # it has died: told in the end
            self._pipe.send_bytes(to_json(note))

    def check(self) -> None:
        if not self.address and (self._pipe.poll() or time.monotonic() > self._deadline):
            self.up()

    def up(self, within_s: float = START_S) -> str:
        """Wait for its address; RuntimeError: see `check`."""
        if not self.address:
            left_s = max(self._deadline - time.monotonic(), 0)
            self.address = self._answer(min(left_s, within_s)) or ""
        if not self.address:
            self._log.seek(0)
            tail = " ".join(self._log.read().split()[-60:])
            raise RuntimeError(
                f"the embedded Prefect server did not start within {START_S} s: {tail}"
            )
        return self.address

    def ended(self, within_s: float | None = None) -> str | None:
        self.up(START_S if within_s is None else within_s)
        answer = self._answer(within_s)
        return "it has ended" if answer is None else answer or None

    def _answer(self, within_s: float | None) -> str | None:
        """What it says next, if it does."""
        try:
            return self._pipe.recv_bytes().decode() if self._pipe.poll(within_s) else None
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        self._pipe.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def _home() -> Iterator[str]:
    """Prefect's state for embedded runs: kept, since an existing database saves 7 s a start."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    home = Path(base) / "tokenmill" / f"prefect-{version('prefect')}"  # none opens a later one's
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError:
        with tempfile.TemporaryDirectory(prefix="tokenmill-prefect-") as temporary:
            yield temporary
    else:
        yield str(home)
