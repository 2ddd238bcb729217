"""What a report says of images: where they went, and what those that are left are like."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from sizing.document import charts
from sizing.document.charts import Bar
from sizing.document.page import figure
from sizing.document.section import Table, table
from sizing.document.svg import Axis

Report: TypeAlias = Mapping[str, Any]

IMAGES = Axis("images", lambda n: f"{n:,.0f}")


def image_blocks(report: Report) -> list[str | Table]:
    """The account of images by stage and by reason; nothing for a run of text alone."""
    rows = list(_rows(report))
    if not rows:
        return []
    whole = {name: sum(r[name] for _, r in rows) for name in ("removed", "failed", "with")}
    first, last = rows[0][1]["in"], rows[-1][1]["out"]
    gone = sum(whole.values())
    sign = "=" if first == last + gone else "≠"
    counts = [
        (stage, *(f"{r[n]:,}" for n in ("in", "removed", "failed", "with", "out", "bytes")))
        for stage, r in rows
    ]
    columns = (
        "stage",
        ">in",
        ">removed",
        ">failed",
        ">gone with their document",
        ">out",
        ">bytes out",
    )
    reasons = [(stage, reason, outcome, f"{n:,}") for stage, outcome, reason, n in _left(report)]
    return [
        f"Images: {first:,} in {sign} {whole['removed']:,} removed + {whole['failed']:,} failed +"
        f" {whole['with']:,} gone with their document + {last:,} out."
        " Every one that left has a row in removed-images/*.parquet, or its document has one in"
        " removed/*.parquet.",
        table("Images by stage", columns, counts),
        table("Images that left, by reason", ("stage", "reason", "outcome", ">images"), reasons),
    ]


def image_plots(report: Report) -> list[str]:
    """Images that left, by reason."""
    bars = [
        Bar(f"{reason} · {stage}", n, "failed" if outcome == "failed" else "main")
        for stage, outcome, reason, n in _left(report)
    ]
    if not bars:
        return []
    drawn = charts.bars("image-reasons", "Images that left, by reason", IMAGES, bars)
    note = "outlined: failed" if any(bar.kind == "failed" for bar in bars) else ""
    return [figure("Why images left", note, drawn)]


def _rows(report: Report) -> Iterator[tuple[str, dict[str, int]]]:
    for row in report["ledger"]:
        images = row.get("images")
        if images:
            yield (
                row["stage"],
                {
                    "in": images["images_in"],
                    "removed": sum(images["removed"].values()),
                    "failed": sum(images["failed"].values()),
                    "with": images["with_document"],
                    "out": images["images_out"],
                    "bytes": images["bytes_out"],
                },
            )


def _left(report: Report) -> list[tuple[str, str, str, int]]:
    """(stage, outcome, reason, images), those of a stage by how many they are."""
    return [
        (row["stage"], outcome, reason, n)
        for row in report["ledger"]
        for outcome in ("removed", "failed")
        for reason, n in sorted(
            (row.get("images") or {}).get(outcome, {}).items(), key=lambda item: -item[1]
        )
    ]
