"""An estimate as tables: each figure, its 95 % interval, and what it rests on."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tokenmill.flows.show import filled, show, table
from tokenmill.flows.troubles import bounded
from tokenmill.pipelines.runs.receipt import is_scratch
from tokenmill.sizing.corpus import DATASET, INPUTS, Estimate, UniqueGrowth
from tokenmill.sizing.figure import Figure
from tokenmill.sizing.units import format_bytes, percent

if TYPE_CHECKING:  # the former imports reports, the latter SciPy
    from tokenmill.pipelines.measure.compare import Compared
    from tokenmill.pipelines.measure.run import Outcome

COUNTED, READ = "counted", "parts read"
PROBES, SAMPLE = "probes", "sampled documents"
NESTED, MODEL, BOUNDS = "nested parts", "model of growth", "bounds"
UNIQUE = {"scan": PROBES, "model": MODEL, "bounds": BOUNDS}
NAMES = {"url": "URL", "md5": "MD5"}
TIMED = "seconds on this machine"
TOO_SHORT = f"{TIMED}: too few"
ASSUMED = "assumed"  # how many batches a run writes, in how many bands a pair meets
HEADS = ("figure", "value", "95 % interval", "rests on")
HOUR_S = 3600

_count, _ratio = "{:,.0f}".format, "{:.3f}".format
_Row: TypeAlias = tuple[str, Figure | None, Callable[[float], str], str]  # of `FigureRow`


class FigureRow(NamedTuple):
    """A line of the table. interval: empty for what was counted."""

    figure: str
    value: str
    interval: str
    rests_on: str


def show_estimate(outcome: "Outcome", out: Path) -> None:
    """Print what a run will give."""
    estimate = outcome.estimate
    columns = [f">{head}" if head == "value" else head for head in HEADS]
    title = f"{estimate.corpus.name}: what a run will give, from {estimate.corpus.sample}"
    counted = "all were counted" if outcome.predicted.is_counted else "of what was looked at"
    why = f"why documents leave before duplicates are looked for; {counted}"
    show(
        table(title, columns, figure_rows(outcome)),
        list(bounded(unread(outcome), "the inputs")),
        filled(table(why, ("stage", "reason", ">docs", ">share"), removed_rows(outcome))),
        [
            *outcome.predicted.remarks,
            f"estimate  {out.absolute()}, in which scratch of the run is told by folder too",
            f"next      tokenmill size PLAN --corpus {out}",
            "          tokenmill prepare … --dry-run, which compares this disk with what is free",
        ],
    )


def compared_lines(rows: "Sequence[Compared]", path: Path) -> list[Any]:
    """What was predicted, in the estimate at `path`, beside what the run made."""
    outside, cells = [row.name for row in rows if not row.held], []
    for row in rows:
        between = _interval(row.predicted, _plain)
        verdict = "" if row.held else "OUTSIDE"
        cells.append((row.name, _plain(row.predicted.value), between, _plain(row.actual), verdict))
    columns = ("figure", ">predicted", "95 % interval", ">actual", "")
    return [
        table("predicted and actual; files and text in bytes", columns, cells),
        f"predicted in  {path}",
        *([f"outside their intervals: {', '.join(outside)}"] if outside else []),
    ]


def predicted_disk(path: Path, estimate: Estimate) -> dict[str, Any]:
    """The disk of a run as an estimate has it, as JSON data.

    bytes, most: its value, and the upper end of its interval.
    not_predicted: steps of which the disk is left out.
    """
    peak = _peak(estimate) or Figure(value=0.0)
    most = peak.limits()[1]
    return {
        "estimate": str(path),
        "bytes": round(peak.value),
        "most": round(peak.value if most is None else most),
        "not_predicted": list(estimate.not_predicted),
    }


def figure_rows(outcome: "Outcome") -> list[FigureRow]:
    """All figures of an estimate, in the order a reader asks."""
    estimate, corpus = outcome.estimate, outcome.estimate.corpus
    counted, unique = _counted_on(outcome), UNIQUE.get(estimate.unique_by or "", "")
    if estimate.unique_frac is not None and estimate.unique_frac.limits() == (None, None):
        unique = counted
    asked = counted if outcome.predicted.is_counted or counted == READ else SAMPLE
    drawn = list(dict.fromkeys([asked, *([unique] if unique else [])]))
    after = ", ".join(drawn)
    tokens = ", ".join(dict.fromkeys([*drawn, SAMPLE]))
    of_text = "token" if estimate.images is None else "text token"
    bound = "not of all" if estimate.not_predicted else "at most"
    rows: list[_Row] = [
        ("documents in", estimate.docs_in, _count, counted),
        ("text in", estimate.text_bytes_in, format_bytes, counted),
        *_kept(outcome, unique),
        ("unique, of what filters leave", estimate.unique_frac, percent, unique),
        ("documents", corpus.docs, _count, after),
        ("text", corpus.text_bytes, format_bytes, after),
        ("tokens", corpus.tokens, _count, tokens),
        (f"text bytes per {of_text}", corpus.text_bytes_per_token, _ratio, SAMPLE),
        ("stored bytes per token", corpus.stored_bytes_per_token, _ratio, SAMPLE),
        *_images(outcome, counted, after),
        *(
            (f"stored in {folder}", figure, format_bytes, _stored_on(folder, tokens, asked))
            for folder, figure in corpus.stored_bytes.items()
            if not is_scratch(f"{folder}/")
        ),
        ("files of the inputs", corpus.files.get(INPUTS), _count, COUNTED),
        ("files of the dataset", corpus.files.get(DATASET), _count, tokens),
        (f"disk of the run, {bound}", _peak(estimate), format_bytes, tokens),
        ("clustering memory", estimate.clustering_memory_bytes, format_bytes, asked),
    ]
    return [
        FigureRow(name, shown(figure.value), _interval(figure, shown), rests_on)
        for name, figure, shown, rests_on in rows
        if figure is not None
    ] + [*_time_rows(estimate), *growth_rows(estimate.growth)]


def _time_rows(estimate: Estimate) -> Iterator[FigureRow]:
    """Not known of a run that is soon over."""
    cores = "1 core" if estimate.cores == 1 else f"{estimate.cores} cores"
    wall = f"wall time, {cores}"
    for name, figure in (("CPU time", estimate.cpu_hours), (wall, estimate.wall_hours)):
        if figure is None:
            yield FigureRow(name, "not known", "", TOO_SHORT)
        else:
            yield FigureRow(name, _hours(figure.value), _interval(figure, _hours), TIMED)


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


def removed_rows(outcome: "Outcome") -> list[tuple[str, str, int, str]]:
    """Stage, reason, documents, and their share of what reached the stage."""
    return [
        (name, reason, n, percent(n / stats.docs_in))
        for name, stats in outcome.predicted.totals.items()
        for reason, n in {**stats.removed, **stats.failed}.items()
    ]


def unread(outcome: "Outcome") -> list[str]:
    """A line for each input or part of one that could not be read, or not to its end."""
    lines = [f"cannot be read: {f.message}" for f in outcome.sample.plan.failed]
    lines += [f"part {f.key} was left out: {f.error}" for f in outcome.finished.failures]
    return lines + [
        f"part {key}: {message}"
        for key, receipt in outcome.finished.parts.items()
        for message in receipt.facts.damage
    ]


def _counted_on(outcome: "Outcome") -> str:
    return COUNTED if outcome.predicted.is_whole else READ


def _kept(outcome: "Outcome", unique: str) -> Iterator[_Row]:
    """But of steps that removed nothing of what they were given."""
    counted = _counted_on(outcome)
    for name, figure in outcome.estimate.kept_frac.items():
        is_exact = figure.limits() == (None, None)
        is_stage = name in outcome.predicted.totals
        if figure.value != 1.0 or not (is_stage or is_exact):
            by_stage = counted if is_exact or counted == READ else SAMPLE
            rests_on = by_stage if is_stage else unique
            yield f"kept by {name}", figure, percent, rests_on


def _images(outcome: "Outcome", counted: str, after: str) -> Iterator[_Row]:
    """Images of the inputs and of the dataset, by format too, and how many of them repeat."""
    told = outcome.estimate.images
    if told is None:
        return
    yield "images in", told.images_in, _count, counted
    yield "images in, bytes", told.image_bytes_in, format_bytes, counted
    for name, figure in told.kept_frac.items():
        if figure.limits() != (None, None) or figure.value != 1.0:
            rests_on = counted if name in outcome.predicted.totals else PROBES
            yield f"images kept by {name}", figure, percent, rests_on
    for by, figure in told.unique_frac.items():
        yield f"unique images, by {NAMES[by]}", figure, percent, PROBES
    for by, figure in told.repeated_frac.items():
        name = f"more than {told.more_than:,} times, by {NAMES[by]}"
        yield name, figure, percent, PROBES
    yield "images", told.images, _count, after
    yield "bytes of images", told.image_bytes, format_bytes, after
    yield "tokens of images", told.image_tokens, _count, after
    for name, of in told.formats.items():
        yield f"{name} images", of.images, _count, after
        yield f"{name} bytes", of.bytes, format_bytes, after
        yield f"{name} pixels", of.pixels, _count, after


def _stored_on(folder: str, tokens: str, counted: str) -> str:
    made_of = {
        "inputs": COUNTED,
        DATASET: tokens,
        "removed": f"{tokens.removesuffix(f', {SAMPLE}')}, {ASSUMED}",
    }
    return made_of.get(folder, f"{counted}, {ASSUMED}")


def _peak(estimate: Estimate) -> Figure | None:
    """What lies on disk when nothing has been deleted yet."""
    return list(estimate.disk_bytes.values())[-1] if estimate.disk_bytes else None


def _interval(figure: Figure, shown: Callable[[float], str]) -> str:
    low, high = figure.limits()
    if low is None or high is None:
        return ""
    return f"{'bounds ' * (figure.bounds is not None)}{shown(low)} to {shown(high)}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _hours(value: float) -> str:
    return f"{value:,.1f} h" if value >= 1 else f"{value * HOUR_S:,.3g} s"
