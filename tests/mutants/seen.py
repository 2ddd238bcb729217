"""Which lines of the product each test runs, and how long it takes: measured once a test file.

Kept in a folder, a file of JSON for each test file, beside the digest of it. Lines are counted
from their function's first, so that they stay true while other functions are edited.
"""

import ast
import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants import copies

PRODUCT = ("dedup", "flows", "pipelines", "sizing")
A_FILE_CPU_S, A_FILE_WALL_S = 600.0, 3000.0


class Seen(NamedTuple):
    """seconds: of CPU, for each test that passes; lines: function and line to its tests."""

    seconds: dict[str, float]
    lines: dict[tuple[str, int], frozenset[str]]

    def of_function(self, function: str) -> set[str]:
        return set().union(*(tests for (of, _), tests in self.lines.items() if of == function))


def seen(home: Path, kept: Path, name: str) -> Seen:
    """What the tests of a file run; kept: the folder of what was measured."""
    path = _path(kept, name)
    kept.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_measured(kept, name):
            found = json.loads(path.read_text())
        else:
            found = {"digest": _digest(name), **_measured(home, path, name)}
            if found["seconds"]:  # else its process was ended
                path.write_text(json.dumps(found))
    tests = list(found["seconds"])
    lines = {
        (function, int(line)): frozenset(t for i, t in enumerate(tests) if ran >> i & 1)
        for function, of in found["lines"].items()
        for line, ran in of.items()
    }
    return Seen({t: s for t, s in found["seconds"].items() if s >= 0}, lines)


def is_measured(kept: Path, name: str) -> bool:
    path = _path(kept, name)
    return path.exists() and json.loads(path.read_text())["digest"] == _digest(name)


def _path(kept: Path, name: str) -> Path:
    return kept / f"{name.replace('/', '~')}.json"


def _digest(name: str) -> str:
    return sha256((copies.PROJECT / name).read_bytes()).hexdigest()


def _measured(home: Path, path: Path, name: str) -> dict[str, Any]:
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    copies.run(home, [name], Measuring(home, part), A_FILE_CPU_S, A_FILE_WALL_S)
    return json.loads(part.read_text()) if part.exists() else {"seconds": {}, "lines": {}}


class Measuring:
    """What pytest asks while the tests of one file run; no failure ends it."""

    def __init__(self, home: Path, path: Path) -> None:
        import coverage

        self.home, self.path = home, path
        self.seconds: dict[str, float] = {}
        source = [str(home / top) for top in PRODUCT]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, source=source)

    def pytest_configure(self, config: Any) -> None:
        config.option.maxfail = 0

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)
        self.seconds[nodeid] = -_cpu_s()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.seconds[report.nodeid] = -1e9

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = round(max(self.seconds[nodeid] + _cpu_s(), -1), 3)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        found = {"seconds": self.seconds, "lines": self._lines()}
        self.path.write_text(json.dumps(found))

    def _lines(self) -> dict[str, dict[int, int]]:
        bit = {name: 1 << i for i, name in enumerate(self.seconds)}
        lines: dict[str, dict[int, int]] = defaultdict(dict)
        data = self.coverage.get_data()
        for file in data.measured_files():
            path = Path(file).relative_to(self.home.resolve())
            functions = [(f, a, b) for f, a, b in functions_of(Path(file)) if a < b]
            for line, contexts in data.contexts_by_lineno(file).items():
                ran = sum(bit[c] for c in contexts if c in bit)
                for function, first, last in functions:
                    if ran and first < line <= last:
                        lines[f"{path}:{function}"][line - first] = ran
        return lines


def _cpu_s() -> float:
    return sum(os.times()[:4])


@cache
def functions_of(path: Path) -> list[tuple[str, int, int]]:
    """Name, first and last line of each function that stands in no other."""
    return [(n, f.lineno, f.end_lineno or 0) for n, f in outermost(ast.parse(path.read_bytes()))]


def outermost(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name, node  # type: ignore[misc]
        elif isinstance(node, ast.ClassDef):
            yield from outermost(node, f"{within}{node.name}.")
        elif isinstance(node, ast.stmt):
            yield from outermost(node, within)
