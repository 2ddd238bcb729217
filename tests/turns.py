"""What several processes of tests would each do for itself, done by one of them.

A new clone has no bytecode: processes that all begin with the first module make that of every
module at the same time, so each begins with another. Each is given a stretch of the tests, and
takes from the ends of others' when it is done: tests of one server stand at the begin of one, and
so do those that fork processes of their own, of one that takes 3 s of CPU to import what they need.
"""

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.apart import apart

ROOT = Path(__file__).parent.parent
ELSEWHERE = {"cluster", "peers"}  # what has commands of its own
SERVERS = ("server", "one_s3")  # fixtures that start one: Prefect's takes 11 s of CPU


def import_in_turns(asked: list[str]) -> None:
    """Of several processes that are to run all tests. asked: what pytest was called with."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not number or [ROOT.joinpath(path) for path in asked] != [ROOT / "tests"]:
        return
    paths = [path.relative_to(ROOT) for path in sorted(ROOT.glob("tests/**/test_*.py"))]
    names = [".".join(p.with_suffix("").parts) for p in paths if p.parts[1] not in ELSEWHERE]
    at = len(names) * int(number) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for name in names[at:] + names[:at]:
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            import_module(name)


def in_stretches(items: list[pytest.Item]) -> None:
    """Put the modules with tests of a server, and those that fork, where stretches begin."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    if count == 1:
        return
    served: dict[Path, str] = {}
    for item in items:
        served[item.path] = served.get(item.path) or server_of(item)
    for n, server in enumerate(SERVERS):
        here = [item for item in items if served[item.path] == server]
        others = [item for item in items if served[item.path] != server]
        at = len(items) * (n % count) // count
        while 0 < at < len(others) and others[at].path == others[at - 1].path:
            at += 1  # no module is cut in two
        items[:] = [*others[:at], *here, *others[at:]]


def server_of(item: pytest.Item) -> str:
    """Of those that fork some have tests of S3 too, so both begin one stretch."""
    names = getattr(item, "fixturenames", ())
    forks = SERVERS[-1] if _forks(getattr(item, "module", None)) else ""
    return next((name for name in SERVERS if name in names), forks)


@cache
def _forks(module: ModuleType | None) -> bool:
    """Whether its functions, or those it imports, see `apart`."""
    seen = [getattr(thing, "__globals__", {}) for thing in vars(module or object).values()]
    return any(names.get("apart") is apart for names in seen)
