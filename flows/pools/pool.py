"""Pools: who does the works of a run."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

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
        """Have works done in turn.

        The future raises WorkerDiedError, or ConfigError where the run cannot go on.
        """
        ...

    def check(self) -> None:
        """Look whether works may still be done; called now and then by those who wait.

        Raises:
            ConfigError: no worker is left, and none will come.
        """
        ...
