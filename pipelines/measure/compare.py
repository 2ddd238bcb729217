"""A prediction beside what the run then made: each figure, and whether its interval holds it."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.measure.run import recipe_digest
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.prepare.report.model import Images, LedgerRow, Report
from tokenmill.pipelines.prepare.steps import corpus_steps
from tokenmill.sizing.corpus import Estimate, ImageEstimate
from tokenmill.sizing.figure import Figure

NAME = "estimate.json"
HOUR_S = 3600
ROUNDING = 1e-9  # of a figure that is exact
# Bytes of files are told to so much: heads, ends and padding of small files are not all predicted.
# Of 3 MB in seven files they were 0.25 %, of files of 512 MB they are nothing.
FILES_FRAC = 0.005
FILES = ("stored ", "disk ")  # how figures of such bytes begin
NOT_MIXED = ("stored in dataset", "files in dataset", "disk after")  # of documents once
LEAST_WALL_S = 60.0  # what is over sooner is mostly starting up


class Compared(NamedTuple):
    """One figure, predicted and actual, in the unit that its name says.

    name: as "tokens", "kept by exact", "stored in dataset".
    held: the 95 % interval holds the actual figure; of an exact one, it is that. Bytes of files
        may be half a percent off.
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
            "actual": self.actual,
            "held": self.held,
        }


def load_estimate(path: Path, recipe: Recipe) -> Estimate:
    """The estimate that was made for a recipe.

    Raises:
        ConfigError: it cannot be read, is no estimate, or was made for another recipe.
    """
    try:
        estimate = Estimate.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise ConfigError(f"{path}: cannot read the estimate ({e.strerror})") from e
    except (ValueError, ValidationError) as e:
        raise ConfigError(f"{path}: not an estimate; tokenmill measure writes one") from e
    if estimate.recipe != recipe_digest(recipe):
        raise ConfigError(
            f"{path}: made for another recipe or other inputs than {recipe.name!r};"
            " measure this one, or leave --estimate out"
        )
    return estimate


def find_estimate(recipe: Recipe, folders: Iterable[Path]) -> tuple[Path, Estimate] | None:
    """The first estimate.json of these folders that was made for a recipe; others do not matter."""
    for folder in folders:
        path = folder / NAME
        if path.is_file():
            with contextlib.suppress(ConfigError):
                return path, load_estimate(path, recipe)
    return None


def compare(estimate: Estimate, report: Report, *, workers: int | None = None) -> list[Compared]:
    """All figures that both an estimate and the report of its run have.

    workers: of a run that was made in one go; of no other is the wall time known. It is compared
        where the estimate is for as many cores, and the run took a minute.
    """
    actual = {name: float(value) for name, value in _actual(report) if value is not None}
    if report.mixture is not None:
        actual = {n: v for n, v in actual.items() if not n.startswith(NOT_MIXED)}
    if workers is not None and workers == estimate.cores:
        seconds = report.seconds or 0.0
        actual |= {"wall hours": seconds / HOUR_S} if seconds >= LEAST_WALL_S else {}
    return [
        Compared(name, figure, actual[name], _held(name, figure, actual[name]))
        for name, figure in _predicted(estimate)
        if name in actual
    ]


def _held(name: str, figure: Figure, actual: float) -> bool:
    low, high = (figure.value if end is None else end for end in figure.limits())
    within = (FILES_FRAC if name.startswith(FILES) else ROUNDING) * abs(actual)
    return bool(low - within <= actual <= high + within)


def _predicted(estimate: Estimate) -> Iterator[tuple[str, Figure]]:
    corpus = estimate.corpus
    single = {
        "documents in": estimate.docs_in,
        "text bytes in": estimate.text_bytes_in,
        "unique fraction": estimate.unique_frac,
        "documents": corpus.docs,
        "text bytes": corpus.text_bytes,
        "tokens": corpus.tokens,
        "text bytes per token": corpus.text_bytes_per_token,
        "stored bytes per token": corpus.stored_bytes_per_token,
        "CPU hours": estimate.cpu_hours,
        "wall hours": estimate.wall_hours,
    }
    yield from ((name, figure) for name, figure in single.items() if figure is not None)
    yield from ((f"kept by {name}", figure) for name, figure in estimate.kept_frac.items())
    yield from ((f"stored in {name}", figure) for name, figure in corpus.stored_bytes.items())
    yield from ((f"disk after {name}", figure) for name, figure in estimate.disk_bytes.items())
    yield from ((f"files in {name}", figure) for name, figure in corpus.files.items())
    yield from _predicted_images(estimate.images)


def _predicted_images(images: ImageEstimate | None) -> Iterator[tuple[str, Figure]]:
    if images is None:
        return
    yield "images in", images.images_in
    yield "image bytes in", images.image_bytes_in
    yield "images", images.images
    yield "image bytes", images.image_bytes
    yield "image tokens", images.image_tokens
    for name, figure in images.kept_frac.items():
        yield f"images kept by {name}", figure
    for name, told in images.formats.items():
        yield f"{name} images", told.images
        yield f"{name} bytes", told.bytes
        yield f"{name} pixels", told.pixels


def _actual(report: Report) -> Iterator[tuple[str, float | None]]:
    total, rows = report.total, report.ledger
    stages = {row.stage: row for row in rows}
    yield "documents in", rows[0].docs_in
    yield "text bytes in", rows[0].bytes_in
    yield "documents", total.docs
    yield "text bytes", total.text_bytes
    yield "tokens", total.tokens
    yield "text bytes per token", total.text_bytes_per_token
    yield "stored bytes per token", total.stored_bytes_per_token
    yield "CPU hours", sum(step.cpu_s for step in report.steps) / HOUR_S
    for name, row in stages.items():
        yield f"kept by {name}", row.docs_out / row.docs_in if row.docs_in else None
    finders = [step.name for step in corpus_steps() if step.has_keys]
    found = [stages[name] for name in finders if name in stages]
    if found:
        most, least = max(r.docs_in for r in found), min(r.docs_out for r in found)
        yield "unique fraction", least / most if most else None
    yield "stored in inputs", report.inputs.bytes
    yield "files in inputs", report.inputs.files
    disk = 0
    for folder, size in report.stored_bytes.items():
        disk += size
        yield f"stored in {folder}", size
        yield f"disk after {folder}", disk
    files = [name for name in report.dataset.files if name.endswith(".arrow")]
    yield "files in dataset", len(files)
    if report.images is not None:
        yield from _actual_images(report.images, rows)


def _actual_images(images: Images, rows: Sequence[LedgerRow]) -> Iterator[tuple[str, float | None]]:
    of_stages = {row.stage: row.images for row in rows if row.images}
    first = next(iter(of_stages.values()))
    yield "images in", first.images_in
    yield "image bytes in", first.bytes_in
    yield "images", images.images
    yield "image bytes", images.image_bytes
    yield "image tokens", images.image_tokens
    for name, row in of_stages.items():
        if row.images_in:
            yield f"images kept by {name}", row.images_out / row.images_in
    for name, of in images.formats.items():
        yield f"{name} images", of.images
        yield f"{name} bytes", of.bytes.total
        yield f"{name} pixels", of.pixels.total
