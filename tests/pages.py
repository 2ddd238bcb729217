"""The pages that users read: README.md, and those of the rooms; and the commands on them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIRST = ROOT / "README.md"
ROOMS = tuple(
    sorted(
        page
        for top in ("pipelines", "dedup", "flows", "sizing", "tests")
        for page in (ROOT / top).rglob("README.md")
    )
)
PAGES = (FIRST, *ROOMS)

# What tests/cluster/test_pages.py runs, by how a line begins: it needs a store, servers or workers
CLUSTER = {
    "s3": (
        "tokenmill prepare recipe.yaml --out s3://bucket/run ",
        "tokenmill inspect s3://bucket/run",
        "tokenmill size plan.yaml --corpus s3://bucket/run",
        "tokenmill probe s3://bucket/probe",
    ),
    "dask": (
        "dask scheduler --host tcp://10.0.0.1:8786 ",
        "dask worker tcp://10.0.0.1:8786 ",
        "tokenmill prepare recipe.yaml --out /shared/run --address tcp://10.0.0.1:8786",
    ),
    "slurm": ("tokenmill prepare recipe.yaml --out /shared/run", "srun -N 4 "),
    "array": (
        "tokenmill prepare recipe.yaml --out /shared/run --runner array",
        "tokenmill status /shared/run",
    ),
    "serve": (
        "export PREFECT_API_URL=",
        "DO_NOT_TRACK=1 PREFECT_SERVER_ANALYTICS_ENABLED=false ",
        "TOKENMILL_ROOTS=/data tokenmill serve ",
    ),
    "pool": (
        "export DO_NOT_TRACK=1",
        "prefect work-pool ",
        "prefect --no-prompt deploy --all",
        "prefect worker start ",
    ),
}
# What installs, and the tests themselves; tests/cluster/test_wheel.py runs what `make demo` does
SET_UP = ("make demo", "make test", "pip install ", ". .venv/bin/activate")
SHELLS = ("", "sh", "bash", "shell", "console")  # kinds of blocks that are commands


def fenced(page: Path) -> Iterator[tuple[str | None, str]]:
    """The parts of a page in order: (kind, block) of what is fenced, (None, prose) between.

    Tables that are rendered tell how a command is written, and are left out.
    """
    text = re.sub(r"<!-- make pages: .*?<!-- end -->", "", page.read_text(), flags=re.DOTALL)
    for i, part in enumerate(text.split("```")):
        kind, _, text = part.partition("\n")
        yield (kind, text) if i % 2 else (None, part)


def blocks(kind: str, pages: tuple[Path, ...] = PAGES) -> Iterator[str]:
    """What stands between ```kind and ``` in some pages, all of them unless told."""
    return (text for page in pages for found, text in fenced(page) if found == kind)


def command_lines(page: Path) -> Iterator[str]:
    """Every command on a page, as it stands there but in one line, in order.

    What is fenced is commands if no language is named, or a shell's; of a block that begins with
    `$ ` only what does, for the rest is what they print. `tokenmill COMMAND ARGUMENTS` in running
    text and in comments is a command too; without arguments it only names one.
    """
    for kind, text in fenced(page):
        if kind in SHELLS:
            shown = text.startswith("$ ")
            for line in text.replace("\\\n", " ").splitlines():
                if line.startswith("$ ") or (not shown and line.strip() and line[0] != "#"):
                    yield line.removeprefix("$ ")
        if kind is None or kind in SHELLS:
            for told in re.findall(r"`(tokenmill [a-z-]+\s[^`]+)`", text):
                yield " ".join(told.split())


def of_a_cluster(what: str) -> list[str]:
    """The lines of all pages that a row of CLUSTER names, those of a longer beginning left out.

    Raises:
        LookupError: no page has a line that begins so.
    """
    lines = [line for page in PAGES for line in command_lines(page) if named(line) == what]
    for begin in CLUSTER[what]:
        if not any(line.startswith(begin) for line in lines):
            raise LookupError(f"no page has a line that begins {begin!r}")
    return lines


def named(line: str) -> str | None:
    """The row of CLUSTER that runs a line; None where none does."""
    begun = {b: what for what, rows in CLUSTER.items() for b in rows if line.startswith(b)}
    return begun[max(begun, key=len)] if begun else None
