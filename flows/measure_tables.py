"""An estimate as tables: each figure, its 95 % interval, and what it rests on."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flows.show import console, printable, table
from flows.troubles import bounded
from pipelines.estimating.compare import Compared
from pipelines.estimating.run import Outcome
from sizing.corpus import DATASET, Estimate, UniqueGrowth
from sizing.figure import Figure
from sizing.units import format_bytes

COUNTED, READ = "counted", "parts read"
PROBES, PARTS = "probes", "sampled parts"
NESTED, MODEL, BOUNDS = "nested parts", "model of growth", "bounds"
UNIQUE = {"scan": PROBES, "model": MODEL, "bounds": BOUNDS}
TIMED = "seconds on this machine"
HOUR_S = 3600


class FigureRow(NamedTuple):
    """A line of the table. interval: empty for what was counted."""

    figure: str
    value: str
    interval: str
    rests_on: str


def show_estimate(outcome: Outcome, out: Path) -> None:
    """Print what a run will give."""
    show, estimate = console(), outcome.estimate
    columns = ("figure", ">value", "95 % interval", "rests on")
    title = f"{estimate.corpus.name}: what a run will give, from {estimate.corpus.sample}"
    show.print(table(title, columns, figure_rows(outcome)))
    reasons = removed_rows(outcome)
    if reasons:
        show.print()
        counted = "all were counted" if outcome.predicted.is_whole else "of what was read"
        title = f"why documents leave before duplicates are looked for; {counted}"
        show.print(table(title, ("stage", "reason", ">docs", ">share"), reasons))
    show.print()
    for line in [*outcome.predicted.remarks, *bounded(unread(outcome), "the inputs")]:
        show.print(printable(line))
    show.print(f"estimate  {out.absolute()}")
    show.print(f"next      tokenmill size --corpus {out}")


def show_compared(rows: Sequence[Compared], path: Path | None) -> None:
    """Print what was predicted beside what the run made; nothing, if nothing was predicted.

    path: of the estimate.
    """
    if not rows:
        return
    show, outside = console(), [row.name for row in rows if not row.held]
    cells = []
    for row in rows:
        low, high = row.predicted.limits()
        between = "" if low is None or high is None else f"{_plain(low)} to {_plain(high)}"
        verdict = "" if row.held else "OUTSIDE"
        cells.append((row.name, _plain(row.predicted.value), between, _plain(row.actual), verdict))
    columns = ("figure", ">predicted", "95 % interval", ">actual", "")
    show.print()
    show.print(table("predicted and actual", columns, cells))
    show.print(f"predicted in  {path}")
    if outside:
        show.print(f"outside their intervals: {', '.join(outside)}")


def figure_rows(outcome: Outcome) -> list[FigureRow]:
    """All figures of an estimate, in the order a reader asks."""
    estimate, corpus = outcome.estimate, outcome.estimate.corpus
    counted, unique = _counted_on(outcome), UNIQUE.get(estimate.unique_by or "", "")
    drawn = [counted] + [unique] * bool(unique)
    after = ", ".join(drawn)
    tokens = ", ".join([*drawn, PARTS])
    rows: list[tuple[str, Figure | None, Callable[[float], str], str]] = [
        ("documents in", estimate.docs_in, _count, counted),
        ("text in", estimate.text_bytes_in, format_bytes, counted),
        *_kept(outcome, unique),
        ("unique, of what filters leave", estimate.unique_frac, _share, unique),
        ("documents", corpus.docs, _count, after),
        ("text", corpus.text_bytes, format_bytes, after),
        ("tokens", corpus.tokens, _count, tokens),
        ("text bytes per token", corpus.text_bytes_per_token, _ratio, PARTS),
        ("stored bytes per token", corpus.stored_bytes_per_token, _ratio, PARTS),
        *(
            (f"stored in {folder}", figure, format_bytes, _stored_on(folder, tokens, counted))
            for folder, figure in corpus.stored_bytes.items()
        ),
        ("files of the dataset", corpus.files.get(DATASET), _count, tokens),
        ("disk of the run, at most", _peak(estimate), format_bytes, tokens),
        ("clustering memory", estimate.clustering_memory_bytes, format_bytes, counted),
        ("CPU time", estimate.cpu_hours, _hours, TIMED),
        (f"wall time, {estimate.cores} cores", estimate.wall_hours, _hours, TIMED),
    ]
    return [
        FigureRow(name, shown(figure.value), _interval(figure, shown), rests_on)
        for name, figure, shown, rests_on in rows
        if figure is not None
    ] + growth_rows(estimate.growth)


def growth_rows(growth: UniqueGrowth | None) -> list[FigureRow]:
    """How unique documents grow, and how many a larger corpus has."""
    if growth is None:
        return []
    beta = growth.exponent
    law = f"{growth.scale:,.3g} * N^{beta.value:.3f}"
    between = _interval(beta, "N^{:.3f}".format)
    rows = [FigureRow("unique documents grow as", law, between, NESTED)]
    if growth.grown_docs is not None and growth.grown_unique is not None:
        of, unique = growth.grown_docs.value, growth.grown_unique
        name = f"unique of {of:,.0f} documents"
        rows.append(FigureRow(name, _count(unique.value), _interval(unique, _count), MODEL))
    return rows


def removed_rows(outcome: Outcome) -> list[tuple[str, str, int, str]]:
    """Stage, reason, documents, and their share of what reached the stage."""
    return [
        (name, reason, n, _share(n / stats.docs_in))
        for name, stats in outcome.predicted.totals.items()
        for reason, n in {**stats.removed, **stats.failed}.items()
    ]


def unread(outcome: Outcome) -> list[str]:
    """A line for each input or part of one that could not be read, or not to its end."""
    lines = [f"cannot be read: {f.message}" for f in outcome.sample.plan.failed]
    lines += [f"part {f.key} was left out: {f.error}" for f in outcome.finished.failures]
    return lines + [
        f"part {key}: {message}"
        for key, receipt in outcome.finished.parts.items()
        for message in receipt.facts["damage"]
    ]


def _counted_on(outcome: Outcome) -> str:
    return COUNTED if outcome.predicted.is_whole else READ


def _kept(
    outcome: Outcome, unique: str
) -> Iterator[tuple[str, Figure, Callable[[float], str], str]]:
    for name, figure in outcome.estimate.kept_frac.items():
        if figure.limits() != (None, None) or figure.value != 1.0:
            is_counted = name in outcome.predicted.totals
            rests_on = _counted_on(outcome) if is_counted else unique
            yield f"kept by {name}", figure, _share, rests_on


def _stored_on(folder: str, tokens: str, counted: str) -> str:
    by_folder = {"inputs": COUNTED, "10-filtered": PARTS, "90-tokens": tokens, DATASET: tokens}
    return by_folder.get(folder, counted)


def _peak(estimate: Estimate) -> Figure | None:
    """What lies on disk when nothing has been deleted yet."""
    return list(estimate.disk_bytes.values())[-1] if estimate.disk_bytes else None


def _interval(figure: Figure, shown: Callable[[float], str]) -> str:
    low, high = figure.limits()
    return "" if low is None or high is None else f"{shown(low)} to {shown(high)}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _hours(value: float) -> str:
    return f"{value:,.1f} h" if value >= 1 else f"{value * HOUR_S:,.3g} s"
