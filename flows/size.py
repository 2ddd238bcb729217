"""Size a cluster's storage as a Prefect flow: for a schedule, or from a form in Prefect's UI."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenmill.flows.prefect.flow_run import Ended, Shown, describe, from_anywhere, our_flow
from tokenmill.flows.sheet_files import write_sheet
from tokenmill.pipelines.core.places import within_roots
from tokenmill.sizing.plan.load import load_plan
from tokenmill.sizing.report.data import rests_on, sheet_json
from tokenmill.sizing.report.outline import about, sheet_markdown
from tokenmill.sizing.requirements import find_plan, size
from tokenmill.sizing.sheet import Sheet

TABLE, SHEET = "storage-requirements", "storage-requirements-sheet"  # keys of the artifacts


@our_flow("size-cluster", "size {plan}")
def size_cluster(
    plan: str | None = None,
    corpus: str | None = None,
    changes: dict[str, Any] | None = None,
    out: str | None = None,
) -> Ended:
    """Say what storage a corpus and a cluster ask for; its result is the sheet as plain data.

    Args:
        plan: a plan file by its path, or the name of an example that ships; without one every
            default is assumed
        corpus: a run directory, report.json or estimate.json, in place of the plan's
        changes: in place of the plan's settings, by key, as `{"model.params": "70B"}`
        out: folder for requirements.md, .html and .json, if they are wanted, by its whole path
    """
    if out is not None:
        within_roots(from_anywhere(out))
    sheet = size_within(plan, corpus, changes)
    describe(f"size {plan or 'by defaults'}", "size")
    if out is not None:
        write_sheet(Path(out), sheet)
    shown = (
        Shown(TABLE, _rows(sheet), about(sheet)),
        Shown(SHEET, sheet_markdown(sheet), about(sheet)),
    )
    return Ended(sheet_json(sheet), about(sheet), artifacts=shown)


def size_within(
    plan: str | None, corpus: str | None = None, changes: Mapping[str, Any] | None = None
) -> Sheet:
    """The sheet of a plan, see `sizing.requirements.size`; paths are held against the roots.

    Raises:
        ConfigError: the plan or a corpus of it lies outside of the roots.
        PlanError: see `size`.
    """
    path = None if plan is None else find_plan(plan)
    folder = Path() if path is None else path.parent
    if path is not None and path == Path(plan or ""):  # not an example that ships
        within_roots(str(path))
    if corpus is not None:
        within_roots(corpus)
    read = load_plan(path, changes=changes)
    for named in (read.corpus, *read.sources):
        if named.path is not None:
            within_roots(str(folder / named.path))
    return size(plan, corpus=None if corpus is None else Path(corpus), changes=changes)


def _rows(sheet: Sheet) -> list[dict[str, Any]]:
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
