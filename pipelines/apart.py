"""What a run writes must not lie where one reads: it would be taken for input."""

import os
from collections.abc import Iterable
from pathlib import Path

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.manifest import read_manifest
from tokenmill.pipelines.object_store_settings import is_remote
from tokenmill.pipelines.place import Place
from tokenmill.pipelines.shard import Input

MOST_PATHS = 3  # named in a message


def check_apart(inputs: Iterable[Input], out: Place) -> None:
    """Refuse an `out` that the next run would take for input.

    Raises:
        ConfigError: it lies in a folder that is read, or below a pattern of any depth.
    """
    for given in inputs:
        if is_remote(given.path) or is_remote(out):
            _check_apart_there(given.path, out)
            continue
        fixed = given.path.split("*")[0]
        folder = Path(fixed if fixed.endswith("/") else os.path.dirname(fixed))
        root = Path(given.path) if os.path.isdir(given.path) else folder
        deep = os.path.isdir(given.path) or "**" in given.path
        # links and ".." resolved: what lies inside is read, whatever it is called
        if "://" not in given.path and deep and Path(out).resolve().is_relative_to(root.resolve()):
            raise _inside(out, given.path)


def _check_apart_there(given: str, out: Place) -> None:
    """As `check_apart` for what lies on an object store, where there are no links."""
    fixed, star, _ = given.partition("*")
    root = fixed[: fixed.rfind("/")] if star else given.rstrip("/")
    deep = not star or "**" in given
    if deep and f"{out}/".startswith(f"{root}/"):
        raise _inside(out, given)


def _inside(out: Place, given: str) -> ConfigError:
    return ConfigError(f"{out}: lies inside the input {given}; choose another --out")


def refuse_runs(inputs: Iterable[Input]) -> None:
    """Refuse a run directory, or a folder of one, as input.

    Raises:
        ConfigError: names the inputs that the run was made from, or the way out.
    """
    for given in inputs:
        path = Path(given.path)
        made = next((r for folder in (path, path.parent) if (r := _run_in(folder))), None)
        if path.is_dir() and made is not None:
            raise ConfigError(f"{given.path}: {made}")


def _run_in(folder: Path) -> str | None:
    """What a folder holds that is a run's; None if it is none's."""
    try:
        identity = (read_manifest(folder) or {}).get("identity")
    except ConfigError:  # a manifest of somebody else's
        return None
    if not isinstance(identity, dict):
        return None
    if "check" in identity:
        return "made by contamination, holds reports, not text; name the corpus"
    if "recipe" not in identity:
        return None
    paths = [i["path"] for i in identity["recipe"]["inputs"]]
    more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
    return (
        "a run of prepare, holds tokens, not text; name the inputs it was made from:"
        f" {', '.join(paths[:MOST_PATHS])}{more}"
    )
