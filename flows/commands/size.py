"""`tokenmill size`: what storage a corpus and a cluster ask for. Imports no Arrow, no Prefect."""

import argparse
import json
import uuid
from pathlib import Path
from typing import Any

from flows.cli import OK
from flows.show import as_json, console, table
from sizing.corpus import CorpusMeasurement, read_corpus
from sizing.errors import PlanError
from sizing.load_plan import load_plan
from sizing.report import rests_on, sheet_json, sheet_markdown
from sizing.sheet import requirement_sheet
from sizing.units import format_quantity


def run(args: argparse.Namespace) -> int:
    """Size storage from a plan, and from what was measured if a corpus is named."""
    plan = load_plan(None if args.plan is None else Path(args.plan))
    corpus = None if args.corpus is None else measured_corpus(Path(args.corpus))
    sheet = requirement_sheet(corpus, plan)
    data = sheet_json(sheet, corpus)
    if args.out is not None:
        written = write_sheet(Path(args.out), data, sheet_markdown(sheet, corpus))
    if args.json:
        as_json(data)
        return OK
    rows = [(row.name, format_quantity(row.value, row.unit), rests_on(row, sheet)) for row in sheet]
    show = console()
    show.print(table("storage requirements", ("requirement", ">value", "rests on"), rows))
    if args.out is None:
        show.print("\n--out FOLDER writes the sheet with formulas, inputs and sources")
    else:
        show.print("\n" + "\n".join(str(path) for path in written))
    return OK


def measured_corpus(path: Path) -> CorpusMeasurement:
    """The measurement in a run directory, or in a report.json.

    Raises:
        PlanError: there is none.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as e:
        raise PlanError(
            f"{file}: cannot read the report ({e.strerror}); --corpus takes a finished run"
            " directory or its report.json"
        ) from e
    except ValueError as e:
        raise PlanError(f"{file}: not JSON ({e})") from e
    return read_corpus(data, where=str(file))


def write_sheet(folder: Path, data: dict[str, Any], markdown: str) -> list[Path]:
    """Write requirements.json and requirements.md.

    Raises:
        PlanError: the folder cannot be written.
    """
    texts = {
        "requirements.md": markdown,
        "requirements.json": json.dumps(data, indent=1, ensure_ascii=False) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            partial = folder / f"{name}.partial-{uuid.uuid4().hex}"
            partial.write_text(text, encoding="utf-8")
            partial.replace(folder / name)
    except OSError as e:
        raise PlanError(f"{folder}: cannot write there ({e.strerror}); choose another --out") from e
    return [folder / name for name in texts]
