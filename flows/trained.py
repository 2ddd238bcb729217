"""What is printed of a model that was trained."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.text import Text

from tokenmill.flows.show import console, table
from tokenmill.sizing.document.section import Table


def failed(about: dict[str, Any]) -> dict[str, int]:
    """How many documents could not be read, by cause."""
    found: dict[str, int] = {}
    for side in about["inputs"].values():
        for cause, n in side["failed"].items():
            found[cause] = found.get(cause, 0) + max(n, 1)
    return found


def show_model(blocks: Iterable[str | Table], about: dict[str, Any], out: Path) -> None:
    """Print what is said of the model in `blocks`, what could not be read, and where it lies."""
    to = console()
    for block in blocks:
        to.print(_drawn(block) if isinstance(block, Table) else Text(str(block)))
        to.print()
    for cause, n in failed(about).items():
        to.print(Text(f"could not be read: {n:,} {cause}"))
    to.print(Text(f"model   {out}\nreport  {out.with_suffix('.md')}"))


def _drawn(of: Table) -> Any:
    names = [f">{c.name}" if c.kind == "number" else c.name for c in of.columns]
    return table(of.caption, names, of.rows)
