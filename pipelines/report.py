"""The report of a run, on disk."""

from pathlib import Path
from typing import Any

from pipelines.atomic import write_json


def write_report(out: Path, report: dict[str, Any]) -> None:
    """Write report.json."""
    write_json(out / "report.json", report)
