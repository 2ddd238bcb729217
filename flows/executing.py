"""Who does the works of a flow run, with its name, tags and progress in the UI."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from flows.flow_run import describe
from flows.phase_progress import progress_shown
from flows.pools.choose import open_pool
from flows.tasks import as_tasks
from pipelines.drive import Execute
from pipelines.run_options import RunOptions


@contextlib.contextmanager
def executing(options: RunOptions, out: Path, *, name: str, label: str) -> Iterator[Execute]:
    """What executes phases, for the length of the block.

    out: the run directory.  name: of the flow run.  label: that it is tagged with.
    """
    describe(name, label, options.runner)
    with progress_shown(), open_pool(options, out) as pool:
        yield as_tasks(pool, task_seconds=options.task_seconds)
