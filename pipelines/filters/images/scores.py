"""Rules by scores that other programs computed: of images, as for NSFW, and of documents.

    Parquet file: keys, scores ── look up each image or document ──► a score ── limits ──► rules

A key is a URL, a digest or an id, by a column of the file.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, field_validator, model_validator

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.config import PinnedFile
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import REASON, Filter
from tokenmill.pipelines.core.schema import COLUMN_TYPES, column_type
from tokenmill.pipelines.core.step import (
    KEEP,
    Rule,
    StageResult,
    above,
    below,
    first_failing,
    without_value,
)
from tokenmill.pipelines.filters.images import edit
from tokenmill.pipelines.filters.images.keys import Keys, has_key, image_keys, text_keys
from tokenmill.pipelines.read.images.nodes import owners_of
from tokenmill.pipelines.read.parquet import bounded
from tokenmill.sizing.roots import held


class Scored(PinnedFile):
    """Limits of scores in a Parquet file with keys; least, most: of what passes, by column."""

    least: Mapping[str, float] = Field(default_factory=dict)
    most: Mapping[str, float] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((type(self), self.file, self.sha256))

    @model_validator(mode="after")
    def _some_limit(self) -> "Scored":
        if not self.least and not self.most and not self.has_use_without_limits:
            raise ValueError("no limit; write most: {COLUMN: NUMBER}, or least")
        return self

    @property
    def has_use_without_limits(self) -> bool:
        """Whether what the file tells is taken over."""
        return False

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        key = settings.get("by", cls.model_fields["by"].default)
        there = _schema_of(path).names
        limits = (settings.get(name) for name in ("least", "most"))
        asked = [c for limit in limits if isinstance(limit, Mapping) for c in limit]
        for column in (key, *asked):
            if column not in there:
                raise ConfigError(f"{path} has no column {column!r}; it has {', '.join(there)}")

    def rules(self, keys: Keys, by: str, unknown: Literal["keep", "remove"]) -> list[Rule]:
        """A rule for what has no score, and for each limit, as "high_nsfw" and "low_clip".

        keys: (n, 2) of what is judged.  by: the column of keys.  unknown: what has no score.
        """
        scores = load(self, by)
        at = _find(scores.keys, keys)
        return [
            without_value("no_score", (at == len(scores.keys)) & (unknown == "remove")),
            *(above(f"high_{c}", scores.most[c][at], m) for c, m in sorted(self.most.items())),
            *(below(f"low_{c}", scores.least[c][at], m) for c, m in sorted(self.least.items())),
        ]


class Scores(NamedTuple):
    """keys: (n, 2), ascending.  most, least: by column, (n + 1,), NaN where nothing is known."""

    keys: Keys
    most: dict[str, F64]
    least: dict[str, F64]


def _find(known: Keys, keys: Keys) -> I64:
    """(n,) the row of each key; one more than the last for those that are not there."""
    at = np.searchsorted(_sortable(known), _sortable(keys))
    inside = np.minimum(at, max(0, len(known) - 1))
    same = (known[inside] == keys).all(axis=1) if len(known) else np.False_
    return np.where(same & has_key(keys), at, len(known))


def _schema_of(path: Path) -> pa.Schema:
    try:
        with held(path) as name:
            return pq.read_schema(name)
    except (pa.ArrowException, OSError) as e:
        raise ConfigError(f"{path}: not a Parquet file of scores: {e}") from e


@cache
def load(scored: Scored, by: str) -> Scores:
    """Read the scores: in memory, 16 bytes a row and 8 for each limit.

    A key that stands there twice has the worse of its scores.
    ConfigError: the file is not what it was, or its keys or scores are of another type.
    """
    path = scored.checked()
    table, keys, order, starts = _by_key(path, by, [*scored.most, *scored.least])

    def worst(of: Mapping[str, float], pick: np.ufunc) -> dict[str, F64]:
        values = {c: _numbers(table[c], path)[order] for c in of}
        each = {c: pick.reduceat(v, starts) if len(starts) else v for c, v in values.items()}
        return {c: np.append(v, np.nan) for c, v in each.items()}

    return Scores(keys[starts], worst(scored.most, np.fmax), worst(scored.least, np.fmin))


def _by_key(path: Path, by: str, wanted: Sequence[str]) -> tuple[pa.Table, Keys, I64, I64]:
    """A file's columns; its keys, ascending; the row of each; where another key begins."""
    columns = list(dict.fromkeys([by, *wanted]))
    with held(bounded(path, columns)) as name:
        table = pq.read_table(name, columns=columns).combine_chunks()
    keys = _keys(table[by].combine_chunks(), by, path)
    order = np.argsort(_sortable(keys), kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    return table, keys, order, starts


def _sortable(keys: Keys) -> npt.NDArray[np.bytes_]:
    """(n,) of 16 bytes, which NumPy sorts."""
    return np.ascontiguousarray(keys).view("S16").reshape(-1)


def _numbers(column: pa.ChunkedArray, path: Path) -> F64:
    try:
        return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    except pa.ArrowException as e:
        raise ConfigError(f"{path}: scores are numbers: {e}") from e


def _keys(column: pa.Array, by: str, path: Path) -> Keys:
    """(n, 2) of a column of strings, or of MD5s as 16 bytes or 32 digits."""
    if by != "md5":
        try:
            return text_keys(column.cast(pa.large_string()))
        except pa.ArrowException as e:
            raise ConfigError(f"{path}: {by!r} is to be text: {e}") from e
    values = column.to_pylist()
    try:
        raw = [v if isinstance(v, bytes) else bytes.fromhex(v or "0" * 32) for v in values]
    except (TypeError, ValueError) as e:
        raise ConfigError(f"{path}: an MD5 is 16 bytes or 32 hexadecimal digits: {e}") from e
    wrong = next((v for v, r in zip(values, raw, strict=True) if len(r) != 16), None)
    if wrong is not None:
        raise ConfigError(f"{path}: an MD5 is 16 bytes or 32 hexadecimal digits, got {wrong!r}")
    return np.frombuffer(bytearray(b"".join(raw)), np.uint64).reshape(-1, 2)


class ImageScores(Scored, Filter):
    """Take out images, or the documents they stand in, by scores that your own models gave, as of
    NSFW: a Parquet file by MD5 or URL.

    file: Parquet, a row for each image, with a column named as `by` and one for each score.
    sha256: of it, found when the recipe is read unless it is given.
    by: how images are known there; an MD5 as 16 bytes or 32 hexadecimal digits.
    least, most: limits by column, ends included ("low_clip", "high_nsfw").
    remove: the image, or its whole document.
    unknown: what becomes of images without a score ("no_score").

    To annotate takes no image out, and tells of each document the score of its images that is
    nearest to each limit or farthest beyond it, as image_scores_most_nsfw, image_scores_least_clip.

    Classifiers are no part of this package: run yours over the input's images, and give their
    scores here. OBELICS, arXiv:2306.16527, removes documents with an image whose score for
    "hentai" is over 0.9, or for "porn" over 0.85 (07_01).
    """

    name: ClassVar[str] = "image_scores"
    needs_images: ClassVar[bool] = True

    by: Literal["md5", "url"] = "md5"
    remove: Literal["image", "document"] = "image"
    unknown: Literal["keep", "remove"] = "keep"

    def finds(self) -> dict[str, pa.DataType]:
        return {REASON: pa.string(), **dict.fromkeys(self._told, pa.float64())}

    @property
    def _told(self) -> dict[str, np.ufunc]:
        """What is told of a document's images, in the order of the rules, and how it is taken."""
        return {f"most_{c}": np.fmax for c in sorted(self.most)} | {
            f"least_{c}": np.fmin for c in sorted(self.least)
        }

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        keys = image_keys(batch, self.by)
        rules = self.rules(keys, self.by, self.unknown)
        if self.annotates or self.remove == "document":
            told = zip(self._told.items(), rules[1:], strict=True)
            found = {part: edit.extreme(batch, rule.value, pick) for (part, pick), rule in told}
            return self.judge_by(batch, _of_documents(batch, rules), found)
        verdicts, values = first_failing(rules, len(keys))
        places = np.flatnonzero(verdicts != KEEP)
        reasons = [rules[v - 1].reason for v in verdicts[places]]
        stage, edited = self.stage_name, edit.drop_images(batch, verdicts == KEEP)
        removed = edit.removed_images(stage, batch, places, reasons, values=values[places])
        return edit.edited_where(stage, batch, edited, (), removed)


def _of_documents(batch: pa.RecordBatch, rules: list[Rule]) -> list[Rule]:
    """The rules for documents, each judged by the first of its images that fails one."""
    owners = owners_of(batch)
    made = []
    for rule in rules:
        fails = np.zeros(batch.num_rows, np.bool_)
        value = np.full(batch.num_rows, np.nan)
        places = np.flatnonzero(rule.fails)[::-1]
        fails[owners[places]] = True
        value[owners[places]] = rule.value[places]  # the first image is written last
        made.append(Rule(rule.reason, value, fails))
    return made


class DocumentScores(Scored, Filter):
    """Remove documents by scores that your own models gave, as of language, perplexity, quality: a
    Parquet file by id or URL. Or annotate them with its columns, whatever these are.

    file: Parquet, a row for each document, with a column named as `by` and one for each score.
    sha256: of it, found when the recipe is read unless it is given.
    by: the documents' ids, as removed rows, the dataset and kept text have them, or their URLs.
    least, most: limits by column, ends included ("low_clip", "high_nsfw").
    unknown: what becomes of documents without a score ("no_score").
    columns: that documents are annotated with, as they are called there, behind the name that
        `column` gives if it gives one: text, numbers, true or false, times; all unless told. Of a
        key that stands there twice the first row counts.

    For what needs a model: language, perplexity, quality. Write the documents out with
    `output.text`, score them by what you have, a GPU's classifier say, and bring the scores back by
    id: none of that is a fork of the run. OBELICS keeps documents that fastText
    has for English with 0.8 or more, and of a KenLM perplexity of 1,500 or less.
    """

    name: ClassVar[str] = "document_scores"

    by: Literal["id", "url"] = "id"
    unknown: Literal["keep", "remove"] = "keep"
    columns: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda found: not found)

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        super().look(path, settings)
        asked = settings.get("columns") or ()
        if settings.get("action") != "annotate" or not _are_names(asked):
            return
        known = {f.name: column_type(f.type) for f in _schema_of(path)}
        known.pop(settings.get("by", "id"))
        for name in asked or [n for n, kind in known.items() if kind]:
            if known.get(name) is None:
                there = ", ".join(n for n, kind in known.items() if kind)
                raise ConfigError(f"{path}: {name!r} cannot annotate; there are {there or 'none'}")
        settings["columns"] = {n: known[n] for n in asked or known if known[n]}

    @field_validator("columns", mode="before")
    @classmethod
    def _names_alone(cls, columns: Any) -> Any:
        """Names without types are of a file that is gone: a run that has finished is looked at."""
        if not _are_names(columns):
            raise ValueError("name them in a list, as [topic, edu]")
        return columns if isinstance(columns, Mapping) else dict.fromkeys(columns, "string")

    @property
    def has_use_without_limits(self) -> bool:
        return self.annotates

    def annotations(self) -> tuple[pa.Field, ...]:
        first = f"{self.column}_" if self.column else ""
        of = self.columns.items() if self.annotates else ()
        return tuple(pa.field(first + name, COLUMN_TYPES[kind]) for name, kind in of)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        if self.annotates:
            keys, told = beside(self)
            rows = _find(keys, text_keys(batch[self.by]))
            at = pa.array(rows, mask=rows == len(keys))
            return self.annotated(batch, [column.take(at) for column in told])
        rules = self.rules(text_keys(batch[self.by]), self.by, self.unknown)
        return self.judge_by(batch, rules, {})


def _are_names(columns: Any) -> bool:
    return isinstance(columns, Mapping | list | tuple) and all(isinstance(n, str) for n in columns)


@cache
def beside(scored: DocumentScores) -> tuple[Keys, tuple[pa.Array, ...]]:
    """A file's keys, ascending, and columns to annotate; ConfigError: it changed, or is unfit."""
    path = scored.checked()
    table, keys, order, starts = _by_key(path, scored.by, list(scored.columns))
    rows = pa.array(order[starts])
    try:
        told = [
            table[name].cast(COLUMN_TYPES[kind]).combine_chunks().take(rows)
            for name, kind in scored.columns.items()
        ]
    except pa.ArrowException as e:
        raise ConfigError(f"{path}: {e}") from e
    return keys[starts], tuple(told)
