"""What every part of a recipe or plan is: a frozen, strict Pydantic model.

A mistake becomes one line that names the place, the value and the way out (`explain`). What two
runs are compared by is digests: of settings, and of each file on this machine that a recipe names,
and whose bytes decide what a run does.
"""

import hashlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import xxhash
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import folder_here, within_roots
from tokenmill.pipelines.core.plugins import PluginError
from tokenmill.sizing.errors import MOST_SAID, keys_at, meant, nearest, shown
from tokenmill.sizing.roots import held
from tokenmill.sizing.units import parse_bytes

# of a key, to be taken for one misspelt: `min_words` is .63 of `min_chars`, `words` is .33 of
# `min_words_per_line`
ALIKE, ALIKE_PART = 0.65, 0.5
_KIND = re.compile(
    r"(constrained|function|literal|nullable|tuple|list|dict)[-\[]|(int|float|str|bool)$"
)


def if_text(read: Callable[[str], Any]) -> BeforeValidator:
    """What a setting may be written as too: text, of which its value is read."""
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


# a number of bytes, or text such as "256MB" or "4GiB"; its schema is what a form lets through
_BYTES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": r"^\s*[0-9.]+\s*([kKMGTPE]i?)?B\s*$"},
        {"type": "integer", "exclusiveMinimum": 0},
    ],
    "examples": ["3GB", "4GiB"],
}
Bytes: TypeAlias = Annotated[int, if_text(parse_bytes), Field(gt=0), WithJsonSchema(_BYTES_SCHEMA)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Fraction: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


# a file, folder or pattern; a local one is taken from where the command runs, and kept whole,
# so that a run directory can be looked at from anywhere; refused if the roots do not allow it
FilePath: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(_absolute), AfterValidator(within_roots)
]
# a folder or file that can be on this machine only
PathHere: TypeAlias = Annotated[FilePath, AfterValidator(lambda path: str(folder_here(path)))]


class Config(BaseModel):
    """Unknown keys are refused, values cannot change once made, `None` means off.

    So are limits that nothing meets: a `min_words` over the `max_words`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @model_validator(mode="after")
    def _limits_in_order(self) -> Self:
        for low in type(self).model_fields:
            high = low.replace("min_", "max_", 1)
            least, most = getattr(self, low), getattr(self, high, None)
            try:
                is_over = low.startswith("min_") and least > most
            except TypeError:  # one is None, or they are of kinds that have no order
                continue
            if is_over:
                raise ValueError(f"{low} {least} is over {high} {most}; nothing would be kept")
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """With what its docstring says of each setting, as a form shows it."""
        return described(core, handler, told(cls))


def described(
    core: CoreSchema, handler: GetJsonSchemaHandler, texts: Iterable[tuple[Sequence[str], str]]
) -> JsonSchemaValue:
    """A JSON schema with descriptions of keys without; texts: by names, "*" is any letters."""
    schema = handler(core)
    keys = handler.resolve_ref_schema(schema).get("properties", {})
    for names, text in texts:
        for key in keys:
            if any(fnmatchcase(key, name) for name in names):
                keys[key].setdefault("description", text)
    return schema


# of a docstring: "key, other_key: meaning"
SETTINGS = re.compile(r"(?:^|\n|(?<=\S)  )([\w*]+(?:, [\w*]+)*): ")


@cache
def told(model: type) -> list[tuple[list[str], str]]:
    """Names and meanings of settings in a model's docstrings, its own first, then of its bases."""
    fields = getattr(model, "model_fields", {})
    made = []
    pages = [of.__doc__ or "" for of in model.__mro__ if of is model or issubclass(of, Config)]
    for paragraph in "\n\n".join(map(inspect.cleandoc, pages)).split("\n\n"):
        lines = [
            line
            for line in SETTINGS.finditer(paragraph)
            if all(any(fnmatchcase(f, n) for f in fields) for n in line[1].split(", "))
        ]
        for line, behind in zip(lines, [*lines[1:], None], strict=False):
            text = paragraph[line.end() : behind.start() if behind else None]
            made.append((line[1].split(", "), " ".join(text.split())))
    return made


def explain(error: ValidationError, where: str, model: type[BaseModel]) -> ConfigError:
    """Pydantic's first complaint in a line: place, value, way out, and keys of `model` like it."""
    place, first = _first(error)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, PluginError):
        return cause  # which is of no place in the data
    spot = f"{where}: {place}" if place else where
    if first["type"] == "extra_forbidden":
        parent, _, key = place.rpartition(".")
        keys = keys_at(model, parent.split("."))
        known = f"known keys: {', '.join(keys)}"
        hint = meant(key, keys, known, cutoff=ALIKE, part=ALIKE_PART)
        return ConfigError(f"{where}: {parent + ': ' if parent else ''}unknown key {key!r}; {hint}")
    if first["type"] == "missing":
        return ConfigError(f"{spot}: missing; {first['msg'].lower()}")
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("tuple_type", "list_type"):
        message = "expected a list, as [A, B]"
    elif first["type"] == "model_type" and (keys := keys_at(model, place.split("."))):
        message = f"expected settings, as {{{keys[0]}: …}}"
    elif first["type"] == "value_error":  # ours: many name the value that is wrong
        whole = isinstance(first["input"], dict | list | tuple)
        if whole or str(first["input"]) in message:
            return ConfigError(f"{spot}: {message[:MOST_SAID]}")
    return ConfigError(f"{spot}: {message}, got {shown(first['input'])}")


