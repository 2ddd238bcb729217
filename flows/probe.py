"""Probe a dataset's storage as a Prefect flow: for a schedule, or from a form in Prefect's UI."""

from typing import Annotated, Any

from prefect import get_run_logger
from pydantic import Field

from tokenmill.flows.ended import Ended, Shown
from tokenmill.flows.notes import notes
from tokenmill.flows.prefect.flow_run import FileOrName, Named, our_flow
from tokenmill.flows.sheets import write_texts
from tokenmill.pipelines.core.places import folder_here, place
from tokenmill.pipelines.probe.document import probe_files, probe_markdown, summary, verdict_rows
from tokenmill.pipelines.probe.loader import Order
from tokenmill.pipelines.probe.run import Settings, probe
from tokenmill.sizing.requirements import size

TABLE, DOCUMENT = "storage-probe", "storage-probe-report"  # keys of the artifacts


@our_flow("probe-storage", "probe {dataset}")
def probe_storage(
    dataset: Named,
    plan: FileOrName | None = None,
    changes: dict[str, Any] | None = None,
    order: Order | None = None,
    accelerators: Annotated[int, Field(ge=1)] | None = None,
    seconds: Annotated[float, Field(gt=0)] = 120.0,
    checkpoint: Named | None = None,
    out: Named | None = None,
) -> Ended:
    """Say whether a dataset's storage feeds the planned cluster; its result is plain data.

    Args:
        dataset: a saved dataset or a run directory, here or on s3://
        plan: a plan file by its path, or the name of an example that ships
        changes: in place of the plan's settings, by key, as `{"cluster.count": 64}`
        order: in which training reads; as the plan says without it
        accelerators: that this host must feed; a node's without it
        seconds: for reading, in all
        checkpoint: folder to write checkpoints to, and to read them back from
        out: folder for probe.md, .html and .json, if they are wanted, by its whole path
    """
    settings = Settings(
        order=order,
        accelerators=accelerators,
        seconds=seconds,
        checkpoint=None if checkpoint is None else folder_here(checkpoint),
    )
    sheet = size(plan, changes=changes)
    notes.get().describe(f"probe {dataset}", "probe")
    data = probe(place(dataset), sheet, settings, plan=plan or "of defaults")
    outcome, told = data["verdict"]["outcome"], summary(data)
    log = get_run_logger()
    (log.info if outcome == "PASS" else log.warning)("%s", told)
    if out is not None:
        write_texts(folder_here(out), probe_files(data))
    rows = [{"what": what, "verdict": made, "why": why} for what, made, why in verdict_rows(data)]
    shown = (
        Shown(TABLE, rows, told),
        Shown(DOCUMENT, probe_markdown(data), f"{outcome}, {dataset}"),
    )
    return Ended(data, told, outcome != "PASS", shown)
