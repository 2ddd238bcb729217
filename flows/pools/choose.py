"""The pool that a run asks for. What a cluster needs is imported only for one."""

import importlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tokenmill.flows.pools.pool import Pool
from tokenmill.flows.pools.threads import thread_pool
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.places import Place, is_remote


def check_pool(options: RunOptions) -> None:
    """Find out, before anything is started, whether there can be such a pool.

    Raises:
        ConfigError: the extra is not installed, or there is no `sbatch` here.
    """
    if options.runner == "dask":
        _needing("tokenmill.flows.pools.dask")
    elif options.runner == "slurm":
        _needing("tokenmill.flows.pools.slurm").check_sbatch()


def open_pool(options: RunOptions, out: Place) -> AbstractContextManager[Pool]:
    """Workers for the length of a block.

    out: the run directory.

    Raises:
        ConfigError: the extra is not installed, or there is no such cluster.
    """
    if options.runner == "threads":
        return thread_pool(options.workers)
    if options.runner == "dask":
        return _needing("tokenmill.flows.pools.dask").dask_pool(options.address, options.workers)
    logs = Path() if is_remote(out) else Path(out)  # jobs write there: a folder all nodes share
    return _needing("tokenmill.flows.pools.slurm").slurm_pool(
        options.slurm, logs.absolute() / "slurm-logs"
    )


def _needing(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        raise ConfigError(
            f"run.runner needs {e.name}, which is not installed; pip install 'tokenmill[cluster]'"
        ) from e
