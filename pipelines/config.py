"""What every part of a recipe or plan is: a frozen, strict Pydantic model."""

import os
import re
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.roots import within_roots
from tokenmill.sizing.units import parse_bytes

_KIND = re.compile(
    r"(constrained|function|literal|nullable|tuple|list|dict)[-\[]|(int|float|str|bool)$"
)


def _bytes(value: Any) -> Any:
    return parse_bytes(value) if isinstance(value, str) else value


# a number of bytes, or text such as "256MB" or "4GiB"
Bytes: TypeAlias = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


# a file, folder or pattern; a local one is taken from where the command runs, and kept whole,
# so that a run directory can be looked at from anywhere; refused if the roots do not allow it
FilePath: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(_absolute), AfterValidator(within_roots)
]


class Config(BaseModel):
    """Unknown keys are refused, values cannot change once made, `None` means off."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def explain(error: ValidationError, where: str, known: dict[str, list[str]]) -> ConfigError:
    """Turn Pydantic's first complaint into one line that names place, value and way out.

    known: for each place ("" for the top, "run", "inputs.0", …) the keys it takes.
    """
    place, first = _first(error)
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
    if first["type"] in ("tuple_type", "list_type"):
        message = "expected a list, as [A, B]"
    elif first["type"] == "value_error":  # ours: many name the value that is wrong
        whole = isinstance(first["input"], dict | list | tuple)
        if whole or str(first["input"]) in message:
            return ConfigError(f"{spot}: {message}")
    return ConfigError(f"{spot}: {message}, got {first['input']!r}")


def _first(error: ValidationError) -> tuple[str, ErrorDetails]:
    """The first complaint and its place; where a value may be of several kinds, of the likeliest.

    That is the one that looked inside it; of words that are listed apart, all are told.
    """
    found = [(_place(e["loc"]), e) for e in error.errors(include_url=False)]
    place, first = found[0]
    inside = [(at, e) for at, e in found if at.startswith(f"{place}.")]
    if inside and isinstance(first["input"], dict):
        return inside[0]
    words = [
        e["ctx"]["expected"] for at, e in found if at == place and e["type"] == "literal_error"
    ]
    if len(words) > 1:
        first = {**first, "msg": f"Input should be {', or '.join(words)}"}
    return place, first


def _place(loc: tuple[int | str, ...]) -> str:
    """A place as the recipe has it, less the names of kinds that Pydantic puts between."""
    kinds = {kind.__name__ for kind in Config.__subclasses__()}
    return ".".join(
        str(part)
        for part in loc
        if not (isinstance(part, str) and (part in kinds or _KIND.match(part)))
    )
