"""Workers in jobs of SLURM, submitted through dask-jobqueue.

Needs the extra `cluster`, and `sbatch` where the run is started.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Client, Status

from tokenmill.flows.pools.dask import LOOPBACK, DaskPool, await_workers, configured
from tokenmill.flows.pools.sbatch import check_sbatch, refusal
from tokenmill.pipelines.core.options import Slurm


@contextmanager
def slurm_pool(options: Slurm, logs: Path) -> Iterator[DaskPool]:
    """Workers in as many jobs as the options say.

    logs: a folder for what the jobs print.

    Raises:
        ConfigError: there is no `sbatch` here, or it takes no job.
    """
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
            if options.minimum:
                await_workers(client, "SLURM (squeue shows its jobs)", refusals)
            yield DaskPool(client, options.maximum * options.workers, refusals)


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
        job_extra_directives=list(options.directives),
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
