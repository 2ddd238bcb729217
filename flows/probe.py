"""Probe a dataset's storage as a Prefect flow: for a schedule, or from a form in Prefect's UI."""

from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.commands.probe import write_probe
from pipelines.probe.document import probe_markdown, summary, verdict_rows
from pipelines.probe.order import Order
from pipelines.probe.run import Settings, probe
from sizing.inputs import size

TABLE, DOCUMENT = "storage-probe", "storage-probe-report"  # keys of the artifacts


@flow(name="probe-storage", flow_run_name="probe {dataset}")
def probe_storage(
    dataset: Path,
    plan: str | None = None,
    changes: dict[str, Any] | None = None,
    order: Order | None = None,
    accelerators: int | None = None,
    seconds: float = 120.0,
    checkpoint: Path | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Publish whether a dataset's storage feeds the planned cluster, as a table and a document.

    dataset: a saved dataset or a run directory.  plan, changes: as of `size-cluster`.
    order: in which training reads; as the plan says without it.
    accelerators: that this host must feed; a node's without it.  seconds: for reading, in all.
    checkpoint: folder to write checkpoints to.  out: folder for probe.md, .html and .json.

    Returns the probe as plain data.
    """
    settings = Settings(
        order=order, accelerators=accelerators, seconds=seconds, checkpoint=checkpoint
    )
    data = probe(dataset, size(plan, changes=changes), settings, plan=plan or "of defaults")
    outcome = data["verdict"]["outcome"]
    log = get_run_logger()
    (log.info if outcome == "PASS" else log.warning)("%s", summary(data))
    rows = [{"what": what, "verdict": made, "why": why} for what, made, why in verdict_rows(data)]
    create_table_artifact(table=rows, key=TABLE, description=summary(data))
    create_markdown_artifact(
        probe_markdown(data), key=DOCUMENT, description=f"{outcome}, {dataset}"
    )
    if out is not None:
        write_probe(out, data)
    return data
