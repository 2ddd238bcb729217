"""What a report says of images: where they went, and what those that are left are like."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pipelines.image_summary import MOST_REPEATED, TOTAL
from pipelines.schema import shard_and_row
from sizing.document import charts
from sizing.document.charts import Bar
from sizing.document.page import figure
from sizing.document.section import NONE, Table, table
from sizing.document.svg import Axis
from sizing.units import format_bytes

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
    reasons = [
        (stage, reason, outcome, f"{n:,}")
        for stage, outcome, reason, n in removed_images_by_reason(report)
    ]
    return [
        f"Images: {first:,} in {sign} {whole['removed']:,} removed + {whole['failed']:,} failed +"
        f" {whole['with']:,} gone with their document + {last:,} out."
        " Every one that left has a row in removed-images/*.parquet, or its document has one in"
        " removed/*.parquet.",
        table("Images by stage", columns, counts),
        table("Images that left, by reason", ("stage", "reason", "outcome", ">images"), reasons),
        *_measured(report.get("images")),
        *_repeated(report.get("images")),
    ]


def _measured(found: Mapping[str, Any] | None) -> Iterator[str | Table]:
    """Bytes and pixels by format, and what an image adds to a document."""
    if not found or not found["images"]:
        return
    per_doc, per_token = found["image_bytes_per_doc"], found["bytes_per_token"]
    yield (
        f"A document that came out has {found['images_per_doc']:.2f} images of"
        f" {format_bytes(per_doc)} in all. Of its tokens {found['image_tokens']:,} stand for"
        f" images and {found['text_tokens']:,} for text: {per_token:,.1f} bytes of images and text"
        " a token."
    )
    columns = ("format", ">images", ">bytes", ">mean", ">± 95 %", ">5 %", ">median", ">95 %")
    rows: dict[str, list[tuple[str, ...]]] = {"bytes": [], "pixels": []}
    for name, of in found["formats"].items():
        for what, shown in (("bytes", format_bytes), ("pixels", _pixels)):
            values = [of[what][k] for k in ("mean", "mean_half_width", "p5", "p50", "p95")]
            told = [NONE if v is None else shown(v) for v in values]
            total = shown(of[what]["total"]) if of[what]["known"] else NONE
            rows[what].append((name, f"{of[what]['known']:,}", total, *told))
    yield table("Bytes of an image, by format", columns, rows["bytes"], sums=True)
    columns = ("format", ">images", ">pixels", *columns[3:])
    yield table("Pixels of an image, by format", columns, rows["pixels"], sums=True)
    yield (
        "Percentiles are told within their power of two. Means have intervals over images drawn"
        f" alike. Decoded to RGB all take {format_bytes(found['formats'][TOTAL]['decoded_bytes'])}."
    )


def _repeated(found: Mapping[str, Any] | None) -> Iterator[Table]:
    """What stands in the corpus most often, by step and key."""
    rows = [
        (step, key, f"{count:,}", _unit(doc_id, number))
        for step, facts in (found or {}).get("repeated", {}).items()
        for key, of in facts.items()
        if isinstance(of, Mapping)
        for doc_id, number, count in of.get("most", [])[:MOST_REPEATED]
    ]
    if rows:
        columns = ("step", "by", ">times", "`first of them")
        yield table("What the corpus repeats most", columns, rows)


def _unit(doc_id: int, number: int) -> str:
    """Of an image or paragraph: where its document stands, and its place in it."""
    shard, row = shard_and_row(doc_id)
    return f"shard {shard}, document {row}, number {number}"


def _pixels(n: float) -> str:
    return f"{n / 1e6:,.3g} M" if n >= 1e6 else f"{n:,.0f}"


def image_plots(report: Report) -> list[str]:
    """Images that left, by reason; how many pixels those have that are left."""
    bars = [
        Bar(f"{reason} · {stage}", n, "failed" if outcome == "failed" else "main")
        for stage, outcome, reason, n in removed_images_by_reason(report)
    ]
    made = []
    if bars:
        drawn = charts.bars("image-reasons", "Images that left, by reason", IMAGES, bars)
        note = "outlined: failed" if any(bar.kind == "failed" for bar in bars) else ""
        made.append(figure("Why images left", note, drawn))
    bins = (report.get("images") or {}).get("pixels_bins", [])
    if any(bins):
        drawn = charts.histogram(
            "pixels", "Pixels", IMAGES, bins, "pixels, log scale", show=_pixels
        )
        made.append(figure("Pixels of an image", "of those that came out", drawn))
    return made


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


def removed_images_by_reason(report: Report) -> list[tuple[str, str, str, int]]:
    """(stage, outcome, reason, images), those of a stage by how many they are."""
    return [
        (row["stage"], outcome, reason, n)
        for row in report["ledger"]
        for outcome in ("removed", "failed")
        for reason, n in sorted(
            (row.get("images") or {}).get(outcome, {}).items(), key=lambda item: -item[1]
        )
    ]
