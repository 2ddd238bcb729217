"""Size a cluster's storage as a Prefect flow: for a schedule, or from a form in Prefect's UI."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.sheet_files import write_sheet
from sizing.inputs import size
from sizing.report import rests_on, sheet_json
from sizing.report_markdown import sheet_markdown
from sizing.report_sections import about, interval, shown
from sizing.requirement import by_name
from sizing.sheet import Sheet

TABLE, SHEET = "storage-requirements", "storage-requirements-sheet"  # keys of the artifacts


@flow(name="size-cluster", flow_run_name="size {plan}")
def size_cluster(
    plan: str | None = None,
    corpus: Path | None = None,
    changes: dict[str, Any] | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Publish what storage a corpus and a cluster ask for, as a table and as a document.

    plan: a file, or the name of an example; without one every default is assumed.
    corpus: a run directory, report.json or estimate.json, in place of the plan's.
    changes: settings by key, as "model.params", in place of the plan's.
    out: folder for requirements.md, .html and .json, if they are wanted.

    Returns the sheet as plain data.
    """
    sheet = size(plan, corpus=corpus, changes=changes)
    create_table_artifact(table=_rows(sheet), key=TABLE, description=about(sheet))
    create_markdown_artifact(sheet_markdown(sheet), key=SHEET, description=about(sheet))
    if out is not None:
        write_sheet(out, sheet)
    return sheet_json(sheet)


def _rows(sheet: Sheet) -> list[dict[str, Any]]:
    rows = by_name(sheet)
    return [
        {
            "section": section.title,
            "requirement": row.name,
            "value": shown(row),
            "95 % interval": interval(row),
            "rests on": rests_on(row, rows),
        }
        for section in sheet.sections
        for row in section.rows
    ]
