"""Threads of this process: the heavy work releases the interpreter's lock."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.bundle import do_bundle
from tokenmill.pipelines.runs.work import Job, Outcome, Work


class ThreadPool:
    """Does a bundle in the thread that submits it; there are as many of these as workers."""

    bundles = False

    def __init__(self, n_workers: int) -> None:
        self.n_workers = self.lanes = n_workers

    def submit(self, job: Job, works: Sequence[Work]) -> "Future[list[Outcome]]":
        done: Future[list[Outcome]] = Future()
        try:
            done.set_result(do_bundle(job, works, within=parking))
        except Exception as e:  # noqa: BLE001 - told by the future
            done.set_exception(e)
        return done

    def check(self) -> None:
        """Threads do not go away."""


@contextmanager
def thread_pool(wanted: int | None) -> Iterator[ThreadPool]:
    """As many threads as are wanted; None is one per processor."""
    yield ThreadPool(wanted or os.cpu_count() or 1)
