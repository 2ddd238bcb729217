"""A real Prefect server with its UI, as a process: stopped, killed and started again."""

import base64
import contextlib
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests import prefect_home
from tests.cluster.processes import Program, free_port
from tokenmill.flows.prefect.server import EMBEDDED_SETTINGS

START_S = 300  # a first start migrates a new database
TIMEOUT_S = 60  # of a machine that does much else
ASKED_EVERY_S = 0.25  # by those who wait for what it tells
BUSY = 503
PAUSES_S = (1, 2, 4, 8, 8)
RECORDER = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER"
# as in a server of a run's own: of 2.4 to 3.9 CPU s for a small run its recorder leaves 1.6 to 2.4
OWN = (
    *("PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK", "PREFECT_CLI_COLORS"),
    *(f"{RECORDER}_BATCH_SIZE", f"{RECORDER}_FLUSH_INTERVAL"),
)
SETTINGS = {
    **{name: EMBEDDED_SETTINGS[name] for name in OWN},
    "PREFECT_API_URL": "",  # the server is nobody's client
}
HELD_BACK_S = float(SETTINGS[f"{RECORDER}_FLUSH_INTERVAL"])  # task runs are, at most


class PrefectServer:
    """A server with a home, and so a database, of its own; auth: `user:password`, or none."""

    def __init__(self, folder: Path, auth: str | None = None) -> None:
        self.folder, self.auth = folder, auth
        self.home = prefect_home.filled(folder / "server-home")
        self.port = free_port()
        self.ui = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.ui}/api"
        self.start()
        prefect_home.keep(self.home)

    @property
    def client_env(self) -> dict[str, str]:
        """What a program needs to report to this server, in a home that is not the user's."""
        env = {"PREFECT_API_URL": self.url, "PREFECT_HOME": str(self.folder / "client-home")}
        return {**env, "PREFECT_API_AUTH_STRING": self.auth} if self.auth else env

    def start(self) -> None:
        """Start the server, again on the same port and database if it was there."""
        command = [sys.executable, "-m", "prefect", "server", "start"]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        # by itself the UI looks for the API at Prefect's default port
        ui = {"PREFECT_SERVER_UI_API_URL": self.url}
        env = {**SETTINGS, **ui, "PREFECT_HOME": str(self.home)}
        if self.auth:
            env["PREFECT_SERVER_API_AUTH_STRING"] = self.auth
        log = self.folder / "server.log"
        self.program = Program(command, log=log, env=env, cwd=self.folder)
        self.program.wait_until(self.healthy, within_s=START_S)

    def healthy(self) -> bool:
        with contextlib.suppress(urllib.error.URLError, OSError):
            return self.get("/health") == b"true"
        return False

    def get(self, path: str) -> bytes:
        """The answer of the API to a GET, as a client with the right password gets it."""
        return self._answer(urllib.request.Request(self.url + path))

    def post(self, path: str, body: bytes = b"{}") -> bytes:
        """The answer of the API to a POST of JSON."""
        headers = {"Content-Type": "application/json"}
        return self._answer(urllib.request.Request(self.url + path, data=body, headers=headers))

    def delete(self, path: str) -> bytes:
        """The answer of the API to a DELETE."""
        return self._answer(urllib.request.Request(self.url + path, method="DELETE"))

    def _answer(self, request: urllib.request.Request) -> bytes:
        if self.auth:
            word = base64.b64encode(self.auth.encode()).decode()
            request.add_header("Authorization", f"Basic {word}")
        pauses = list(PAUSES_S)
        while True:
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as e:
                if e.code != BUSY or not pauses:  # its own clients try again too
                    raise
                time.sleep(pauses.pop(0))

    def kill(self) -> None:
        """SIGKILL to all of it."""
        self.program.kill_all()

    def stop(self) -> None:
        self.program.stop()


@contextlib.contextmanager
def prefect_server_in(folder: Path, auth: str | None = None) -> Iterator[PrefectServer]:
    """A server for the length of the block, with all its files in a folder."""
    server = PrefectServer(folder, auth)
    try:
        yield server
    finally:
        server.stop()
