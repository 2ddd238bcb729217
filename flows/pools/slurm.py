"""Workers in jobs of SLURM, submitted through dask-jobqueue.

Needs the extra `cluster`, and `sbatch` where the run is started.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Client, Status

from tokenmill.flows.pools.dask import LOOPBACK, DaskPool, await_workers, configured
from tokenmill.flows.pools.sbatch import check_sbatch, jobs_here, refusal
from tokenmill.flows.progress import watcher
from tokenmill.pipelines.core.options import Slurm

LOOK_EVERY_S = 30.0
MOST_VAIN = 5  # times that jobs are submitted again without a worker between
WHOSE = "SLURM (squeue shows its jobs)"
VAIN = "jobs of SLURM end before their workers come; see slurm-logs of the run"


@contextmanager
def slurm_pool(options: Slurm, logs: Path) -> Iterator[DaskPool]:
    """Workers in as many jobs as the options say, which print to `logs`; ConfigError: no jobs."""
    check_sbatch("slurm")
    logs.mkdir(parents=True, exist_ok=True)
    refusals: list[str] = []
    # jobs may wait in the queue for days, and the run with them
    patient = {"distributed.scheduler.no-workers-timeout": None}
    with configured(), dask.config.set(patient), _cluster(options, logs, refusals) as cluster:
        if options.minimum == options.maximum:
            cluster.scale(jobs=options.maximum)
        else:
            cluster.adapt(minimum_jobs=options.minimum, maximum_jobs=options.maximum)
        with Client(cluster, set_as_default=False) as client:
            restart = Lost(cluster, refusals, is_told=options.minimum > 0).submit_again
            if options.minimum:
                await_workers(client, WHOSE, refusals, restart)
            yield DaskPool(client, options.maximum * options.workers, refusals, restart)


class Lost:
    """Jobs that ended before their workers came, or were cancelled: Dask goes on waiting.

    is_told: whether it was said that there is no worker.
    """

    def __init__(
        self, cluster: SLURMCluster, refusals: list[str], *, is_told: bool = False
    ) -> None:
        self._cluster, self._refusals, self._looking = cluster, refusals, threading.Lock()
        self._show, self._is_told = watcher.get(), is_told
        self._due, self._vain = time.monotonic() + LOOK_EVERY_S, 0
        named = re.search(r"^#SBATCH\s+(-M|--clusters?\b(?!-))", cluster.job_script(), re.MULTILINE)
        self._is_elsewhere = bool(named or os.environ.get("SBATCH_CLUSTERS"))
        # At the last look. Dask cancels what has the name of a worker that went, 15 s after that:
        # another is submitted at the look after, not to be cancelled too.
        self._gone: set[SLURMJob] = set()

    def submit_again(self) -> None:
        """Have others submitted in their place; asked by several threads while nothing ends.

        Not of a cluster that is named: squeue here does not list its jobs.
        """
        if self._is_elsewhere or not self._looking.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= self._due:
                self._look()
                self._due = time.monotonic() + LOOK_EVERY_S
        finally:
            self._looking.release()

    def _look(self) -> None:
        jobs = {name: job for name, job in self._cluster.workers.copy().items() if job.job_id}
        there = jobs_here()
        if there is None:
            return
        # asked after squeue: by now workers are known of all jobs that ended before it
        workers = list(self._cluster.scheduler_info["workers"].values())  # Dask changes them
        came = {str(worker["name"]) for worker in workers}
        gone = {
            name: job
            for name, job in jobs.items()
            if job.job_id not in there and not came & self._of(name)
        }
        ended = [name for name, job in gone.items() if job in self._gone]
        self._gone = set(gone.values())
        if not came and not self._is_told:
            self._show.tell(f"waiting for a worker of {WHOSE}")
        self._is_told = not came
        if came:
            self._vain = 0
        elif ended:
            self._vain += 1
        if self._vain > MOST_VAIN:
            self._refusals.append(VAIN)
            return
        for name in ended:
            jobs[name].status = Status.closed  # which Dask looks for in the end
            self._cluster.workers.pop(name, None)
        self._cluster.scale(jobs=len(self._cluster.worker_spec))

    def _of(self, name: str) -> set[str]:
        """Names of the workers of a job."""
        return {f"{name}{of}" for of in self._cluster.worker_spec.get(name, {}).get("group", [""])}


def _cluster(options: Slurm, logs: Path, refusals: list[str]) -> SLURMCluster:
    scheduler = {"dashboard_address": f"{LOOPBACK}:0"}  # None opens port 8787 to the world
    if options.interface is not None:
        scheduler["interface"] = options.interface

    class Cluster(SLURMCluster):
        job_cls = _noting(refusals)

    return Cluster(
        cores=options.cores,
        processes=options.workers,
        memory=f"{options.memory}B",
        walltime=options.walltime,
        queue=options.queue,
        account=options.account,
        interface=options.interface,
        job_extra_directives=list(options.directives) or None,  # None: as Dask is configured
        python=sys.executable,
        local_directory=None,
        log_directory=str(logs),
        scheduler_options=scheduler,
        # without, a worker's page listens to the whole network
        worker_extra_args=["--dashboard-address", f"{LOOPBACK}:0"],
    )


def _noting(refusals: list[str]) -> type[SLURMJob]:
    """Jobs that note why SLURM does not take them: Dask forgets it, and waits for them for ever."""

    class Job(SLURMJob):
        async def start(self) -> None:
            try:
                await super().start()
            except (RuntimeError, ValueError, OSError) as e:
                refusals.append(f"sbatch takes no job: {refusal(str(e))}; see run.slurm")
                self.status = Status.running  # anything else Dask tells of by a traceback

        async def close(self) -> None:
            await super().close()
            self.status = Status.closed  # which Dask looks for when a run is interrupted

    return Job
