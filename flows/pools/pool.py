"""Pools: who does the works of a run. Threads of this process, or workers of a cluster.

What a cluster needs is imported only for one. Threads do: the heavy work releases the lock of the
interpreter.
"""

import importlib
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place, is_remote
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


def check_pool(options: RunOptions) -> None:
    """Find out, before anything is started, whether there can be such a pool.

    Raises:
        ConfigError: the extra is not installed, or there is no `sbatch` here.
    """
    try:
        if options.runner == "dask":
            importlib.import_module("tokenmill.flows.pools.dask")
        elif options.runner == "slurm":
            from tokenmill.flows.pools.slurm import check_sbatch

            check_sbatch()
    except ModuleNotFoundError as e:
        raise ConfigError(
            f"run.runner needs {e.name}, which is not installed; pip install 'tokenmill[cluster]'"
        ) from e


def open_pool(options: RunOptions, out: Place) -> AbstractContextManager[Pool]:
    """Workers for the length of a block, after `check_pool`.

    out: the run directory.

    Raises:
        ConfigError: there is no such cluster.
    """
    if options.runner == "threads":
        return nullcontext(ThreadPool(options.n_workers))
    if options.runner == "dask":
        from tokenmill.flows.pools.dask import dask_pool

        return dask_pool(options.address, options.workers)
    from tokenmill.flows.pools.slurm import slurm_pool

    logs = Path() if is_remote(out) else Path(out)  # jobs write there: a folder all nodes share
    return slurm_pool(options.slurm, logs.absolute() / "slurm-logs")


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
