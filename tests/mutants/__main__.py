"""Which changes of a formula no test would notice: `make mutants`.

    python -m tests.mutants [--most-survivors 0.1]

In a copy of the project the functions of sizing/formulas/ and sizing/claims/formulas.py are
changed by mutmut, one operator or constant at a time, and their named constants here, each by
half; the tests of formulas run on each change. Printed are the changes that no test noticed and
the share that one did; the exit code is 1 where more survive than allowed. Tests of claims and of
the sheet are not run: tables and totals copied into a test would notice any change.
"""

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
FORMULAS = "tokenmill/sizing/formulas"
OF_CLAIMS = "tokenmill/sizing/claims/formulas.py"
PACKAGES = ("sizing", "pipelines", "dedup", "flows")
TESTS = (
    "tests/sizing/formulas",
    "tests/sizing/claims/test_formulas.py",
    "tests/sizing/test_house.py",
)
PYTEST = ("-x", "-q", "-p", "no:cacheprovider")
CONFIG = f"""
[tool.pytest.ini_options]
addopts = "--import-mode=importlib"
pythonpath = ["."]

[tool.mutmut]
paths_to_mutate = ["{FORMULAS}/", "{OF_CLAIMS}"]
tests_dir = {list(TESTS)}
also_copy = ["tokenmill", "tests"]
"""


def main() -> int:
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        for name in PACKAGES:
            shutil.copytree(PROJECT / name, copy / "tokenmill" / name, ignore=ignored)
        shutil.copytree(PROJECT / "tests", copy / "tests", ignore=ignored)
        # the tests of formulas use none of its fixtures, and it starts a server
        (copy / "tests" / "conftest.py").unlink()
        (copy / "pyproject.toml").write_text(CONFIG, encoding="utf-8")
        for path in _modules(copy):
            path.write_text(_undecorated(path.read_text(encoding="utf-8")), encoding="utf-8")
        noticed = [*_constants(copy), *_functions(copy)]
    share = sum(noticed) / len(noticed)
    print(f"{sum(noticed):,} of {len(noticed):,} changes were noticed ({share:.1%})")
    return 0 if 1 - share <= args.most_survivors else 1


def _modules(copy: Path) -> list[Path]:
    return [*sorted((copy / FORMULAS).glob("*.py")), copy / OF_CLAIMS]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most-survivors", type=float, default=0.1, metavar="FRACTION")
    return parser.parse_args()


def _undecorated(source: str) -> str:
    """The same formulas, each decorated at the end of its module: mutmut skips decorated ones."""
    lines, ends = source.splitlines(), []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            (decorator,) = node.decorator_list
            ends.append(f"{node.name} = {ast.get_source_segment(source, decorator)}({node.name})")
            for at in range(decorator.lineno - 1, decorator.end_lineno):
                lines[at] = ""
    return "\n".join([*lines, *ends, ""])


def _functions(copy: Path) -> Iterator[bool]:
    """Whether each change that mutmut makes in a function was noticed."""
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    _run([mutmut, "run"], copy, check=True)
    told = _run([mutmut, "results", "--all", "true"], copy, check=True).stdout
    for name, result in re.findall(r"^\s*(\S+): ([\w ]+)$", told, re.MULTILINE):
        if result not in ("killed", "timeout"):
            diff = _run([mutmut, "show", name], copy, check=True).stdout
            lines = [line for line in diff.splitlines() if re.match(r"[-+](?![-+])", line)]
            print(f"{name}: {result}\n" + "\n".join(lines) + "\n")
        yield result in ("killed", "timeout")


def _constants(copy: Path) -> Iterator[bool]:
    """Whether a change of each constant of a module was noticed."""
    for path in _modules(copy):
        source = path.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if not (isinstance(node, ast.Assign) and _is_number(node.value)):
                continue
            old = ast.get_source_segment(source, node.value)
            new = f"({old}) * 1.5"
            lines = source.splitlines(keepends=True)
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line.replace(f"= {old}", f"= {new}", 1)
            path.write_text("".join(lines), encoding="utf-8")
            tests = _run([sys.executable, "-m", "pytest", *PYTEST, *TESTS], copy, check=False)
            if tests.returncode == 0:
                print(f"{path.relative_to(copy)}: survived\n-{line}+{lines[node.lineno - 1]}")
            yield tests.returncode != 0
        path.write_text(source, encoding="utf-8")


def _is_number(node: ast.expr) -> bool:
    """A number, or arithmetic of numbers and names of numbers."""
    parts = [
        n
        for n in ast.walk(node)
        if not isinstance(n, ast.operator | ast.unaryop | ast.expr_context)
    ]
    numbers = [n for n in parts if isinstance(n, ast.Constant)]
    return (
        all(isinstance(n, ast.Constant | ast.BinOp | ast.UnaryOp) for n in parts)
        and bool(numbers)
        and all(type(n.value) in (int, float) for n in numbers)
    )


def _run(command: list[str], copy: Path, *, check: bool) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=copy, check=check, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
