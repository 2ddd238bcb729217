"""Work in processes of its own, which may kill themselves; forked from one that has imported it.

A process that begins with nothing imports for longer than it works.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

WITHIN_S = 200.0

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.e2e.killed", "tests.e2e.killed_contamination"])


class Ended(NamedTuple):
    """returncode: negative where a signal ended it."""

    returncode: int | None
    stderr: str


def apart(function: Callable[..., Any], *args: str) -> Ended:
    """Call a function of a module in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "stderr"
        process = _forking.Process(target=_called, args=(log, function, args))
        process.start()
        process.join(WITHIN_S)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"{function.__module__} did not end within {WITHIN_S:g} s")
        return Ended(process.exitcode, log.read_text())


def _called(log: Path, function: Callable[..., Any], args: tuple[str, ...]) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
    function(*args)
