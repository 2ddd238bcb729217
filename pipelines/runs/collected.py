"""A folder of runs: by what it is known as a collection, and which runs it has.

COLLECTION/collection.json names them, oldest first; `pipelines.prepare.collection` adds to it.
"""

import re
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage import mirror

NAME = "collection.json"
RUN = re.compile(r"\d{4}-\d\d-\d\d-\d{4,}")


def run_names(folder: Path) -> list[str] | None:
    """Names of a collection's runs, oldest first, None if it is none; ConfigError if unreadable."""
    try:
        found = mirror.read_json(folder / NAME)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return names_of(found, str(folder / NAME))


def names_of(found: Any, where: str) -> list[str]:
    """Names of a collection's runs, by its file; ConfigError where it is of no collection."""
    names = found.get("runs") if isinstance(found, dict) else None
    if not isinstance(names, list) or not all(RUN.fullmatch(str(name)) for name in names):
        raise ConfigError(f"{where}: not of a collection of this version")
    return names
