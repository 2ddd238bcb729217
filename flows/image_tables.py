"""Where the images of a run went, as tables in the terminal."""

from typing import Any

from rich.table import Table

from flows.show import table
from pipelines.report_images import removed_images_by_reason
from sizing.units import format_bytes


def image_tables(report: dict[str, Any]) -> list[Table]:
    """Images by stage, and by reason; nothing for a run of text alone."""
    rows = [
        (
            row["stage"],
            images["images_in"],
            sum(images["removed"].values()),
            sum(images["failed"].values()),
            images["with_document"],
            images["images_out"],
            format_bytes(images["bytes_out"]),
        )
        for row in report["ledger"]
        if (images := row.get("images"))
    ]
    if not rows:
        return []
    columns = ("stage", ">in", ">removed", ">failed", ">with document", ">out", ">bytes out")
    made = [table("where the images went", columns, rows)]
    reasons = removed_images_by_reason(report)
    if reasons:
        made.append(table("why images left", ("stage", "outcome", "reason", ">images"), reasons))
    return made
