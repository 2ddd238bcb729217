"""Which small mistakes in the product's code no test would notice: `make mutants`.

    python -m tests.mutants [--number 300] [--seed 1] [--least 0.9] [--only PATH …]

Draws places over all product code, changes each in a copy of the project (one operator, constant,
condition or statement), and runs the tests that may notice: those of the module's own test file,
then those that import it or stand beside it, then runs of all steps. Printed are the changes that
nothing noticed, and the share that something did; the exit code is 1 below --least. Changes that
no test can see, since the code means the same, are listed with the reason in equivalent.txt; those
drawn of it don't count. A test that notices a change is run on the unchanged copy too, where it
must pass.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.mutants.places import Change, changes_of

PROJECT = Path(__file__).parents[2]
PRODUCT = ("dedup", "flows", "pipelines", "sizing")
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
RUNS = (  # what meets nearly every module, once nothing nearer noticed
    "tests/golden/test_filters.py",
    "tests/golden/test_images.py",
    "tests/pipelines/prepare/test_run.py",
    "tests/e2e/test_pages.py",
    "tests/e2e/test_bad_input.py",
    "tests/e2e/test_mistakes.py",
    "tests/flows/test_cli.py",
)
MOST_FILES = 12  # of a stage
A_TEST_S, A_STAGE_S = 300, 1200
PYTEST = (
    *("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not peers and not long"),
    *(f"--timeout={A_TEST_S}", "--timeout-method=thread"),
)


class Noticed(NamedTuple):
    """by: the test, or "" where none did."""

    change: Change
    by: str


class Copy(NamedTuple):
    """A copy of the project, whose tests run on its own code."""

    folder: Path

    def tests(self, names: tuple[str, ...]) -> str:
        """The first of these that fails or never ends, else ""."""
        env = {**os.environ, "PYTHONPATH": f"{self.folder / '.ns'}:{self.folder}"}
        command = [sys.executable, "-P", *PYTEST, *names]
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=env,
                capture_output=True,
                text=True,
                timeout=A_STAGE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "the time limit"
        if ended.returncode in (0, 5):  # 5: none of them is to be run
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
        return found.group(1) if found else f"exit code {ended.returncode}"


def main() -> int:
    args = _arguments()
    drawn = _drawn(args.number, args.seed, args.only)
    equivalent = set(_equivalent())
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(args.workers):
            copies.put(_copied(Path(folder) / str(number)))
        sound = _copied(Path(folder) / "sound")

        def tried(change: Change) -> Noticed:
            copy = copies.get()
            try:
                return Noticed(change, _noticed_by(change, copy, sound))
            finally:
                copies.put(copy)

        counted, survived = 0, 0
        with ThreadPoolExecutor(args.workers) as pool:
            for change, by in pool.map(tried, drawn):
                same = _key(change) in equivalent
                counted += not same
                survived += not (by or same)
                told = f"noticed by {by}" if by else "means the same" if same else "SURVIVED"
                print(f"{_key(change)}  {told}", flush=True)
    share = 1 - survived / max(counted, 1)
    print(f"{counted - survived:,} of {counted:,} changes were noticed ({share:.1%})")
    return 0 if share >= args.least else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=300, help="places to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.9, metavar="FRACTION")
    parser.add_argument("--workers", type=int, default=2, help="copies at work at once")
    parser.add_argument("--only", nargs="+", default=PRODUCT, metavar="PATH")
    return parser.parse_args()


def _drawn(number: int, seed: int, only: tuple[str, ...]) -> list[Change]:
    files = [path for top in only for path in _python(PROJECT / top)]
    all_of_them = [
        change
        for path in files
        for change in changes_of(path.relative_to(PROJECT), path.read_bytes())
    ]
    return random.Random(seed).sample(all_of_them, min(number, len(all_of_them)))


def _python(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _key(change: Change) -> str:
    """What names a change wherever its line stands: file, line's text and what becomes of it."""
    source = (PROJECT / change.path).read_bytes()
    line = source.splitlines()[change.line - 1].decode().strip()
    return f"{change.path}: {line} | {' '.join(change.old.split())} -> {change.new}"


def _equivalent() -> Iterator[str]:
    """Keys of equivalent.txt: a key a line, its reason indented below."""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            yield line


def _copied(folder: Path) -> Copy:
    """Beside the real corpora, as the project itself stands."""
    home = folder / "project"
    hidden = shutil.ignore_patterns("__pycache__", ".venv*", ".git", ".*_cache", ".hypothesis")
    shutil.copytree(PROJECT, home, ignore=hidden, symlinks=True)
    if (PROJECT.parent / "shared").exists():
        (folder / "shared").symlink_to(PROJECT.parent / "shared")
    return Copy(home)


def _noticed_by(change: Change, copy: Copy, sound: Copy) -> str:
    path = copy.folder / change.path
    source = path.read_bytes()
    path.write_bytes(change.applied(source))
    try:
        for names in stages(change.path):
            by = copy.tests(names)
            if by and not _fails_anyway(sound, (by,) if "::" in by else names):
                return by
        return ""
    finally:
        path.write_bytes(source)


@cache
def _fails_anyway(sound: Copy, names: tuple[str, ...]) -> bool:
    return bool(sound.tests(names))


def stages(path: Path) -> Iterator[tuple[str, ...]]:
    """Test files that may notice a change of a file, the nearest first."""
    done: set[str] = set()
    for names in (_own(path), _importing(path), _beside(path), RUNS):
        new = [name for name in dict.fromkeys(names) if name not in done][:MOST_FILES]
        done.update(new)
        if new:
            yield tuple(new)


def _own(path: Path) -> list[str]:
    folder = PROJECT / "tests" / path.parent
    stem = path.parent.name if path.stem == "__init__" else path.stem.strip("_")
    return _names(folder.glob(f"test_{stem}*.py")) + _names(folder.glob(f"{stem}/test_*.py"))


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


@cache
def _tests() -> dict[str, frozenset[str]]:
    files = sorted((PROJECT / "tests").rglob("test_*.py"))
    ours = [path for path in files if path.parts[-2] not in ("cluster", "peers", "bench")]
    return {name: _imported(path) for path, name in zip(ours, _names(ours), strict=True)}


@cache
def _products() -> dict[Path, frozenset[str]]:
    return {
        path.relative_to(PROJECT): _imported(path)
        for top in PRODUCT
        for path in _python(PROJECT / top)
    }


def _names(paths: Iterator[Path] | list[Path]) -> list[str]:
    return [path.relative_to(PROJECT).as_posix() for path in sorted(paths)]


if __name__ == "__main__":
    sys.exit(main())
