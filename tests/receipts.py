"""Receipts of a run, finished or killed: alone or in packs, as they lie there."""

from pathlib import Path

from tokenmill.pipelines.runs.packs import receipts_of
from tokenmill.pipelines.runs.receipt import Receipt


def receipts(out: Path) -> dict[str, Receipt]:
    """By "step/key"; of a work that is done again, other seconds make another receipt."""
    steps = sorted(path.name for path in (out / "receipts").glob("*"))
    return {f"{step}/{r.key}": r for step in steps for r in receipts_of(out, step)}
