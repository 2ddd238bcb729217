"""Do the work of a flow for a command, and have a server note it: the user's own, or the run's."""

import contextlib
import os
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from queue import Queue
from typing import Any, Protocol

from tokenmill.flows.ended import Ended, Note, Shown
from tokenmill.flows.exits import exit_code_of
from tokenmill.flows.notes import Notes, notes
from tokenmill.flows.prefect.server import OwnServer, own_server, user_has_server
from tokenmill.flows.progress import holding, watcher
from tokenmill.flows.stopping import LEAVE_S, with_grace
from tokenmill.pipelines.core.errors import ConfigError

STARTING = "starting a Prefect server for this run; PREFECT_API_URL names another"
REFUSED = ("HTTP 401", "HTTP 403")
URL = "http://127.0.0.1:4200"
# as all pages tell it: without telemetry, for this machine's own browser
START = (
    "DO_NOT_TRACK=1 PREFECT_SERVER_ANALYTICS_ENABLED=false"
    " PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED=true"
    f" PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS={URL} prefect server start --host 127.0.0.1"
)


class Server(Protocol):
    """Whom notes are sent to."""

    address: str

    def send(self, note: Note) -> Any:
        """Have a thing noted, some time; the first note is ("flow", name, its run, parameters)."""

    def check(self) -> None:
        """Raise RuntimeError, with the end of its log, where it did not start."""

    def ended(self, within_s: float | None = None) -> str | None:
        """Wait for the last note; what kept the server from it, in words. Raises as `check`."""


class _Named:
    """The user's own."""

    def __init__(self) -> None:
        from tokenmill.flows.prefect.noting import address

        self.address = address()
        self._coming: Queue[Note] = Queue()
        self._noted: Future[str | None] = Future()
        self.send = self._coming.put
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        from tokenmill.flows.prefect.run_here import run_here

        try:
            _, name, run_name, parameters = self._coming.get()
            self._noted.set_result(run_here(self._coming, name, run_name, parameters))
        except BaseException as e:  # noqa: BLE001 - raised by who waits
            self._noted.set_exception(e)

    def check(self) -> None:
        """It answered before the run began."""

    def ended(self, within_s: float | None = None) -> str | None:
        return self._noted.result(within_s)


def noted(
    make: Callable[[], Ended],
    names: tuple[str, str],
    parameters: dict[str, Any],
    server: OwnServer | None,
) -> Any:
    """Do the work of a flow, and have it noted by a server; returns the work's result.

    names: of the flow and, at first, of its run.  parameters: as the UI shows them.
    server: of the run's own, which may be starting; None: one that the user has, or that is
        started here.
    Exception: what the work raised.
    """
    with contextlib.ExitStack() as stack:
        to: Server | None = server
        if user_has_server():
            check_server()
            to = _Named()
        else:
            watcher.get().tell(STARTING)
            to = to or stack.enter_context(own_server())
        to.send(("flow", *names, parameters))
        try:
            with holding(notes, Notes(to.send, to.check)), with_grace():
                ended = make()
        except KeyboardInterrupt:
            to.send(("stopped", ""))
            with contextlib.suppress(Exception):  # the run is not done: nothing to insist on
                to.ended(LEAVE_S)
            raise
        except Exception as e:
            is_bug = exit_code_of(e) is None
            to.send(("failed", str(e), traceback.format_exc() if is_bug else ""))
            with contextlib.suppress(RuntimeError):  # what ended the work is to be told
                _wait_for(to)
            raise
        artifacts: list[Shown] = []
        with contextlib.suppress(OSError):  # some read files of the run, which is done
            artifacts.extend(ended.artifacts)
        to.send(("ended", ended.told, ended.failed, artifacts))
        _wait_for(to)
    return ended.result


def _wait_for(server: Server) -> None:
    """Until all is noted."""
    trouble = server.ended()
    if trouble is not None:
        watcher.get().tell(
            f"the Prefect server at {server.address} is gone ({trouble}): how this run ended is"
            " not noted there; the work itself needs no server"
        )


def check_server() -> None:
    """Refuse to begin a run whose server is not there; ConfigError says how it answers."""
    os.environ.setdefault("DO_NOT_TRACK", "1")
    from tokenmill.flows.prefect.noting import address, trouble  # Prefect reads settings then

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
