"""The page of a run's report: its sections, with plots of where documents and bytes went."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.pipelines.ratios import with_error
from tokenmill.pipelines.report_failures import failure_figures
from tokenmill.pipelines.report_images import image_plots
from tokenmill.pipelines.summary import removed_by_reason
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar, Series, Stack
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import Section
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes, format_count

Report: TypeAlias = Mapping[str, Any]

MOST_CLUSTERS = 15

DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")
TOKENS = Axis("tokens", format_count)
TEXT = Axis("UTF-8 bytes of text", format_bytes)


def report_page(
    title: str, sections: Sequence[Section], report: Report, sheets: Sequence[str] = ()
) -> str:
    """The document as HTML, with plots of the report's figures in their sections.

    sheets: pictures of the run's images.
    """
    return page(
        title,
        sections,
        key_figures=[*_key_figures(report), *failure_figures(report, "failures")],
        plots={
            "plots": _plots(report),
            "images": [*image_plots(report), *sheets],
            "requirements": _requirement_plots(report),
        },
        footer="The same figures as data: report.json; as text: report.md.",
    )


def _key_figures(report: Report) -> list[KeyFigure]:
    """The figures that matter first."""
    total, rows = report["measurement"]["total"], report["ledger"]
    figures = [
        KeyFigure("documents out", f"{rows[-1]['docs_out']:,}", f"of {rows[0]['docs_in']:,}"),
        KeyFigure("tokens", format_count(total["tokens"])),
    ]
    for name in ("text_bytes_per_token", "stored_bytes_per_token"):
        value, sign, error = with_error(total, name).partition(" ±")
        figures.append(KeyFigure(name.replace("_", " "), value, sign + error))
    return [*figures, KeyFigure("dataset", format_bytes(report["dataset"]["bytes"]))]


def _plots(report: Report) -> list[str]:
    """Where documents and text went, why, how long documents are, clusters, sources."""
    made = [_documents_plot(report), _text_plot(report)]
    if any(report["length_bins"]):
        edges = "UTF-8 bytes, log scale"
        bins = report["length_bins"]
        drawn = charts.histogram("lengths", "Document lengths", DOCUMENTS, bins, edges)
        made.append(figure("Document lengths", "of those that reached the tokenizer", drawn))
    sources = [Bar(k, m["tokens"]) for k, m in report["measurement"].items() if k != "total"]
    if any(bar.value for bar in sources):
        drawn = charts.bars("sources", "Tokens by source", TOKENS, sources)
        made.append(figure("Tokens by source", "", drawn))
    if any(row["removed"] or row["failed"] for row in report["ledger"]):
        made.append(_reasons_plot(report))
    made += _cluster_plot(report["duplicates"])
    return made


def _documents_plot(report: Report) -> str:
    """A waterfall of documents; a stage that takes and makes none has no row."""
    rows = report["ledger"]
    changes = []
    for row in rows:
        stage, removed, failed = row["stage"], row["removed"], row["failed"]
        found = (
            Bar(f"{stage}: created", -row["docs_created"]),
            Bar(stage, sum(removed.values()), "gone"),
            Bar(f"{stage}: failed", sum(failed.values()), "failed"),
        )
        changes += [bar for bar in found if bar.value]
    start = Bar(f"into {rows[0]['stage']}", rows[0]["docs_in"])
    end = f"out of {rows[-1]['stage']}"
    drawn = charts.waterfall("documents", "Documents by stage", DOCUMENTS, start, changes, end)
    return figure("Documents by stage", "from those read to those kept; outlined: failed", drawn)


def _text_plot(report: Report) -> str:
    series = (Series("passed on", "main"), Series("removed or edited away", "gone"))
    stacks = [
        Stack(row["stage"], (row["bytes_out"], max(row["bytes_removed"] + row["bytes_edited"], 0)))
        for row in report["ledger"]
    ]
    drawn = charts.stacked("text", "Bytes of text by stage", TEXT, series, stacks)
    return figure(
        "Text by stage", "what each stage took in; the figure is what it passed on", drawn
    )


def _reasons_plot(report: Report) -> str:
    """Bars by reason; one that several stages give is told apart by its stage."""
    rows = removed_by_reason(report["ledger"])
    stages = Counter(reason for _, _, reason, _ in rows)
    found = [
        Bar(
            reason if stages[reason] == 1 else f"{reason} · {stage}",
            n,
            "failed" if outcome == "failed" else "main",
        )
        for stage, outcome, reason, n in rows
    ]
    drawn = charts.bars("reasons", "Documents that left, by reason", DOCUMENTS, found)
    note = "outlined: failed" if any(bar.kind == "failed" for bar in found) else ""
    return figure("Why documents left", note, drawn)


def _cluster_plot(duplicates: Mapping[str, Any]) -> list[str]:
    """The largest clusters of near duplicates, or of exact ones where there was no near step."""
    step = "near" if "near" in duplicates else "exact"
    largest = duplicates.get(step, {}).get("largest", [])[:MOST_CLUSTERS]
    if not largest:
        return []
    title = f"Largest {step}-duplicate clusters"
    clusters = [Bar(str(doc_id), size) for doc_id, size in largest]
    drawn = charts.bars("clusters", title, DOCUMENTS, clusters)
    return [figure(title, "by the id of their first document", drawn)]


def _requirement_plots(report: Report) -> list[str]:
    """What has to be stored, all of it in bytes."""
    wanted = [r for r in report.get("requirements") or [] if r["unit"] == "bytes"]
    if not wanted:
        return []
    stored = [Bar(r["name"], r["value"]) for r in wanted]
    drawn = charts.bars("stored", "Bytes to store", Axis("bytes", format_bytes), stored)
    return [figure("Capacity", "each requirement in bytes", drawn)]
