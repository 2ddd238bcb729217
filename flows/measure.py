"""Predict a run before it is made: a Prefect task for each piece of work, and artifacts."""

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows.measure_tables import HEADS, figure_rows
from flows.tasks import as_tasks, threads
from pipelines.estimating.job import Measuring
from pipelines.estimating.run import Outcome, measure_corpus

KEY = "estimate"


@flow(name="measure-corpus", flow_run_name="measure {out}", validate_parameters=False)
def measure_flow(measuring: Measuring, out: Path) -> Outcome:
    """Predict what a recipe will give, write it to `out`, and publish it as a table."""
    outcome = measure_corpus(measuring, out, as_tasks)
    table = [dict(zip(HEADS, row, strict=True)) for row in figure_rows(outcome)]
    create_table_artifact(table=table, key=KEY, description=outcome.estimate.corpus.sample)
    return outcome


def run_measure(measuring: Measuring, out: Path) -> Outcome:
    """Run the flow with as many threads as the recipe asks for."""
    runner = threads(measuring.recipe.run.workers)
    return measure_flow.with_options(task_runner=runner, persist_result=False)(measuring, out)
