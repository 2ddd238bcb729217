"""The paths that a plan of `size` leads to, held against the roots of `pipelines.core.places`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.places import within_roots
from tokenmill.sizing.plan.load import load_plan
from tokenmill.sizing.requirements import find_plan, size
from tokenmill.sizing.sheet import Sheet


def size_within(
    plan: str | None, corpus: str | None = None, changes: Mapping[str, Any] | None = None
) -> Sheet:
    """The sheet of a plan, see `sizing.requirements.size`.

    Raises:
        ConfigError: the plan or a corpus of it lies outside of the roots.
        PlanError: see `size`.
    """
    path = None if plan is None else find_plan(plan)
    folder = Path() if path is None else path.parent
    if path is not None and path == Path(plan or ""):  # not an example that ships
        within_roots(str(path))
    if corpus is not None:
        within_roots(corpus)
    read = load_plan(path, changes=changes)
    for named in (read.corpus, *read.sources):
        if named.path is not None:
            within_roots(str(folder / named.path))
    return size(plan, corpus=None if corpus is None else Path(corpus), changes=changes)
