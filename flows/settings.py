"""Settings of a recipe as the command line gives them."""

import argparse
from typing import Any

import yaml

from tokenmill.pipelines.core.errors import ConfigError


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
        return key, yaml.safe_load(value)
    except yaml.YAMLError as e:
        raise ConfigError(f"--set {text!r}: the value is not YAML") from e


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
