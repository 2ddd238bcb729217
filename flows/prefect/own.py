"""The process of a server of a run's own, and of who tells it what comes of the run.

    python -m tokenmill.flows.prefect.own FD

FD is its end of a pipe: notes come by it as JSON, and back goes the server's address once it
answers, and in the end what kept it from noting the last. Where the other end is closed, however
that comes, the run has ended; so does this process.
"""

import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Queue
from typing import Any

from tokenmill.flows.ended import END, Note

HOST = "127.0.0.1"
POLL_S = 0.02
STOP_S = 15.0
ALONE_S = 600.0  # without the run, to note how it ended: it may be starting still
STARTED_S = 10.0  # until then it imports, and what it makes stays: to collect took 0.45 s of 2.6


def main() -> None:
    """Serve until the run has ended."""
    gc.disable()
    collecting = threading.Timer(STARTED_S, gc.enable)
    collecting.daemon = True
    collecting.start()
    pipe, coming = Connection(int(sys.argv[1])), Queue[Note]()
    # from now on: whoever does the works never waits for this process
    threading.Thread(target=_read, args=(pipe, coming), daemon=True).start()
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        url = f"http://{HOST}:{listening.getsockname()[1]}/api"
        os.environ["PREFECT_API_URL"] = url  # Prefect reads its settings when it is imported
        import uvicorn
        from prefect.server.api.server import create_app

        # as `prefect server start` has it run
        server = uvicorn.Server(
            uvicorn.Config(
                create_app, factory=True, log_level="error", timeout_graceful_shutdown=int(STOP_S)
            )
        )
        threading.Thread(target=_note, args=(server, url, pipe, coming), daemon=True).start()
        server.run(sockets=[listening])
    os._exit(0)  # all is closed: to take a half of a gigabyte of modules apart takes 0.5 s


def _read(pipe: Connection, coming: "Queue[Note]") -> None:
    """Take notes as they come; where the last is missing the run was killed."""
    last = ""
    with suppress(EOFError, OSError):
        while True:
            note = tuple(json.loads(pipe.recv_bytes()))
            last = note[0]
            coming.put(note)
    if last not in END:
        coming.put(("stopped", "the run was killed"))
    time.sleep(ALONE_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _note(server: Any, url: str, pipe: Connection, coming: "Queue[Note]") -> None:
    while not server.started:
        time.sleep(POLL_S)
    with suppress(OSError):  # nobody listens any more
        pipe.send_bytes(url.encode())
    try:
        kind, *told = coming.get()
        if kind == "flow":
            from tokenmill.flows.prefect.noting import without_heartbeats
            from tokenmill.flows.prefect.run_here import run_here

            with without_heartbeats():  # this process knows when the run is killed
                trouble = run_here(coming, *told)
            drain()
            with suppress(OSError):
                pipe.send_bytes((trouble or "").encode())
    finally:
        server.should_exit = True


def drain() -> None:
    """Send what is still queued for the server: else its last states are lost."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=STOP_S)


if __name__ == "__main__":
    main()
