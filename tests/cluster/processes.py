"""Real programs that tests start: on 127.0.0.1, with a log, and ended whatever happens.

Each carries the mark of this test run in its environment, and so does all that it starts in
turn (a job of SLURM too). reaper.py kills what carries the mark when the test run is gone.
"""

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import psutil

from tests.cluster import reaper

ROOT = Path(__file__).parent.parent.parent
MARK = uuid.uuid4().hex
STOP_S, POLL_S = 10.0, 0.05
TAIL = 2000
T = TypeVar("T")


@cache
def _reaper() -> subprocess.Popen[bytes]:
    """Started with the first program; the end of this process ends its standard input."""
    command = [sys.executable, reaper.__file__, MARK]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def end() -> None:
        started.stdin.close()
        started.wait()

    atexit.register(end)
    return started


def environment(**values: str) -> dict[str, str]:
    """This process's environment, changed, for a program that may not outlive the tests."""
    _reaper()
    return {**os.environ, **values, reaper.MARK_NAME: MARK}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def answers(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as s:
        s.settimeout(1.0)
        return s.connect_ex(("127.0.0.1", port)) == 0


def eventually(what: str, found: Callable[[], T], *, within_s: float, pause_s: float = POLL_S) -> T:
    """What `found` returns, once that is true.

    Raises:
        TimeoutError: it never was; says `what` was waited for.
    """
    deadline = time.monotonic() + within_s
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {within_s:g} s")
        time.sleep(pause_s)
    return value


def as_at_a_terminal() -> None:
    """Whoever runs the tests in the background has them ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Program:
    """A command that runs, in its own process group."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> None:
        self.command, self.log = [str(part) for part in command], log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(**(env or {})),
                cwd=cwd,
                preexec_fn=as_at_a_terminal,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def living(self) -> bool:
        return self.process.poll() is None

    def children(self) -> list[psutil.Process]:
        """What it started, and what that started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).children(recursive=True)
        return []

    def tail(self) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-TAIL:]

    def wait_until(self, ready: Callable[[], T], *, within_s: float, pause_s: float = POLL_S) -> T:
        """What `ready` returns, once that is true.

        Raises:
            RuntimeError: the program ended first, or it took too long; says what was logged.
        """
        try:
            ready_or_ended = lambda: ready() or not self.living  # noqa: E731
            value = eventually("ready", ready_or_ended, within_s=within_s, pause_s=pause_s)
        except TimeoutError as e:
            raise RuntimeError(f"{self.command}: {e}: {self.tail()}") from None
        if not self.living:
            raise RuntimeError(f"{self.command}: ended by itself: {self.tail()}")
        return value

    def kill(self) -> None:
        """SIGKILL to this process alone; what it started is left to find out."""
        self.process.kill()
        self.process.wait()

    def kill_all(self) -> None:
        """SIGKILL to it and all that it started, as when the machine goes down."""
        family = [*self.children(), psutil.Process(self.pid)] if self.living else []
        self._signal(signal.SIGKILL)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to what is still there."""
        if self.living:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
        self.kill_all()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


@contextlib.contextmanager
def running(
    command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """A program for the length of the block."""
    program = Program(command, log=log, env=env)
    try:
        yield program
    finally:
        program.stop()
