"""Well-known benchmarks: their name says which fields to look for, and where the hub has them.

A benchmark is published in more than one form: each is an export, with the fields that it has.
"""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from tokenmill.pipelines.core.config import Config

TABLE = Path(__file__).parent / "known.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# gsm8k-train and gsm8k_test have the fields of gsm8k
_SPLIT = re.compile(r"(train|dev|valid|validation|val|test)$")

Fields = tuple[str, ...]


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
    hub: the split that is usually tested, as a path of `pipelines.contamination.items.hub`.
    exports: its published forms; the first that fits a file is used.
    """

    name: str
    aliases: tuple[str, ...] = ()
    hub: str
    exports: Annotated[tuple[Export, ...], Field(min_length=1)]


def find(name: str) -> Known | None:
    """The benchmark of this name or alias, also with a split behind it: "ARC-Easy_test"."""
    return by_name(name) or _by_key().get(_SPLIT.sub("", _key(name)))


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
