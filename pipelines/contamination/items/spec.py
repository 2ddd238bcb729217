"""What a benchmark is called, where it lies and which of its fields count.

gsm8k    gsm8k=test.jsonl    quiz=s3://bucket/quiz.csv:question,answer    hf://OWNER/NAME/SPLIT

Well-known benchmarks: their name says which fields to look for, and where the hub has them.

A benchmark is published in more than one form: each is an export, with the fields that it has.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError, model_validator

from tokenmill.pipelines.core.config import Config, FilePath
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import within_roots
from tokenmill.sizing.errors import meant

TABLE = Path(__file__).parent / "known.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# gsm8k-train and gsm8k_test have the fields of gsm8k
_SPLIT = re.compile(r"(train|dev|valid|validation|val|test)$")

Fields = tuple[str, ...]


# What a field is to its item. `WHOLE` is no field: all of them together.
OTHER, QUESTION, CONTEXT, WHOLE = range(4)
_CONTEXTS = {
    "passage", "context", "article", "paragraph", "premise", "support", "story", "document"
}  # fmt: skip
_QUESTIONS = {"question", "prompt", "problem", "query", "input", "goal", "instruction"}


class Export(Config):
    """The fields of one published form; `a.b` is the field b of what stands in field a.

    source: where the names of the fields were read.
    """

    source: str
    passage: Fields = ()
    question: Annotated[Fields, Field(min_length=1)]
    choices: Fields = ()
    answer: Fields = ()

    @property
    def fields(self) -> Fields:
        """All fields, in the order of a prompt."""
        return (*self.needed, *self.answer)

    @property
    def needed(self) -> Fields:
        """The fields without which a file is not of this form; test sets come without answers."""
        return (*self.passage, *self.question, *self.choices)


class Known(Config):
    """A well-known benchmark.

    aliases: other names; of all names only letters and digits count.
    hub: the split that is usually tested, as a path of `pipelines.contamination.items.rows`.
    exports: its published forms; the first that fits a file is used.
    """

    name: str
    aliases: tuple[str, ...] = ()
    hub: str
    exports: Annotated[tuple[Export, ...], Field(min_length=1)]


def find(name: str) -> Known | None:
    """The benchmark of this name or alias, also with a split behind it: "ARC-Easy_test"."""
    return by_name(name) or _by_key().get(_SPLIT.sub("", _key(name)))


def role_of(benchmark: str, field: str) -> int:
    """What a field is: as known.yaml says of a well-known benchmark, or else by its name."""
    known = find(benchmark)
    for export in () if known is None else known.exports:
        if field in export.fields:
            of_question = QUESTION if field in export.question else OTHER
            return CONTEXT if field in export.passage else of_question
    name = field.rpartition(".")[2].casefold()
    return QUESTION if name in _QUESTIONS else CONTEXT if name in _CONTEXTS else OTHER


def by_name(name: str) -> Known | None:
    """The benchmark of this name or alias; case, spaces and punctuation do not matter."""
    return _by_key().get(_key(name))


@cache
def read_known() -> tuple[Known, ...]:
    """Every benchmark of known.yaml, in the order of the file."""
    data: dict[str, Any] = yaml.load(TABLE.read_text(encoding="utf-8"), Loader=LOADER)
    of = data["sources"]
    return tuple(
        Known(**{**row, "exports": [{**e, "source": of[e["source"]]} for e in row["exports"]]})
        for row in data["rows"]
    )


@cache
def _by_key() -> dict[str, Known]:
    return {_key(name): k for k in read_known() for name in (k.name, *k.aliases)}


def _key(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


FORM = "NAME=PATH[:FIELD,FIELD]"


class Benchmark(Config):
    """Items that a model will be tested on.

    name: in receipts and reports, before the item's number: "gsm8k:17". The name of a
        well-known benchmark (known.yaml) says which fields to look for.
    path: a JSONL, JSON, CSV, TSV or Parquet file, a pattern or folder of them, a folder saved by
        `datasets`, or a set on the hub, hf://OWNER/NAME/CONFIG/SPLIT. A well-known benchmark
        without one is that of the hub.
    fields: the fields to look for, each by itself and all of them together; `a.b` is the
        field b of what stands in field a. None looks for those of the benchmark of this
        name, or else for every field that holds text and is no id.
    """

    name: Annotated[str, Field(pattern=r"^[^\s:]+$")]
    path: FilePath
    fields: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_name_alone(cls, data: Any) -> Any:
        """Take what a command line takes too, and the hub's set of a well-known name."""
        if isinstance(data, str):
            return parse_benchmark(data).model_dump()
        if isinstance(data, dict) and "path" not in data and isinstance(data.get("name"), str):
            return {**data, "path": _hub_path(data["name"], data["name"])}
        return data


def parse_benchmark(spec: str) -> Benchmark:
    r"""Read NAME=PATH[:FIELD,FIELD] or, of a well-known benchmark, NAME[:FIELD,FIELD].

    The name ends at the first `=`. The last colon begins the fields, unless a slash or
    backslash comes after it (s3://bucket/key, C:\quiz.csv) or a file of the whole name is
    there. A colon at the very end begins no fields: a path whose last name holds a colon is
    written with one behind it. Fields that hold a slash or comma are for a recipe to name.

    >>> parse_benchmark("quiz=s3://bucket/quiz.csv:question,answer").fields
    ('question', 'answer')
    >>> parse_benchmark("GSM-8K").path
    'hf://openai/gsm8k/main/test'

    ConfigError: the spec is not of this form, or names no path and no known benchmark.
    """
    name, equals, rest = spec.partition("=")
    if not equals:
        name, _, listed = spec.partition(":")
        return _benchmark(spec, name, _hub_path(spec, name), listed)
    path, listed = split_fields(rest)
    if not path:
        raise ConfigError(f"benchmark {spec!r}: names no path; write {FORM}")
    return _benchmark(spec, name, path, listed)


def _benchmark(spec: str, name: str, path: str, listed: str) -> Benchmark:
    fields = tuple(field.strip() for field in listed.split(",")) if listed.strip() else None
    if fields and "" in fields:
        raise ConfigError(f"benchmark {spec!r}: a field without a name; write {FORM}")
    if "/" in name or "\\" in name:
        raise ConfigError(f"benchmark {spec!r}: begins with a path; write {FORM}")
    within_roots(path)
    try:
        return Benchmark(name=name, path=path, fields=fields)
    except ValidationError:
        raise ConfigError(
            f"benchmark {spec!r}: the name {name!r} is empty or holds a space or colon;"
            f" write {FORM}"
        ) from None


def _hub_path(spec: str, name: str) -> str:
    """Where the hub has a benchmark that is named without a path."""
    known = by_name(name)
    if known is not None:
        return known.hub
    names = [k.name for k in read_known()]
    way = meant(name, names, f"known without a path: {', '.join(names)}", cutoff=0.6)
    raise ConfigError(f"benchmark {spec!r}: names no path; write {FORM}; {way}")


def split_fields(rest: str) -> tuple[str, str]:
    """A path, and the fields behind it or ""."""
    path, colon, listed = rest.rpartition(":")
    is_path = "/" in listed or "\\" in listed or os.path.exists(os.path.expanduser(rest))
    return (rest, "") if not colon or is_path else (path, listed)
