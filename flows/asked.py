"""What is asked for, read, checked and planned: once, before a server is needed for it.

A command does this before it starts one, and hands it to the flow by `flows.errand`; a flow that
a deployment runs does it itself.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokenmill.flows.pools.choose import check_pool
from tokenmill.pipelines.contamination import check as contamination
from tokenmill.pipelines.contamination.check import Check, ContaminationJob
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place, folder_here, is_remote, place, within_roots
from tokenmill.pipelines.core.shard import Plan
from tokenmill.pipelines.measure import run as estimating
from tokenmill.pipelines.measure.job import Measuring
from tokenmill.pipelines.prepare.prepare import finished_report, opened, plan_run
from tokenmill.pipelines.prepare.recipe import (
    SHIPPED,
    Recipe,
    find_recipe,
    load_recipe,
    make_recipe,
)
from tokenmill.pipelines.prepare.report.model import Report


class AskedRun(NamedTuple):
    """A run of a recipe.  found: its report, if it has finished already."""

    recipe: Recipe
    out: Place
    plan: Plan
    found: Report | None


class AskedCheck(NamedTuple):
    """A search for benchmarks.  job: of an earlier moment, for what it knows of its inputs."""

    check: Check
    out: Path
    plan: Plan
    job: ContaminationJob
    found: dict[str, Any] | None


class AskedMeasuring(NamedTuple):
    """A prediction, to be written to the file `out`."""

    measuring: Measuring
    out: Path
    plan: Plan


def read_recipe(
    recipe: str | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    run: RunOptions | None = None,
) -> Recipe:
    """A recipe by its path or the name of one that ships, or the whole of it as data.

    settings: in place of the file's, by key.  run: what it says, in place of the recipe's.

    Raises:
        ConfigError: see `load_recipe`.
    """
    over = dict(settings or {})
    if run is not None:
        said = run.model_dump(mode="json", exclude_unset=True)
        over |= {f"run.{name}": value for name, value in said.items()}
    if isinstance(recipe, str):
        path = find_recipe(recipe)
        if path.parent != SHIPPED:
            within_roots(str(path))
        return load_recipe(path, over)
    given = dict(recipe)
    for key in over:
        section, _, name = key.partition(".")
        if section != "run" or "." in name:
            raise ConfigError(f"settings: {key!r} is for a recipe file; put it into the recipe")
        given["run"] = {**(given.get("run") or {}), name: over[key]}
    return make_recipe(given, where="recipe")


def ask_run(recipe: Recipe, out: str) -> AskedRun:
    """Plan a run.

    Raises:
        ConfigError: see `pipelines.prepare.prepare`; or the roots do not allow `out`.
    """
    folder = place(out)
    within_roots(out)
    plan = plan_run(recipe)
    with opened(recipe, folder, plan) as job:
        found = finished_report(job)
    if found is None:
        check_pool(recipe.run)
    return AskedRun(recipe, folder, plan, found)


def ask_check(check: Check, out: str) -> AskedCheck:
    """Plan a search.

    Raises:
        ConfigError: see `pipelines.contamination.check`; or the roots do not allow `out`.
    """
    folder = folder_here(within_roots(out))
    plan = contamination.plan_check(check)
    with contamination.opened(check, folder, plan) as job:
        found = contamination.finished_report(job)
    if found is None:
        check_pool(check.run)
    return AskedCheck(check, folder, plan, job, found)


def ask_measuring(measuring: Measuring, out: str) -> AskedMeasuring:
    """Plan a prediction.

    Raises:
        ConfigError: see `pipelines.measure.run`; or the roots do not allow `out`.
    """
    file = folder_here(within_roots(out))
    check_pool(measuring.recipe.run)
    plan = plan_run(measuring.recipe)
    sample = estimating.sample_of(measuring, plan)
    with estimating.opened(measuring, file, sample.plan):
        return AskedMeasuring(measuring, file, plan)


def whole(out: Place) -> str:
    """A place by an address that means the same wherever it is read."""
    return str(out) if is_remote(out) else str(Path(out).absolute())
