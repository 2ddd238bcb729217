"""The API server a run reports to: the user's own where one is named, else one for this run.

Without a server of its own each worker process would start another one over the same
database; and the one Prefect starts by itself dies at exit with its queue unsaved. So the
embedded mode starts one server process, hands its address to every child, and stops it last.

Settings are read when `prefect` is imported: call `embedded_server` before that.
"""

import contextlib
import importlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tokenmill.dedup.kernels._jit import warm
from tokenmill.flows.progress import watcher
from tokenmill.pipelines.core.errors import ConfigError

START_S = 180  # a first start on a busy machine migrates its database for 10 s and more
STOP_S = 15
POLL_S = 0.1
STARTING = "starting a Prefect server for this run; PREFECT_API_URL names another"
REFUSED = ("HTTP 401", "HTTP 403")
URL = "http://127.0.0.1:4200"
# as all pages tell it: without telemetry, for this machine's own browser
START = (
    "DO_NOT_TRACK=1 PREFECT_SERVER_ANALYTICS_ENABLED=false"
    " PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED=true"
    f" PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS={URL} prefect server start --host 127.0.0.1"
)
# imports while the server starts, which takes longer; what follows would import them then
CLIENT = ("prefect", "tokenmill.flows.prefect.executing", "fastapi.encoders")

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
def embedded_server() -> Iterator[str | None]:
    """Run a Prefect server for the length of the block, unless the user has one.

    Yields the address of the API, or None for the user's own.

    Raises:
        RuntimeError: the server did not start; the end of its log is in the message.
        ConfigError: the user's own does not answer, or not us.
    """
    if user_has_server():
        check_server()
        yield None
        return
    watcher.get().tell(STARTING)
    with contextlib.ExitStack() as stack:
        home = os.environ.get("PREFECT_HOME") or stack.enter_context(_home())
        settings = {"PREFECT_HOME": home, **EMBEDDED_SETTINGS}
        stack.enter_context(
            _environment({k: v for k, v in settings.items() if k not in os.environ})
        )
        port = _free_port()
        url = f"http://127.0.0.1:{port}/api"
        log = stack.enter_context(tempfile.TemporaryFile("w+"))
        server = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "tokenmill.flows.prefect.guarded", str(os.getpid())),
                # as `prefect server start` runs it, without another process that imports Prefect
                *("uvicorn", "--factory", "prefect.server.api.server:create_app"),
                *("--host", "127.0.0.1", "--port", str(port), "--log-level", "error"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches the run first, which then stops the server
        )
        stack.callback(_stop, server)
        stack.enter_context(_environment({"PREFECT_API_URL": url}))
        stack.callback(_drain)
        for module in CLIENT:
            importlib.import_module(module)
        warm()
        _wait(server, url, log)
        yield url


def check_server() -> None:
    """Refuse to begin a run that reports to a server which is not there.

    Raises:
        ConfigError: tells how it answers, and the ways out.
    """
    os.environ.setdefault("DO_NOT_TRACK", "1")
    from tokenmill.flows.prefect.run_here import address, trouble  # Prefect reads settings then

    found = trouble()
    if found is None:
        return
    where = f"the Prefect server at {address()}"
    if found in REFUSED:
        raise ConfigError(
            f"{where} refuses us ({found}); set PREFECT_API_AUTH_STRING=USER:PASSWORD"
        )
    raise ConfigError(
        f"{where} does not answer ({found}); start it, as by `{START}`, or unset PREFECT_API_URL,"
        " as the environment or a profile of Prefect has it, to run without"
    )


@contextlib.contextmanager
def _home() -> Iterator[str]:
    """Prefect's state for embedded runs: kept, since an existing database saves 7 s a start."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    home = Path(base) / "tokenmill" / "prefect"
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError:
        with tempfile.TemporaryDirectory(prefix="tokenmill-prefect-") as temporary:
            yield temporary
    else:
        yield str(home)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], url: str, log: IO[str]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_S)
    log.seek(0)
    tail = " ".join(log.read().split()[-60:])
    raise RuntimeError(f"the embedded Prefect server did not start within {START_S} s: {tail}")


def _drain() -> None:
    """Send what this process still has queued for the server: else its last states are lost."""
    if "prefect" not in sys.modules:
        return
    from prefect.events.worker import EventsWorker  # only now: see the module docstring
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=STOP_S)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
