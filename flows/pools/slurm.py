"""Workers in jobs of SLURM, submitted through dask-jobqueue.

Needs the extra `cluster`, and `sbatch` where the run is started.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dask_jobqueue import SLURMCluster
from distributed import Client

from flows.pools.dask import DaskPool, await_workers, configured
from pipelines.errors import ConfigError
from pipelines.run_options import Slurm


@contextmanager
def slurm_pool(options: Slurm, logs: Path) -> Iterator[DaskPool]:
    """Workers in as many jobs as the options say.

    logs: a folder for what the jobs print.

    Raises:
        ConfigError: there is no `sbatch` here.
    """
    if shutil.which("sbatch") is None:
        raise ConfigError(
            "run.runner: slurm needs sbatch, and there is none here; start the run on a login node"
        )
    logs.mkdir(parents=True, exist_ok=True)
    with configured(), _cluster(options, logs) as cluster:
        if options.minimum == options.maximum:
            cluster.scale(jobs=options.maximum)
        else:
            cluster.adapt(minimum_jobs=options.minimum, maximum_jobs=options.maximum)
        with Client(cluster, set_as_default=False) as client:
            if options.minimum:
                await_workers(client, "SLURM (squeue shows its jobs)")
            yield DaskPool(client, most_workers=options.maximum * options.workers)


def _cluster(options: Slurm, logs: Path) -> SLURMCluster:
    scheduler = {"dashboard_address": None}
    if options.interface is not None:
        scheduler["interface"] = options.interface
    return SLURMCluster(
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
    )
