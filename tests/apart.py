"""Work in processes of its own, which may kill themselves; forked from one that has imported it.

A process that begins with nothing imports for longer than it works.
"""

import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.strategies import THOROUGH

ROOT = Path(__file__).parent.parent
WITHIN_S = 1000.0  # of a machine that does much else; within the time of a test in pyproject.toml

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(
    [
        "tests.collected_seldom",
        "tests.e2e.killed",
        "tests.e2e.killed_contamination",
        "tests.pipelines.prepare.ingested",
        "tests.pipelines.read.peaks",
        "tests.pipelines.runs.killed",
        "tests.warm",
    ]
)


def _unsynced(file: int) -> None:
    """Nothing: a small run asks for 350, and what a killed process wrote is there all the same.

    Tests of what must outlive a power cut say so themselves, and `make test-all` syncs.
    """


synced = os.fsync
unsynced = synced if THOROUGH else _unsynced


class Ended(NamedTuple):
    """returncode: negative where a signal ended it."""

    returncode: int | None
    stdout: str
    stderr: str


def apart(function: Callable[..., Any], *args: str, env: Mapping[str, str] = {}) -> Ended:
    """Call a function in a process of its own, in this one's environment and what `env` adds."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = (Path(folder) / name for name in ("stdout", "stderr"))
        process = _forking.Process(
            target=_called, args=(out, err, {**os.environ, **env}, function, args)
        )
        process.start()
        process.join(WITHIN_S)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"{function.__module__} did not end within {WITHIN_S:g} s")
        return Ended(process.exitcode, out.read_text(), err.read_text())


def _called(
    out: Path,
    err: Path,
    environment: dict[str, str],
    function: Callable[..., Any],
    args: tuple[str, ...],
) -> None:
    """Do it, and end at once: what the process that it was forked from holds is not its own."""
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(environment)
    os.fsync = unsynced
    os.chdir(ROOT)
    code = 0
    try:
        function(*args)
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:  # noqa: BLE001 - told by its caller
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
