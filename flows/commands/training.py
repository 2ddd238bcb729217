"""What `train-lm` and `train-quality` share: their files and options, and what is printed."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tokenmill.flows.exits import OK, PARTIAL
from tokenmill.flows.show import as_json, show
from tokenmill.pipelines.core.config import Config, explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import folder_here
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.readers import passed_over
from tokenmill.sizing.document.section import Block

T = TypeVar("T", bound=Config)
MOST_NAMES = 20  # of files that were not read


def parse_training(
    kind: type[T],
    args: argparse.Namespace,
    inputs: Sequence[str],
    options: Mapping[str, str] | None = None,
) -> T:
    """What the command line asks for; no option sets limits.

    inputs: settings that are paths of documents.  options: those named otherwise than the setting.
    ConfigError: one line that names the option and the way out.
    """
    settings = {
        name: getattr(args, (options or {}).get(name, name))
        for name in kind.model_fields
        if name != "limits"
    }
    for name in inputs:
        join = "\n" if args.text_column else None
        of = (Input(path=p, text=args.text_column, join=join) for p in settings[name])
        settings[name] = tuple(of)
    try:
        return kind(**settings)
    except ValidationError as e:
        place = str(e.errors()[0]["loc"][0]) if e.errors()[0]["loc"] else ""
        said = str(explain(e, "", kind)).removeprefix(": ").removeprefix(f"{place}: ")
        option = (options or {}).get(place, place).replace("_", "-")
        raise ConfigError(f"--{option}: {said}" if place else said) from e


def parse_file(option: str, given: str, suffix: str, example: str) -> Path:
    """Where a file goes; ConfigError where it is no place for one."""
    path = folder_here(given).expanduser().absolute()
    if path.suffix != suffix or path.is_dir():
        raise ConfigError(
            f"{option} {given}: write a file name that ends in {suffix}, as {example}"
        )
    return path


def ended(
    about: dict[str, Any],
    blocks: Callable[[Mapping[str, Any]], Iterable[Block]],
    out: Path,
    *,
    as_data: bool,
) -> int:
    """Print what is said of the model, what could not be read, and where it lies; the exit code."""
    failed: dict[str, int] = {}
    skipped = [name for side in about["inputs"].values() for name in side["skipped"]]
    for side in about["inputs"].values():
        for cause, n in side["failed"].items():
            failed[cause] = failed.get(cause, 0) + max(n, 1)
    if as_data:
        as_json(about)
    else:
        lost = [f"could not be read: {n:,} {cause}" for cause, n in failed.items()]
        lost += passed_over(skipped, MOST_NAMES)
        show(*blocks(about), [*lost, f"model   {out}", f"report  {out.with_suffix('.md')}"])
    return PARTIAL if any(failed.values()) else OK
