"""Which tests may notice a change: those that run its lines, of the nearest test files first.

What runs in kernels, and what modules compute when they are imported, is seen by no measurement,
and what is computed once a process by that of one test alone: there it is the functions that use
its names, and functions that use these, whose tests are asked.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from tests.mutants.copies import PROJECT
from tests.mutants.places import Change
from tests.mutants.seen import PRODUCT, Seen, functions_of, outermost

RUNS = (  # what meets nearly every module, once nothing nearer noticed
    "tests/golden/test_defaults.py",
    "tests/golden/test_filters.py",
    "tests/golden/test_images.py",
    "tests/pipelines/prepare/test_run.py",
    "tests/e2e/test_pages.py",
    "tests/e2e/test_bad_input.py",
    "tests/e2e/test_mistakes.py",
    "tests/flows/test_cli.py",
)
EXAMPLES = "tests/test_doctests.py"
MOST_FILES = 12  # of a stage
MOST_USERS, MOST_STEPS = 60, 4
UNSEEN = {"kernel", "inlined", "cache", "lru_cache", "cached_property"}


class Place:
    """function: `path:name`, "" where it is outside of all; lines: from the function's first."""

    def __init__(self, change: Change) -> None:
        self.path, self.function, self.lines = change.path, "", range(0)
        path = PROJECT / change.path
        first, last = _statement(path, change.line)
        for name, start, stop in functions_of(path):
            if start <= change.line <= stop:
                self.function = f"{change.path}:{name}"
                self.names = frozenset({name.split(".")[-1]})
                self.lines = range(max(first - start, 0), last - start + 1)
        if not self.function:
            self.names = _defined(path, change.line)

    @cached_property
    def users(self) -> list[str]:
        return _users(self.path, self.names)


def chosen(place: Place, seen: Seen) -> list[str]:
    """Tests of a file that run the place, and where that is not all, what uses it: the quickest
    of these first.
    """
    exact = {t for (f, n), tests in seen.lines.items() if f == place.function for t in tests
             if n in place.lines}  # fmt: skip
    functions = (place.function, *place.users)
    others: set[str] = set()
    if not exact or any(map(_is_unseen, functions)):
        others = set().union(*map(seen.of_function, functions)) - exact
    if not place.function:  # as of defaults, which goldens look at without running anything
        others |= seen.seconds.keys() - set().union(*seen.lines.values())
    found = (exact | others) & seen.seconds.keys()
    return sorted(found, key=lambda t: (t in others, seen.seconds[t]))


def stages(path: Path) -> Iterator[tuple[str, ...]]:
    """Test files that may notice a change of a file, the nearest first."""
    done: set[str] = set()
    own = _own(path) + [EXAMPLES] * (b">>> " in (PROJECT / path).read_bytes())
    for names in (own, _importing(path), _beside(path), RUNS):
        new = [name for name in dict.fromkeys(names) if name not in done][:MOST_FILES]
        done.update(new)
        if new:
            yield tuple(new)


def _own(path: Path) -> list[str]:
    """By its name, in the folder of its own or else, as for kernels and commands, near there."""
    folder = PROJECT / "tests" / path.parent
    stem = path.parent.name if path.stem == "__init__" else path.stem.strip("_")
    own = _names(folder.glob(f"test_{stem}*.py")) + _names(folder.glob(f"{stem}/test_*.py"))
    return own or _names(folder.parent.rglob(f"test_{stem}*.py"))


def _importing(path: Path) -> list[str]:
    """Test files that import the module, those of modules that do, and those that import these."""
    module = _module(path)
    near = [name for name, text in _tests().items() if module in text]
    users = [p for p, text in _products().items() if module in text]
    of_users = {_module(user) for user in users}
    further = [name for name, imported in _tests().items() if of_users & imported]
    return near + [name for user in users for name in _own(user)] + further


