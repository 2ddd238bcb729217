"""A sheet as one page of HTML, with plots."""

from collections.abc import Sequence

from tokenmill.sizing.document.page import KeyFigure, page
from tokenmill.sizing.report_markdown import TITLE
from tokenmill.sizing.report_plots import capacity_plot, checkpoint_plot, tiers_plot
from tokenmill.sizing.report_sections import interval, sections, shown
from tokenmill.sizing.sheet import Sheet

LARGE = (  # of the headline, what storage is bought by
    "raw capacity",
    "read bandwidth, whole job",
    "checkpoint write bandwidth, whole job",
    "restart read bandwidth",
    "training time",
)


def sheet_html(sheet: Sheet) -> str:
    """The document of `sections`, with some of its figures large, and plots."""
    plots: dict[str, list[str | None]] = {
        "tiers": [tiers_plot(sheet)],
        "capacity": [capacity_plot(sheet)],
        "checkpoints": [checkpoint_plot(sheet)],
    }
    return page(
        TITLE,
        sections(sheet),
        key_figures=_large(sheet),
        plots={key: [drawn for drawn in made if drawn] for key, made in plots.items()},
        footer="The same figures as data: requirements.json; as text: requirements.md.",
    )


def _large(sheet: Sheet) -> Sequence[KeyFigure]:
    rows = [sheet[name] for name in LARGE if name in sheet]
    figures = [KeyFigure(row.name, shown(row), interval(row)) for row in rows]
    if sheet.warnings:
        figures.append(KeyFigure("warnings", str(len(sheet.warnings)), trouble="warnings"))
    return figures
