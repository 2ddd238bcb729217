"""A Prefect server that goes away while its flows are served, and comes back.

Prefect's runner then prints tracebacks, and gives its watch for cancelled runs up for good. So the
outage is told in a line, what Prefect says of it is not, and once the server is back and no run is
at work this process begins anew, by the same command.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from tokenmill.flows.prefect.noting import address, trouble

POLL_S = 2.0
LEAVE_S = 5.0
MISSED = 2  # answers in a row: Prefect's loops give up after three, 10 s apart


@contextmanager
def watched() -> Iterator[None]:
    """Watch the server for the length of the block, beside what this process does.

    An interpreter that ends while a thread asks the server takes the process down with it.
    """
    over = Event()
    thread = Thread(target=_watch, args=(over,), daemon=True, name="outages")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LEAVE_S)


def _watch(over: Event) -> None:
    where, out = f"the Prefect server at {address()}", sys.stdout
    missed, gone, stale = 0, False, False
    while not over.wait(POLL_S):
        missed = missed + 1 if trouble() else 0
        if missed == MISSED and not gone:
            gone, sys.stdout = True, io.StringIO()
            _tell(f"{where} is gone; runs at work go on, new ones begin when it is back")
        if gone and not missed:
            gone, stale, sys.stdout = False, True, out
            _tell(f"{where} is back")
        if stale and not gone and not _children():
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _children() -> bool:
    """Whether a run is at work, each of which is a process of its own."""
    found = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    return any(_is_a_run(Path("/proc") / pid / "cmdline") for pid in found.split())


def _is_a_run(command: Path) -> bool:
    """One that has ended has no words; what multiprocessing keeps beside them is none."""
    try:
        words = command.read_bytes()
    except OSError:
        return False
    return bool(words) and b"resource_tracker" not in words
