"""Prepare a corpus: ingest to Arrow dataset, one Prefect task for each piece of work."""

import os
from collections import deque
from collections.abc import Collection, Sized
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.progress import watcher
from pipelines.job import Job, Outcome, Phase, Work, chained, do
from pipelines.manifest import HOPELESS
from pipelines.prepare import prepare
from pipelines.recipe import Recipe
from pipelines.run import stop_if_hopeless
from pipelines.store import is_outage

AHEAD = 3  # tasks submitted for each worker


def worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """Retry a flaky disk or network; never a shard that is wrong in itself, or a full disk."""
    error = state.result(raise_on_failure=False)
    return is_outage(error) and error.errno not in HOPELESS


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
    """Execute a phase's works as Prefect tasks; a failed one is an outcome, not the end.

    A few are submitted ahead of the workers, not all: a submitted task cannot be taken
    back when the first ones show that the disk is full. Of a chain there is one at a time.
    """
    show = watcher.get()
    show.start(phase.name, len(phase.works))
    waiting = deque(chained(phase.works, workers(job.recipe)))
    futures: dict[Any, deque[Work]] = {}
    outcomes = {}
    while waiting or futures:
        while waiting and _has_room(futures.values(), waiting[0], workers(job.recipe)):
            chain = waiting.popleft()
            futures[_submitted(job, chain[0])] = chain
        future = next(iter(as_completed(list(futures))))
        chain, result = futures.pop(future), future.result(raise_on_failure=False)
        work = chain.popleft()
        if chain:
            futures[_submitted(job, chain[0])] = chain
        if not isinstance(result, Outcome):
            stop_if_hopeless(job, result)
            result = Outcome(work=work, error=result)
        outcomes[work.key] = result
        show.advance(phase.name)
    show.end(phase.name)
    return [outcomes[work.key] for work in phase.works]


def _has_room(running: Collection[Sized], chain: Sized, n_workers: int) -> bool:
    """Whether one more may be submitted; chains hold streams open, so as many as workers."""
    if len(chain) > 1 and sum(len(other) > 1 for other in running) >= n_workers:
        return False
    return len(running) < AHEAD * n_workers


def _submitted(job: Job, work: Work) -> Any:
    return do_work.submit(work.step, work.key, job, work)


def workers(recipe: Recipe) -> int:
    """Shards worked on at a time."""
    return recipe.run.workers or os.cpu_count() or 1


@flow(name="prepare-corpus", flow_run_name="prepare {out}", validate_parameters=False)
def prepare_flow(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Turn the inputs of a recipe into a dataset in `out`; returns the run's report."""
    return prepare(recipe, out, as_tasks)


def run_prepare(recipe: Recipe, out: Path) -> dict[str, Any]:
    """Run the flow with as many threads as the recipe asks for."""
    runner = ThreadPoolTaskRunner(max_workers=workers(recipe))
    return prepare_flow.with_options(task_runner=runner)(recipe, out)
