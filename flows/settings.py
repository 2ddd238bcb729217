"""Settings of a recipe as the command line gives them."""

from typing import Any

import yaml

from pipelines.errors import ConfigError


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
