"""Size a cluster's storage as a Prefect flow: for a schedule, or from a form in Prefect's UI."""

from typing import Any

from tokenmill.flows.ended import Ended, Shown
from tokenmill.flows.notes import notes
from tokenmill.flows.prefect.flow_run import FileOrName, Named, our_flow
from tokenmill.flows.prefect.pages import link_to
from tokenmill.flows.sheets import sheet_rows, write_sheet
from tokenmill.pipelines.core.places import folder_here
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.report.outline import about, sheet_markdown
from tokenmill.sizing.requirements import size

# stands alone: a deployment of this flow names it by this module
PAGE = "requirements.html"
TABLE, SHEET = "storage-requirements", "storage-requirements-sheet"  # keys of the artifacts


@our_flow("size-cluster", "size")
def size_cluster(
    plan: FileOrName | None = None,
    corpus: Named | None = None,
    changes: dict[str, Any] | None = None,
    out: Named | None = None,
) -> Ended:
    """Say what storage a corpus and a cluster ask for; its result is the sheet as plain data.

    Args:
        plan: a plan file by its path, or the name of an example that ships; without one every
            default is assumed
        corpus: a run directory, report.json or estimate.json, in place of the plan's
        changes: in place of the plan's settings, by key, as `{"model.params": "70B"}`
        out: folder for requirements.md, .html and .json, if they are wanted, by its whole path
    """
    measured = None if corpus is None else folder_here(corpus)
    sheet = size(plan, corpus=measured, changes=changes)
    notes.get().describe(f"size {plan or 'by defaults'}", "size")
    if out is not None:
        write_sheet(folder_here(out), sheet)
    page = "" if out is None else f"; {link_to(folder_here(out), PAGE)}"
    told = f"{about(sheet)}{page}"
    shown = (
        Shown(TABLE, sheet_rows(sheet), told),
        Shown(SHEET, sheet_markdown(sheet), about(sheet)),
    )
    return Ended(sheet_json(sheet), about(sheet), artifacts=shown)
