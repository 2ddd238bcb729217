"""Documents by what earlier steps, or other programs, found of them."""

from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import field_validator

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.step import KEEP, StageResult, Step, keep_where
from tokenmill.pipelines.filters.where import Where, where

NOT_SELECTED, UNKNOWN = 1, 2
REASONS = ("not_selected", "unknown_value")
MOST_SHOWN = 80  # characters of a value, in a detail


class Select(Step):
    """Keep documents of which a condition holds, on the columns that steps before it added with
    `action: annotate`, that inputs brought along, and on `id`, `url`, `text`, `date`, `source`.

    where: the condition, as quality > 0.3 and language in ("en", "de").
    unknown: what becomes of documents of which it is not known, for a value that is not there.

    Reasons: "not_selected", "unknown_value"; the value is that of the first number which the
    condition asks for, and the detail names all it asks for, as quality=0.21 language='fr'.
    """

    name: ClassVar[str] = "select"

    where: str
    unknown: Literal["keep", "remove"] = "remove"

    @field_validator("where")
    @classmethod
    def _can_be_read(cls, text: str) -> str:
        where(text)
        return text

    @property
    def condition(self) -> Where:
        return where(self.where)

    @property
    def asks_for(self) -> tuple[str, ...]:
        return self.condition.names

    def check_columns(self, documents: pa.Schema) -> None:
        self.condition.check(documents)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        holds = self.condition.holds(batch)
        verdicts = np.where(np.asarray(holds.fill_null(True), np.bool_), KEEP, NOT_SELECTED)
        if self.unknown == "remove":
            verdicts = np.where(np.asarray(holds.is_null(), np.bool_), UNKNOWN, verdicts)
        gone = np.flatnonzero(verdicts)
        return keep_where(
            self.name,
            batch,
            verdicts.astype(np.uint8),
            REASONS,
            values=self._first_number(batch),
            details=_details(batch.select(self.condition.names), gone),
        )

    def _first_number(self, batch: pa.RecordBatch) -> F64 | None:
        for name in self.condition.names:
            kind = batch.schema.field(name).type
            if pa.types.is_floating(kind) or pa.types.is_integer(kind):
                return np.asarray(pc.fill_null(batch[name].cast(pa.float64()), np.nan))
        return None


def _details(asked: pa.RecordBatch, gone: I64) -> pa.Array:
    """(n_docs,) string, the values of the documents that leave; null of the others."""
    told: list[str | None] = [None] * asked.num_rows
    for row, values in zip(gone.tolist(), asked.take(pa.array(gone)).to_pylist(), strict=True):
        told[row] = " ".join(f"{name}={_shown(value)}" for name, value in values.items())
    return pa.array(told, pa.string())


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
