"""A prediction beside what the run then made: each figure, and whether its interval holds it."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from pipelines.errors import ConfigError
from pipelines.estimating.run import recipe_digest
from pipelines.recipe import Recipe
from sizing.corpus import Estimate
from sizing.figure import Figure

NAME = "estimate.json"
HOUR_S = 3600
ROUNDING = 1e-9  # of a figure that is exact


class Compared(NamedTuple):
    """One figure, predicted and actual, in the unit that its name says.

    name: as "tokens", "kept by exact", "stored in dataset".
    held: the 95 % interval holds the actual figure; of an exact one, it is that.
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


def compare(estimate: Estimate, report: dict[str, Any]) -> list[Compared]:
    """All figures that both an estimate and the report of its run have."""
    actual = {name: float(value) for name, value in _actual(report) if value is not None}
    return [
        Compared(name, figure, actual[name], _held(figure, actual[name]))
        for name, figure in _predicted(estimate)
        if name in actual
    ]


def _held(figure: Figure, actual: float) -> bool:
    low, high = (figure.value if end is None else end for end in figure.limits())
    within = ROUNDING * abs(actual)
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
    }
    yield from ((name, figure) for name, figure in single.items() if figure is not None)
    yield from ((f"kept by {name}", figure) for name, figure in estimate.kept_frac.items())
    yield from ((f"stored in {name}", figure) for name, figure in corpus.stored_bytes.items())
    yield from ((f"disk after {name}", figure) for name, figure in estimate.disk_bytes.items())
    yield from ((f"files in {name}", figure) for name, figure in corpus.files.items())


def _actual(report: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    total, rows = report["measurement"]["total"], report["ledger"]
    stages = {row["stage"]: row for row in rows}
    yield "documents in", rows[0]["docs_in"]
    yield "text bytes in", rows[0]["bytes_in"]
    yield "documents", total["docs"]
    yield "text bytes", total["text_bytes"]
    yield "tokens", total["tokens"]
    yield "text bytes per token", total["text_bytes_per_token"]
    yield "stored bytes per token", total["stored_bytes_per_token"]
    yield "CPU hours", sum(step["cpu_s"] for step in report["steps"]) / HOUR_S
    for name, row in stages.items():
        yield f"kept by {name}", row["docs_out"] / row["docs_in"] if row["docs_in"] else None
    found = [stages[name] for name in ("exact", "near") if name in stages]
    if found:
        most, least = max(r["docs_in"] for r in found), min(r["docs_out"] for r in found)
        yield "unique fraction", least / most if most else None
    yield "stored in inputs", report["inputs"]["bytes"]
    yield "files in inputs", report["inputs"]["files"]
    disk = 0
    for folder, size in report["stored_bytes"].items():
        disk += size
        yield f"stored in {folder}", size
        yield f"disk after {folder}", disk
    files = [name for name in report["dataset"]["files"] if name.endswith(".arrow")]
    yield "files in dataset", len(files)
