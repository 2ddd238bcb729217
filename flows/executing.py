"""Who does the works of a flow run, with its name, tags and progress in the UI."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tokenmill.flows.flow_run import describe
from tokenmill.flows.phase_progress import progress_shown
from tokenmill.flows.pools.choose import open_pool
from tokenmill.flows.tasks import as_tasks
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.runs.work import Execute


@contextlib.contextmanager
def executing(options: RunOptions, out: Path, *, name: str, label: str) -> Iterator[Execute]:
    """What executes phases, for the length of the block.

    out: the run directory.  name: of the flow run.  label: that it is tagged with.
    """
    describe(name, label, options.runner)
    with progress_shown(), open_pool(options, out) as pool:
        yield as_tasks(pool, task_seconds=options.task_seconds)
