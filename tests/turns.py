"""The modules of the tests, imported by each process from another on.

A new clone has no bytecode. Processes that all begin with the first module make that of every
module at the same time, each for itself; so each finds what the others have made.
"""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ELSEWHERE = {"cluster", "peers"}  # what has commands of its own


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
