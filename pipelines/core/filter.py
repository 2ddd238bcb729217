"""A filter: a step that judges each document by itself, and removes it or tells what it found.

    batch ── filter, action: remove ──► the documents that pass, a removed row for each other one
    batch ── filter, action: annotate ► all documents, with columns of what was found of each

Such a column is an annotation. From then on it is a column of the document like `url`: every later
step hands it on, kept text has it, and whoever wants it (`select`, a mixture) finds it by its name.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrays import F64, U8
from tokenmill.pipelines.core.step import KEEP, Rule, StageResult, Step, first_failing, keep_where

ColumnName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Found = Mapping[str, pa.Array | npt.NDArray[np.generic]]
Kinds = Mapping[str, pa.DataType]
REASON = "reason"  # the part that tells for which rule a document would have been removed


class Filter(Step):
    """A step that judges each document by itself.

    tells: what it can tell of a document: the Arrow type of each, by the end of its name; "score"
        is told as COLUMN_score, and "" as COLUMN itself.

    action: "annotate" removes none, and tells what it found of each in columns, which `select` and
        mixtures read.
    column: what the names of these columns begin with; the step's name unless told. A step may
        stand several times in a recipe if each annotates under a name of its own.
    """

    tells: ClassVar[Kinds] = {}

    action: Literal["remove", "annotate"] = Field(
        "remove", exclude_if=lambda action: action == "remove"
    )
    column: ColumnName | None = Field(None, exclude_if=lambda column: column is None)

    @property
    def stage_name(self) -> str:
        return self.name if self.column is None else f"{self.name}:{self.column}"

    @property
    def annotates(self) -> bool:
        return self.action == "annotate"

    def finds(self) -> Kinds:
        """`tells`, unless that depends on the settings."""
        return self.tells

    def annotations(self) -> tuple[pa.Field, ...]:
        if not self.annotates:
            return ()
        first = self.column or self.name
        return tuple(
            pa.field(f"{first}_{part}" if part else first, kind)
            for part, kind in self.finds().items()
        )

    def judge(
        self,
        batch: pa.RecordBatch,
        verdicts: U8,
        reasons: Sequence[str],
        *,
        found: Found,
        values: F64 | None = None,
        details: pa.Array | None = None,
    ) -> StageResult:
        """Remove documents as `keep_where` does; or keep all, and tell what was `found`.

        found: (n_docs,) for each part of `finds`, but "reason", which follows from the verdicts.
        """
        if not self.annotates:
            return keep_where(
                self.stage_name, batch, verdicts, reasons, values=values, details=details
            )
        reason = pa.array([None, *reasons], pa.string()).take(pa.array(verdicts))
        found = {REASON: reason, **found}
        return self.annotated(batch, [_array(found[n], kind) for n, kind in self.finds().items()])

    def judge_by(self, batch: pa.RecordBatch, rules: Sequence[Rule], found: Found) -> StageResult:
        """The same by the first rule that each document fails."""
        verdicts, values = first_failing(rules, batch.num_rows)
        reasons = [rule.reason for rule in rules]
        return self.judge(batch, verdicts, reasons, found=found, values=values)

    def annotated(self, batch: pa.RecordBatch, arrays: Sequence[pa.Array]) -> StageResult:
        """All documents, with a column for each of `annotations`."""
        result = keep_where(self.stage_name, batch, np.full(batch.num_rows, KEEP, np.uint8), ())
        schema = pa.schema([*batch.schema, *self.annotations()], metadata=batch.schema.metadata)
        return result._replace(kept=pa.record_batch([*batch.columns, *arrays], schema=schema))


def _array(values: pa.Array | npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    """A column; NaN, of nothing, is null."""
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True).cast(kind)
    return values.cast(kind)
