"""A sheet of storage requirements: asked for within the roots, on disk, and as rows to show."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.places import Place, is_remote, within_roots
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.plan import Plan, load_plan
from tokenmill.sizing.report.data import rests_on, sheet_json
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.requirements import find_plan, size
from tokenmill.sizing.sheet import Sheet


def plan_within(name: str | None) -> Plan:
    """A plan by its path or the name of an example; it and its corpora are held to the roots.

    ConfigError: a corpus of it lies outside of the roots.
    PlanError: the plan does; or see `load_plan`.
    """
    path = None if name is None else find_plan(name)
    folder = Path() if path is None else path.parent
    plan = load_plan(path)
    for named in (plan.corpus, *plan.sources):
        if named.path is not None:
            within_roots(str(folder / named.path))
    return plan


def size_run(plan: str, out: Place) -> Sheet:
    """The sheet for the corpus a run measured, written into its directory; PlanError as `size`."""
    from tokenmill.pipelines.storage import mirror  # imports Arrow

    with mirror.viewed(out) as folder:
        mirror.present(folder / "report.json")
        sheet = size(plan, corpus=folder)
        write_sheet(folder, sheet, mirror.write_text if is_remote(out) else write_text)
    return sheet


def write_sheet(
    folder: Path, sheet: Sheet, write: Callable[[Path, str], None] = write_text
) -> list[Path]:
    """Write requirements.md, .html, .json, each whole or not at all; PlanError where that fails."""
    texts = {
        "requirements.md": sheet_markdown(sheet),
        "requirements.html": sheet_html(sheet),
        "requirements.json": sheet_json(sheet),
    }
    return write_texts(folder, texts, write)


def write_texts(
    folder: Path, texts: Mapping[str, Any], write: Callable[[Path, str], None] = write_text
) -> list[Path]:
    """Write files by name, whole or not at all, as JSON if no text; PlanError where that fails."""
    try:
        for name, text in texts.items():
            if not isinstance(text, str):
                text = json.dumps(text, indent=1, ensure_ascii=False) + "\n"
            write(folder / name, text)
    except OSError as e:
        raise PlanError(f"{folder}: cannot write there ({e.strerror}); choose another --out") from e
    return [folder / name for name in texts]


def sheet_rows(sheet: Sheet) -> list[dict[str, Any]]:
    """A row for each requirement, for a table in Prefect's UI."""
    return [
        {
            "section": section.title,
            "requirement": row.name,
            "value": row.shown,
            "95 % interval": row.between,
            "rests on": rests_on(row, sheet.rows),
        }
        for section in sheet.sections
        for row in section.rows
    ]
