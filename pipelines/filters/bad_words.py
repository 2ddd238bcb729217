"""Documents in which a word of a list stands: C4's rule for words not to be learned.

The list is given in the recipe, or in a file that the user has.
"""

import io
import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from tokenmill.dedup.arrays import U64, Bools
from tokenmill.pipelines.core.config import PinnedFile, file_of, readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import Filter, Kinds
from tokenmill.pipelines.core.step import StageResult
from tokenmill.pipelines.filters.text.node_facts import word_table
from tokenmill.sizing.strict import parse_json


class WordFile(PinnedFile):
    """A file of words: one a line; or JSON, a list of them or an object with them as keys."""

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        words_in(path)

    def words(self) -> list[str]:
        """The words, as they stand in the file; raises as `PinnedFile.checked` does."""
        return words_in(self.checked())


Words: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Field(min_length=1)] | WordFile,
    BeforeValidator(partial(file_of, WordFile, "a file of words")),
]


@cache
def table_of(words: Collection[str] | WordFile) -> U64:
    """What `node_facts` knows the words of a list by."""
    return word_table(words.words() if isinstance(words, WordFile) else words)


def words_in(path: Path) -> list[str]:
    """The words of a file, stripped; ConfigError where it is neither UTF-8 nor JSON."""
    try:
        with readable(path) as f:
            text = io.StringIO(f.read().decode("utf-8-sig"), newline=None).read()
        found = parse_json(text) if text.lstrip()[:1] in ("[", "{") else text.split("\n")
    except ValueError as e:
        raise ConfigError(f"{path}: neither lines of words in UTF-8 nor JSON: {e}") from e
    return [str(word).strip() for word in found]


PATTERN_BYTES = 8_000  # of words in one pattern: RE2 slows down on longer ones, and refuses 2 MB
GROWS = "\u0130"  # the one letter of which `str.lower` makes two


class BadWords(Filter):
    """Remove documents in which a word of a list that you give stands, letters of any case, as C4
    does.

    words: a list, or a file: {file: words.txt}, a word or phrase a line. None ships.
    whole_words: it must stand between characters that are neither letter, digit nor "_", as in
        "a word."; false for languages that part words by nothing.

    Reason: "bad_word"; the detail is the word. It annotates the word.

    Source: Raffel et al. 2020, JMLR 21(140), section 2.2, with the list that it names (LDNOOBW);
    read as datatrove 0.10's C4BadWordsFilter reads it, which keeps none at random here. The
    original code looks at lines, and for a character that is not of a to z on both sides.
    """

    name: ClassVar[str] = "bad_words"
    tells: ClassVar[Kinds] = {"": pa.string()}

    words: Words
    whole_words: bool = True

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        looked = _looked_for(self.words, self.whole_words)
        found = np.zeros(batch.num_rows, np.uint8)
        details: list[str | None] = [None] * batch.num_rows
        rows = np.flatnonzero(looked.may_have(batch["text"]))
        texts = batch["text"].take(pa.array(rows)).to_pylist()
        for row, text in zip(rows.tolist(), texts, strict=True):
            match = looked.exactly.search(text.lower())
            if match is not None:
                found[row], details[row] = 1, match.group(1)
        told = pa.array(details, pa.string())
        return self.judge(batch, found, ("bad_word",), details=told, found={"": told})


class _LookedFor:
    """What finds the words: RE2 documents that may have one, Python's `re` those that do.

    RE2 looks at many at once, but its letters are not quite those of `str.lower` and of "\\w":
    what it is asked for takes more documents, never fewer.
    """

    def __init__(self, words: list[str], *, whole: bool) -> None:
        before, behind = (r"(?:\W|^)", r"(?:\W|$)") if whole else ("", "")
        any_of = "|".join(re.escape(w) for w in words)
        self.exactly = re.compile(f"{before}({any_of}){behind}")
        before, behind = ("(?:[^a-z0-9_]|^)", "(?:[^a-z0-9_]|$)") if whole else ("", "")
        self._patterns = [f"(?i){before}(?:{part}){behind}" for part in _parts(words)]

    def may_have(self, text: pa.Array) -> Bools:
        found = np.asarray(pc.match_substring(text, GROWS))
        for pattern in self._patterns:
            found = found | np.asarray(pc.match_substring_regex(text, pattern))
        return found


def _parts(words: list[str]) -> Iterator[str]:
    part: list[str] = []
    for word in words:
        part.append("".join(c if c.isalnum() else f"\\x{{{ord(c):x}}}" for c in word))
        if sum(map(len, part)) > PATTERN_BYTES:
            yield "|".join(part)
            part = []
    if part:
        yield "|".join(part)


@lru_cache(maxsize=4)
def _looked_for(words: tuple[str, ...] | WordFile, whole: bool) -> _LookedFor:
    known = words.words() if isinstance(words, WordFile) else words
    looked_for = sorted({w.strip().lower() for w in known if w.strip()})
    if not looked_for:
        where = f" in {words.file}" if isinstance(words, WordFile) else ""
        raise ConfigError(f"no word{where} to look for; give some, or leave the step bad_words out")
    return _LookedFor(looked_for, whole=whole)
