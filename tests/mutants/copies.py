"""Copies of the project in which tests are run, each in a process forked from this warm one.

The first copy, `Base`, is kept between runs: what its tests compile stays in it. A copy that is
changed is made of hard links to its files, of which the changed one is replaced: Python and Numba
replace what they compile too, so that nothing of a change gets back.
"""

import importlib
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
NOT_COPIED = ("__pycache__", ".venv*", ".git", ".*_cache", ".hypothesis", "*.egg-info", "build")
# What takes long to import, and has nothing of ours nor reads settings as `prefect` does.
WARM = (
    *("pytest_timeout", "hypothesis.strategies", "_hypothesis_pytestplugin", "_pytest.pytester"),
    *("numpy.random", "pyarrow.parquet", "pyarrow.compute", "pyarrow.dataset", "pyarrow.fs"),
    *("numba", "yaml", "psutil", "pydantic", "sqlalchemy.orm", "httpx", "anyio", "rich.console"),
    *("fastapi", "scipy.stats", "PIL.Image", "regex", "tokenizers", "coverage", "orjson"),
)
BYTES, FILE_BYTES = 12 << 30, 2 << 30  # of memory that a process may ask for, and of a file


def warm() -> None:
    for name in WARM:
        with suppress(ImportError):
            importlib.import_module(name)


def base(folder: Path) -> Path:
    """The project as it stands, beside the real corpora; what is unchanged keeps its time."""
    home = folder / "project"
    hidden = shutil.ignore_patterns(*NOT_COPIED)
    wanted = set()
    for top, folders, names in os.walk(PROJECT):
        left_out = hidden(top, [*folders, *names])
        here = home / Path(top).relative_to(PROJECT)
        here.mkdir(parents=True, exist_ok=True)
        folders[:] = [name for name in folders if name not in left_out]
        for name in {*names, *(f for f in folders if (Path(top) / f).is_symlink())} - left_out:
            wanted.add(here / name)
            _brought(Path(top) / name, here / name)
    _without_others(home, wanted)
    if (PROJECT.parent / "shared").exists() and not (folder / "shared").exists():
        (folder / "shared").symlink_to(PROJECT.parent / "shared")
    return home


def _brought(source: Path, to: Path) -> None:
    if to.exists() and (to.is_symlink() or to.read_bytes() == source.read_bytes()):
        return
    to.unlink(missing_ok=True)
    shutil.copy2(source, to, follow_symlinks=False)


def _without_others(home: Path, wanted: set[Path]) -> None:
    for top in home.iterdir():
        files = top.rglob("*.py") if top.is_dir() and not top.name.startswith(".") else ()
        for path in set(files) - wanted:
            path.unlink()


@contextmanager
def changed(home: Path, path: Path, source: bytes) -> Iterator[Path]:
    """A copy of a base with one file changed, removed in the end."""
    folder = home.parent / f"changed-{os.getpid()}"
    try:
        copy = folder / "project"
        hidden = shutil.ignore_patterns(".hypothesis")
        shutil.copytree(home, copy, ignore=hidden, symlinks=True, copy_function=os.link)
        (folder / "shared").symlink_to(home.parent / "shared")
        (copy / path).unlink()
        (copy / path).write_bytes(source)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(copy: Path, names: list[str], plugin: Any, cpu_s: float, wall_s: float) -> int:
    """pytest's exit code, or that of the signal that ended it, negative; it leaves nothing behind.

    plugin: an object for pytest, in the process that is forked.
    """
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _ended_with(lambda: _pytest(copy, names, plugin, cpu_s))
    until = time.monotonic() + wall_s
    ended, status = 0, 0
    while not ended and time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if ended else 0.05)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status)


def _ended_with(work: Callable[[], int]) -> None:
    try:
        os._exit(work())
    except BaseException:  # noqa: BLE001 - told by the exit code, and in the output
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)


def _pytest(copy: Path, names: list[str], plugin: Any, cpu_s: float) -> int:
    os.setsid()
    temporary = copy.parent / f"tmp-{os.getpid()}"
    temporary.mkdir()
    with open(copy.parent / "output", "wb") as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s), int(cpu_s) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    paths = [str(copy / ".ns"), str(copy)]
    # CI: Hypothesis draws the same examples each time
    os.environ.update(PYTHONPATH=":".join(paths), TMPDIR=str(temporary), CI="1")
    ours = {"", str(PROJECT), str(PROJECT / ".ns")}
    sys.path[:] = paths + [path for path in sys.path if path not in ours]
    for name in [m for m in sys.modules if m.partition(".")[0] in ("tests", "tokenmill")]:
        del sys.modules[name]
    sys.modules["__main__"] = ModuleType("__main__")  # which processes of tests would import
    os.chdir(copy)
    sys.argv[:] = ["pytest"]
    try:
        return int(pytest.main([*ARGUMENTS, *names], plugins=[plugin]))
    finally:
        sys.stdout.flush()
        shutil.rmtree(temporary, ignore_errors=True)


ARGUMENTS = (
    *("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-m", "not peers and not long and not cluster"),
    *("--timeout=300", "--timeout-method=thread"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),
)
