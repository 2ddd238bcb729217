"""Prepare a corpus: ingest to Arrow dataset, one Prefect task for each piece of work."""

from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.progress import watcher
from pipelines.errors import TokenmillError
from pipelines.job import Job, Outcome, Phase, Work, do
from pipelines.prepare import prepare
from pipelines.recipe import Recipe
from pipelines.run import HOPELESS, stop_if_hopeless


def worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """Retry a flaky disk or network; never a shard that is wrong in itself, or a full disk."""
    error = state.result(raise_on_failure=False)
    return (
        isinstance(error, OSError)
        and not isinstance(error, TokenmillError)
        and error.errno not in HOPELESS
    )


@task(
    task_run_name="{step} {key}",
    retries=3,
    retry_delay_seconds=[1, 5, 25],
    retry_condition_fn=worth_retrying,
    cache_policy=NO_CACHE,
    persist_result=False,
    log_prints=False,
)
def do_work(step: str, key: str, job: Job, work: Work) -> Outcome:
    return do(job, work)


def as_tasks(job: Job, phase: Phase) -> list[Outcome]:
    """Execute a phase's works as Prefect tasks; a failed one is an outcome, not the end."""
    show = watcher.get()
    show.start(phase.name, len(phase.works))
    futures = {do_work.submit(w.step, w.key, job, w): w for w in phase.works}
    for _ in as_completed(list(futures)):
        show.advance(phase.name)
    show.end(phase.name)
    outcomes = []
    for future, work in futures.items():
        result = future.result(raise_on_failure=False)
        if isinstance(result, Outcome):
            outcomes.append(result)
        else:
            stop_if_hopeless(job, result)
            outcomes.append(Outcome(work=work, error=result))
    return outcomes


@flow(name="prepare-corpus", flow_run_name="prepare {out}", validate_parameters=False)
def prepare_flow(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Turn the inputs of a recipe into a dataset in `out`; returns the run's report."""
    return prepare(recipe, out, as_tasks)


def run_prepare(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Run the flow with as many threads as the recipe asks for."""
    import os

    workers = recipe.run.workers or os.cpu_count() or 1
    runner = ThreadPoolTaskRunner(max_workers=workers)
    return prepare_flow.with_options(task_runner=runner)(recipe, out)
