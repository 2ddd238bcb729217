"""From measured quantities to one verdict per document: the first rule that fails decides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.pipelines.core.stage import KEEP, StageResult, keep_where


class Rule(NamedTuple):
    """reason: what a document that fails is removed for.

    value: (n_docs,) float64, the measured quantity.  fails: (n_docs,) bool.
    """

    reason: str
    value: npt.NDArray[np.float64]
    fails: npt.NDArray[np.bool_]


def below(reason: str, value: npt.NDArray[np.float64], least: float | None) -> Rule:
    """Fail where the quantity is less than `least`; `None` is off. NaN, of nothing, passes."""
    return Rule(reason, value, value < (np.nan if least is None else least))


def above(reason: str, value: npt.NDArray[np.float64], most: float | None) -> Rule:
    """Fail where the quantity is more than `most`; `None` is off. NaN, of nothing, passes."""
    return Rule(reason, value, value > (np.nan if most is None else most))


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Part / whole; NaN where the whole is 0."""
    p, w = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    out = np.full(p.shape, np.nan)
    np.divide(p, w, out=out, where=w != 0)
    return out


def first_failing(
    rules: Sequence[Rule], n_docs: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """(n_docs,) uint8, the 1-based place of the first rule that fails or KEEP; its value or NaN."""
    verdicts = np.full(n_docs, KEEP, np.uint8)
    values = np.full(n_docs, np.nan)
    for place, rule in reversed(list(enumerate(rules, start=1))):
        verdicts[rule.fails] = place
        values[rule.fails] = rule.value[rule.fails]
    return verdicts, values


def decide(stage: str, batch: pa.RecordBatch, rules: Sequence[Rule]) -> StageResult:
    """Remove each document that fails a rule, for the first one it fails."""
    verdicts, values = first_failing(rules, batch.num_rows)
    return keep_where(stage, batch, verdicts, [r.reason for r in rules], values=values)
