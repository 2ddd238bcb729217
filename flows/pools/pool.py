"""Pools: who does the works of a run. Threads of this process, or workers of a cluster.

Threads do on one machine: the heavy work releases the lock of the interpreter.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.bundle import do_bundle
from tokenmill.pipelines.runs.work import Job, Outcome, Work


class WorkerDiedError(Exception):
    """Workers died at the same works again and again."""


class Pool(Protocol):
    """Takes bundles of works, and does each in some process.

    n_workers: bundles done at a time.
    lanes: threads of this process that hand out bundles, and wait for them.
    bundles: whether handing out costs so much that works are better handed out several at a time.
    """

    bundles: bool

    @property
    def n_workers(self) -> int: ...

    @property
    def lanes(self) -> int: ...

    def submit(self, job: Job, works: Sequence[Work]) -> "Future[list[Outcome]]":
        """Have works done in turn; the future raises WorkerDiedError, or ConfigError for good."""
        ...

    def check(self) -> None:
        """Asked now and then while waiting: ConfigError where no worker is left or will come."""
        ...

    def stop(self) -> None:
        """Begin no work any more; those at hand may end."""


class ThreadPool:
    """Does a bundle in the thread that submits it; there are as many of these as workers."""

    bundles = False

    def __init__(self, n_workers: int) -> None:
        self.n_workers = self.lanes = n_workers

    def do(self, job: Job, works: Sequence[Work]) -> list[Outcome]:
        """How works ended that were done here and now."""
        return do_bundle(job, works, within=parking)

    def submit(self, job: Job, works: Sequence[Work]) -> "Future[list[Outcome]]":
        done: Future[list[Outcome]] = Future()
        try:
            done.set_result(self.do(job, works))
        except Exception as e:  # noqa: BLE001 - told by the future
            done.set_exception(e)
        return done

    def check(self) -> None:
        """Threads do not go away."""

    def stop(self) -> None:
        """A bundle is one work, and a lane that ends begins none."""
