"""Pieces of work as Prefect tasks: any job of phases, on the runner of the flow around it."""

import os
from collections import deque
from collections.abc import Collection, Sized
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.progress import watcher
from pipelines.drive import stop_if_hopeless
from pipelines.job import Job, Outcome, Phase, Work, chained, do
from pipelines.manifest import HOPELESS
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
    waiting = deque(chained(phase.works, n_workers(job.workers)))
    futures: dict[Any, deque[Work]] = {}
    outcomes = {}
    while waiting or futures:
        while waiting and _has_room(futures.values(), waiting[0], n_workers(job.workers)):
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


def n_workers(wanted: int | None) -> int:
    """Pieces of work done at a time."""
    return wanted or os.cpu_count() or 1


def threads(wanted: int | None) -> ThreadPoolTaskRunner[Any]:
    """The runner that does them in threads of this process."""
    return ThreadPoolTaskRunner(max_workers=n_workers(wanted))
