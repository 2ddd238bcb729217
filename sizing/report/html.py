"""A sheet as one page of HTML, with plots."""

import math
from collections.abc import Sequence

from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar, Curve, Dots, Flag, Swing, curves, dots, swings
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.formulas import failures
from tokenmill.sizing.report.outline import TITLE, sections, titled
from tokenmill.sizing.report.tiers import tiers_by_name
from tokenmill.sizing.report.tornado import MOVED, most_of
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.checkpoints import JOB_RATE, YOUNG
from tokenmill.sizing.sections.stages import STORED, held
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.units import format_bytes, format_quantity, format_rate
from tokenmill.sizing.verdict import OPEN, Verdict, judge

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
        "summary": [tornado_plot(sheet, name) for name in MOVED],
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
    figures = [KeyFigure(titled(row, sheet), row.shown, row.between) for row in rows]
    if sheet.warnings:
        figures.append(KeyFigure("warnings", str(len(sheet.warnings)), trouble="warnings"))
    return figures


READ, RESTART = "read bandwidth, whole job", "restart read bandwidth"
FLAGS = {READ: "training reads", JOB_RATE: "checkpoints write", RESTART: "restart reads"}
BYTES, RATE = Axis("bytes", format_bytes), Axis("bytes/s of all nodes together", format_rate)
INTERVAL = Axis("from one checkpoint to the next", lambda s: format_quantity(s, "s"))
WASTE = Axis("time lost", lambda percent: f"{percent:g} %")
TIMES = tuple(  # seconds that a clock face would show
    unit * n for unit in (1.0, 60.0, 3600.0) for n in (1, 2, 5, 10, 30)
) + tuple(86_400.0 * n for n in (1, 2, 5, 10, 30, 100))
AROUND = 10  # times below and above the intervals of interest
POINTS = 120
ALL = 100.0  # percent
MOST_KEY = 28  # letters that a tornado has room for


def tornado_plot(sheet: Sheet, name: str) -> str | None:
    """The inputs that move one figure most; None where nothing does."""
    base = sheet[name]
    data = [Swing(_short(moved.name), moved.ends, *ends) for moved, ends in most_of(sheet, name)]
    if not data or not all(map(math.isfinite, (base.value, *(v for d in data for v in d[2:])))):
        return None
    title = f"What would change the {name} most"
    axis = Axis(base.unit, lambda value: format_quantity(value, base.unit))
    drawn = swings(f"{name.partition(' ')[0]}-swings", title, axis, base.value, data)
    return figure(
        title, "each input varied alone, as is told below it; the axis does not begin at 0", drawn
    )


def _short(key: str) -> str:
    """The end of a key that is long, as it stands in the plan."""
    return key if len(key) <= MOST_KEY else ".".join(key.split(".")[-2:])


def capacity_plot(sheet: Sheet) -> str:
    """From the parts of what is stored, by free room and redundancy, to what is bought."""
    parts = sorted(held(sheet), key=lambda row: -row.value)
    stored, usable, raw = (
        sheet[name].value for name in ("stored in all", "usable capacity", "raw capacity")
    )
    fill = next(i.value for i in sheet["usable capacity"].inputs if i.name == "fill_frac")
    first, *others = [Bar(row.name.removeprefix(STORED), row.value) for row in parts]
    more = [
        Bar("growth", fill * usable - stored, "gone"),
        Bar("kept free", (1 - fill) * usable, "gone"),
        Bar("redundancy", raw - usable, "gone"),
    ]
    added = [b._replace(value=-b.value) for b in [*others, *more] if b.value > raw * 1e-9]
    title = "What capacity goes into"
    drawn = charts.waterfall("capacity-parts", title, BYTES, first, added, "raw capacity")
    return figure(title, "coloured: stored; grey: room beside it", drawn)


def tiers_plot(sheet: Sheet) -> str | None:
    """What each tier gives the whole job, with the capacity that is needed anyway."""
    by_tier = tiers_by_name(judge(sheet))
    data, left_out = [], []
    for tier, verdicts in by_tier.items():
        of = {v.requirement: v for v in verdicts}
        values = tuple(_offered(sheet[name], of.get(name)) for name in (READ, JOB_RATE))
        if values != (None, None):
            data.append(Dots(tier, values))
        else:
            left_out.append(tier)
    if not data:
        return None
    flags = [
        Flag(f"{what} {sheet[name].shown}", sheet[name].value)
        for name, what in FLAGS.items()
        if name in sheet
    ]
    title = "Bandwidth of tiers against what is required"
    drawn = dots("tiers-bandwidth", title, RATE, ("reads", "writes"), data, flags)
    note = "at the capacity that is needed; log scale; right of a dashed line is enough" + (
        f"; not placed, as nothing is known of servers: {', '.join(left_out)}" if left_out else ""
    )
    return figure(title, note, drawn)


def _offered(needed: Requirement, verdict: Verdict | None) -> float | None:
    """Bytes/s that a tier gives the whole job, None where it is not known or not limited."""
    if verdict is None or verdict.outcome in OPEN:
        return None
    if verdict.shortfall is None or not verdict.shortfall.value:
        return None
    return needed.value / verdict.shortfall.value


def checkpoint_plot(sheet: Sheet) -> str | None:
    """Time lost over the interval, all else as in the plan."""
    if "waste" not in sheet or YOUNG not in sheet:
        return None
    given = {i.name: i.value for i in sheet["waste"].inputs}
    planned, young = given["interval_s"], sheet[YOUNG].value
    low, high = min(planned, young) / AROUND, max(planned, young) * AROUND
    at = [low * (high / low) ** (k / POINTS) for k in range(POINTS + 1)]
    lost = [(s, ALL * failures.waste_frac(**{**given, "interval_s": s})) for s in at]
    restarts = ALL * failures.waste_frac(**{**given, "stall_s": 0.0, "interval_s": 1.0})
    title = "Checkpoint interval against time lost"
    drawn = curves(
        "interval-waste",
        title,
        (INTERVAL, WASTE),
        TIMES,
        [
            Curve("time lost", tuple(p for p in lost if p[1] <= ALL)),
            Curve("restarts, whatever the interval", ((low, restarts), (high, restarts)), "floor"),
        ],
        [
            Flag(f"Young's optimum {format_quantity(young, 's')}", young),
            Flag(f"this plan {format_quantity(planned, 's')}", planned),
        ],
    )
    note = "solid: waiting for checkpoints, work done again, restarts; dotted: restarts alone"
    return figure(title, note, drawn)
