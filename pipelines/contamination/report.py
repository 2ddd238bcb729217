"""The report of a search for benchmark items, on disk: as data, as Markdown and as a page.

Report ─┬─ contamination.json
└─ sections ─┬─ contamination.md
└─ contamination.html, with plots
"""

from pathlib import Path

from tokenmill.pipelines.contamination.model import Report
from tokenmill.pipelines.contamination.report_found import (
    found_in_short,
    found_sections,
    percent,
    warnings,
)
from tokenmill.pipelines.contamination.report_method import method_section
from tokenmill.pipelines.runs.report import failed_in_short, failure_blocks, failure_figures
from tokenmill.pipelines.storage.atomic import write_json, write_text
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import Section, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes

TITLE = "Benchmark items in the corpus"
NAME = "contamination"
SHARE = Axis("dirty share of the items that can be tested, %", lambda p: percent(p / 100))


def write_report(out: Path, report: Report) -> list[Path]:
    """Write contamination.json, .md and .html into `out`, each atomically; return the files."""
    files = [out / f"{NAME}{suffix}" for suffix in (".json", ".md", ".html")]
    parts = sections(report)
    html = page(
        TITLE,
        parts,
        key_figures=[*_key_figures(report), *failure_figures(report, "inputs")],
        plots=_plots(report),
        footer="The same figures as data: contamination.json; as text: contamination.md.",
    )
    write_json(files[0], report.to_json())
    write_text(files[1], markdown(TITLE, parts))
    write_text(files[2], html)
    return files


def sections(report: Report) -> list[Section]:
    """What a researcher wants to know, in the order in which it is asked."""
    return [
        Section(key="summary", title="In short", blocks=(headline(report),)),
        *found_sections(report),
        method_section(report.settings),
        Section(key="inputs", title="What was read", blocks=tuple(_inputs(report))),
    ]


def headline(report: Report) -> str:
    """How many items are in the corpus, where most; what failed."""
    documents = report.documents
    sentences = found_in_short(report, count(documents.read, "document"))
    worst = max(report.benchmarks, key=lambda b: b.dirty_frac or 0)
    if worst.dirty and len(report.benchmarks) > 1:
        greatest = (
            f"The greatest share is that of {worst.name}: {worst.dirty:,} of"
            f" {worst.clean + worst.dirty:,} items that can be tested are dirty"
            f" ({percent(worst.dirty_frac)})."
        )
        sentences.insert(1, greatest)
    failed = failed_in_short(report, sum(documents.failed.values()))
    return " ".join([*sentences, *warnings(report), failed])


def _inputs(report: Report) -> list[str | Table]:
    inputs, documents = report.inputs, report.documents
    causes = sorted(documents.failed.items(), key=lambda c: (-c[1], c[0]))
    files = [(what, name) for what, name in report.files.items() if what != "report"]
    failed = table(
        "Documents that failed", ("cause", ">documents"), [(c, f"{n:,}") for c, n in causes]
    )
    skipped = table("Files skipped", ("`path",), [(path,) for path in inputs.skipped])
    beside = table("All of it, as files beside this one", ("what", "`file"), files)
    return [
        f"Read: {count(documents.read, 'document')} with {format_bytes(documents.text_bytes)}"
        f" of text, from {count(inputs.files, 'input file')} ({format_bytes(inputs.bytes)},"
        f" {count(inputs.shards, 'shard')}).",
        *(listed for listed in (failed, skipped) if listed.rows),
        *failure_blocks(report),
        *([beside] if files else []),
    ]


def _key_figures(report: Report) -> list[KeyFigure]:
    """The figures that matter first."""
    benchmarks = report.benchmarks
    touched = sum(b.found_items > 0 for b in benchmarks)
    widespread, edited = report.total("widespread"), report.total("edited")
    in_copies = f"in {count(report.edited_docs, 'document')}"
    return [
        KeyFigure(
            "items in the corpus",
            f"{report.total('found_items'):,}",
            f"of {report.total('items'):,}",
        ),
        KeyFigure("benchmarks with such items", f"{touched:,}", f"of {len(benchmarks):,}"),
        KeyFigure(
            "documents with items", f"{report.found_docs:,}", f"of {report.documents.read:,}"
        ),
        *([KeyFigure("widespread items", f"{widespread:,}")] if widespread else []),
        *([KeyFigure("other items as edited copies", f"{edited:,}", in_copies)] if edited else []),
        KeyFigure("items too short to test", f"{report.total('untestable'):,}"),
    ]


def _plots(report: Report) -> dict[str, list[str]]:
    """By the section that they belong to; none where nothing was found."""
    shares = [Bar(b.name, 100 * (b.dirty_frac or 0)) for b in report.benchmarks]
    if not any(bar.value for bar in shares):
        return {}
    drawn = charts.bars("dirty-shares", "Dirty share", SHARE, shares)
    return {"benchmarks": [figure("Dirty share", "of each benchmark", drawn)]}