def _first(error: ValidationError) -> tuple[str, ErrorDetails]:
    """The first complaint and its place; where a value may be of several kinds, of the likeliest.

    Where a key is missing, or empty, the one that may be it, misspelt, is told. The likeliest kind
    is the one that looked inside the value; of words that are listed apart, all are told.
    """
    found = [(_place(e["loc"]), e) for e in error.errors(include_url=False)]
    place, first = found[0]
    if first["type"] == "missing" or not first["input"]:
        place, first = _misspelt(place, found) or found[0]
    inside = [(at, e) for at, e in found if at.startswith(f"{place}.")]
    if inside and isinstance(first["input"], dict):
        return inside[0]
    words = [
        e["ctx"]["expected"] for at, e in found if at == place and e["type"] == "literal_error"
    ]
    if len(words) > 1:
        first = {**first, "msg": f"Input should be {', or '.join(words)}"}
    return place, first


def _misspelt(
    missing: str, found: Sequence[tuple[str, ErrorDetails]]
) -> tuple[str, ErrorDetails] | None:
    """The complaint of the unknown key that stands where one has no value, and is like it."""
    above, _, key = missing.rpartition(".")
    beside = {}
    for at, e in found:
        parent, _, name = at.rpartition(".")
        if parent == above and e["type"] == "extra_forbidden":
            beside[name] = at, e
    near = nearest(key, beside, most=1, cutoff=ALIKE, part=ALIKE_PART)
    return beside[near[0]] if near else None


def _place(loc: tuple[int | str, ...]) -> str:
    """A place as the recipe has it, less the names of kinds that Pydantic puts between."""
    kinds = {kind.__name__ for kind in Config.__subclasses__()}
    return ".".join(
        str(part)
        for part in loc
        if not (isinstance(part, str) and (part in kinds or _KIND.match(part)))
    )


class PinnedFile(Config):
    """A file and the digest of its bytes, so that a run with other bytes is another run.

    file: on this machine.
    sha256: found when the recipe is read, unless it stands there; checked before the file is used.
    """

    way: ClassVar[str] = "check the path"  # out, where it cannot be read

    file: PathHere
    sha256: str = ""

    @model_validator(mode="before")
    @classmethod
    def _pin(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "sha256" in data or not isinstance(data.get("file"), str):
            return data
        path = folder_here(data["file"]).expanduser()
        try:
            found = {**data, "sha256": sha256_of(path)}
        except ConfigError as e:
            raise ConfigError(f"{e}; {cls.way}") from e
        cls.look(path, found)
        return found

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        """Look into the file as its recipe is read; ConfigError: not what the settings say."""

    def checked(self) -> Path:
        """The file; ConfigError: not the bytes that the run began with, or they cannot be read."""
        _check(self.file, self.sha256)
        return Path(self.file)


ALONE = if_text(lambda one: (one,))  # of a list, its only one
EACH_ONCE = AfterValidator(lambda given: tuple(dict.fromkeys(given)))
BY_NAME = if_text(lambda name: {"file": name})  # of a file, its name alone


def file_of(kind: type[PinnedFile], what: str, value: Any) -> Any:
    """The file that settings describe, or the value as it is; ValueError: what is wrong with it."""
    if not isinstance(value, dict):
        return value
    try:
        return kind.model_validate(value)
    except ValidationError as e:
        raise ValueError(str(explain(e, what, kind))) from e


@cache  # once a process: the file is read over for it
def _check(path: str, sha256: str) -> None:
    if sha256_of(Path(path)) != sha256:
        raise ConfigError(f"{path} has changed since the run began; put it back")


def sha256_of(path: Path) -> str:
    """The digest of a file, in hexadecimal; ConfigError where it cannot be read."""
    with readable(path) as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


@contextmanager
def readable(path: Path) -> Iterator[BufferedReader]:
    """A file, open to be read; ConfigError where it cannot be read."""
    try:
        with held(path) as name, open(name, "rb") as f:
            yield f
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read ({e.strerror})") from e


def digest_of(parts: Iterable[str]) -> str:
    """Hex digest of strings in order."""
    hasher = xxhash.xxh3_128()
    for part in parts:
        hasher.update(part.encode())
        hasher.update(b"\0")
    return hasher.hexdigest()
