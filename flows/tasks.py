"""Pieces of work as Prefect tasks: a task run for each group of them, whoever does the work.

A phase of ten thousand shards is a few hundred task runs at most. They run in threads of the
flow's process, which hand their works to a pool and wait: so workers of a cluster know nothing of
Prefect, and an API that is slow or gone holds up no work.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed

from tokenmill.flows.pools.lane import Chain, Lane
from tokenmill.flows.pools.pace import Pace
from tokenmill.flows.pools.pool import Pool
from tokenmill.flows.progress import watcher
from tokenmill.pipelines.runs.work import Execute, Job, Outcome, Phase, Work, chained

MOST_RUNS = 300  # task runs of a phase, about


def as_tasks(pool: Pool, *, task_seconds: float) -> Execute:
    """What executes phases in the pool, as task runs of the flow around it.

    task_seconds: that a bundle of works is to take, about.
    """
    pace = Pace(task_seconds)

    def execute(job: Job, phase: Phase) -> list[Outcome]:
        return _Running(pool, pace, job, phase).outcomes()

    return execute


class _Running:
    """A phase at work."""

    def __init__(self, pool: Pool, pace: Pace, job: Job, phase: Phase) -> None:
        self._pool, self._pace, self._job, self._phase = pool, pace, job, phase
        self._stopping = threading.Event()
        self._groups: dict[str, Sequence[Chain]] = {}
        self._show = watcher.get()

    def outcomes(self) -> list[Outcome]:
        """How the works of the phase ended, in order; a failed one is an outcome, not the end."""
        phase, show = self._phase, self._show
        show.start(phase.name, phase.n_done + len(phase.works))
        for _ in range(phase.n_done):
            show.advance(phase.name)
        made: dict[str, Outcome] = {}
        waiting = deque(chained(phase.works, self._pool.n_workers))
        futures: set[Any] = set()
        try:
            while waiting or futures:
                while waiting and len(futures) < self._pool.lanes:
                    futures.add(self._submitted(waiting))
                future = next(iter(as_completed(list(futures))))
                futures.remove(future)
                made |= {outcome.work.key: outcome for outcome in future.result()}
        finally:
            self._stopping.set()  # what is not begun is not worth it, should the run end here
        show.end(phase.name)
        return [made[work.key] for work in phase.works]

    def _submitted(self, waiting: "deque[deque[Work]]") -> Any:
        """A task run for the next group."""
        group = [list(waiting.popleft()) for _ in range(self._size(waiting))]
        name = _named([work for chain in group for work in chain])
        self._groups[name] = group
        return do_group.with_options(name=self._phase.name).submit(name, _Quiet(self))

    def _size(self, waiting: "deque[deque[Work]]") -> int:
        """Chains of the next group."""
        step, lanes, n = waiting[0][0].step, self._pool.lanes, len(waiting)
        share = max(2 * self._pool.n_workers // lanes, 1)  # bundles of a lane at a time
        wanted = max(self._pace.works(step) * share, len(self._phase.works) // MOST_RUNS, share)
        return min(wanted, max(n // lanes, 1))

    def run(self, name: str) -> list[Outcome]:
        """Do a group, in the thread that calls."""
        lane = Lane(self._pool, self._pace, self._advance, self._stopping)
        return lane.run(self._job, self._groups.pop(name))

    def _advance(self, _outcome: Outcome) -> None:
        self._show.advance(self._phase.name)


class _Quiet:
    """Hides what a task is given from Prefect, which would look through all of it for futures."""

    def __init__(self, running: _Running) -> None:
        self._running = running

    def __repr__(self) -> str:
        return "works"

    def run(self, name: str) -> list[Outcome]:
        return self._running.run(name)


@task(task_run_name="{shards}", cache_policy=NO_CACHE, persist_result=False, log_prints=False)
def do_group(shards: str, works: _Quiet) -> list[Outcome]:
    """Have a group of works done; retries: see `pipelines.runs.work.attempt`."""
    outcomes = works.run(shards)
    log_group(shards, outcomes)
    return outcomes


def _named(works: Sequence[Work]) -> str:
    """What a group is called.

    >>> works = [Work(step="pass-0", key=k, inputs="", call=print) for k in ("a", "b", "c")]
    >>> _named(works), _named(works[:1])
    ('pass-0 a … c (3)', 'pass-0 a')
    """
    first, last = works[0], works[-1]
    if len(works) == 1:
        return f"{first.step} {first.key}"
    return f"{first.step} {first.key} … {last.key} ({len(works)})"


def log_group(name: str, outcomes: Sequence[Outcome]) -> None:
    """A line for the group, with documents and seconds, and one for each shard that failed."""
    log = get_run_logger()
    for outcome in outcomes:
        if outcome.error is not None:
            work = outcome.work
            log.error("shard %s failed in %s: %s", work.key, work.step, outcome.error)
    log.info("%s: %s", name, _in_words(outcomes))


def _in_words(outcomes: Sequence[Outcome]) -> str:
    receipts = [o.receipt for o in outcomes if o.receipt is not None]
    docs = sum(r.stats[0][1].docs_in for r in receipts if r.stats)
    seconds = sum(o.receipt.seconds[0] for o in outcomes if o.receipt is not None and o.fresh)
    what = f"{docs:,} documents" if docs else f"{len(receipts):,} of {len(outcomes):,} done"
    return f"{what} in {seconds:.1f} s"