def _beside(path: Path) -> list[str]:
    return _names((PROJECT / "tests" / path.parent).glob("test_*.py"))


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(("tokenmill", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imported(path: Path) -> frozenset[str]:
    """Modules, and names in modules, that a file imports."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^\s*from (\S+) import (\(.*?\)|.*?)$", text, re.MULTILINE | re.DOTALL)
    names = {(of, name) for of, listed in found for name in re.findall(r"\w+", listed)}
    return frozenset({of for of, _ in found} | {f"{of}.{name}" for of, name in names})


def read_once() -> None:
    """What processes forked from this one would each read, for seconds."""
    _tests()
    _index()


@cache
def _tests() -> dict[str, frozenset[str]]:
    files = sorted((PROJECT / "tests").rglob("test_*.py"))
    ours = [path for path in files if path.parts[-2] not in ("cluster", "peers", "bench")]
    return {name: _imported(path) for path, name in zip(ours, _names(ours), strict=True)}


def python_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@cache
def _products() -> dict[Path, frozenset[str]]:
    return {
        path.relative_to(PROJECT): _imported(path)
        for top in PRODUCT
        for path in python_files(PROJECT / top)
    }


def _names(paths: Iterator[Path] | list[Path]) -> list[str]:
    return [path.relative_to(PROJECT).as_posix() for path in sorted(paths)]


def _statement(path: Path, line: int) -> tuple[int, int]:
    """First and last line of the smallest statement there, of one with a body those before it."""
    found = (1, 1 << 30)
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or 0
            span = (node.lineno, max(last, node.lineno))
            if span[0] <= line <= span[1] and span[1] - span[0] <= found[1] - found[0]:
                found = span
    return found


def _defined(path: Path, line: int) -> frozenset[str]:
    """Names that the statements of a module or class around a line define."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            names |= {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:  # a formula's
            names |= {node.name} if node.decorator_list[0].lineno <= line < node.lineno else set()
    return frozenset(names)


def _users(path: Path, names: frozenset[str]) -> list[str]:
    """Functions that use names of a file, and those that use kernels and constants which do."""
    found: dict[str, None] = {}
    wanted, done = {(path, name) for name in names}, set()
    for _ in range(MOST_STEPS):
        done |= wanted
        further = set()
        for where, name in sorted(wanted):
            of = {_module(where), f"{_module(where)}.{name}"}
            for user, function, unseen in _index().get(name, []):
                if user == where or of & _products()[user]:
                    found.setdefault(f"{user}:{function}")
                    further |= {(user, function.split(".")[-1])} if unseen else set()
        wanted = further - done
    return list(found)[:MOST_USERS]


@cache
def _index() -> dict[str, list[tuple[Path, str, bool]]]:
    """Of each name the functions that use it, and whether no measurement sees these run."""
    index: dict[str, list[tuple[Path, str, bool]]] = defaultdict(list)
    for path in _products():
        tree = ast.parse((PROJECT / path).read_bytes())
        functions = functions_of(PROJECT / path)
        used: dict[tuple[str, bool], set[str]] = defaultdict(set)
        starts = {f.lineno: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
        for name, start, _ in functions:
            node = starts.get(start)
            if node is not None:
                used[name, _is_unseen(f"{path}:{name}")] |= _identifiers(node)
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                for target in getattr(statement, "targets", None) or [statement.target]:  # type: ignore[union-attr]
                    used[getattr(target, "id", ""), True] |= _identifiers(statement)
        for (function, unseen), names in used.items():
            for name in names:
                index[name].append((path, function, unseen))
    return index


def _is_unseen(function: str) -> bool:
    """Whether not every test that needs a function, `path:name`, is seen to run it."""
    path, _, name = function.partition(":")
    return bool(name) and name in _unseen_of(PROJECT / path)


@cache
def _unseen_of(path: Path) -> frozenset[str]:
    return frozenset(
        name
        for name, node in outermost(ast.parse(path.read_bytes()))
        if any(_identifiers(decorator) & UNSEEN for decorator in node.decorator_list)
    )


def _identifiers(node: ast.AST) -> set[str]:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
