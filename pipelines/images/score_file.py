"""Scores that were computed elsewhere, of images or documents, looked up by key."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from tokenmill.pipelines.errors import ConfigError
from tokenmill.pipelines.filters.rules import Rule, above, below
from tokenmill.pipelines.pinned_file import PinnedFile
from tokenmill.pipelines.repeats.keys import Keys, has_key, text_keys

F64 = npt.NDArray[np.float64]


class Scored(PinnedFile):
    """Limits of scores in the columns of a Parquet file, which also has a column of keys.

    least, most: by column, the least and the most that passes.
    """

    least: Mapping[str, float] = Field(default_factory=dict)
    most: Mapping[str, float] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((type(self), self.file, self.sha256))

    @model_validator(mode="after")
    def _some_limit(self) -> "Scored":
        if not self.least and not self.most:
            raise ValueError("no limit; write most: {COLUMN: NUMBER}, or least")
        return self

    @classmethod
    def look(cls, path: Path, settings: dict[str, Any]) -> None:
        key = settings.get("by", cls.model_fields["by"].default)
        try:
            there = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as e:
            raise ConfigError(f"{path}: not a Parquet file of scores: {e}") from e
        limits = (settings.get(name) for name in ("least", "most"))
        asked = [c for limit in limits if isinstance(limit, Mapping) for c in limit]
        for column in (key, *asked):
            if column not in there:
                raise ConfigError(f"{path} has no column {column!r}; it has {', '.join(there)}")

    def rules(self, keys: Keys, by: str) -> tuple[list[Rule], npt.NDArray[np.bool_]]:
        """A rule for each limit, as "high_nsfw" and "low_clip"; and (n,) which have any score.

        keys: (n, 2) of what is judged.  by: the column of keys.
        """
        scores = load(self, by)
        at = scores.find(keys)
        rules = [
            *(above(f"high_{c}", scores.most[c][at], m) for c, m in sorted(self.most.items())),
            *(below(f"low_{c}", scores.least[c][at], m) for c, m in sorted(self.least.items())),
        ]
        return rules, at < len(scores.keys)


class Scores(NamedTuple):
    """keys: (n, 2), ascending.  most, least: by column, (n + 1,), NaN where nothing is known."""

    keys: Keys
    most: dict[str, F64]
    least: dict[str, F64]

    def find(self, keys: Keys) -> npt.NDArray[np.int64]:
        """(n,) the row of each key; one more than the last for those that are not there."""
        at = np.searchsorted(_sortable(self.keys), _sortable(keys))
        inside = np.minimum(at, max(0, len(self.keys) - 1))
        same = (self.keys[inside] == keys).all(axis=1) if len(self.keys) else np.False_
        return np.where(same & has_key(keys), at, len(self.keys))


@cache
def load(scored: Scored, by: str) -> Scores:
    """Read the scores: in memory, 16 bytes a row and 8 for each limit.

    A key that stands there twice has the worse of its scores.

    Raises:
        ConfigError: the file is not what it was, or its keys or scores are of another type.
    """
    path = scored.checked()
    columns = list(dict.fromkeys([by, *scored.most, *scored.least]))
    table = pq.read_table(path, columns=columns).combine_chunks()
    keys = _keys(table[by].combine_chunks(), by, path)
    order = np.argsort(_sortable(keys), kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])

    def worst(of: Mapping[str, float], pick: np.ufunc) -> dict[str, F64]:
        return {
            c: np.append(_worst(pick, _numbers(table[c], path)[order], starts), np.nan) for c in of
        }

    return Scores(keys[starts], worst(scored.most, np.fmax), worst(scored.least, np.fmin))


def _worst(pick: np.ufunc, values: F64, starts: npt.NDArray[np.int64]) -> F64:
    return pick.reduceat(values, starts) if len(starts) else values


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
