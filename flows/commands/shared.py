"""What several commands share: settings as the command line gives them, and a flow run for one."""

import argparse
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import yaml

from tokenmill.flows.asked import Asked, Ingesting, whole
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.strict import parse_yaml
from tokenmill.sizing.units import UnitError, parse_bytes

if TYPE_CHECKING:
    from tokenmill.flows.ended import Ended
    from tokenmill.flows.prefect.server import OwnServer


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """What is set in place of the recipe's own, by key; ConfigError as `run_settings`."""
    return dict(setting(text) for text in args.set) | run_settings(args)


def setting(text: str) -> tuple[str, Any]:
    """The key and the value of a --set; ConfigError: it has no key, or the value is not YAML.

    >>> setting("output.seq_len=2048")
    ('output.seq_len', 2048)
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {text!r}: write KEY=VALUE, as output.seq_len=2048")
    try:
        return key, parse_yaml(value)
    except yaml.YAMLError as e:
        way = "within {} put what has ? [ ] { } : or , between quotes, as {path: 'part-?.jsonl'}"
        raise ConfigError(f"--set {text!r}: the value is not YAML; {way}") from e
    except PlanError as e:
        raise ConfigError(f"--set {key}: {e}") from e


def bytes_of(option: str, text: str) -> int:
    """The bytes that an option is given, as 5GB; ConfigError where it is no size over 0."""
    try:
        found = parse_bytes(text)
    except UnitError as e:
        raise ConfigError(f"{option}: {e}") from e
    if found == 0:
        raise ConfigError(f"{option} {text}: must be over 0")
    return found


def run_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Settings of --runner, --address (alone: Dask), --workers, by key; ConfigError: they clash."""
    given = {name: getattr(args, name) for name in ("runner", "address", "workers")}
    if given["address"] is not None and given["runner"] is None:
        given["runner"] = "dask"
    if given["address"] is not None and given["runner"] != "dask":
        raise ConfigError(
            f"--address {given['address']}: is of a Dask scheduler; leave out --runner"
            f" {given['runner']}"
        )
    return {f"run.{name}": value for name, value in given.items() if value is not None}


@contextlib.contextmanager
def server_ahead(*, wanted: bool = True) -> "Iterator[OwnServer | None]":
    """Have a run's server start while the command plans.

    None: the user has one, or none is wanted.
    """
    from tokenmill.flows.prefect.server import own_server, user_has_server

    if user_has_server() or not wanted:
        yield None
        return
    with own_server() as server:
        yield server


def result_of(
    flow: str,
    asked: Asked[Any, Any] | Ingesting,
    make: "Callable[[], Ended]",
    shown: dict[str, Any],
    *,
    quiet: bool,
    log: str | None = None,
    server: "OwnServer | None",
) -> Any:
    """Do the work of a flow; the user's Prefect server notes it, or one of its own.

    flow: as "prepare-corpus".  shown: the flow's parameters but where it writes.
    quiet, log: as of `flows.progress.watching`.  server: of `server_ahead`.
    """
    from tokenmill.flows.prefect.noted import noted
    from tokenmill.flows.progress import watching

    to = "into" if isinstance(asked, Ingesting) else "out"
    out = whole(asked.out)
    with watching(quiet=quiet, log=log):
        names = flow, f"{flow.partition('-')[0]} {out}"
        return noted(make, names, {**shown, to: out}, server)
