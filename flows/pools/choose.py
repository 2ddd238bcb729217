"""Which workers a run has, as its options say. What a cluster needs is imported only for one."""

import importlib
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from tokenmill.flows.pools.pool import Pool, ThreadPool
from tokenmill.flows.pools.sbatch import check_sbatch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place, is_remote

# A thread holds Python's lock for .16 to .30 of its time. By a queue of one server four do the work
# of 2.9 to 3.6 then, eight that of 3.3 to 5.7, and no number that of 7: flows/README.md.
MOST_THREADS = 4


def check_pool(options: RunOptions) -> None:
    """Find out first whether there can be such a pool; ConfigError: what is not installed."""
    try:
        if options.runner == "dask":
            importlib.import_module("tokenmill.flows.pools.dask")
        elif options.runner == "slurm":
            importlib.import_module("tokenmill.flows.pools.slurm")
        if options.runner in ("slurm", "array"):
            check_sbatch(options.runner)
    except ModuleNotFoundError as e:
        raise ConfigError(
            f"run.runner needs {e.name}, which is not installed; pip install 'tokenmill[cluster]'"
        ) from e


def runner_of(options: RunOptions, out: Place) -> str:
    """The runner that was named; of `auto` the one that the rule takes.

    Files of an object store are had once a process: there `auto` is threads.
    """
    if options.runner != "auto":
        return options.runner
    few = options.n_workers <= MOST_THREADS or is_remote(out)
    return "threads" if few else "processes"


def open_pool(options: RunOptions, out: Place) -> AbstractContextManager[Pool]:
    """Workers for a block, after `check_pool`; out: the run.  ConfigError: no such cluster."""
    if options.is_here:
        if runner_of(options, out) == "processes":
            from tokenmill.flows.pools.processes import ProcessPool

            return closing(ProcessPool(options.n_workers))
        return nullcontext(ThreadPool(options.n_workers))
    if options.runner == "dask":
        from tokenmill.flows.pools.dask import dask_pool

        return dask_pool(options.address, options.workers)
    if options.runner == "array":
        raise ConfigError(
            "run.runner: array is of tokenmill prepare alone, which ends when it has submitted the"
            " run; here take slurm, dask or threads"
        )
    from tokenmill.flows.pools.slurm import slurm_pool

    return slurm_pool(options.slurm, logs_of(out))


def jobs_of_slurm(options: RunOptions, out: Place) -> dict[str, Any]:
    """What SLURM would be asked for: jobs at a time, what each has, and what each runs."""
    return {
        **options.slurm.model_dump(mode="json"),
        "workers": options.slurm.workers,
        "python": sys.executable,
        "logs": str(logs_of(out)),
    }


def logs_of(out: Place) -> Path:
    """Where jobs of SLURM write: a folder that all nodes share."""
    return (Path() if is_remote(out) else Path(out)).absolute() / "slurm-logs"
