"""Prepare a corpus: ingest to Arrow dataset, one Prefect task for each piece of work."""

from pathlib import Path
from typing import Any

from prefect import flow

from flows.tasks import as_tasks, threads
from pipelines.prepare import prepare
from pipelines.recipe import Recipe


@flow(name="prepare-corpus", flow_run_name="prepare {out}", validate_parameters=False)
def prepare_flow(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Turn the inputs of a recipe into a dataset in `out`; returns the run's report."""
    return prepare(recipe, out, as_tasks)


def run_prepare(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Run the flow with as many threads as the recipe asks for."""
    return prepare_flow.with_options(task_runner=threads(recipe.run.workers))(recipe, out)
