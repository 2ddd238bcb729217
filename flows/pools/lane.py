"""A lane: a group of works handed to a pool bundle by bundle, from one thread that waits.

Bundles grow until they take as long as a task should, and shrink at the end, so that no worker is
left waiting for the last one. Works on which workers died are tried again at the end, each alone,
before they are given up: it may have been another work that killed their worker.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeAlias

from tokenmill.flows.pools.pool import Pool, WorkerDiedError
from tokenmill.pipelines.core.errors import ShardError
from tokenmill.pipelines.runs.work import Job, Outcome, Work

Chain: TypeAlias = Sequence[Work]  # works best done in turn, by one worker
POLL_S = 1.0


class Pace:
    """Seconds that works of each step took, for several threads; task_seconds: a bundle's aim."""

    def __init__(self, task_seconds: float) -> None:
        self._aim = task_seconds
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._works: dict[str, int] = defaultdict(int)

    def note(self, outcome: Outcome) -> None:
        """Count a work that was done now."""
        if outcome.fresh and outcome.receipt is not None:
            with self._lock:
                self._seconds[outcome.work.step] += outcome.receipt.seconds[0]
                self._works[outcome.work.step] += 1

    def works(self, step: str) -> int:
        """That make a bundle; 1 while nothing is known of the step."""
        with self._lock:
            n, seconds = self._works[step], self._seconds[step]
        return max(int(self._aim * n / seconds), 1) if n and seconds else 1


class Lane:
    """A group of works on its way; told: called with each outcome.  stopping: set to end early."""

    def __init__(
        self, pool: Pool, pace: Pace, told: Callable[[Outcome], Any], stopping: threading.Event
    ) -> None:
        self._pool, self._pace, self._told, self._stopping = pool, pace, told, stopping

    def run(self, job: Job, chains: Sequence[Chain]) -> list[Outcome]:
        """Have all works done; how they ended, in any order. ConfigError ends the run."""
        waiting, outcomes = deque(chains), []
        suspects: deque[Chain] = deque()
        running: dict[Future[list[Outcome]], list[Work]] = {}
        at_once = max(2 * self._pool.n_workers // self._pool.lanes, 1)
        while running or ((waiting or suspects) and not self._stopping.is_set()):
            while waiting and len(running) < at_once and not self._stopping.is_set():
                bundle = self._next(waiting, at_once)
                running[self._pool.submit(job, bundle)] = bundle
            for future in self._ended(running):
                bundle = running.pop(future)
                try:
                    outcomes += self._noted(future.result())
                except WorkerDiedError:
                    suspects += [[work] for work in bundle]
            if not running and not waiting and suspects and not self._stopping.is_set():
                outcomes += self._noted(self._alone(job, suspects.popleft()))
        return outcomes

    def _ended(self, running: Collection[Future[list[Outcome]]]) -> set[Future[list[Outcome]]]:
        ended, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
        if not ended:
            self._pool.check()
        return ended

    def _noted(self, made: list[Outcome]) -> list[Outcome]:
        for outcome in made:
            self._pace.note(outcome)
            self._told(outcome)
        return made

    def _next(self, waiting: "deque[Chain]", at_once: int) -> list[Work]:
        """The works of the next bundle: whole chains, where it is to have more than one."""
        if not self._pool.bundles:
            first, *rest = waiting.popleft()
            if rest:
                waiting.appendleft(rest)
            return [first]
        most = max(len(waiting) // (2 * at_once), 1)
        works = list(waiting.popleft())
        wanted = self._pace.works(works[0].step)
        for _ in range(most - 1):
            if len(works) >= wanted:
                break
            works += waiting.popleft()
        return works

    def _alone(self, job: Job, suspect: Chain) -> list[Outcome]:
        """Try works on which workers died once more, with no other of this lane beside them."""
        future = self._pool.submit(job, suspect)
        while not self._ended([future]):
            pass
        try:
            return future.result()
        except WorkerDiedError as e:
            return [
                Outcome(
                    work=work,
                    error=ShardError(
                        f"workers died at {work.step} {work.key} again and again ({e}); give them"
                        " more memory, or take the shard out of the inputs"
                    ),
                )
                for work in suspect
            ]
