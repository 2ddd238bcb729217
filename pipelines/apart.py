"""What a run writes must not lie where it reads: the next run would take it for input."""

import os
from collections.abc import Iterable
from pathlib import Path

from pipelines.errors import ConfigError
from pipelines.shard import Input


def check_apart(inputs: Iterable[Input], out: Path) -> None:
    """Refuse an `out` that the next run would take for input.

    Raises:
        ConfigError: it lies in a folder that is read, or below a pattern of any depth.
    """
    for given in inputs:
        fixed = given.path.split("*")[0]
        folder = Path(fixed if fixed.endswith("/") else os.path.dirname(fixed))
        root = Path(given.path) if os.path.isdir(given.path) else folder
        deep = os.path.isdir(given.path) or "**" in given.path
        if "://" not in given.path and deep and out.absolute().is_relative_to(root.absolute()):
            raise ConfigError(f"{out}: lies inside the input {given.path}; choose another --out")
