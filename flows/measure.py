"""Predict a run before it is made: a Prefect task for each piece of work, and artifacts."""

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.measure_tables import HEADS, figure_rows
from flows.pools.choose import open_pool
from flows.tasks import as_tasks
from pipelines.estimating.job import Measuring
from pipelines.estimating.run import Outcome, measure_corpus

KEY = "estimate"


@flow(
    name="measure-corpus",
    flow_run_name="measure {out}",
    validate_parameters=False,
    persist_result=False,
)
def measure_flow(measuring: Measuring, out: Path) -> Outcome:
    """Predict what a recipe will give, write it to `out`, and publish it as a table."""
    run = measuring.recipe.run
    with open_pool(run, out.parent) as pool:
        outcome = measure_corpus(measuring, out, as_tasks(pool, task_seconds=run.task_seconds))
    table = [dict(zip(HEADS, row, strict=True)) for row in figure_rows(outcome)]
    create_table_artifact(table=table, key=KEY, description=outcome.estimate.corpus.sample)
    return outcome
