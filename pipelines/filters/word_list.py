"""Words of a list: given in the recipe, or in a file that the user has."""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError

from tokenmill.pipelines.config import explain
from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.filters.node_facts import Hashes, word_table
from tokenmill.pipelines.pinned_file import PinnedFile


class WordFile(PinnedFile):
    """A file of words: one a line; or JSON, a list of them or an object with them as keys."""

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        words_in(path)

    def words(self) -> list[str]:
        """The words, as they stand in the file.

        Raises:
            ConfigError: see `PinnedFile.checked`.
        """
        return words_in(self.checked())


def _file(value: Any) -> Any:
    """Tell what is wrong with a file, not that it is no list of words."""
    if not isinstance(value, dict):
        return value
    try:
        return WordFile.model_validate(value)
    except ValidationError as e:
        known = {"": list(WordFile.model_fields)}
        raise ValueError(str(explain(e, "a file of words", known))) from e


Words: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Field(min_length=1)] | WordFile, BeforeValidator(_file)
]


@cache
def table_of(words: Collection[str] | WordFile) -> Hashes:
    """What `node_facts` knows the words of a list by."""
    return word_table(words.words() if isinstance(words, WordFile) else words)


def words_in(path: Path) -> list[str]:
    """The words of a file, without whitespace around.

    Raises:
        ConfigError: it is neither UTF-8 nor JSON.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text) if text.lstrip()[:1] in ("[", "{") else text.split("\n")
    except ValueError as e:
        raise ConfigError(f"{path}: neither lines of words in UTF-8 nor JSON: {e}") from e
    return [str(word).strip() for word in found]
