"""A prediction beside what the run then made: each figure, and whether its interval holds it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.pipelines.core.config import readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.step import STEPS, Step
from tokenmill.pipelines.corpus.step import CorpusStep
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.prepare.report.model import Images, LedgerRow, Report
from tokenmill.pipelines.runs.folder import INDEX
from tokenmill.pipelines.runs.manifest import differences
from tokenmill.sizing.corpus import DATASET, INPUTS, Estimate, ImageEstimate
from tokenmill.sizing.figure import Figure
from tokenmill.sizing.strict import parse_json

NAME = "estimate.json"
HOUR_S = 3600
ROUNDING = 1e-9  # of a figure that is exact
# Bytes of files are told to so much: heads, ends and padding of small files are not all predicted.
# Of 3 MB in seven files they were 0.25 %, of files of 512 MB they are nothing.
FILES_FRAC = 0.005
FILES = ("stored ", "disk ")  # how figures of such bytes begin
NOT_MIXED = ("stored in dataset", "files in dataset", "disk after")  # of documents once
NO_TEXT = ("stored in 90-tokens", "disk after")  # without kept text
LEAST_WALL_S = 60.0  # what is over sooner is mostly starting up


class Compared(NamedTuple):
    """One figure, predicted and actual, in the unit that its name says.

    name: as "tokens", "kept by exact", "stored in dataset".
    held: the 95 % interval or the bounds hold the actual figure; of an exact one, it is that. Bytes
        of files may be half a percent off.
    """

    name: str
    predicted: Figure
    actual: float
    held: bool

    def to_json(self) -> dict[str, Any]:
        low, high = self.predicted.limits()
        return {
            "figure": self.name,
            "predicted": self.predicted.value,
            "low": low,
            "high": high,
            "bounds": self.predicted.bounds is not None,
            "actual": self.actual,
            "held": self.held,
        }


class OtherVersionError(ConfigError):
    """An estimate was made by steps of other versions."""


def load_estimate(path: Path, recipe: Recipe) -> Estimate:
    """The estimate that was made for a recipe.

    OtherVersionError: it was made by steps of other versions.
    ConfigError: it cannot be read, is no estimate, or was made for another recipe.
    """
    try:
        with readable(path) as f:
            estimate = Estimate.model_validate(parse_json(f.read()))
    except ConfigError:
        raise
    except ValueError as e:  # pydantic's too
        raise ConfigError(f"{path}: not an estimate; tokenmill measure writes one") from e
    if estimate.recipe != recipe.digest():
        raise ConfigError(
            f"{path}: made for another recipe or other inputs than {recipe.name!r};"
            " measure this one, or leave --estimate out"
        )
    there, here = {"versions": estimate.versions}, {"versions": recipe.versions()}
    if told := differences(there, here, {}):
        raise OtherVersionError(f"{path}: of other versions: {'; '.join(told)}; measure again")
    return estimate


def find_estimate(
    recipe: Recipe, folders: Iterable[Path], warn: Callable[[str], object]
) -> tuple[Path, Estimate] | None:
    """The first estimate.json of these folders that was made for a recipe; others do not matter.

    warn: is told of those that are of other versions.
    """
    paths = {(folder / NAME).absolute(): folder / NAME for folder in folders}
    for path in (path for path in paths.values() if path.is_file()):
        try:
            return path, load_estimate(path, recipe)
        except OtherVersionError as e:
            warn(f"warning: passed over: {e}\n")
        except ConfigError:
            pass
    return None


def compare(estimate: Estimate, report: Report, *, workers: int | None = None) -> list[Compared]:
    """All figures that both an estimate and the report of its run have.

    workers: of a run that was made in one go; of no other is the wall time known. It is compared
        where the estimate is for as many cores, and the run took a minute.
    """
    known = [
        (name, figure, float(value))
        for name, figure, value in _figures(estimate, report, workers)
        if figure is not None and value is not None
    ]
    others: tuple[str, ...] = NOT_MIXED if report.mixture is not None else ()
    others += NO_TEXT if report.text is not None else ()
    return [
        Compared(name, figure, value, _held(name, figure, value))
        for name, figure, value in known
        if not name.startswith(others)
    ]


def _held(name: str, figure: Figure, actual: float) -> bool:
    low, high = figure.ends()
    within = (FILES_FRAC if name.startswith(FILES) else ROUNDING) * abs(actual)
    return bool(low - within <= actual <= high + within)


def _figures(
    estimate: Estimate, report: Report, workers: int | None
) -> Iterator[tuple[str, Figure | None, float | None]]:
    """Each figure as predicted and as it came; None where one of the two does not have it."""
    corpus, total, first = estimate.corpus, report.total, report.ledger[0]
    yield "documents in", estimate.docs_in, first.docs_in
    yield "text bytes in", estimate.text_bytes_in, first.bytes_in
    yield "unique fraction", estimate.unique_frac, _unique_frac(report)
    yield "documents", corpus.docs, total.docs
    yield "text bytes", corpus.text_bytes, total.text_bytes
    yield "tokens", corpus.tokens, total.tokens
    yield "text bytes per token", corpus.text_bytes_per_token, total.text_bytes_per_token
    yield "stored bytes per token", corpus.stored_bytes_per_token, total.stored_bytes_per_token
    yield "CPU hours", estimate.cpu_hours, sum(step.cpu_s for step in report.steps) / HOUR_S
    was_told = workers is not None and workers == estimate.cores
    is_timed = was_told and (report.seconds or 0.0) >= LEAST_WALL_S
    yield "wall hours", estimate.wall_hours, (report.seconds or 0.0) / HOUR_S if is_timed else None
    kept = {row.stage: row.docs_out / row.docs_in for row in report.ledger if row.docs_in}
    stored = report.stored_bytes
    disk = dict(zip(stored, accumulate(stored.values()), strict=True))
    if estimate.not_predicted or INDEX.name in stored:
        # folders are left out, and from the first of them on the disk is more than was told
        disk = dict(takewhile(lambda told: told[0] in corpus.stored_bytes, disk.items()))
    written = [
        name for name in (report.dataset.files if report.dataset else ()) if name.endswith(".arrow")
    ]
    files = {INPUTS: report.inputs.files, DATASET: len(written)}
    for what, predicted, actual in (
        ("kept by", estimate.kept_frac, kept),
        ("stored in", corpus.stored_bytes, {INPUTS: report.inputs.bytes, **stored}),
        ("disk after", estimate.disk_bytes, disk),
        ("files in", corpus.files, files),
    ):
        yield from ((f"{what} {name}", f, actual.get(name)) for name, f in predicted.items())
    if estimate.images is not None and report.images is not None:
        yield from _image_figures(estimate.images, report.images, report.ledger)


def _image_figures(
    estimate: ImageEstimate, images: Images, ledger: Sequence[LedgerRow]
) -> Iterator[tuple[str, Figure, float | None]]:
    rows = {row.stage: row.images for row in ledger if row.images}
    first = next(iter(rows.values()))
    yield "images in", estimate.images_in, first.images_in
    yield "image bytes in", estimate.image_bytes_in, first.bytes_in
    yield "images", estimate.images, images.images
    yield "image bytes", estimate.image_bytes, images.image_bytes
    yield "image tokens", estimate.image_tokens, images.image_tokens
    kept = {name: row.images_out / row.images_in for name, row in rows.items() if row.images_in}
    for name, figure in estimate.kept_frac.items():
        yield f"images kept by {name}", figure, kept.get(name)
    for name, predicted in estimate.formats.items():
        actual = images.formats.get(name)
        if actual is not None:
            yield f"{name} images", predicted.images, actual.images
            yield f"{name} bytes", predicted.bytes, actual.bytes.total
            yield f"{name} pixels", predicted.pixels, actual.pixels.total


def _unique_frac(report: Report) -> float | None:
    """What the steps that find duplicates leave of what comes to the first of them."""
    rows = [row for row in report.ledger if _finds_duplicates(STEPS.get(row.stage))]
    most = max((row.docs_in for row in rows), default=0)
    return min(row.docs_out for row in rows) / most if most else None


def _finds_duplicates(step: type[Step] | None) -> bool:
    return step is not None and issubclass(step, CorpusStep) and step.has_keys
