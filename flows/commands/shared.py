"""What several commands share: settings as the command line gives them, and a flow run for one."""

import argparse
import importlib
from typing import Any

import yaml

from tokenmill.flows.asked import Asked, Ingesting, whole
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.strict import parse_yaml


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """What is set in place of the recipe's own, by key.

    Raises:
        ConfigError: see `setting` and `run_settings`.
    """
    return dict(setting(text) for text in args.set) | run_settings(args)


def setting(text: str) -> tuple[str, Any]:
    """The key and the value of a --set.

    Raises:
        ConfigError: it has no key, or the value is not YAML.

    >>> setting("output.seq_len=2048")
    ('output.seq_len', 2048)
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {text!r}: write KEY=VALUE, as output.seq_len=2048")
    try:
        return key, parse_yaml(value)
    except yaml.YAMLError as e:
        raise ConfigError(f"--set {text!r}: the value is not YAML") from e
    except PlanError as e:
        raise ConfigError(f"--set {key}: {e}") from e


def run_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of --runner, --address and --workers, by key; an address alone is of Dask.

    Raises:
        ConfigError: the address is for another runner.
    """
    given = {name: getattr(args, name) for name in ("runner", "address", "workers")}
    if given["address"] is not None and given["runner"] is None:
        given["runner"] = "dask"
    if given["address"] is not None and given["runner"] != "dask":
        raise ConfigError(
            f"--address {given['address']}: is of a Dask scheduler; leave out --runner"
            f" {given['runner']}"
        )
    return {f"run.{name}": value for name, value in given.items() if value is not None}


def result_of(
    flow: str,
    asked: Asked[Any, Any] | Ingesting,
    shown: dict[str, Any],
    *,
    quiet: bool,
    log: str | None = None,
    to: str = "out",
) -> Any:
    """Run a flow against the user's Prefect server, or against one of its own.

    flow: as "prepare".  shown: the flow's parameters but `out`, as Prefect's UI has them.
    quiet, log: as of `flows.progress.watching`.  to: what the flow calls where it writes.
    """
    from tokenmill.flows.prefect.server import embedded_server
    from tokenmill.flows.progress import watching

    with watching(quiet=quiet, log=log), embedded_server():
        # Prefect reads its settings when it is imported
        from tokenmill.flows.prefect.run_here import run_here

        function = getattr(importlib.import_module(f"tokenmill.flows.{flow}"), f"{flow}_flow")
        return run_here(function, asked, **{to: whole(asked.out)}, **shown)
