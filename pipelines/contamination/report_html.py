"""The page of a search for benchmark items: its sections, with shares of benchmarks drawn."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.pipelines.contamination.counted import (
    edited_documents,
    found_documents,
    found_items,
    total,
)
from tokenmill.pipelines.contamination.report_found import percent
from tokenmill.pipelines.report_failures import failure_figures
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import Section, count
from tokenmill.sizing.document.svg import Axis

Data: TypeAlias = Mapping[str, Any]

SHARE = Axis("dirty share of the items that can be tested, %", lambda p: percent(p / 100))


def contamination_page(title: str, sections: Sequence[Section], data: Data) -> str:
    """The document as HTML, with plots."""
    return page(
        title,
        sections,
        key_figures=[*key_figures(data), *failure_figures(data, "inputs")],
        plots=found_plots(data),
        footer="The same figures as data: contamination.json; as text: contamination.md.",
    )


def key_figures(data: Data) -> list[KeyFigure]:
    """The figures that matter first."""
    benchmarks = data["benchmarks"]
    touched = sum(found_items([b]) > 0 for b in benchmarks)
    read = data["documents"]["read"]
    widespread, edited = (total(benchmarks, name) for name in ("widespread", "edited"))
    in_copies = f"in {count(edited_documents(data), 'document')}"
    return [
        KeyFigure(
            "items in the corpus",
            f"{found_items(benchmarks):,}",
            f"of {sum(b['items'] for b in benchmarks):,}",
        ),
        KeyFigure("benchmarks with such items", f"{touched:,}", f"of {len(benchmarks):,}"),
        KeyFigure("documents with items", f"{found_documents(data):,}", f"of {read:,}"),
        *([KeyFigure("widespread items", f"{widespread:,}")] if widespread else []),
        *([KeyFigure("other items as edited copies", f"{edited:,}", in_copies)] if edited else []),
        KeyFigure("items too short to test", f"{total(benchmarks, 'untestable'):,}"),
    ]


def found_plots(data: Data) -> dict[str, list[str]]:
    """By the sections of `found_sections` that they belong to; none where nothing was found."""
    shares = [Bar(b["name"], 100 * (b["dirty_frac"] or 0)) for b in data["benchmarks"]]
    if not any(bar.value for bar in shares):
        return {}
    drawn = charts.bars("dirty-shares", "Dirty share", SHARE, shares)
    return {"benchmarks": [figure("Dirty share", "of each benchmark", drawn)]}
