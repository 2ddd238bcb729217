"""What every part of a recipe or plan is: a frozen, strict Pydantic model."""

import os
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pipelines.errors import ConfigError
from sizing.units import parse_bytes


def _bytes(value: Any) -> Any:
    return parse_bytes(value) if isinstance(value, str) else value


# a number of bytes, or text such as "256MB" or "4GiB"
Bytes: TypeAlias = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


# a file, folder or pattern; a local one is taken from where the command runs, and kept whole,
# so that a run directory can be looked at from anywhere
FilePath: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_absolute)]


class Config(BaseModel):
    """Unknown keys are refused, values cannot change once made, `None` means off."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def explain(error: ValidationError, where: str, known: dict[str, list[str]]) -> ConfigError:
    """Turn Pydantic's first complaint into one line that names place, value and way out.

    known: for each place ("" for the top, "run", "inputs.0", …) the keys it takes.
    """
    first = error.errors(include_url=False)[0]
    place = ".".join(str(p) for p in first["loc"])
    spot = f"{where}: {place}" if place else where
    if first["type"] == "extra_forbidden":
        parent, _, key = place.rpartition(".")
        keys = known.get(parent, [])
        near = get_close_matches(key, keys, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(keys)}"
        return ConfigError(f"{where}: {parent + ': ' if parent else ''}unknown key {key!r}; {hint}")
    if first["type"] == "missing":
        return ConfigError(f"{spot}: missing; {first['msg'].lower()}")
    message = first["msg"].removeprefix("Value error, ")
    return ConfigError(f"{spot}: {message}, got {first['input']!r}")
