"""Prepare a corpus: ingest to Arrow dataset, the works of each phase as Prefect tasks."""

from pathlib import Path
from typing import Any

from prefect import flow

from flows.pools.choose import open_pool
from flows.tasks import as_tasks
from pipelines.prepare import prepare
from pipelines.recipe import Recipe


@flow(name="prepare-corpus", flow_run_name="prepare {out}", validate_parameters=False)
def prepare_flow(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Turn the inputs of a recipe into a dataset in `out`; returns the run's report."""
    with open_pool(recipe.run, out) as pool:
        return prepare(recipe, out, as_tasks(pool, task_seconds=recipe.run.task_seconds))
