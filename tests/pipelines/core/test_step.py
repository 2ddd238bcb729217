"""Verdicts, rows of what leaves, and accounts: what every stage is made of."""

import math
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import LedgerError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.schema import REMOVED
from tokenmill.pipelines.core.step import (
    KEEP,
    StageResult,
    Step,
    above,
    below,
    decide,
    first_failing,
    keep_where,
    passed,
    ratio,
    with_text,
    with_texts,
    without_value,
)

TEXTS = ["one", "zwé", "", "three"]
BYTES = [3, 4, 0, 5]
BATCH = document_batch(TEXTS, urls=["u", None, "v", None])


def verdicts(*told):
    return np.array(told, np.uint8)


def test_what_leaves_has_a_row_and_is_counted_by_reason():
    found = keep_where(
        "length", BATCH, verdicts(2, KEEP, 1, 2), ("long", "empty", "odd"),
        values=np.array([9.5, 1.0, np.nan, 7.0]), details=pa.array(["a", "b", None, "d"]),
        duplicate_of=pa.array([4, 5, 6, None], pa.uint64()),
        similarity=pa.array([0.5, 1, 1, None], pa.float32()),
    )  # fmt: skip
    assert found.kept["text"].to_pylist() == ["zwé"]
    assert found.removed.schema.equals(REMOVED)
    ids = BATCH["doc_id"].to_pylist()
    assert found.removed.to_pylist() == [
        {"doc_id": ids[row], "id": BATCH["id"][row].as_py(), "outcome": "removed",
         "stage": "length", "reason": reason, "value": value, "detail": detail,
         "text_bytes": BYTES[row], "duplicate_of": of, "similarity": like, "url": url}
        for row, reason, value, detail, of, like, url in (
            (0, "empty", 9.5, "a", 4, 0.5, "u"), (2, "long", None, None, 6, 1.0, "v"),
            (3, "empty", 7.0, "d", None, None, None),
        )
    ]  # fmt: skip
    assert found.stats == StageStats(
        docs_in=4, docs_out=1, removed={"empty": 2, "long": 1}, bytes_in=12, bytes_out=4,
        bytes_removed=8,
    ).check("length")  # fmt: skip
    assert keep_where("length", BATCH, verdicts(0, 0, 0, 0), ()).kept is BATCH


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (verdicts(0, 0, 0), "s: 3 verdicts on 4 documents"),
        (verdicts(0, 2, 0, 0), "s: verdict 2 of 1 reasons"),
    ],
)
def test_each_document_has_a_verdict_and_each_verdict_a_reason(told, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        keep_where("s", BATCH, told, ("one",))
    assert keep_where("s", BATCH, verdicts(0, 1, 0, 0), ("one",)).removed.num_rows == 1


def test_rules_hold_at_their_limits_and_pass_what_was_not_measured():
    value = np.array([0.9, 1.0, 1.1, np.nan])
    assert below("b", value, 1.0).fails.tolist() == [True, False, False, False]
    assert above("a", value, 1.0).fails.tolist() == [False, False, True, False]
    for off in (below("b", value, None), above("a", value, None)):
        assert not off.fails.any()
    assert not below("b", value, 0.0).fails.any()
    assert math.isnan(without_value("w", np.array([True])).value[0])
    assert ratio([1, 0, 3], [2, 0, 0])[0] == 0.5
    assert np.isnan(ratio([1, 0, 3], [2, 0, 0])[1:]).all()


def test_the_first_rule_that_fails_decides():
    value = np.array([1.0, 2.0, 3.0, 4.0])
    rules = [above("a", value, 3.0), below("b", -value, -1.0), without_value("c", value < 9)]
    found, values = first_failing(rules, 4)
    assert found.tolist() == [3, 2, 2, 1]
    assert np.array_equal(values, [np.nan, -2, -3, 4], equal_nan=True)
    assert first_failing([], 4)[0].tolist() == [KEEP] * 4
    decided = decide("s", BATCH, rules)
    assert decided.removed["reason"].to_pylist() == ["c", "b", "b", "a"]
    assert decided.removed["value"].to_pylist() == [None, -2, -3, 4]


def test_edited_text_is_put_in_and_its_bytes_are_accounted_for():
    result = keep_where("s", BATCH, verdicts(0, 0, 1, 0), ("empty",))
    found = with_text(with_text(result, pa.array(["1", "zw", "three"])), pa.array(["1", "2", "3"]))
    assert found.kept["text"].to_pylist() == ["1", "2", "3"]
    assert found.kept.schema.equals(BATCH.schema)
    stats = found.stats.check("s")
    assert (stats.bytes_in, stats.bytes_out, stats.bytes_edited) == (12, 3, 9)
    made = with_texts(BATCH, np.array([1, 3]), pa.array(["x", "y"], pa.large_string()))
    assert made["text"].to_pylist() == ["one", "x", "", "y"]


class Odd(Step):
    """Returns what it is told to."""

    name: ClassVar[str] = "odd"
    made: ClassVar = None

    def __call__(self, batch):
        return self.made(batch)


def good(batch):
    return keep_where("odd", batch, verdicts(0, 1, 0, 0), ("r",))


def without(result, **stats):
    return result._replace(stats=StageStats(**{**vars(result.stats), **stats}))


LIES = {
    "a row less": lambda b: good(b)._replace(removed=good(b).removed.slice(1)),
    "a document less": lambda b: good(b)._replace(kept=good(b).kept.slice(1)),
    "another order": lambda b: good(b)._replace(kept=good(b).kept.take(pa.array([1, 0, 2]))),
    "another document": lambda b: good(b)._replace(kept=b.take(pa.array([0, 1, 2]))),
    "text not accounted for": lambda b: good(b)._replace(
        kept=good(b).kept.set_column(
            b.schema.get_field_index("text"), b.schema.field("text"),
            pa.array(["", "", ""], pa.large_string()),
        )
    ),
    "documents in": lambda b: without(good(b), docs_in=5, docs_out=4),
    "columns": lambda b: good(b)._replace(kept=good(b).kept.append_column("n", pa.array([1] * 3))),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_stage_that_loses_a_document_is_found_out(lie, monkeypatch):
    monkeypatch.setattr(Odd, "made", staticmethod(good))
    assert passed(Odd(), BATCH).kept.num_rows == 3
    monkeypatch.setattr(Odd, "made", staticmethod(LIES[lie]))
    with pytest.raises(LedgerError, match="step odd of tests.pipelines.core.test_step|odd"):
        passed(Odd(), BATCH)


@pytest.mark.parametrize("made", [None, (BATCH, BATCH), StageResult(BATCH, None, StageStats())])
def test_a_stage_that_returns_something_else_is_named(made, monkeypatch):
    monkeypatch.setattr(Odd, "made", staticmethod(lambda _: made))
    with pytest.raises(TypeError, match=r"must return a StageResult of two RecordBatches"):
        passed(Odd(), BATCH)


def test_an_error_of_a_stage_names_the_step(monkeypatch):
    monkeypatch.setattr(Odd, "made", staticmethod(lambda _: 1 // 0))
    with pytest.raises(ZeroDivisionError) as e:
        passed(Odd(), BATCH)
    assert e.value.__notes__ == ["in step odd"]
